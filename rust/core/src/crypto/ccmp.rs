//! CCMP: AES in counter mode with CBC-MAC (IEEE 802.11-2020 clause 12.5.3, RFC 3610).

use aes::cipher::consts::U16;
use aes::cipher::{Array, Block, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser};

use crate::frame::{control, qos, Frame};

/// Packet number and key identifier.
pub(super) const HEADER: usize = 8;

/// Bits of the frame control field that are not authenticated: a retransmission or a relay can change them.
const MASKED: u16 = control::RETRY | 0x1000 | 0x2000;
/// Bits of the subtype of data frames other than the QoS bit.
const SUBTYPE_LOW: u16 = 0x0070;

/// Longest additional authenticated data: frame control, four addresses, sequence and QoS control.
const AAD: usize = 2 + 4 * 6 + 2 + 2;

/// The fields of a frame's header that decryption needs.
pub(super) struct Header {
    nonce: [u8; 13],
    /// After its length, as CBC-MAC takes it (RFC 3610 section 2.2), in whole blocks.
    aad: [u8; 32],
}

impl Header {
    /// `authenticate_amsdu`: both stations are SPP A-MSDU capable, so that the A-MSDU bit is authenticated.
    pub fn new(frame: &Frame, body: &[u8], authenticate_amsdu: bool) -> Option<Header> {
        let h = body.first_chunk::<HEADER>()?;
        let (a1, a2, a3) = (frame.address_1?, frame.address_2?, frame.address_3?);
        let mut masked = frame.control? & !MASKED | control::PROTECTED;
        masked &= !SUBTYPE_LOW;
        if frame.qos.is_some() {
            masked &= !control::ORDER;
        }
        let kept = if authenticate_amsdu { qos::TID | qos::AMSDU } else { qos::TID };
        let mut aad = [0; 32];
        let mut at = 2;
        let mut put = |bytes: &[u8]| {
            if let Some(room) = aad.get_mut(at..at + bytes.len()) {
                room.copy_from_slice(bytes);
                at += bytes.len();
            }
        };
        put(&masked.to_le_bytes());
        [a1, a2, a3].iter().for_each(|a| put(a));
        put(&(frame.seq_ctl? & 0x000f).to_le_bytes());
        if let Some(a4) = frame.address_4 {
            put(&a4);
        }
        if let Some(q) = frame.qos {
            put(&(q & kept).to_le_bytes());
        }
        let length = at - 2;
        debug_assert!(length <= AAD);
        aad[..2].copy_from_slice(&(length as u16).to_be_bytes());
        let mut nonce = [0; 13];
        nonce[0] = (frame.qos.unwrap_or(0) & qos::TID) as u8;
        nonce[1..7].copy_from_slice(&a2);
        nonce[7..].copy_from_slice(&[h[7], h[6], h[5], h[4], h[1], h[0]]);
        Some(Header { nonce, aad })
    }
}

/// Decrypt the bytes after the CCMP header into `out`, without the MIC of `mic` bytes; returns whether the MIC is right. A `cut`
/// body has no MIC; the result is then true.
pub(super) fn open<C: BlockCipherEncrypt<BlockSize = U16>>(
    cipher: &C,
    mic: usize,
    header: &Header,
    body: &[u8],
    cut: bool,
    out: &mut Vec<u8>,
) -> bool {
    out.clear();
    let Some(sealed) = body.get(HEADER..) else {
        return false;
    };
    let length = if cut { sealed.len() } else { sealed.len().saturating_sub(mic) };
    if length == 0 || length > usize::from(u16::MAX) {
        return false;
    }
    out.extend_from_slice(&sealed[..length]);
    let mut tag = [0; 16];
    cipher.encrypt_with_backend(Opening { header, mic, cut, data: out, tag: &mut tag });
    cut || tag[..mic] == sealed[length..]
}

/// All blocks of a frame in one call, so that the key schedule stays in registers.
struct Opening<'a> {
    header: &'a Header,
    mic: usize,
    cut: bool,
    data: &'a mut [u8],
    tag: &'a mut [u8; 16],
}

impl BlockSizeUser for Opening<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Opening<'_> {
    /// CBC-MAC is a chain in which each block waits for the previous one; the counter blocks use this time.
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let Opening { header, mic, cut, data, tag } = self;
        let block = |flags: u8, last: u16| {
            let mut bytes = [0; 16];
            bytes[0] = flags;
            bytes[1..14].copy_from_slice(&header.nonce);
            bytes[14..].copy_from_slice(&last.to_be_bytes());
            bytes
        };
        let encrypt = |word: u128| {
            let mut bytes = Array(word.to_ne_bytes());
            backend.encrypt_block_inplace(&mut bytes);
            u128::from_ne_bytes(bytes.0)
        };
        const COUNTER: u8 = 1;
        // Flags: additional data, length of the MIC, two bytes for the length of the data.
        let flags = 0x40 | ((mic as u8 - 2) / 2) << 3 | 1;
        let mut mac = encrypt(word(&block(flags, data.len() as u16)));
        for chunk in header.aad.chunks_exact(16) {
            mac = encrypt(mac ^ word(chunk));
        }
        let mut i = 1u16;
        let mut parallel = Array::<Block<B>, B::ParBlocksSize>::default();
        for chunk in data.chunks_mut(16 * parallel.len()) {
            for counter in parallel.iter_mut() {
                *counter = Array(block(COUNTER, i));
                i = i.wrapping_add(1);
            }
            backend.encrypt_par_blocks_inplace(&mut parallel);
            for (sealed, key) in chunk.chunks_mut(16).zip(parallel.iter()) {
                let n = sealed.len();
                let mut plain = (word(sealed) ^ word(key)).to_ne_bytes();
                plain[n..].fill(0);
                sealed.copy_from_slice(&plain[..n]);
                if !cut {
                    mac = encrypt(mac ^ u128::from_ne_bytes(plain));
                }
            }
        }
        *tag = (mac ^ encrypt(word(&block(COUNTER, 0)))).to_ne_bytes();
    }
}

/// At most 16 bytes, zeros after them.
#[inline(always)]
fn word(bytes: &[u8]) -> u128 {
    if let Some(whole) = bytes.first_chunk() {
        return u128::from_ne_bytes(*whole);
    }
    let mut padded = [0; 16];
    padded[..bytes.len()].copy_from_slice(bytes);
    u128::from_ne_bytes(padded)
}

/// The body of a frame with this CCMP header and payload.
#[cfg(test)]
pub(super) fn seal<C: BlockCipherEncrypt<BlockSize = U16>>(
    cipher: &C,
    mic: usize,
    frame: &Frame,
    head: &[u8; HEADER],
    plain: &[u8],
) -> Vec<u8> {
    let Some(header) = Header::new(frame, head, false) else {
        return Vec::new();
    };
    let mut data = plain.to_vec();
    let mut tag = [0; 16];
    cipher.encrypt_with_backend(Opening { header: &header, mic, cut: true, data: &mut data, tag: &mut tag });
    let sealed = data.clone();
    cipher.encrypt_with_backend(Opening { header: &header, mic, cut: false, data: &mut data, tag: &mut tag });
    [&head[..], &sealed, &tag[..mic]].concat()
}

#[cfg(test)]
mod tests {
    use aes::cipher::KeyInit;
    use aes::{Aes128, Aes256};

    use super::*;
    use crate::crypto::testing::hex;

    /// The frame of IEEE 802.11-2020 J.6.4.
    fn frame() -> Frame {
        Frame {
            control: Some(0x4808),
            duration: Some(0x2cc3),
            address_1: hex("0fd2e128a57c").try_into().ok(),
            address_2: hex("5030f1844408").try_into().ok(),
            address_3: hex("abaea5b8fcba").try_into().ok(),
            seq_ctl: Some(0x3380),
            ..Frame::default()
        }
    }

    const PLAIN: &str = "f8ba1a55d02f85ae967bb62fb6cda8eb7e78a050";

    #[test]
    fn vectors_of_annex_j() {
        let key = "c97c1f67ce371185514a8a19f2bdd52f";
        let body = hex("0ce700207697 03b5 f3d0a2fe9a3dbf2342a643e43246e80c3c04d019 7845ce0b16f97623");
        check(&Aes128::new_from_slice(&hex(key)).unwrap(), 8, &body);
        let body = hex("0ce700207697 03b5 6d155d8832668256d6a92b78e11d8e54495dd174 80aa56c9492e882b97642f80d50fe97b");
        let key = format!("{key}000102030405060708090a0b0c0d0e0f");
        check(&Aes256::new_from_slice(&hex(&key)).unwrap(), 16, &body);
    }

    fn check<C: BlockCipherEncrypt<BlockSize = U16>>(cipher: &C, mic: usize, body: &[u8]) {
        let header = Header::new(&frame(), body, false).unwrap();
        let mut out = Vec::new();
        assert!(open(cipher, mic, &header, body, false, &mut out));
        assert_eq!(out, hex(PLAIN));
        assert!(open(cipher, mic, &header, &body[..20], true, &mut out));
        assert_eq!(out, hex(PLAIN)[..12]);
        for i in HEADER..body.len() {
            let mut bad = body.to_vec();
            bad[i] ^= 1;
            assert!(!open(cipher, mic, &header, &bad, false, &mut out), "byte {i}");
        }
        for n in 0..body.len() {
            assert!(!open(cipher, mic, &header, &body[..n], false, &mut out), "{n} bytes");
        }
        // The bits that are not authenticated, and one that is.
        let with = |control| Header::new(&Frame { control: Some(control), ..frame() }, body, false).unwrap();
        assert!(open(cipher, mic, &with(0x4808 | 0x3000), body, false, &mut out));
        assert!(!open(cipher, mic, &with(0x4908), body, false, &mut out));
    }

    #[test]
    fn the_header_of_qos_frames() {
        let frame = Frame {
            control: Some(0xfbfb),
            qos: Some(0xffff),
            address_4: Some([4; 6]),
            seq_ctl: Some(0xffff),
            ..frame()
        };
        let body = [1, 2, 0, 0x20, 3, 4, 5, 6];
        let h = Header::new(&frame, &body, false).unwrap();
        assert_eq!(h.nonce.to_vec(), hex("0f 503 0f1844408 060504030201"));
        assert_eq!(h.aad.to_vec(), hex("001e 8b43 0fd2e128a57c 5030f1844408 abaea5b8fcba 0f00 040404040404 0f00"));
        let h = Header::new(&frame, &body, true).unwrap();
        assert_eq!(h.aad[30..], [0x8f, 0]);
    }
}

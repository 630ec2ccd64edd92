//! EAPOL-Key frames (IEEE 802.11-2020 clause 12.7.2).

use crate::limits;

/// LLC and SNAP header of EAPOL (EtherType 0x888e).
pub(super) const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e];

/// Bits of the key information field.
mod info {
    pub const VERSION: u16 = 0x0007;
    pub const PAIRWISE: u16 = 0x0008;
    pub const ACK: u16 = 0x0080;
    pub const MIC: u16 = 0x0100;
    pub const REQUEST: u16 = 0x0800;
    pub const ENCRYPTED_DATA: u16 = 0x1000;
}

/// Offset of the MIC from the start of the EAPOL header.
const MIC_AT: usize = 4 + 77;
/// EAPOL header and the fixed part of the key frame, with a MIC of 16 bytes.
const FIXED: usize = MIC_AT + 16 + 2;

/// The form of the key data: WPA's own descriptor, or the standard's.
const DESCRIPTOR_RSN: u8 = 2;
const DESCRIPTOR_WPA: u8 = 254;

/// An EAPOL-Key frame with a MIC of 16 bytes.
pub(super) struct KeyFrame<'a> {
    /// From the EAPOL header to the end that it states.
    whole: &'a [u8],
    info: u16,
    /// WPA before the standard: the key data is the bare group key.
    pub wpa: bool,
    pub nonce: [u8; 32],
    pub iv: [u8; 16],
    pub mic: [u8; 16],
    pub data: &'a [u8],
    /// Length of the key, in WPA's group messages of the group key.
    pub key_bytes: u16,
}

impl<'a> KeyFrame<'a> {
    /// None if it is no key frame or its length is wrong.
    pub fn parse(pdu: &'a [u8]) -> Option<KeyFrame<'a>> {
        const KEY: u8 = 3;
        let [_, kind, length @ ..] = *pdu.first_chunk::<4>()?;
        let whole = pdu.get(..4 + usize::from(u16::from_be_bytes(length)))?;
        let descriptor = *whole.get(4)?;
        if kind != KEY || !matches!(descriptor, DESCRIPTOR_RSN | DESCRIPTOR_WPA) || whole.len() > limits::EAPOL_BYTES {
            return None;
        }
        let be16 = |at: usize| whole.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
        let data = whole.get(FIXED..FIXED + usize::from(be16(FIXED - 2)?))?;
        Some(KeyFrame {
            whole,
            info: be16(5)?,
            wpa: descriptor == DESCRIPTOR_WPA,
            nonce: *whole.get(17..)?.first_chunk()?,
            iv: *whole.get(49..)?.first_chunk()?,
            mic: *whole.get(MIC_AT..)?.first_chunk()?,
            data,
            key_bytes: be16(7)?,
        })
    }

    fn has(&self, bits: u16) -> bool {
        self.info & bits == bits
    }

    /// Key descriptor version.
    pub fn version(&self) -> u8 {
        (self.info & info::VERSION) as u8
    }

    /// Sent by the authenticator: messages 1 and 3, and the first of the group key handshake.
    pub fn by_authenticator(&self) -> bool {
        self.has(info::ACK)
    }

    /// A message of the 4-way handshake, not of the group key handshake.
    pub fn pairwise(&self) -> bool {
        self.has(info::PAIRWISE)
    }

    pub fn has_mic(&self) -> bool {
        self.has(info::MIC)
    }

    /// A supplicant's report or request, which is not part of a handshake.
    pub fn request(&self) -> bool {
        self.has(info::REQUEST)
    }

    /// The key data is encrypted: always in WPA's messages with a group key, which have no bit for it.
    pub fn encrypted_data(&self) -> bool {
        self.has(info::ENCRYPTED_DATA) || (self.wpa && !self.pairwise())
    }

    /// WPA's identifier of the group key.
    pub fn wpa_key_id(&self) -> u8 {
        (self.info >> 4 & 3) as u8
    }

    /// The input of the MIC: the frame with a MIC of zeros.
    pub fn without_mic(&self) -> Vec<u8> {
        let mut message = self.whole.to_vec();
        message[MIC_AT..MIC_AT + 16].fill(0);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(data: &[u8]) -> Vec<u8> {
        let mut f = vec![2, 3, 0, 0, 2, 0x13, 0xca];
        f.resize(FIXED, 7);
        f.extend(data);
        let length = (f.len() - 4) as u16;
        f[2..4].copy_from_slice(&length.to_be_bytes());
        f[FIXED - 2..FIXED].copy_from_slice(&(data.len() as u16).to_be_bytes());
        f
    }

    #[test]
    fn lengths_that_lie() {
        let whole = frame(&[1, 2, 3]);
        let k = KeyFrame::parse(&whole).unwrap();
        assert_eq!((k.version(), k.data, k.mic), (2, &[1u8, 2, 3][..], [7; 16]));
        assert!(k.by_authenticator() && k.pairwise() && k.has_mic() && k.encrypted_data() && !k.request());
        assert_eq!(k.without_mic()[MIC_AT..MIC_AT + 16], [0; 16]);
        for n in 0..whole.len() {
            assert!(KeyFrame::parse(&whole[..n]).is_none(), "{n}");
        }
        let padded = [&whole[..], &[0; 40]].concat();
        assert_eq!(KeyFrame::parse(&padded).unwrap().without_mic().len(), whole.len());
        let mut lies = whole.clone();
        lies[FIXED - 1] = 4;
        assert!(KeyFrame::parse(&lies).is_none());
        let mut rc4 = whole;
        rc4[4] = 1;
        assert!(KeyFrame::parse(&rc4).is_none());
        assert!(KeyFrame::parse(&frame(&[0; 4000])).is_none());
    }
}

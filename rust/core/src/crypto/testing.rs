//! What the tests of this module share: an access point and a station whose conversation is made here, byte by byte.

use aes::cipher::KeyInit;
use aes::Aes128;
use aes_kw::KwAes128;

use super::kdf::{self, Integrity};
use super::{ccmp, eapol};
use crate::frame::{control, Frame, Mac};

/// The bytes of hexadecimal digits; blanks between them are skipped.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|c| !c.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

pub const AP: Mac = [2, 0, 0, 0, 0, 0xa];
pub const STATION: Mac = [2, 0, 0, 0, 0, 0xb];
pub const EVERYBODY: Mac = [0xff; 6];
pub const SSID: &[u8] = b"net";
pub const PASSPHRASE: &str = "correct horse";
pub const GTK: [u8; 16] = [0x77; 16];
/// RSN: CCMP for both, PSK.
pub const RSN: &str = "3012 0100 000fac04 0100 000fac04 0100 000fac02";

/// A frame and what is after its MAC header.
pub type Air = (Frame, Vec<u8>);

fn frame(bits: u16, a1: Mac, a2: Mac, a3: Mac) -> Frame {
    Frame {
        control: Some(bits),
        address_1: Some(a1),
        address_2: Some(a2),
        address_3: Some(a3),
        seq_ctl: Some(0x120),
        ..Frame::default()
    }
}

pub fn down(to: Mac) -> Frame {
    frame(control::DATA | control::FROM_DS, to, AP, AP)
}

pub fn up() -> Frame {
    frame(control::DATA | control::TO_DS, AP, STATION, AP)
}

pub fn beacon(elements: &[u8]) -> Air {
    (frame(0x0080, EVERYBODY, AP, AP), [&[0; 12][..], elements].concat())
}

/// The beacon of the network.
pub fn named() -> Air {
    beacon(&[&[0, SSID.len() as u8], SSID, &hex(RSN)].concat())
}

/// One 4-way handshake's keys.
pub struct Handshake {
    /// 2 for PSK, 6 for PSK with SHA-256, 8 for SAE.
    akm: u8,
    pub anonce: [u8; 32],
    pub snonce: [u8; 32],
    pub ptk: Vec<u8>,
}

pub fn handshake(passphrase: &str, anonce: u8, snonce: u8) -> Handshake {
    let pmk = kdf::pmk_of_passphrase(passphrase.as_bytes(), SSID);
    let (anonce, snonce) = ([anonce; 32], [snonce; 32]);
    let data = [&AP[..], &STATION, &anonce.min(snonce), &anonce.max(snonce)].concat();
    let ptk = kdf::prf(pmk.as_slice(), b"Pairwise key expansion", &data)[..48].to_vec();
    Handshake { akm: 2, anonce, snonce, ptk }
}

/// A handshake of an AKM that uses SHA-256.
pub fn handshake_sha256(pmk: &[u8; 32], akm: u8) -> Handshake {
    let (anonce, snonce) = ([9; 32], [8; 32]);
    let data = [&AP[..], &STATION, &snonce, &anonce].concat();
    let ptk = kdf::kdf(pmk, b"Pairwise key expansion", &data, 384)[..48].to_vec();
    Handshake { akm, anonce, snonce, ptk }
}

impl Handshake {
    /// Message 1 to 4 of the handshake, or the group key's message as number 5.
    pub fn message(&self, number: u8) -> Air {
        let mut rsn = hex(RSN);
        if let Some(akm) = rsn.get_mut(19) {
            *akm = self.akm;
        }
        let (version, integrity) = match self.akm {
            6 => (3, Integrity::AesCmac),
            8 => (0, Integrity::AesCmac),
            _ => (2, Integrity::HmacSha1),
        };
        let (info, nonce, data) = match number {
            1 => (0x0088, self.anonce, Vec::new()),
            2 => (0x0108, self.snonce, rsn),
            3 => (0x13c8, self.anonce, self.wrapped(GTK)),
            4 => (0x0308, [0; 32], Vec::new()),
            _ => (0x1380, [0; 32], self.wrapped([0x78; 16])),
        };
        let info = info | version;
        let mut pdu = vec![2, 3, 0, 0, 2];
        pdu.extend((info as u16).to_be_bytes());
        pdu.extend([0, 16, 0, 0, 0, 0, 0, 0, 0, number]);
        pdu.extend(nonce);
        pdu.extend([0; 32 + 16]);
        pdu.extend((data.len() as u16).to_be_bytes());
        pdu.extend(data);
        let length = pdu.len() as u16 - 4;
        pdu[2..4].copy_from_slice(&length.to_be_bytes());
        if number > 1 {
            let mic = kdf::mic(integrity, self.ptk[..16].try_into().unwrap(), &pdu);
            pdu[81..97].copy_from_slice(&mic);
        }
        let frame = if number % 2 == 1 { down(STATION) } else { up() };
        (frame, [&eapol::SNAP[..], &pdu].concat())
    }

    fn wrapped(&self, gtk: [u8; 16]) -> Vec<u8> {
        let mut data = [&hex(RSN)[..], &hex("dd16 000fac01 0100"), &gtk].concat();
        data.push(0xdd);
        data.resize(data.len().next_multiple_of(8), 0);
        let mut out = vec![0; data.len() + 8];
        KwAes128::new_from_slice(&self.ptk[16..32]).unwrap().wrap_key(&data, &mut out).unwrap();
        out
    }

    /// A frame under the pairwise key.
    pub fn sealed(&self, frame: Frame, packet: u8, plain: &[u8]) -> Air {
        sealed(&self.ptk[32..48], frame, 0x20, packet, plain)
    }
}

/// A frame under a key of CCMP.
pub fn sealed(key: &[u8], mut frame: Frame, key_id: u8, packet: u8, plain: &[u8]) -> Air {
    frame.control = frame.control.map(|c| c | control::PROTECTED);
    let head = [packet, 0, 0, key_id, 0, 0, 0, 0];
    let body = ccmp::seal(&Aes128::new_from_slice(key).unwrap(), 8, &frame, &head, plain);
    (frame, body)
}

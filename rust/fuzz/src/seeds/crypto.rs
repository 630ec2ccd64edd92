//! A network's keys, and frames encrypted with them.

use aes::cipher::{BlockCipherEncrypt, KeyInit as _};
use aes::Aes128;
use hmac::{Hmac, Mac};
use rc4::{Rc4, StreamCipher};
use sha1::Sha1;

use super::mac_header::header;
use super::{halves, words};

/// The keys as a user gives them.
pub const KEYS: [&str; 3] = [
    "wpa-psk:0707070707070707070707070707070707070707070707070707070707070707",
    "wpa-pwd:password:net",
    "wep:0102030405",
];

const PMK: [u8; 32] = [7; 32];
const WEP: [u8; 5] = [1, 2, 3, 4, 5];
const ANONCE: [u8; 32] = [0xa5; 32];
const SNONCE: [u8; 32] = [0x5a; 32];
/// RSN element: CCMP for group and pair, PSK.
pub const RSN: [u8; 22] = [48, 20, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 2, 0, 0];

fn hmac(key: &[u8], message: &[u8]) -> [u8; 20] {
    let mut mac = Hmac::<Sha1>::new_from_slice(key).expect("HMAC takes any key");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// Confirmation, encryption and temporal key (IEEE 802.11-2020 clause 12.7.1.3).
fn pairwise(ap: [u8; 6], station: [u8; 6]) -> Vec<u8> {
    let data = [&ap.min(station)[..], &ap.max(station), &ANONCE.min(SNONCE), &ANONCE.max(SNONCE)].concat();
    (0..3_u8).flat_map(|i| hmac(&PMK, &[b"Pairwise key expansion", &[0][..], &data, &[i]].concat())).collect()
}

/// The four EAPOL-Key frames of a handshake.
pub fn handshake(ap: [u8; 6], station: [u8; 6]) -> Vec<Vec<u8>> {
    let kck = &pairwise(ap, station)[..16];
    let message = |info: u16, nonce: [u8; 32], data: &[u8], replay: u8| {
        let mut body = vec![2];
        body.extend(halves(true, &[info, 16]));
        body.extend([0, 0, 0, 0, 0, 0, 0, replay]);
        body.extend(nonce);
        body.extend([0; 48]);
        body.extend(halves(true, &[data.len() as u16]));
        body.extend_from_slice(data);
        let mut out = vec![2, 3];
        out.extend(halves(true, &[body.len() as u16]));
        out.extend(body);
        if info & 0x100 != 0 {
            let mic = hmac(kck, &out);
            out[81..97].copy_from_slice(&mic[..16]);
        }
        out
    };
    vec![
        message(0x008a, ANONCE, &[], 1),
        message(0x010a, SNONCE, &RSN, 1),
        message(0x13ca, ANONCE, &[0x11; 56], 2),
        message(0x030a, [0; 32], &[], 2),
    ]
}

/// A data frame from the station, encrypted with CCMP under the handshake's key (clause 12.5.3).
pub fn ccmp(ap: [u8; 6], station: [u8; 6], seq: u16, number: u64, body: &[u8]) -> Vec<u8> {
    let aes = Aes128::new_from_slice(&pairwise(ap, station)[32..48]).expect("16 bytes");
    let block = |b: [u8; 16]| -> [u8; 16] {
        let mut b = b.into();
        aes.encrypt_block(&mut b);
        b.into()
    };
    let mac_header = header(0x4108, ap, station, seq);
    let n = number.to_le_bytes();
    let mut nonce = [0; 13];
    nonce[1..7].copy_from_slice(&station);
    nonce[7..].copy_from_slice(&[n[5], n[4], n[3], n[2], n[1], n[0]]);
    let counter = |flags: u8, i: u16| {
        let mut b = [0; 16];
        b[0] = flags;
        b[1..14].copy_from_slice(&nonce);
        b[14..].copy_from_slice(&i.to_be_bytes());
        b
    };
    let mut aad = vec![0, 22];
    aad.extend(&mac_header[..2]);
    aad.extend(&mac_header[4..22]);
    aad.extend([mac_header[22] & 0x0f, 0]);
    aad.resize(32, 0);
    let mut mac = block(counter(0x59, body.len() as u16));
    let mut padded = aad;
    padded.extend_from_slice(body);
    padded.resize(padded.len().next_multiple_of(16), 0);
    for chunk in padded.chunks(16) {
        mac.iter_mut().zip(chunk).for_each(|(m, c)| *m ^= c);
        mac = block(mac);
    }
    let mut sealed = body.to_vec();
    for (i, chunk) in sealed.chunks_mut(16).enumerate() {
        let key = block(counter(1, i as u16 + 1));
        chunk.iter_mut().zip(key).for_each(|(c, k)| *c ^= k);
    }
    let key = block(counter(1, 0));
    let tag: Vec<u8> = mac.iter().zip(key).take(8).map(|(m, k)| m ^ k).collect();
    [&mac_header[..], &[n[0], n[1], 0, 0x20, n[2], n[3], n[4], n[5]], &sealed, &tag].concat()
}

/// A data frame encrypted with WEP-40 (clause 12.3.2).
pub fn wep(mac_header: &[u8], body: &[u8]) -> Vec<u8> {
    let iv = [3, 2, 1];
    let mut crc = flate2::Crc::new();
    crc.update(body);
    let mut sealed = [body, &words(false, &[crc.sum()])].concat();
    let mut rc4 = Rc4::new_from_slice(&[&iv[..], &WEP].concat()).expect("8 bytes");
    rc4.apply_keystream(&mut sealed);
    [mac_header, &iv, &[0], &sealed].concat()
}

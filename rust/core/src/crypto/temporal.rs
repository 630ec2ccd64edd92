//! Temporal keys: they decrypt frames and keep their key schedule.

use aes::cipher::KeyInit;
use aes::{Aes128, Aes256};
use zeroize::Zeroizing;

use crate::frame::{qos, Frame};

use super::elements::Cipher;
use super::{ccmp, tkip, wep};

/// A pairwise or group temporal key. Its cipher's schedule lies in it, where every frame finds it without another step.
#[allow(clippy::large_enum_variant)]
pub(super) enum TemporalKey {
    Wep(Zeroizing<Vec<u8>>),
    Tkip(tkip::Key),
    Ccmp(Aes128),
    Ccmp256(Aes256),
}

impl TemporalKey {
    /// None for a cipher that is not read, or a key of the wrong length.
    pub fn new(cipher: Cipher, key: &[u8]) -> Option<TemporalKey> {
        match (cipher, key.len()) {
            (Cipher::Wep, 5 | 13) => Some(TemporalKey::Wep(Zeroizing::new(key.to_vec()))),
            (Cipher::Tkip, 32) => key.first_chunk().map(|k| TemporalKey::Tkip(tkip::Key::new(k))),
            (Cipher::Ccmp, 16) => Aes128::new_from_slice(key).ok().map(TemporalKey::Ccmp),
            (Cipher::Ccmp256, 32) => Aes256::new_from_slice(key).ok().map(TemporalKey::Ccmp256),
            _ => None,
        }
    }

    /// Decrypt a frame's body into `out`; whether its integrity check is right. Of a `cut` body the known first bytes
    /// of its payload must come out instead.
    pub fn open(&self, frame: &Frame, body: &[u8], cut: bool, out: &mut Vec<u8>) -> bool {
        let opened = match self {
            TemporalKey::Wep(key) => wep::open(key, body, cut, out),
            TemporalKey::Tkip(key) => frame.address_2.is_some_and(|ta| key.open(&ta, body, cut, out)),
            TemporalKey::Ccmp(cipher) => open_ccmp(frame, |h, out| ccmp::open(cipher, 8, h, body, cut, out), body, out),
            TemporalKey::Ccmp256(cipher) => {
                open_ccmp(frame, |h, out| ccmp::open(cipher, 16, h, body, cut, out), body, out)
            }
        };
        opened && (!cut || looks_open(frame, out))
    }

    /// Bytes of header and trailer around the payload.
    pub fn overhead(&self) -> usize {
        match self {
            TemporalKey::Wep(_) => wep::HEADER + wep::ICV,
            TemporalKey::Tkip(_) => tkip::HEADER + wep::ICV,
            TemporalKey::Ccmp(_) => ccmp::HEADER + 8,
            TemporalKey::Ccmp256(_) => ccmp::HEADER + 16,
        }
    }
}

/// The A-MSDU bit is authenticated only where both stations agreed to it; a frame without the bit is the same.
fn open_ccmp(
    frame: &Frame,
    open: impl Fn(&ccmp::Header, &mut Vec<u8>) -> bool,
    body: &[u8],
    out: &mut Vec<u8>,
) -> bool {
    let amsdu = frame.qos.is_some_and(|q| q & qos::AMSDU != 0);
    let with = |authenticated| ccmp::Header::new(frame, body, authenticated);
    with(false).is_some_and(|h| open(&h, out)) || (amsdu && with(true).is_some_and(|h| open(&h, out)))
}

/// Whether a payload without integrity check begins as LLC with SNAP does, alone or after an A-MSDU subframe header:
/// by chance one in 2^47.
pub(super) fn looks_open(frame: &Frame, payload: &[u8]) -> bool {
    let amsdu = frame.qos.is_some_and(|q| q & qos::AMSDU != 0);
    let at = if amsdu { 14 } else { 0 };
    matches!(payload.get(at..at + 6), Some([0xaa, 0xaa, 3, 0, 0, 0 | 0xf8]))
}

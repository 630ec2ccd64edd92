//! The result of one 4-way handshake: the verified pairwise keys, and the group key in its third message (IEEE
//! 802.11-2020 clauses 12.7.1.3, 12.7.6, 12.7.7).

use aes_kw::{KeyInit, KwAes128};
use rc4::{Rc4, StreamCipher};
use zeroize::Zeroizing;

use crate::frame::Mac;

use super::eapol::KeyFrame;
use super::elements::{Akms, Cipher, Elements, Suites};
use super::kdf::{self, Integrity};
use super::keys::Pmk;
use super::temporal::TemporalKey;

/// A supplicant's message with a MIC: with the authenticator's nonce it verifies a PMK.
pub(super) struct Second {
    snonce: [u8; 32],
    pub mic: [u8; 16],
    /// With a MIC of zeros.
    message: Vec<u8>,
    version: u8,
    pub suites: Option<Suites>,
}

/// The keys of a verified handshake.
pub(super) struct Session {
    pub anonce: [u8; 32],
    pub snonce: [u8; 32],
    kck: Zeroizing<[u8; 16]>,
    kek: Zeroizing<[u8; 16]>,
    integrity: Integrity,
    version: u8,
    group: Cipher,
    pub key: TemporalKey,
}

/// A group key sent to a station.
pub(super) struct Gtk {
    pub id: u8,
    pub cipher: Cipher,
    pub key: Zeroizing<Vec<u8>>,
}

impl Second {
    pub fn new(frame: &KeyFrame<'_>) -> Second {
        Second {
            snonce: frame.nonce,
            mic: frame.mic,
            message: frame.without_mic(),
            version: frame.version(),
            suites: Elements::parse(frame.data).suites,
        }
    }

    /// The session's cipher: as the station chose, else from the version of the key descriptor.
    fn suites_or_default(&self) -> Suites {
        let cipher = if self.version == 1 { Cipher::Tkip } else { Cipher::Ccmp };
        let akms = Akms::of(if self.version == 3 { 6 } else { 2 });
        self.suites.unwrap_or(Suites { group: cipher, pairwise: cipher, akms })
    }
}

/// Key derivation and MIC of an AKM; None for unsupported ones.
fn methods(akm: u8, version: u8) -> Option<(Integrity, bool)> {
    const SHA256: bool = true;
    match (akm, version) {
        (1 | 2, 1) => Some((Integrity::HmacMd5, !SHA256)),
        (1 | 2, 2) => Some((Integrity::HmacSha1, !SHA256)),
        (5 | 6, 3) => Some((Integrity::AesCmac, SHA256)),
        // SAE, with the PMK of its session.
        (8, 0) => Some((Integrity::AesCmac, SHA256)),
        _ => None,
    }
}

impl Session {
    /// The session of a PMK, if this PMK is the one behind the message.
    pub fn verified(pmk: &Pmk, aa: &Mac, spa: &Mac, anonce: &[u8; 32], second: &Second) -> Option<Session> {
        const LABEL: &[u8] = b"Pairwise key expansion";
        let suites = second.suites_or_default();
        let (integrity, sha256) = methods(suites.akms.single()?, second.version)?;
        let snonce = &second.snonce;
        let data = [&aa.min(spa)[..], &aa.max(spa)[..], &anonce.min(snonce)[..], &anonce.max(snonce)[..]].concat();
        let key_bytes = match suites.pairwise {
            Cipher::Tkip | Cipher::Ccmp256 => 32,
            _ => 16,
        };
        let ptk = if sha256 {
            kdf::kdf(pmk.as_slice(), LABEL, &data, (32 + key_bytes as u16) * 8)
        } else {
            kdf::prf(pmk.as_slice(), LABEL, &data)
        };
        let kck = Zeroizing::new(*ptk.first_chunk::<16>()?);
        if kdf::mic(integrity, &kck, &second.message) != second.mic {
            return None;
        }
        Some(Session {
            anonce: *anonce,
            snonce: *snonce,
            kck,
            kek: Zeroizing::new(*ptk[16..].first_chunk::<16>()?),
            integrity,
            version: second.version,
            group: suites.group,
            key: TemporalKey::new(suites.pairwise, &ptk[32..32 + key_bytes])?,
        })
    }

    /// The group key in a message of the authenticator, if this session verifies the message.
    pub fn group_key(&self, frame: &KeyFrame<'_>) -> Option<Gtk> {
        if !frame.encrypted_data() || kdf::mic(self.integrity, &self.kck, &frame.without_mic()) != frame.mic {
            return None;
        }
        let data = self.unwrap(frame)?;
        if frame.wpa {
            let key = data.get(..usize::from(frame.key_bytes))?;
            return Some(Gtk { id: frame.wpa_key_id(), cipher: self.group, key: Zeroizing::new(key.to_vec()) });
        }
        let (id, key) = gtk_kde(&data)?;
        Some(Gtk { id, cipher: self.group, key: Zeroizing::new(key.to_vec()) })
    }

    /// Decrypted key data (clause 12.7.2, item j): RC4 after its first 256 bytes, or AES key wrap.
    fn unwrap(&self, frame: &KeyFrame<'_>) -> Option<Zeroizing<Vec<u8>>> {
        const DISCARDED: usize = 256;
        let mut data = Zeroizing::new(vec![0; DISCARDED]);
        if self.version == 1 {
            let mut key = Zeroizing::new([0; 32]);
            key[..16].copy_from_slice(&frame.iv);
            key[16..].copy_from_slice(self.kek.as_slice());
            data.extend_from_slice(frame.data);
            Rc4::new_from_slice(key.as_slice()).ok()?.apply_keystream(&mut data);
            data.drain(..DISCARDED);
            return Some(data);
        }
        const LEAST: usize = 24;
        if frame.data.len() < LEAST {
            return None;
        }
        data.resize(frame.data.len(), 0);
        let wrap = KwAes128::new_from_slice(self.kek.as_slice()).ok()?;
        let length = wrap.unwrap_key(frame.data, &mut data).ok()?.len();
        data.truncate(length);
        Some(data)
    }
}

/// Identifier and key of the GTK KDE in key data (clause 12.7.2, Figure 12-37).
fn gtk_kde(mut rest: &[u8]) -> Option<(u8, &[u8])> {
    const GTK: [u8; 4] = [0x00, 0x0f, 0xac, 1];
    while let [kind, length, behind @ ..] = rest {
        let value = behind.get(..usize::from(*length))?;
        if let (0xdd, Some([id, _, key @ ..])) = (*kind, value.strip_prefix(&GTK)) {
            return Some((id & 3, key));
        }
        rest = &behind[value.len()..];
    }
    None
}

//! PMKs of passphrases: derived when a handshake asks for them, and once.

use rustc_hash::FxHashMap;
use zeroize::Zeroize;

use crate::limits;

use super::kdf::pmk_of_passphrase;
use super::keys::{Key, Keys, Pmk};

/// What may fit a handshake.
#[derive(Default)]
pub(super) struct Candidates {
    pub pmks: Vec<Pmk>,
    /// A key was given that may be meant for this network: not one with another network's name.
    pub meant: bool,
    /// A passphrase was given, but the network's name is not known.
    pub nameless: bool,
}

#[derive(Default)]
pub(super) struct Pmks {
    /// By the key's place in the list and the network's name.
    derived: FxHashMap<(usize, Vec<u8>), Pmk>,
    /// A derivation was refused.
    pub capped: bool,
}

impl Pmks {
    /// The PMKs that the handshake of a network may have come from. `own` are the names by which it was heard; without
    /// one, it hides its name, which may be among those heard of `others`. A key for another name is tried all the same.
    pub fn candidates(&mut self, keys: &Keys, own: &[Vec<u8>], others: &[Vec<u8>]) -> Candidates {
        let names = if own.is_empty() { others } else { own };
        let mut out = Candidates::default();
        for (i, key) in keys.list.iter().enumerate() {
            match key {
                Key::Wep(_) => {}
                Key::Pmk(pmk) => {
                    out.pmks.push(pmk.clone());
                    out.meant = true;
                }
                Key::Passphrase { passphrase, ssid: Some(ssid) } => {
                    out.pmks.extend(self.derive(i, passphrase, ssid));
                    out.meant |= own.is_empty() || own.contains(ssid);
                }
                Key::Passphrase { passphrase, ssid: None } => {
                    out.pmks.extend(names.iter().filter_map(|ssid| self.derive(i, passphrase, ssid)));
                    out.meant = true;
                    out.nameless |= names.is_empty();
                }
            }
        }
        out
    }

    fn derive(&mut self, index: usize, passphrase: &[u8], ssid: &[u8]) -> Option<Pmk> {
        let at = (index, ssid.to_vec());
        if let Some(pmk) = self.derived.get(&at) {
            return Some(pmk.clone());
        }
        if self.derived.len() >= limits::PMKS {
            self.capped = true;
            return None;
        }
        let pmk = pmk_of_passphrase(passphrase, ssid);
        self.derived.insert(at, pmk.clone());
        Some(pmk)
    }
}

impl Drop for Pmks {
    fn drop(&mut self) {
        self.derived.values_mut().for_each(Zeroize::zeroize);
    }
}

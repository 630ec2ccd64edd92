//! PMKs of passphrases: derived once, when a handshake needs them.

use rustc_hash::FxHashMap;
use zeroize::Zeroize;

use crate::limits;

use super::kdf::pmk_of_passphrase;
use super::keys::{Key, Keys, Pmk};

/// The PMKs that can match a handshake.
#[derive(Default)]
pub(super) struct Candidates {
    pub pmks: Vec<Pmk>,
    /// A given key may be for this network: it has no other network's name.
    pub meant: bool,
    /// A passphrase was given, but the network's name is unknown.
    pub nameless: bool,
}

#[derive(Default)]
pub(super) struct Pmks {
    /// By the key's place in the list and the network's name.
    derived: FxHashMap<(usize, Vec<u8>), Pmk>,
    /// The limit of derivations was reached.
    pub capped: bool,
}

impl Pmks {
    /// The PMKs that can match the handshake of a network. `own` are its captured names; a network without one hides its
    /// name, which may be among the names of `others`. A key with another name is still tried.
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

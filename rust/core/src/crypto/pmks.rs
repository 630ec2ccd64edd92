//! PMKs of passphrases: derived when a handshake asks for them, and once.

use rustc_hash::FxHashMap;
use zeroize::Zeroize;

use crate::limits;

use super::kdf::pmk_of_passphrase;
use super::keys::{Key, Keys, Pmk};

#[derive(Default)]
pub(super) struct Pmks {
    /// By the key's place in the list and the network's name.
    derived: FxHashMap<(usize, Vec<u8>), Pmk>,
    /// A derivation was refused.
    pub capped: bool,
}

impl Pmks {
    /// The PMKs that the handshake of a network with one of these names may have come from; nothing is known of a
    /// passphrase without a name.
    pub fn candidates<'a>(&mut self, keys: &Keys, names: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<Pmk> {
        let mut out = Vec::new();
        for (i, key) in keys.list.iter().enumerate() {
            match key {
                Key::Wep(_) => {}
                Key::Pmk(pmk) => out.push(pmk.clone()),
                Key::Passphrase { passphrase, ssid: Some(ssid) } => out.extend(self.derive(i, passphrase, ssid)),
                Key::Passphrase { passphrase, ssid: None } => {
                    out.extend(names.clone().filter_map(|ssid| self.derive(i, passphrase, ssid)));
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

//! Whose TCP checksums are computed where the capture was taken, by the packets so far.

use rustc_hash::FxHashMap;

use crate::limits;
use crate::packet::Addr;

/// Random numbers of 16 bits match three times with probability 2^-48, and then in one packet of 65536.
const ENOUGH: u32 = 3;
/// Right ones for each wrong one. A path that damages more packets carries no TCP; captures in which more are wrong were edited,
/// merged, or mirrored before the adapter computed them.
const MANY: u32 = 4;
/// Both counts are halved when one reaches this.
const MOST: u32 = 1 << 16;

/// Checksums of one sender's packets so far, in one class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Class {
    right: u32,
    wrong: u32,
}

impl Class {
    /// Take one packet in; whether a wrong checksum would show damage.
    pub fn observe(&mut self, right: bool) -> bool {
        if right {
            self.right += 1;
        } else {
            self.wrong += 1;
        }
        if self.right.max(self.wrong) >= MOST {
            (self.right, self.wrong) = (self.right / 2, self.wrong / 2);
        }
        self.right >= ENOUGH && self.right >= MANY * self.wrong
    }
}

/// What is known of the checksums of each sender at each interface.
#[derive(Debug, Default)]
pub(super) struct Checksums {
    /// Without payload; with payload (anonymised captures change it); larger than a link carries (merged packets).
    senders: FxHashMap<(u32, Addr), [Class; 3]>,
}

impl Checksums {
    /// None: there are too many senders to follow this one.
    pub fn class(&mut self, interface: u32, source: Addr, class: usize) -> Option<&mut Class> {
        let key = (interface, source);
        if self.senders.len() >= limits::CHECKED_SENDERS && !self.senders.contains_key(&key) {
            return None;
        }
        self.senders.entry(key).or_default().get_mut(class)
    }
}

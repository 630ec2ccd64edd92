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

/// Recent senders are found without hashing.
const RECENT: usize = 16;

/// A sender at an interface.
type Sender = (u32, Addr);

/// What is known of the checksums of each sender at each interface.
#[derive(Debug, Default)]
pub(super) struct Checksums {
    /// Where each sender's classes are.
    senders: FxHashMap<Sender, usize>,
    /// Without payload; with payload (anonymised captures change it); larger than a link carries (merged packets).
    classes: Vec<[Class; 3]>,
    recent: [Option<(Sender, usize)>; RECENT],
}

impl Checksums {
    /// None: there are too many senders to follow this one.
    #[inline]
    pub fn class(&mut self, interface: u32, source: Addr, class: usize) -> Option<&mut Class> {
        let sender = (interface, source);
        let slot = source.bits as usize % RECENT;
        let at = match self.recent[slot] {
            Some((s, at)) if s == sender => at,
            _ => {
                let at = self.find(sender)?;
                self.recent[slot] = Some((sender, at));
                at
            }
        };
        self.classes.get_mut(at)?.get_mut(class)
    }

    #[inline(never)]
    fn find(&mut self, sender: Sender) -> Option<usize> {
        if let Some(at) = self.senders.get(&sender) {
            return Some(*at);
        }
        let at = self.classes.len();
        if at >= limits::CHECKED_SENDERS {
            return None;
        }
        self.classes.push(Default::default());
        self.senders.insert(sender, at);
        Some(at)
    }
}

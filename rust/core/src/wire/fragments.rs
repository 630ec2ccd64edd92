//! MSDUs reassembled from their fragments (IEEE 802.11-2020 clause 10.5).
//!
//! Fragments of one MSDU come in order from one transmitter, numbered from 0. Open and encrypted ones are never
//! joined with each other: that would let an attacker's fragment into an encrypted MSDU.

use crate::frame::{control, Frame, Mac};
use crate::limits;

/// The result of adding a fragment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// The next one is expected.
    Waiting,
    /// This one is a duplicate.
    Again,
    /// The last one: the complete MSDU.
    Whole(Vec<u8>),
    /// An earlier one is missing: the part before the gap, unless the gap is at the start.
    Gap(Option<Vec<u8>>),
}

#[derive(Debug, Default)]
pub(super) struct Fragments {
    slots: Vec<Slot>,
    /// Counts fragments, to find the slot that was idle longest.
    clock: u64,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct Key {
    ra: Mac,
    ta: Mac,
    seq: u16,
    tid: Option<u8>,
    protected: bool,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    /// Number of the expected fragment.
    next: u8,
    data: Vec<u8>,
    /// The MSDU was emitted, or a gap was found.
    done: bool,
    began_ns: Option<i64>,
    used: u64,
}

impl Fragments {
    /// A fragment's payload; None if the frame's header was not captured far enough.
    pub fn join(&mut self, frame: &Frame, payload: &[u8]) -> Option<Joined> {
        let number = frame.fragment()?;
        let key = Key {
            ra: frame.address_1?,
            ta: frame.address_2?,
            seq: frame.seq()?,
            tid: frame.tid(),
            protected: frame.has(control::PROTECTED),
        };
        self.clock = self.clock.saturating_add(1);
        let at = self.slots.iter().position(|s| s.key == key).filter(|at| {
            let fresh = !outlived(self.slots[*at].began_ns, frame.time_ns);
            // A first fragment that is not a retransmission begins another MSDU.
            fresh && (number > 0 || frame.retry())
        });
        let Some(at) = at else {
            return Some(self.begin(key, number, frame, payload));
        };
        let slot = &mut self.slots[at];
        slot.used = self.clock;
        if slot.done || number < slot.next {
            return Some(Joined::Again);
        }
        let fits = slot.data.len() + payload.len() <= limits::MSDU_BYTES;
        if number > slot.next || !fits {
            slot.done = true;
            return Some(Joined::Gap(Some(std::mem::take(&mut slot.data))));
        }
        slot.data.extend_from_slice(payload);
        slot.next += 1;
        if frame.has(control::MORE_FRAGMENTS) {
            return Some(Joined::Waiting);
        }
        slot.done = true;
        Some(Joined::Whole(std::mem::take(&mut slot.data)))
    }

    fn begin(&mut self, key: Key, number: u8, frame: &Frame, payload: &[u8]) -> Joined {
        let gap = number > 0 || payload.len() > limits::MSDU_BYTES;
        let slot = Slot {
            key,
            next: 1,
            data: if gap { Vec::new() } else { payload.to_vec() },
            done: gap,
            began_ns: frame.time_ns,
            used: self.clock,
        };
        let same = self.slots.iter().position(|s| s.key == key);
        match same.or_else(|| self.oldest()) {
            Some(at) => self.slots[at] = slot,
            None => self.slots.push(slot),
        }
        if gap {
            Joined::Gap(None)
        } else {
            Joined::Waiting
        }
    }

    /// The slot to reuse when all are in use.
    fn oldest(&self) -> Option<usize> {
        if self.slots.len() < limits::FRAGMENTED_MSDUS {
            return None;
        }
        (0..self.slots.len()).min_by_key(|at| self.slots[*at].used)
    }

    /// MSDUs with a fragment still missing.
    pub fn unfinished(&self) -> u64 {
        self.slots.iter().filter(|s| !s.done).count() as u64
    }
}

fn outlived(began_ns: Option<i64>, now_ns: Option<i64>) -> bool {
    match (began_ns, now_ns) {
        (Some(began), Some(now)) => now.saturating_sub(began) > limits::FRAGMENT_LIFE_NS,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(seq: u16, number: u16, more: bool) -> Frame {
        let control = control::DATA | if more { control::MORE_FRAGMENTS } else { 0 };
        Frame {
            control: Some(control),
            address_1: Some([1; 6]),
            address_2: Some([2; 6]),
            seq_ctl: Some(seq << 4 | number),
            time_ns: Some(0),
            ..Frame::default()
        }
    }

    fn retry(frame: Frame) -> Frame {
        Frame { control: frame.control.map(|c| c | control::RETRY), ..frame }
    }

    #[test]
    fn three_fragments_and_their_retransmissions() {
        let mut f = Fragments::default();
        assert_eq!(f.join(&fragment(7, 0, true), b"ab"), Some(Joined::Waiting));
        assert_eq!(f.join(&retry(fragment(7, 0, true)), b"ab"), Some(Joined::Again));
        assert_eq!(f.join(&fragment(7, 1, true), b"cd"), Some(Joined::Waiting));
        assert_eq!(f.unfinished(), 1);
        assert_eq!(f.join(&fragment(7, 2, false), b"e"), Some(Joined::Whole(b"abcde".to_vec())));
        assert_eq!(f.join(&retry(fragment(7, 2, false)), b"e"), Some(Joined::Again));
        assert_eq!(f.unfinished(), 0);
        // The sequence number wraps.
        assert_eq!(f.join(&fragment(7, 0, true), b"x"), Some(Joined::Waiting));
        assert_eq!(f.join(&fragment(7, 1, false), b"y"), Some(Joined::Whole(b"xy".to_vec())));
    }

    #[test]
    fn gaps() {
        let mut f = Fragments::default();
        assert_eq!(f.join(&fragment(7, 1, true), b"cd"), Some(Joined::Gap(None)));
        assert_eq!(f.join(&fragment(7, 2, false), b"cd"), Some(Joined::Again));
        f.join(&fragment(8, 0, true), b"ab");
        assert_eq!(f.join(&fragment(8, 2, false), b"e"), Some(Joined::Gap(Some(b"ab".to_vec()))));
        f.join(&fragment(9, 0, true), b"ab");
        let late = Frame { time_ns: Some(limits::FRAGMENT_LIFE_NS + 1), ..fragment(9, 1, false) };
        assert_eq!(f.join(&late, b"c"), Some(Joined::Gap(None)));
        // An encrypted fragment never completes an open MSDU.
        f.join(&fragment(10, 0, true), b"ab");
        let mut sealed = fragment(10, 1, false);
        sealed.control = sealed.control.map(|c| c | control::PROTECTED);
        assert_eq!(f.join(&sealed, b"c"), Some(Joined::Gap(None)));
        assert_eq!(f.join(&Frame::default(), b""), None);
    }

    #[test]
    fn bounds() {
        let mut f = Fragments::default();
        for seq in 0..4096 {
            f.join(&fragment(seq, 0, true), b"ab");
        }
        assert_eq!(f.slots.len(), limits::FRAGMENTED_MSDUS);
        assert_eq!(f.join(&fragment(4095, 1, true), &[0; limits::MSDU_BYTES]), Some(Joined::Gap(Some(b"ab".to_vec()))));
        assert_eq!(f.join(&fragment(0, 0, true), &[0; limits::MSDU_BYTES + 1]), Some(Joined::Gap(None)));
    }
}

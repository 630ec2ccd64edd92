//! The sender's scoreboard: outstanding segments and the state of each (RFC 6675).

use std::collections::VecDeque;

use crate::engine::Ns;

/// One segment that was sent and is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub start: u64,
    pub end: u64,
    pub len: u32,
    pub syn: bool,
    pub fin: bool,
    pub first_sent: Ns,
    pub last_sent: Ns,
    pub copies: u16,
    pub sacked: bool,
    /// Treated as lost: its copies before the current one, if any, have left the network.
    pub lost: bool,
    /// A retransmission of it is in flight.
    pub retransmitted: bool,
    /// End of the data sent before that retransmission.
    pub next_then: u64,
    /// The application's push flag.
    pub psh: bool,
}

/// The segments between `una` and `next`, in order.
#[derive(Debug, Default)]
pub struct Scoreboard {
    entries: VecDeque<Entry>,
    pub sacked: u32,
    pub lost: u32,
    pub retransmitted: u32,
}

/// The segments that an ACK removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acked {
    pub segments: u32,
    /// Of these, not selectively acknowledged before.
    pub fresh: u32,
    /// Send time of the oldest that was sent only once.
    pub oldest_once: Option<Ns>,
    /// One of them had been retransmitted.
    pub retransmitted: bool,
    /// One that was never retransmitted and never SACKed was among them; where it ends.
    pub original: Option<u64>,
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    pub fn push(&mut self, e: Entry) {
        self.entries.push_back(e);
    }

    pub fn first(&self) -> Option<&Entry> {
        self.entries.front()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Segments assumed to be in the network (RFC 6675's pipe).
    pub fn pipe(&self) -> u32 {
        (self.len() + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    /// Remove the segments entirely below `ack`.
    pub fn acked(&mut self, ack: u64) -> Acked {
        let mut a = Acked::default();
        while let Some(e) = self.entries.front().filter(|e| e.end <= ack) {
            a.segments += 1;
            a.retransmitted |= e.copies > 1;
            if e.copies == 1 && !e.sacked {
                a.original = a.original.or(Some(e.end));
                a.oldest_once = a.oldest_once.or(Some(e.first_sent));
            }
            a.fresh += u32::from(!e.sacked);
            self.sacked -= u32::from(e.sacked);
            self.lost -= u32::from(e.lost);
            self.retransmitted -= u32::from(e.retransmitted);
            self.entries.pop_front();
        }
        a
    }

    /// Mark the segments in a SACK block; returns how many are new, and whether one of them, up to `high`, was sent only once.
    pub fn sack(&mut self, left: u64, right: u64, high: u64) -> (u32, bool) {
        let (mut newly_sacked, mut original) = (0, false);
        for e in self.entries.iter_mut().filter(|e| left <= e.start && e.end <= right && !e.sacked) {
            e.sacked = true;
            self.sacked += 1;
            original |= e.copies == 1 && e.end <= high;
            self.lost -= u32::from(std::mem::take(&mut e.lost));
            self.retransmitted -= u32::from(std::mem::take(&mut e.retransmitted));
            newly_sacked += 1;
        }
        (newly_sacked, original)
    }

    /// Mark as lost every segment below `end` that the predicate selects and that is neither SACKed nor lost.
    pub fn mark_lost(&mut self, end: u64, mut is: impl FnMut(&Entry) -> bool) -> u32 {
        let mut newly_sacked = 0;
        for e in self.entries.iter_mut().take_while(|e| e.start < end).filter(|e| !e.sacked && !e.lost) {
            if is(e) {
                e.lost = true;
                self.lost += 1;
                newly_sacked += 1;
            }
        }
        newly_sacked
    }

    /// After a timeout: everything not SACKed is lost, retransmissions too. `forget_sack`: SACKs no longer count.
    pub fn all_lost(&mut self, forget_sack: bool) {
        for e in &mut self.entries {
            e.sacked &= !forget_sack;
            e.retransmitted = false;
            e.lost = !e.sacked;
        }
        self.recount();
    }

    /// A timeout or recovery was spurious: nothing is lost.
    pub fn clear_lost(&mut self) {
        self.entries.iter_mut().for_each(|e| e.lost = false);
        self.lost = 0;
    }

    fn recount(&mut self) {
        let count = |f: fn(&Entry) -> bool| self.entries.iter().filter(|e| f(e)).count() as u32;
        (self.sacked, self.lost, self.retransmitted) =
            (count(|e| e.sacked), count(|e| e.lost), count(|e| e.retransmitted));
    }

    /// The first segment that is treated as lost and not yet retransmitted.
    pub fn next_lost(&self) -> Option<&Entry> {
        if self.retransmitted >= self.lost {
            return None;
        }
        self.entries.iter().find(|e| e.lost && !e.retransmitted)
    }

    /// Record the retransmission of the segment that begins at `start`.
    pub fn retransmit(&mut self, start: u64, now: Ns, next: u64) -> Option<Entry> {
        let at = self.entries.partition_point(|e| e.start < start);
        let e = self.entries.get_mut(at).filter(|e| e.start == start)?;
        e.copies = e.copies.saturating_add(1);
        (e.last_sent, e.next_then) = (now, next);
        self.retransmitted += u32::from(!std::mem::replace(&mut e.retransmitted, true));
        Some(*e)
    }

    /// A SACK block that ends at `right` shows data sent after a retransmission above `una`: that one is lost, and every other
    /// that was sent `margin` bytes or more before.
    pub fn lost_again(&mut self, una: u64, right: u64, margin: u64) {
        for e in self.entries.iter_mut().take_while(|e| e.start < right) {
            if e.end > una && e.retransmitted && right > e.next_then && right >= e.next_then + margin {
                e.retransmitted = false;
                self.retransmitted -= 1;
                self.lost += u32::from(!std::mem::replace(&mut e.lost, true));
            }
        }
    }

    /// The first segment below the highest SACK that is neither SACKed nor treated as lost nor retransmitted.
    pub fn first_unmarked(&self) -> Option<&Entry> {
        let end = self.sacked_end()?;
        self.entries.iter().take_while(|e| e.start < end).find(|e| !e.sacked && !e.lost && !e.retransmitted)
    }

    /// Number of segments up to the highest SACK (Linux's fackets_out).
    pub fn segments_to_highest_sack(&self) -> u32 {
        self.entries.iter().rposition(|e| self.sacked > 0 && e.sacked).map_or(0, |at| at as u32 + 1)
    }

    /// Highest SACKed byte.
    pub fn sacked_end(&self) -> Option<u64> {
        if self.sacked == 0 {
            return None;
        }
        self.entries.iter().rev().find(|e| e.sacked).map(|e| e.end)
    }
}

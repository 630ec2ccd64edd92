//! The scoreboard: outstanding segments, between the highest ACK and the highest sequence number sent.

use std::collections::VecDeque;

use crate::limits;

/// Unit of the time at which an ACK passed: 2^16 ns, so that 32 bits last three days.
pub const PASSED_SHIFT: u32 = 16;

/// A run of bytes sent together. Runs never overlap and are sorted by `start`.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub start: i64,
    pub end: i64,
    /// First and latest time that TCP sent it, as captured.
    pub t_first: i64,
    pub t_last: i64,
    pub tsval_first: u32,
    pub tsval_last: u32,
    pub ip_id: u32,
    /// Position of the latest copy in sending order by the IP id, 0 for none. Of a hole: of the packet after it.
    pub order: u32,
    /// A later echo of this TSval shows that an ACK of these bytes reached the sender; 0 for none. Without timestamps: when that ACK passed,
    /// in units of 2^16 ns.
    pub acked_echo: u32,
    /// The packet of that ACK, modulo 2^32.
    pub acked_by: u32,
    /// Number of transmissions by TCP (1: once), including known copies that never passed the tap.
    pub copies: u16,
    /// Not captured: a hole below captured bytes.
    pub unseen: bool,
    /// Captured from a retransmission on.
    pub first_missing: bool,
    pub sacked: bool,
    /// Several runs merged by the limit: the times are those of the first.
    pub merged: bool,
    /// A SYN or FIN occupies the last sequence number.
    pub control: bool,
}

impl Run {
    /// Bytes sent once, at `t`.
    pub fn once(start: i64, end: i64, t: i64) -> Run {
        Run {
            start,
            end,
            t_first: t,
            t_last: t,
            tsval_first: 0,
            tsval_last: 0,
            ip_id: 0,
            order: 0,
            acked_echo: 0,
            acked_by: 0,
            copies: 1,
            unseen: false,
            first_missing: false,
            sacked: false,
            merged: false,
            control: false,
        }
    }
}

impl Run {
    /// The same is known of both.
    fn is_like(&self, other: &Run) -> bool {
        let known = |r: &Run| (r.unseen, r.first_missing, r.copies, r.sacked, r.control);
        known(self) == known(other)
    }
}

/// Runs that are compared to find two alike.
const MERGE_SCAN: usize = 256;

/// The runs outstanding in one direction.
#[derive(Debug, Default)]
pub struct Scoreboard {
    runs: VecDeque<Run>,
    /// Where two were last merged.
    merged_at: usize,
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The left edge.
    pub fn front(&self) -> Option<&Run> {
        self.runs.front()
    }

    pub fn push(&mut self, run: Run) {
        self.runs.push_back(run);
        if self.runs.len() > limits::RUNS_PER_DIRECTION {
            self.merge();
        }
    }

    /// Bytes below all others, of which an ACK shows that they are outstanding. They are marked like the lowest run.
    pub fn push_front(&mut self, start: i64, end: i64) {
        if let Some(&lowest) = self.runs.front() {
            self.runs.push_front(Run { start, end, unseen: true, copies: 1, sacked: false, control: false, ..lowest });
        }
    }

    /// Stay within the limit by merging two runs that are alike, near those merged before, else the two oldest.
    fn merge(&mut self) {
        let last = self.runs.len() - 1;
        let from = if self.merged_at < last { self.merged_at.max(1) } else { 1 };
        let alike = |i: &usize| self.runs[i - 1].is_like(&self.runs[*i]);
        let found = (from..=last).take(MERGE_SCAN).find(alike);
        self.merged_at = found.unwrap_or(from + MERGE_SCAN);
        let second = found.unwrap_or(1);
        if let (Some(b), Some(a)) = (self.runs.remove(second), self.runs.get_mut(second - 1)) {
            (a.end, a.t_last, a.merged) = (b.end, a.t_last.max(b.t_last), true);
            (a.unseen, a.sacked) = (a.unseen && b.unseen, a.sacked && b.sacked);
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Index of the first run that ends after `pos`.
    fn at(&self, pos: i64) -> usize {
        self.runs.partition_point(|r| r.end <= pos)
    }

    /// Make `pos` a border between runs.
    fn split(&mut self, pos: i64) {
        let i = self.at(pos);
        if let Some(r) = self.runs.get_mut(i) {
            if r.start < pos {
                let right = Run { start: pos, ..*r };
                r.end = pos;
                r.control = false;
                self.runs.insert(i + 1, right);
            }
        }
    }

    /// The runs that overlap [start, end), borders made where the range cuts one.
    pub fn range_mut(&mut self, start: i64, end: i64) -> impl Iterator<Item = &mut Run> {
        while self.runs.len() + 2 > limits::RUNS_PER_DIRECTION {
            self.merge();
        }
        self.split(start);
        self.split(end);
        let (a, b) = (self.at(start), self.runs.partition_point(|r| r.start < end));
        self.runs.range_mut(a.min(b)..b)
    }

    pub fn range(&self, start: i64, end: i64) -> impl Iterator<Item = &Run> {
        let (a, b) = (self.at(start), self.runs.partition_point(|r| r.start < end));
        self.runs.range(a.min(b)..b)
    }

    /// Remove the runs that an ACK up to `ack` covers and pass them to `each`; a run covered in part keeps its rest.
    pub fn acked(&mut self, ack: i64, mut each: impl FnMut(&Run)) {
        while let Some(r) = self.runs.front_mut() {
            if r.end <= ack {
                each(r);
                self.runs.pop_front();
            } else {
                if r.start < ack {
                    each(&Run { end: ack, ..*r });
                    r.start = ack;
                }
                break;
            }
        }
    }

    /// Merge everything to one run: for connections that are idle for long.
    pub fn compact(&mut self) {
        while self.runs.len() > 1 {
            self.merge();
        }
        // Allocate a new small block, so that the next connection can use the whole old one.
        self.runs = VecDeque::from_iter(self.runs.pop_front());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_limit_runs_that_are_alike_are_merged() {
        let mut board = Scoreboard::default();
        let count = limits::RUNS_PER_DIRECTION as i64;
        // Each tenth of the first segments is retransmitted; after that, more segments than the limit are outstanding.
        for n in 0..count {
            board.push(Run::once(n * 10, n * 10 + 10, n));
        }
        for n in (0..1000).step_by(10) {
            board.range_mut(n * 10, n * 10 + 10).for_each(|r| r.copies += 1);
        }
        for n in count..2 * count {
            board.push(Run::once(n * 10, n * 10 + 10, n));
        }
        assert!(board.len() <= limits::RUNS_PER_DIRECTION);
        for n in 0..1000 {
            let copies: Vec<_> = board.range(n * 10, n * 10 + 10).map(|r| r.copies).collect();
            assert_eq!(copies, [if n % 10 == 0 { 2 } else { 1 }]);
        }
    }
}

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

/// The runs outstanding in one direction.
#[derive(Debug, Default)]
pub struct Scoreboard {
    runs: VecDeque<Run>,
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
            self.merge_front();
        }
    }

    /// Bytes below all others, of which an ACK shows that they are outstanding. They are marked like the lowest run.
    pub fn push_front(&mut self, start: i64, end: i64) {
        if let Some(&lowest) = self.runs.front() {
            self.runs.push_front(Run { start, end, unseen: true, copies: 1, sacked: false, control: false, ..lowest });
        }
    }

    /// Stay within the limit by merging the two oldest runs.
    fn merge_front(&mut self) {
        if let (Some(a), Some(b)) = (self.runs.pop_front(), self.runs.pop_front()) {
            self.runs.push_front(Run {
                end: b.end,
                t_last: a.t_last.max(b.t_last),
                unseen: a.unseen && b.unseen,
                sacked: a.sacked && b.sacked,
                merged: true,
                ..a
            });
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
            if r.start < pos && !r.merged {
                let right = Run { start: pos, ..*r };
                r.end = pos;
                r.control = false;
                self.runs.insert(i + 1, right);
            }
        }
    }

    /// The runs that overlap [start, end), borders made where the range cuts one.
    pub fn range_mut(&mut self, start: i64, end: i64) -> impl Iterator<Item = &mut Run> {
        if self.runs.len() + 2 <= limits::RUNS_PER_DIRECTION {
            self.split(start);
            self.split(end);
        }
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
            self.merge_front();
        }
        // Allocate a new small block, so that the next connection can use the whole old one.
        self.runs = VecDeque::from_iter(self.runs.pop_front());
    }
}

//! Packets that two captures have in common.
//!
//! Both captures are read twice. First a bounded sample shows what they have in common (`sample`), then windows of rows
//! are joined by hashes of the fields that no router changes (`row`, `window`, `join`): each copy of a retransmission with its
//! own, by IP ID or by order (`copies`), super-segments and fragments with their parts (`parts`). Never by time alone.

mod buckets;
mod copies;
mod hash;
mod join;
pub mod order;
mod pair;
mod parts;
mod reach;
mod row;
mod sample;
mod window;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;

pub use pair::{to_batch, Kind, Pair, PairRows, KINDS, PAIRS};
pub use row::{BadColumn, Of, Row};
pub use sample::{Common, Outlook};

use crate::limits;
use reach::Reach;
use sample::Sample;
use window::Window;

/// The first or the second capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    A,
    B,
}

/// The rows held of one capture.
#[derive(Debug, Default)]
struct Held {
    rows: Vec<Row>,
    /// Number of the next row.
    next: u64,
    ended: bool,
}

impl Held {
    /// Number of the first row held.
    fn first(&self) -> u64 {
        self.next - self.rows.len() as u64
    }

    /// Index of a row; the first for a row already dropped, the end for a row not yet read.
    fn place(&self, row: u64) -> usize {
        usize::try_from(row.saturating_sub(self.first())).unwrap_or(usize::MAX).min(self.rows.len())
    }

    fn forget(&mut self, before: u64) {
        let place = self.place(before);
        self.rows.drain(..place);
    }

    fn has(&self, row: u64) -> bool {
        self.ended || self.next >= row
    }
}

/// The time of rows before the first with a time in their batch.
const UNTIMED: i64 = i64::MIN;

/// Reads batches for the second reading.
pub struct Reading {
    of: Of,
    shifts: Arc<row::Shifts>,
}

/// The rows of a batch, by their places in it.
pub struct ReadRows(Vec<Row>);

impl Reading {
    /// The rows of a batch of `packets`.
    pub fn read(&self, batch: &RecordBatch) -> Result<ReadRows, BadColumn> {
        let mut rows = Vec::with_capacity(batch.num_rows());
        row::read(batch, 0, UNTIMED, self.of, &self.shifts, |row, _| rows.push(row))?;
        Ok(ReadRows(rows))
    }
}

/// Pairs the packets of two captures.
pub struct Pairing {
    of: Of,
    samples: [Sample; 2],
    outlook: Outlook,
    reach: Option<Reach>,
    held: [Held; 2],
    taken: VecDeque<bool>,
    /// The next row of a to pair.
    at: u64,
    pub clipped: u64,
}

impl Pairing {
    pub fn new(of: Of) -> Pairing {
        Pairing {
            of,
            samples: Default::default(),
            outlook: Outlook::default(),
            reach: None,
            held: Default::default(),
            taken: VecDeque::new(),
            at: 0,
            clipped: 0,
        }
    }

    /// First reading: a batch of `packets`.
    pub fn sample(&mut self, side: Side, batch: &RecordBatch) -> Result<(), BadColumn> {
        let sample = &mut self.samples[side as usize];
        row::read(batch, sample.rows, 0, self.of, &row::Shifts::default(), |row, more| sample.add(&row, &more))
    }

    /// End of the first reading: compare the captures.
    pub fn compare(&mut self) -> &Outlook {
        let [a, b] = &mut self.samples;
        self.outlook = sample::compare(a, b);
        let [a, b] = [a.rows, b.rows];
        self.reach = Some(Reach::new(&self.outlook.common, a, b));
        self.samples = Default::default();
        &self.outlook
    }

    /// The next rows of a to pair, the rows of a to compare with, and the rows of b that can match them.
    fn plan(&self) -> (u64, u64, (u64, u64)) {
        let end = self.at + limits::PAIR_ROWS as u64;
        let seen = end + limits::PAIR_CONTEXT_ROWS as u64;
        let from = self.at.saturating_sub(limits::PAIR_CONTEXT_ROWS as u64);
        (end, seen, self.reach.as_ref().map_or((0, u64::MAX), |r| r.of(from, seen)))
    }

    /// Second reading: the capture whose rows are needed next; None when a window is full.
    pub fn wants(&self) -> Option<Side> {
        if self.held[0].ended && self.at >= self.held[0].next {
            return None;
        }
        let (_, seen, (from, to)) = self.plan();
        let to = to.min(from + limits::PAIR_WINDOW_ROWS as u64);
        if !self.held[0].has(seen) {
            Some(Side::A)
        } else if !self.held[1].has(to) {
            Some(Side::B)
        } else {
            None
        }
    }

    /// The first row of each capture that a later window may pair.
    pub fn held_from(&self) -> [u64; 2] {
        [self.held[0].first(), self.held[1].first()]
    }

    /// Second reading: what reads the batches of a capture, in any thread.
    pub fn reading(&self, side: Side) -> Reading {
        // Rewritten numbers are mapped back to those of the first capture.
        Reading { of: self.of, shifts: if side == Side::B { Arc::clone(&self.outlook.shifts) } else { Arc::default() } }
    }

    /// Second reading: the rows of the next batch; None when the capture is over.
    pub fn push(&mut self, side: Side, batch: Option<ReadRows>) {
        let held = &mut self.held[side as usize];
        let Some(ReadRows(mut rows)) = batch else {
            held.ended = true;
            return;
        };
        let t = held.rows.last().map_or(0, |row| row.t);
        for row in rows.iter_mut() {
            row.row += held.next;
            if row.t == UNTIMED {
                row.t = t;
            }
        }
        held.next += rows.len() as u64;
        held.rows.append(&mut rows);
        if side == Side::B {
            self.taken.resize(held.rows.len(), false);
        }
    }

    /// Drop the rows that no window needs any more.
    fn forget(&mut self) {
        let (_, _, (from, _)) = self.plan();
        self.held[0].forget(self.at.saturating_sub(limits::PAIR_CONTEXT_ROWS as u64));
        let gone = self.held[1].place(from);
        self.held[1].forget(from);
        self.taken.drain(..gone);
    }

    /// Pair a full window; false when the first capture has ended.
    pub fn step(&mut self, out: &mut Vec<Pair>) -> bool {
        let (end, seen, (from, to)) = self.plan();
        if self.at >= self.held[0].next {
            return false;
        }
        let widest = from + limits::PAIR_WINDOW_ROWS as u64;
        self.clipped += u64::from(to.min(self.held[1].next) > widest);
        let [a, b] = &self.held;
        let (b_from, b_to) = (b.place(from), b.place(to.min(widest)));
        let mut window = Window {
            start: a.place(self.at),
            end: a.place(end),
            a: &a.rows[..a.place(seen)],
            b: &b.rows[b_from..b_to],
            taken: &mut self.taken.make_contiguous()[b_from..b_to],
            outlook: &self.outlook,
            frames: self.of == Of::Frames,
        };
        window.pair(out);
        self.at = end;
        self.forget();
        self.at < self.held[0].next || !self.held[0].ended
    }
}

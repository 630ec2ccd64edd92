//! Segment rows, which can change until their retransmissions are decided.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use super::kinds::{By, Evidence, Kind, Phase, Transmission, Trigger};
use crate::limits;
use crate::table::tcp::SegmentRows;

/// One row of `segments`.
#[derive(Debug, Clone, Copy)]
pub struct SegmentRow {
    pub packet: u64,
    pub time_ns: Option<i64>,
    pub t_ns: Option<i64>,
    pub flow: u32,
    pub reverse: bool,
    pub kind: Kind,
    pub rel_seq: Option<i64>,
    pub rel_ack: Option<i64>,
    pub len: u32,
    pub timestamps: Option<(u32, u32)>,
    pub transmission: Transmission,
    pub lost_before_tap: bool,
    pub trigger: Option<Trigger>,
    pub evidence: Option<Evidence>,
    pub backoff: Option<u16>,
    pub copy: Option<u16>,
    pub since_first_ns: Option<i64>,
    pub since_previous_ns: Option<i64>,
    pub rtt_ns: Option<i64>,
    pub rtt_ambiguous: Option<bool>,
    pub flight: Option<u32>,
    pub window: Option<u32>,
    pub dupacks: u16,
    pub srtt_ns: Option<i64>,
    pub rttvar_ns: Option<i64>,
    pub rto_ns: Option<i64>,
    pub phase: Option<Phase>,
}

/// Rows converted to columns at a time: few enough to stay in the first-level cache.
const FRESH: usize = 64;

#[derive(Debug, Default)]
struct Block {
    columns: SegmentRows,
    /// The latest rows, not yet in `columns`.
    fresh: Vec<SegmentRow>,
    len: usize,
    /// Rows with an undecided retransmission.
    open: usize,
}

impl Block {
    fn write_fresh(&mut self) {
        let (c, rows) = (&mut self.columns, &self.fresh[..]);
        c.packet.fill(rows, |r| r.packet);
        c.time.fill_opt(rows, |r| r.time_ns);
        c.t_ns.fill_opt(rows, |r| r.t_ns);
        c.flow.fill(rows, |r| r.flow);
        c.direction.fill(rows, |r| i8::from(r.reverse));
        c.kind.fill(rows, |r| r.kind as i8);
        c.rel_seq.fill_opt(rows, |r| r.rel_seq);
        c.rel_ack.fill_opt(rows, |r| r.rel_ack);
        c.len.fill(rows, |r| r.len);
        c.tsval.fill_opt(rows, |r| r.timestamps.map(|t| t.0));
        c.tsecr.fill_opt(rows, |r| r.timestamps.map(|t| t.1));
        c.transmission.fill(rows, |r| r.transmission as i8);
        c.lost_before_tap.fill(rows, |r| r.lost_before_tap);
        c.trigger.fill_opt(rows, |r| r.trigger.map(|t| t as i8));
        c.trigger_evidence.fill_opt(rows, |r| r.evidence.map(|e| e as i8));
        c.backoff.fill_opt(rows, |r| r.backoff);
        c.copy.fill_opt(rows, |r| r.copy);
        c.since_first_ns.fill_opt(rows, |r| r.since_first_ns);
        c.since_previous_ns.fill_opt(rows, |r| r.since_previous_ns);
        c.spurious.fill_opt(rows, |_| None);
        c.spurious_evidence.fill_opt(rows, |_| None);
        c.rtt_ns.fill_opt(rows, |r| r.rtt_ns);
        c.rtt_ambiguous.fill_opt(rows, |r| r.rtt_ambiguous);
        c.flight_bytes.fill_opt(rows, |r| r.flight);
        c.peer_window_bytes.fill_opt(rows, |r| r.window);
        c.dupacks.fill(rows, |r| r.dupacks);
        c.srtt_ns.fill_opt(rows, |r| r.srtt_ns);
        c.rttvar_ns.fill_opt(rows, |r| r.rttvar_ns);
        c.rto_ns.fill_opt(rows, |r| r.rto_ns);
        c.phase.fill_opt(rows, |r| r.phase.map(|p| p as i8));
        self.fresh.clear();
    }
}

/// The segment rows of a capture, emitted in order, a block at a time.
#[derive(Debug, Default)]
pub struct SegmentBlocks {
    blocks: VecDeque<Block>,
    /// Row number of the first row held.
    first: u64,
    /// Decisions made after their row had been emitted.
    pub late: u64,
}

impl SegmentBlocks {
    /// Append a row and return its number; `open`: its retransmission is decided later.
    pub fn push(&mut self, r: &SegmentRow, open: bool) -> u64 {
        if self.blocks.back().is_none_or(|b| b.len >= limits::BATCH_ROWS) {
            let mut block = Block::default();
            block.columns.reserve(limits::BATCH_ROWS);
            block.fresh.reserve(FRESH);
            self.blocks.push_back(block);
        }
        let before: u64 = self.first + (self.blocks.len() as u64 - 1) * limits::BATCH_ROWS as u64;
        let Some(block) = self.blocks.back_mut() else { return 0 };
        let row = before + block.len as u64;
        block.len += 1;
        block.open += usize::from(open);
        block.fresh.push(*r);
        if block.fresh.len() >= FRESH {
            block.write_fresh();
        }
        row
    }

    fn find(&mut self, row: u64) -> Option<(&mut Block, usize)> {
        let Some(at) = row.checked_sub(self.first) else {
            self.late += 1;
            return None;
        };
        let at = at as usize;
        let block = self.blocks.get_mut(at / limits::BATCH_ROWS)?;
        block.write_fresh();
        Some((block, at % limits::BATCH_ROWS))
    }

    /// Decide whether the retransmission of an open row was spurious, and close the row.
    pub fn decide(&mut self, row: u64, spurious: Option<bool>, by: Option<By>) {
        if let Some((block, i)) = self.find(row) {
            block.open = block.open.saturating_sub(1);
            block.columns.spurious.set(i, spurious);
            block.columns.spurious_evidence.set(i, by.map(|b| b as i8));
        }
    }

    /// Later evidence shows another trigger.
    pub fn retrigger(&mut self, row: u64, trigger: Trigger, evidence: Evidence, backoff: Option<u16>) {
        if let Some((block, i)) = self.find(row) {
            block.columns.trigger.set(i, Some(trigger as i8));
            block.columns.trigger_evidence.set(i, Some(evidence as i8));
            block.columns.backoff.set(i, backoff);
        }
    }

    /// A retransmission counted as needed was not, or nobody knows. False if the row was already emitted.
    pub fn correct(&mut self, row: u64, spurious: Option<bool>, by: Option<By>) -> bool {
        if row < self.first {
            return false;
        }
        self.find(row).is_some_and(|(block, i)| {
            block.columns.spurious.set(i, spurious);
            block.columns.spurious_evidence.set(i, by.map(|b| b as i8));
            true
        })
    }

    /// The receiver got these bytes twice: the network duplicated them, not the tap. False if the row was already emitted.
    pub fn duplicated_by_network(&mut self, row: u64) -> bool {
        if row < self.first {
            return false;
        }
        self.find(row).is_some_and(|(block, i)| {
            block.columns.transmission.set(i, Some(Transmission::NetworkDuplicate as i8));
            true
        })
    }

    /// Emit full blocks that are decided or above the limit; all blocks at the end.
    pub fn drain(&mut self, all: bool, out: &mut Vec<(&'static str, RecordBatch)>) {
        while let Some(b) = self.blocks.front() {
            let full = b.len >= limits::BATCH_ROWS;
            if !(all || full && (b.open == 0 || self.blocks.len() > limits::HELD_BLOCKS)) {
                break;
            }
            if let Some(mut b) = self.blocks.pop_front() {
                self.first += b.len as u64;
                b.write_fresh();
                out.push(("segments", b.columns.finish()));
            }
        }
    }
}

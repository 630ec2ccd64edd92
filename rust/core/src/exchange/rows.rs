//! Ended exchanges become rows of `exchanges`.

use arrow_array::RecordBatch;

use super::open::{Exchange, Queue, NEVER, NONE};
use super::outcome::Outcome;
use super::station::Stations;
use super::stream::NUMBERS;
use crate::frame::Carries;
use crate::limits;
use crate::table::column::DictCol;
use crate::table::exchanges::ExchangeRows;
use crate::table::frames::text;

/// Rows converted to columns at a time: few enough to stay in the first-level cache.
const BLOCK: usize = 64;
/// Rows that a batch usually has at most: exchanges of frames before the batch end in it, too.
const RESERVED: usize = limits::BATCH_ROWS / 8 * 9;

#[derive(Debug)]
struct Row {
    exchange: Exchange,
    outcome: Outcome,
    ta: Option<i32>,
    ra: Option<i32>,
}

/// The rows of the current batch.
#[derive(Debug, Default)]
pub struct Rows {
    pub start_ns: i64,
    columns: ExchangeRows,
    block: Vec<Row>,
    len: usize,
    /// Number of batches emitted, which shows whether a station's key belongs to this one.
    batch: u32,
    packets: Vec<u64>,
    rates: Vec<f64>,
}

fn key(stations: &mut Stations, station: u32, batch: u32, which: usize, column: &mut DictCol) -> Option<i32> {
    let station = stations.get_mut(station)?;
    let (of, key) = &mut station.keys[which];
    if *of != batch {
        (*of, *key) = (batch, column.intern(text(station.mac)));
    }
    Some(*key)
}

impl Rows {
    /// Append one exchange.
    pub fn push(&mut self, e: &Exchange, outcome: Outcome, queue: &Queue, stations: &mut Stations) {
        if self.len == 0 {
            self.columns.reserve(RESERVED);
            self.block.reserve(BLOCK);
        }
        // Stations begin with batch 0.
        let batch = self.batch.wrapping_add(1).max(1);
        let ta = key(stations, e.ta, batch, 0, &mut self.columns.ta);
        let ra = key(stations, e.ra, batch, 1, &mut self.columns.ra);
        self.packets.clear();
        self.rates.clear();
        queue.attempts(e, |packet, rate| {
            self.packets.push(packet);
            self.rates.push(rate);
        });
        self.columns.packets.push(&self.packets);
        self.columns.rates_mbps.push(&self.rates);
        self.block.push(Row { exchange: *e, outcome, ta, ra });
        self.len += 1;
        if self.block.len() >= BLOCK {
            self.write_block();
        }
    }

    fn write_block(&mut self) {
        let (c, rows, start) = (&mut self.columns, &self.block[..], self.start_ns);
        let since = |t: i64| Some(t).filter(|t| *t != NEVER).and_then(|t| t.checked_sub(start));
        let seen = |r: &Row| r.exchange.seen > 0;
        let us = |ns: u32| f64::from(ns) / 1e3;
        c.ta.fill_keys(rows, |r| r.ta);
        c.ra.fill_keys(rows, |r| r.ra);
        c.seq.fill_opt(rows, |r| r.exchange.number.map(|n| (n % NUMBERS) as u16));
        c.fragment.fill_opt(rows, |r| Some(r.exchange.fragment).filter(|_| seen(r)));
        c.tid.fill_opt(rows, |r| r.exchange.tid);
        c.first_packet.fill_opt(rows, |r| Some(r.exchange.first_packet).filter(|_| seen(r)));
        c.last_packet.fill_opt(rows, |r| Some(r.exchange.last_packet).filter(|_| seen(r)));
        c.t_first_ns.fill_opt(rows, |r| since(r.exchange.first_ns));
        c.t_last_ns.fill_opt(rows, |r| since(r.exchange.last_ns));
        c.t_ack_ns.fill_opt(rows, |r| since(r.exchange.ack_ns));
        c.ack_packet.fill_opt(rows, |r| Some(r.exchange.ack_packet).filter(|p| *p != 0));
        c.attempts.fill(rows, |r| r.exchange.seen.saturating_add(r.exchange.inferred));
        c.attempts_inferred.fill(rows, |r| r.exchange.inferred);
        c.inferred_by.fill_enum(rows, |r| r.exchange.inferred_by);
        c.acked.fill_opt(rows, |r| r.outcome.acked);
        c.outcome.fill_enum(rows, |r| r.outcome.end as i8);
        let timed = |r: &Row| seen(r) && r.exchange.timed;
        c.airtime_us.fill_opt(rows, |r| timed(r).then(|| us(r.exchange.airtime_ns)));
        c.wasted_us.fill_opt(rows, |r| timed(r).then(|| us(r.outcome.wasted_ns)));
        c.mpdu_bytes.fill_opt(rows, |r| Some(r.exchange.mpdu_bytes).filter(|_| seen(r)));
        c.carries.fill_enum(rows, |r| r.exchange.carries);
        c.tcp_kind.fill_enum(rows, |r| match r.exchange.carries {
            data if data == Carries::TcpData as i8 => 0,
            ack if ack == Carries::TcpAck as i8 => 1,
            _ => -1,
        });
        c.flow.fill_opt(rows, |r| Some(r.exchange.flow).filter(|f| *f != NONE));
        c.direction.fill_enum(rows, |r| match r.exchange.flow {
            NONE => -1,
            _ => i8::from(r.exchange.b_to_a),
        });
        self.block.clear();
    }

    /// The rows as one batch, if there are any.
    pub fn hand_out(&mut self, out: &mut Vec<(&'static str, RecordBatch)>) {
        if self.len == 0 {
            return;
        }
        self.write_block();
        self.len = 0;
        self.batch = self.batch.wrapping_add(1);
        out.push(("exchanges", self.columns.finish()));
    }
}

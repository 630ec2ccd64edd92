//! TCP facts: from packets to `segments`, `timeouts`, `recoveries`, `intervals` and `flows`, in one pass.

mod ack;
mod board;
mod connection;
mod half;
mod intervals;
mod kinds;
mod need;
mod out;
mod rows;
mod send;
mod seq;
mod settle;
mod timer;
mod trigger;
mod tsclock;
pub mod counters;
pub mod moments;
pub mod sent_ranges;

use arrow_array::RecordBatch;

use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use self::connection::Connection;
use self::out::Out;
use self::rows::SegmentBlocks;
use crate::limits;
use crate::notes::Notes;
use crate::packet::{Addr, Packet};
use crate::table::tcp::{IntervalRows, RecoveryRows, TimeoutRows};

/// Which connection a packet belongs to and whether it goes from b to a.
pub type FlowId = (u32, bool);

/// The two ends of a connection, the lower first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    low: (Addr, u16),
    high: (Addr, u16),
}

/// A connection and which end opened it.
#[derive(Debug)]
struct Entry {
    connection: Box<Connection>,
    key: Key,
    /// The opener is the higher end.
    swapped: bool,
}

/// Follows every TCP connection of one capture.
#[derive(Debug, Default)]
pub struct Tracker {
    notes: Notes,
    index: FxHashMap<Key, usize>,
    slab: Vec<Option<Entry>>,
    free: Vec<usize>,
    next_flow: u32,
    segments: SegmentBlocks,
    timeouts: TimeoutRows,
    recoveries: RecoveryRows,
    intervals: IntervalRows,
    /// Where the sweep for idle connections goes on.
    sweep: usize,
    last_t: i64,
}

//! TCP facts: from packets to `segments`, `timeouts`, `recoveries`, `intervals` and `flows`, in one pass.

mod ack;
mod admission;
mod away;
mod beginning;
mod causes;
mod connection;
pub mod counters;
mod decisions;
mod delivered;
mod dup_runs;
pub mod duration_stats;
mod echo;
mod effects;
mod ends;
mod flow_row;
mod handshake;
mod hidden;
mod host_ids;
mod host_queue;
mod intervals;
mod ip_order;
mod kinds;
mod link_times;
mod nagle;
pub mod numbers;
mod opening_time;
mod output;
mod pair_times;
mod path_times;
mod piece;
mod recent;
mod reports;
mod rows;
mod sack;
mod scoreboard;
mod send;
mod sender_state;
mod sender_view;
mod sender_waits;
pub mod sent_ranges;
mod seq;
mod slow_start;
mod spurious;
mod stall;
mod tap;
#[cfg(test)]
mod tests;
mod timer;
mod timestamp_clock;
mod trigger;
mod trigger_away;
mod undecided;
mod undo;
mod undo_timeout;
mod wait_state;
mod waits_at_host;
mod window;

use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use self::connection::Connection;
use self::counters::queue::{self, Counted, Waiting};
use self::counters::ConnectionCounters;
use self::ends::{End, Key};
use self::flow_row::{Close, FlowTable};
use self::host_ids::{HostIds, Places};
use self::host_queue::{Busy, HostQueues};
use self::output::Out;
use self::pair_times::PairTimes;
use self::rows::SegmentBlocks;
use crate::limits;
use crate::notes::{NoteKind, Notes};
use crate::packet::{flags, Packet};
use crate::table::tcp::{IntervalRows, RecoveryRows, TimeoutRows};

/// The schema of `flows`, whose columns come from two builders.
pub fn flows_schema() -> arrow_schema::SchemaRef {
    FlowTable::schema()
}

/// The number of a packet's connection, and whether the packet goes from b to a.
pub type FlowId = (u32, bool);

/// A connection and its two ends.
#[derive(Debug)]
struct Entry {
    connection: Connection,
    counters: ConnectionCounters,
    key: Key,
    /// The higher end is a.
    swapped: bool,
    /// Where the IP ids of the lower end's packets are noted, and of the higher one's.
    places: [Places; 2],
    packets: u64,
}

impl Entry {
    /// The ends a and b.
    fn ends(&self) -> [End; 2] {
        if self.swapped {
            [self.key.high, self.key.low]
        } else {
            [self.key.low, self.key.high]
        }
    }
}

/// Whether a connection with so many packets gets a row of `open_flows`: early, so that every long one has a row, then seldom.
fn is_open_row(packets: u64) -> bool {
    if packets < limits::OPEN_FLOW_PACKETS {
        packets >= 16 && packets.is_power_of_two()
    } else {
        packets % limits::OPEN_FLOW_PACKETS == 0
    }
}

/// Tracks every TCP connection of one capture.
#[derive(Debug, Default)]
pub struct Tracker {
    notes: Notes,
    index: FxHashMap<Key, usize>,
    /// The ends and the slot of the latest packet: the next one is often of the same connection.
    latest: Option<(Key, usize)>,
    slab: Vec<Option<Box<Entry>>>,
    host_ids: HostIds,
    pairs: PairTimes,
    hosts: HostQueues,
    /// Packets whose connections have not counted them.
    uncounted: Vec<Waiting>,
    free: Vec<usize>,
    next_flow: u32,
    segments: SegmentBlocks,
    timeouts: TimeoutRows,
    recoveries: RecoveryRows,
    intervals: IntervalRows,
    flows: FlowTable,
    /// The rows of `open_flows`, if the reader asked for them.
    open_flows: Option<FlowTable>,
    /// The next slot to check for idle connections.
    sweep: usize,
    last_t: i64,
    last_ns: Option<i64>,
}

impl Tracker {
    /// Emit `open_flows` too: the row of `flows` that a connection would have now, every few thousand of its packets.
    pub fn add_open_flows(&mut self) {
        self.open_flows.get_or_insert_default();
    }

    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// How many there were so far.
    pub fn connections(&self) -> u32 {
        self.next_flow
    }

    /// Process one packet; returns its connection if it is TCP.
    pub fn observe(&mut self, p: &Packet, start_ns: i64) -> Option<FlowId> {
        self.last_ns = p.time_ns.or(self.last_ns);
        let t_ns = p.time_ns.and_then(|t| t.checked_sub(start_ns));
        self.last_t = self.last_t.max(t_ns.unwrap_or(self.last_t));
        let Some(tcp) = p.tcp.as_ref() else {
            let places = HostIds::places(p.src, p.dst);
            self.host_ids.observe(places, u32::MAX, p.ip_id);
            self.hosts.observe(places[0], self.last_t, p.wire_bytes, false);
            return None;
        };
        let (src, dst): (End, End) = ((p.src, p.src_port?), (p.dst, p.dst_port?));
        let from_high = src > dst;
        let key = if from_high { Key { low: dst, high: src } } else { Key { low: src, high: dst } };

        let known = self.latest.filter(|(latest, _)| *latest == key).map(|(_, slot)| slot);
        let mut slot = known.or_else(|| self.index.get(&key).copied());
        if p.intact == Some(false) {
            // A damaged packet changes nothing, and begins no connection: its ports may be wrong.
            let entry = self.slab[slot?].as_ref()?;
            return Some((entry.connection.id, from_high != entry.swapped));
        }
        if let Some(s) = slot {
            let reused = self.slab[s].as_ref().is_some_and(|e| e.connection.is_reuse(tcp, from_high != e.swapped));
            if reused {
                self.close(s, Close::Reused);
                slot = None;
            }
        }
        let slot = match slot {
            Some(s) => s,
            None => {
                // A SYN+ACK without a captured SYN still shows which end opened the connection.
                let synack = tcp.flags & (flags::SYN | flags::ACK) == flags::SYN | flags::ACK;
                self.open(key, from_high != synack, p)
            }
        };
        if known != Some(slot) {
            self.latest = Some((key, slot));
        }
        if self.uncounted.len() >= queue::BATCH {
            self.count();
        }
        let Tracker { slab, host_ids, segments, timeouts, recoveries, intervals, notes, pairs, hosts, last_t, .. } =
            self;
        let entry = slab[slot].as_mut()?;
        let reverse = from_high != entry.swapped;
        let id = entry.connection.id;
        self.uncounted.push(Waiting { slot, reverse, packet: Counted::new(p, tcp) });
        let places = entry.places[usize::from(from_high)];
        let busy = hosts.observe(places[0], *last_t, p.wire_bytes, tcp.flags & flags::SYN != 0);
        let mut out = Out { flow: id, segments, timeouts, recoveries, intervals, notes, pairs, hosts, busy };
        let user = id.wrapping_mul(2) + 1 + u32::from(reverse);
        let counters = host_ids.observe(places, user, p.ip_id);
        entry.connection.observe(p, tcp, reverse, t_ns, counters, &mut out);
        entry.packets += 1;
        if self.open_flows.is_some() && is_open_row(entry.packets) {
            self.add_open_row(slot);
        }
        if p.number % 16 == 0 {
            self.sweep();
        }
        Some((id, reverse))
    }

    /// Count the packets that wait for it.
    #[inline(never)]
    fn count(&mut self) {
        for waiting in self.uncounted.drain(..) {
            if let Some(entry) = &mut self.slab[waiting.slot] {
                entry.counters.observe(&waiting.packet, waiting.reverse);
            }
        }
    }

    /// Add a row of `open_flows`.
    #[cold]
    fn add_open_row(&mut self, slot: usize) {
        self.count();
        if let (Some(open), Some(entry)) = (&mut self.open_flows, &self.slab[slot]) {
            open.push(&entry.connection, &entry.counters, entry.ends(), Close::Open, self.last_ns);
        }
    }

    #[cold]
    fn open(&mut self, key: Key, swapped: bool, p: &Packet) -> usize {
        if self.index.len() >= limits::LIVE_FLOWS {
            self.evict_one();
        }
        let id = self.next_flow;
        self.next_flow = self.next_flow.wrapping_add(1);
        let mut connection = Connection::new(id, self.last_t, p.number);
        let (low, high) = (key.low.0, key.high.0);
        let pairs = [PairTimes::key(low, high), PairTimes::key(high, low)];
        for (i, sender) in connection.senders.iter_mut().enumerate() {
            sender.pair = pairs[usize::from(swapped) ^ i];
        }
        let places = [HostIds::places(low, high), HostIds::places(high, low)];
        for (i, sender) in connection.senders.iter_mut().enumerate() {
            sender.host = places[usize::from(swapped) ^ i][0];
        }
        self.hosts.open(connection.senders.each_ref().map(|s| s.host));
        let counters = ConnectionCounters::default();
        let entry = Some(Box::new(Entry { connection, counters, key, swapped, places, packets: 0 }));
        let slot = match self.free.pop() {
            Some(s) => {
                self.slab[s] = entry;
                s
            }
            None => {
                self.slab.push(entry);
                self.slab.len() - 1
            }
        };
        self.index.insert(key, slot);
        slot
    }

    /// Write the rows that are left of a connection and remove it.
    #[cold]
    fn close(&mut self, slot: usize, why: Close) {
        self.count();
        let Some(mut entry) = self.slab[slot].take() else {
            return;
        };
        self.index.remove(&entry.key);
        self.latest = None;
        self.free.push(slot);
        let Tracker { segments, timeouts, recoveries, intervals, notes, flows, pairs, hosts, .. } = self;
        let (flow, busy) = (entry.connection.id, Busy::UNKNOWN);
        let mut out = Out { flow, segments, timeouts, recoveries, intervals, notes, pairs, hosts, busy };
        entry.connection.finish(self.last_t, &mut out);
        flows.push(&entry.connection, &entry.counters, entry.ends(), why, self.last_ns);
    }

    /// Check the next slot: close connections idle for very long, compact those idle for long. A few slots per call keep the cost constant.
    fn sweep(&mut self) {
        if self.slab.is_empty() {
            return;
        }
        self.sweep = (self.sweep + 1) % self.slab.len();
        let slot = self.sweep;
        let Some(entry) = &mut self.slab[slot] else { return };
        let idle = self.last_t - entry.connection.last_t;
        if idle > limits::FLOW_IDLE_NS || (idle > limits::FLOW_CLOSED_NS && entry.connection.closed()) {
            let why = if entry.connection.closed() { Close::Fin } else { Close::Evicted };
            self.close(slot, why);
        } else if idle > limits::FLOW_COLD_NS {
            entry.connection.compact();
            self.compact_counters(slot);
        }
    }

    #[cold]
    fn compact_counters(&mut self, slot: usize) {
        self.count();
        if let Some(entry) = &mut self.slab[slot] {
            entry.counters.compact();
        }
    }

    /// Too many connections: close the longest idle of 16, so that the choice is fast.
    fn evict_one(&mut self) {
        let n = self.slab.len();
        let victim = (0..16)
            .map(|k| (self.sweep + k * 7919) % n)
            .filter(|s| self.slab[*s].is_some())
            .min_by_key(|s| self.slab[*s].as_ref().map_or(i64::MAX, |e| e.connection.last_t))
            .or_else(|| self.slab.iter().position(Option::is_some));
        self.sweep = (self.sweep + 1) % n;
        if let Some(slot) = victim {
            self.notes.add(NoteKind::FlowEvicted, 0, 0);
            self.close(slot, Close::Evicted);
        }
    }

    /// Batches whose rows are final, as (table, rows).
    pub fn drain(&mut self, out: &mut Vec<(&'static str, RecordBatch)>) {
        self.emit_batches(false, out);
    }

    /// Close the flows that are open, the oldest first, and emit their rows: those of some at a time, because a row of
    /// `flows` has a kilobyte. Returns whether this was all.
    pub fn finish(&mut self, out: &mut Vec<(&'static str, RecordBatch)>) -> bool {
        let mut open: Vec<usize> = (0..self.slab.len()).filter(|s| self.slab[*s].is_some()).collect();
        open.sort_by_key(|s| self.slab[*s].as_ref().map_or(0, |e| e.connection.id));
        for slot in open.iter().take(limits::FLOW_ROWS) {
            self.close(*slot, Close::Open);
        }
        let all = open.len() <= limits::FLOW_ROWS;
        self.emit_batches(all, out);
        if all && self.segments.late > 0 {
            self.notes.add_many(NoteKind::LateEvidence, self.segments.late, 0, 0);
        }
        all
    }

    fn emit_batches(&mut self, all: bool, out: &mut Vec<(&'static str, RecordBatch)>) {
        let before = out.len();
        self.segments.drain(all, out);
        // Together with the segments that they are about: who judges a part of a long capture needs both.
        let together = all || out.len() > before;
        let ready = |len: usize| len > 0 && (together || len >= limits::FLOW_ROWS);
        if ready(self.timeouts.flow.len()) {
            out.push(("timeouts", self.timeouts.finish()));
        }
        if ready(self.recoveries.flow.len()) {
            out.push(("recoveries", self.recoveries.finish()));
        }
        if ready(self.intervals.flow.len()) {
            out.push(("intervals", self.intervals.finish()));
        }
        if ready(self.flows.len()) {
            out.push(("flows", self.flows.finish()));
        }
        if let Some(open) = self.open_flows.as_mut().filter(|open| !all && open.len() > 0) {
            out.push(("open_flows", open.finish()));
        }
    }
}

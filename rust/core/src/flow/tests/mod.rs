//! The tracker as a whole.

mod admission;
mod away;
mod delayed_acks;
mod hidden;
mod host_queue;
mod hostile;
mod intervals;
mod numbers;
mod opening;
mod pauses;
mod proofs;
mod queued;
mod reports;
mod scripted;
mod shared_link;
mod slow_start;
mod small_segments;
mod stall;
mod timers;
mod trigger_away;
mod undo;
mod view;
mod waits;

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, Int8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};

use super::Tracker;
use crate::packet::{flags, Addr, Mpdu, Packet, Tcp};
use crate::table::flow_facts::TAPS;
use crate::table::tcp::{STATES, TIMEOUT_KINDS, TRANSMISSIONS, TRIGGERS};

const MS: i64 = 1_000_000;
const A: (u8, u16) = (1, 40000);
const B: (u8, u16) = (2, 5001);

/// A scripted connection: packets of both sides with times in ms.
struct Script {
    packets: Vec<Packet>,
    sack: bool,
    ids: [u32; 2],
}

impl Script {
    fn new(sack: bool) -> Self {
        Script::between(sack, 20.0)
    }

    /// The SYN+ACK passes the tap at this time after the SYN, in a handshake of 20.1 ms.
    fn between(sack: bool, answered_ms: f64) -> Self {
        let mut s = Script { packets: Vec::new(), sack, ids: [100, 5000] };
        s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        s.push(answered_ms, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.push(20.1, true, 1000, 5000, flags::ACK, 0, &[], None);
        s
    }

    #[allow(clippy::too_many_arguments)]
    fn push(
        &mut self,
        ms: f64,
        from_a: bool,
        seq: u32,
        ack: u32,
        f: u16,
        len: u32,
        sack: &[(u32, u32)],
        mss: Option<u16>,
    ) {
        let (src, dst) = if from_a { (A, B) } else { (B, A) };
        let id = &mut self.ids[usize::from(!from_a)];
        *id += 1;
        let mut tcp = Tcp {
            seq,
            ack,
            flags: f,
            window: 65535,
            mss,
            sack_permitted: mss.is_some() && self.sack,
            ..Tcp::default()
        };
        for (slot, block) in tcp.sack.iter_mut().zip(sack) {
            *slot = *block;
        }
        tcp.sack_blocks = sack.len() as u8;
        self.packets.push(Packet {
            number: self.packets.len() as u64 + 1,
            time_ns: Some((ms * MS as f64) as i64 + 1_700_000_000_000_000_000),
            wire_bytes: 54 + len,
            captured_bytes: 54,
            ip_version: 4,
            src: Addr::v4([10, 0, 0, src.0]),
            dst: Addr::v4([10, 0, 0, dst.0]),
            src_port: Some(src.1),
            dst_port: Some(dst.1),
            ip_id: Some(*id),
            payload_bytes: Some(len),
            tcp: Some(tcp),
            ..Packet::default()
        });
    }

    /// The n-th full segment of a.
    fn data(&mut self, ms: f64, n: u32) {
        self.push(ms, true, 1000 + n * 1000, 5000, flags::ACK, 1000, &[], None);
    }

    /// Full segments, one a millisecond.
    fn flight(&mut self, ms: f64, segments: Range<u32>) {
        for (i, n) in segments.enumerate() {
            self.data(ms + i as f64, n);
        }
    }

    /// Packets that were pushed in another order than they passed.
    fn in_order(&mut self) {
        self.packets.sort_by_key(|p| p.time_ns);
        for (i, p) in self.packets.iter_mut().enumerate() {
            p.number = i as u64 + 1;
        }
    }

    /// An ACK of the first n segments.
    fn ack(&mut self, ms: f64, n: u32) {
        self.push(ms, false, 5000, 1000 + n * 1000, flags::ACK, 0, &[], None);
    }

    fn sack(&mut self, ms: f64, n: u32, left: u32, right: u32) {
        self.push(ms, false, 5000, 1000 + n * 1000, flags::ACK, 0, &[(1000 + left * 1000, 1000 + right * 1000)], None);
    }

    fn last(&mut self) -> &mut Packet {
        self.packets.last_mut().unwrap()
    }

    /// Every packet offers this window.
    fn offer(&mut self, window: u16) {
        self.packets.iter_mut().filter_map(|p| p.tcp.as_mut()).for_each(|tcp| tcp.window = window);
    }

    /// The last packet carries these timestamps.
    fn stamp(&mut self, tsval: u32, tsecr: u32) {
        self.last().tcp.as_mut().unwrap().timestamps = Some((tsval, tsecr));
    }

    fn run(&self) -> Tables {
        run(&self.packets)
    }
}

#[derive(Default)]
struct Tables(Vec<(&'static str, RecordBatch)>);

fn run(packets: &[Packet]) -> Tables {
    let mut tracker = Tracker::default();
    let start = packets.iter().find_map(|p| p.time_ns).unwrap_or(0);
    for p in packets {
        tracker.observe(p, start);
    }
    let mut out = Vec::new();
    tracker.finish(&mut out);
    Tables(out)
}

impl Tables {
    fn batches<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a RecordBatch> {
        self.0.iter().filter(move |(t, _)| *t == table).map(|(_, b)| b)
    }

    /// An enum column as names, "" for null.
    fn names(&self, table: &str, column: &str, values: &[&'static str]) -> Vec<&'static str> {
        let mut out = Vec::new();
        for b in self.batches(table) {
            let c = b.column_by_name(column).unwrap().as_dictionary::<Int8Type>();
            out.extend(c.keys().iter().map(|k| k.map_or("", |k| values[k as usize])));
        }
        out
    }

    fn spurious(&self) -> Vec<Option<bool>> {
        self.batches("segments")
            .flat_map(|b| b.column_by_name("spurious").unwrap().as_boolean().iter().collect::<Vec<_>>())
            .collect()
    }

    /// (trigger, spurious) of each retransmission.
    fn resends(&self) -> Vec<(&'static str, Option<bool>)> {
        let what = self.names("segments", "transmission", TRANSMISSIONS);
        let triggers = self.names("segments", "trigger", TRIGGERS);
        let spurious = self.spurious();
        (0..what.len()).filter(|i| what[*i] == "retransmission").map(|i| (triggers[i], spurious[i])).collect()
    }

    fn intervals(&self) -> Vec<(u32, i8, i64, i64, &'static str)> {
        let mut out = Vec::new();
        for b in self.batches("intervals") {
            let flow = b.column_by_name("flow").unwrap().as_primitive::<UInt32Type>();
            let dir = b.column_by_name("direction").unwrap().as_dictionary::<Int8Type>();
            let from = b.column_by_name("t_start_ns").unwrap().as_primitive::<Int64Type>();
            let to = b.column_by_name("t_end_ns").unwrap().as_primitive::<Int64Type>();
            let state = b.column_by_name("state").unwrap().as_dictionary::<Int8Type>();
            for i in 0..b.num_rows() {
                out.push((
                    flow.value(i),
                    dir.keys().value(i),
                    from.value(i),
                    to.value(i),
                    STATES[state.keys().value(i) as usize],
                ));
            }
        }
        out
    }

    /// Of "full_path" with those in which a window would be the limit elsewhere.
    fn time_in(&self, state: &str) -> i64 {
        let full = |name: &str| name.starts_with("full_path") && state == "full_path";
        self.intervals().iter().filter(|i| i.4 == state || full(i.4)).map(|i| i.3 - i.2).sum()
    }
}

/// Intervals of a direction have no gaps and no overlaps.
fn assert_tiles(t: &Tables) {
    let mut at: std::collections::BTreeMap<(u32, i8), i64> = Default::default();
    for (flow, dir, from, to, _) in t.intervals() {
        assert!(to > from);
        if let Some(end) = at.insert((flow, dir), to) {
            assert_eq!(end, from, "flow {flow}");
        }
    }
}

//! The tracker as a whole: scripted connections, and packets that mean harm.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, Int8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use proptest::prelude::*;

use super::Tracker;
use crate::packet::{flags, Addr, Mpdu, Packet, Tcp};
use crate::table::flow_facts::TAPS;
use crate::table::tcp::{STATES, TIMEOUT_KINDS, TRANSMISSIONS, TRIGGERS};

const MS: i64 = 1_000_000;
const A: (u8, u16) = (1, 40000);
const B: (u8, u16) = (2, 5001);

/// A connection in the making: packets of both sides with times in ms.
struct Script {
    packets: Vec<Packet>,
    sack: bool,
    ids: [u32; 2],
}

impl Script {
    fn new(sack: bool) -> Self {
        Script::between(sack, 20.0)
    }

    /// The SYN+ACK passes the tap so long after the SYN, of a handshake of 20.1 ms.
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

    /// An ACK of the first n segments.
    fn ack(&mut self, ms: f64, n: u32) {
        self.push(ms, false, 5000, 1000 + n * 1000, flags::ACK, 0, &[], None);
    }

    fn sack(&mut self, ms: f64, n: u32, left: u32, right: u32) {
        self.push(ms, false, 5000, 1000 + n * 1000, flags::ACK, 0, &[(1000 + left * 1000, 1000 + right * 1000)], None);
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

    fn time_in(&self, state: &str) -> i64 {
        self.intervals().iter().filter(|i| i.4 == state).map(|i| i.3 - i.2).sum()
    }
}

/// Intervals of a direction follow each other without gap or overlap.
fn assert_tiles(t: &Tables) {
    let mut at: std::collections::BTreeMap<(u32, i8), i64> = Default::default();
    for (flow, dir, from, to, _) in t.intervals() {
        assert!(to > from);
        if let Some(end) = at.insert((flow, dir), to) {
            assert_eq!(end, from, "flow {flow}");
        }
    }
}

#[test]
fn a_delayed_ack_is_what_exceeds_the_path_with_its_own_bytes() {
    // Round trip 20 ms, and 4 ms for each segment; the receiver keeps its first ACK for 40 ms.
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(94.0, 1);
    s.data(94.0, 1);
    s.ack(118.0, 2);
    let t = s.run();
    assert_tiles(&t);
    assert_eq!(t.time_in("delayed_ack"), 40 * MS);
    // Thirteen at once keep the path busy for 52 ms: nobody delayed anything.
    for n in 2..15 {
        s.data(120.0, n);
    }
    s.ack(192.0, 15);
    let t = s.run();
    assert_tiles(&t);
    assert_eq!(t.time_in("delayed_ack"), 40 * MS);
}

#[test]
fn an_ack_of_a_hole_that_nothing_filled_is_noted() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.data(30.1, 2);
    s.ack(50.0, 3);
    let t = s.run();
    let unseen = |b: &RecordBatch| b.column_by_name("acked_unseen").unwrap().as_primitive::<UInt64Type>().value(0);
    assert_eq!(t.batches("flows").map(unseen).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_hole_filled_after_three_duplicates_is_a_needed_fast_retransmit() {
    let mut s = Script::new(false);
    for n in 0..6 {
        s.data(30.0 + f64::from(n), n);
    }
    s.ack(50.0, 1);
    for n in 0..4 {
        s.ack(52.0 + f64::from(n), 1);
    }
    s.data(54.2, 1);
    s.ack(75.0, 6);
    s.data(76.0, 6);
    s.ack(97.0, 7);
    let t = s.run();
    assert_eq!(t.resends(), [("fast", Some(false))]);
    assert_eq!(t.batches("recoveries").map(RecordBatch::num_rows).sum::<usize>(), 1);
    assert_tiles(&t);
}

#[test]
fn a_syn_ack_sent_again_moves_no_tap() {
    let mut s = Script { packets: Vec::new(), sack: true, ids: [100, 5000] };
    s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    for ms in [0.1, 1000.0] {
        s.push(ms, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    }
    s.data(1014.0, 0);
    let t = s.run();
    assert_eq!(t.names("flows", "tap", TAPS), ["near_receiver", "near_sender"]);
    let whole = t.batches("flows").map(|b| b["handshake_rtt_ns"].as_primitive::<Int64Type>().value(0));
    assert_eq!(whole.collect::<Vec<_>>(), [14 * MS + MS / 10]);
}

#[test]
fn beside_the_receiver_a_timer_runs_for_two_round_trips_more() {
    for (ms, trigger) in [(1200.0, "fast"), (2500.0, "rto")] {
        let mut s = Script { packets: Vec::new(), sack: false, ids: [100, 5000] };
        s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        s.push(0.1, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.data(900.0, 0);
        s.ack(900.1, 1);
        for n in 2..6 {
            s.data(901.0 + f64::from(n), n);
            s.ack(901.1 + f64::from(n), 1);
        }
        s.data(901.0 + ms, 1);
        s.ack(901.1 + ms, 6);
        assert_eq!(s.run().resends(), [(trigger, Some(false))]);
    }
}

#[test]
fn beside_the_receiver_an_ack_at_once_proves_nothing() {
    let mut s = Script::between(true, 0.1);
    for n in 0..4 {
        s.data(30.0 + 40.0 * f64::from(n), n);
        s.ack(32.0 + 40.0 * f64::from(n), n + 1);
    }
    s.data(200.0, 5);
    s.sack(200.1, 4, 5, 6);
    s.data(500.0, 4);
    s.ack(500.01, 6);
    assert_eq!(s.run().resends(), [("rto", Some(false))]);
}

#[test]
fn beside_the_receiver_a_resend_of_a_later_byte_answers_a_late_ack() {
    for (n, trigger) in [(3, "go_back_n"), (1, "rto")] {
        let mut s = Script::between(true, 0.1);
        for n in 0..6 {
            s.data(30.0 + f64::from(n), n);
            s.ack(30.1 + f64::from(n), n + 1);
        }
        s.data(300.0, 1);
        s.ack(300.1, 6);
        s.data(800.0, n);
        s.ack(800.1, 6);
        assert_eq!(s.run().resends(), [("rto", Some(true)), (trigger, Some(true))]);
    }
}

#[test]
fn a_radio_without_the_handshake_stands_between_the_ends() {
    let mut s = Script::new(true);
    s.packets.clear();
    for n in 0..6 {
        s.data(30.0 * f64::from(n), n);
        s.ack(30.0 * f64::from(n) + 29.9, n + 1);
    }
    assert_eq!(s.run().names("flows", "tap", TAPS)[0], "near_sender");
    for (n, p) in s.packets.iter_mut().enumerate() {
        p.mpdu = Some(Mpdu { ta: [2; 6], ra: [4; 6], seq_ctl: n as u16 * 16, tid: 0, retry: false });
    }
    assert_eq!(s.run().names("flows", "tap", TAPS), ["middle", "middle"]);
}

#[test]
fn acks_that_come_in_order_after_a_timeout_prove_it_spurious() {
    let mut s = Script::new(false);
    for n in 0..4 {
        s.data(30.0 + f64::from(n), n);
    }
    s.data(330.0, 0);
    s.ack(400.0, 1);
    s.data(400.1, 1);
    s.ack(400.2, 2);
    s.ack(400.4, 4);
    let t = s.run();
    assert_eq!(t.resends()[0], ("rto", Some(true)));
    assert_eq!(t.resends()[1], ("go_back_n", Some(true)));
    assert_eq!(t.names("timeouts", "kind", TIMEOUT_KINDS), ["spurious"]);
    assert_eq!(t.time_in("rto_wait"), 367 * MS);
    assert_tiles(&t);
}

#[test]
fn a_lost_head_that_sack_shows_makes_a_genuine_timeout() {
    let mut s = Script::new(true);
    s.data(30.0, 0);
    s.data(31.0, 1);
    s.sack(51.0, 0, 1, 2);
    s.data(330.0, 0);
    s.ack(351.0, 2);
    s.data(352.0, 2);
    s.ack(373.0, 3);
    let t = s.run();
    assert_eq!(t.resends(), [("rto", Some(false))]);
    assert_eq!(t.names("timeouts", "kind", TIMEOUT_KINDS), ["genuine"]);
}

#[test]
fn a_dsack_in_the_first_ack_after_a_timeout_means_that_acks_were_lost() {
    let mut s = Script::new(true);
    for n in 0..4 {
        s.data(30.0 + f64::from(n), n);
    }
    s.data(330.0, 0);
    s.sack(351.0, 4, 0, 1);
    s.data(352.0, 4);
    s.ack(373.0, 5);
    let t = s.run();
    assert_eq!(t.resends(), [("rto", Some(true))]);
    assert_eq!(t.names("timeouts", "kind", TIMEOUT_KINDS), ["ack_lost"]);
}

#[test]
fn the_tail_sent_again_before_any_timeout_is_a_probe() {
    let mut s = Script::new(true);
    for n in 0..4 {
        s.data(30.0 + f64::from(n), n);
    }
    s.ack(51.0, 2);
    s.ack(52.0, 3);
    s.data(300.0, 3);
    s.ack(321.0, 4);
    assert_eq!(s.run().resends()[0].0, "tail_loss_probe");
}

#[test]
fn the_same_ip_id_is_no_retransmission() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    let mut copy = s.packets[3];
    copy.number = 5;
    copy.time_ns = copy.time_ns.map(|t| t + MS / 100);
    s.packets.push(copy);
    let t = s.run();
    assert!(t.resends().is_empty());
    assert_eq!(t.names("segments", "transmission", TRANSMISSIONS)[4], "capture_duplicate");
}

#[test]
fn a_late_segment_with_an_earlier_ip_id_is_reordered() {
    let mut s = Script::new(false);
    for n in 0..6 {
        s.data(30.0 + f64::from(n), n);
    }
    // Segment 6 is overtaken by 7.
    s.data(40.0, 7);
    let id = s.ids[0];
    s.data(40.2, 6);
    let n = s.packets.len();
    s.packets[n - 2].ip_id = Some(id + 1);
    s.packets[n - 1].ip_id = Some(id);
    let t = s.run();
    assert_eq!(*t.names("segments", "transmission", TRANSMISSIONS).last().unwrap(), "reordered");
    assert!(t.resends().is_empty());
}

#[test]
fn waiting_for_the_application_and_a_closed_window_are_told_apart() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(51.0, 1);
    s.data(1051.0, 1);
    s.ack(1072.0, 2);
    let n = s.packets.len();
    s.packets[n - 1].tcp.as_mut().unwrap().window = 0;
    s.ack(3072.0, 2);
    s.data(3072.1, 2);
    s.ack(3093.0, 3);
    let t = s.run();
    // A tenth of a millisecond of work goes with the wait before it.
    assert_eq!(t.time_in("zero_window"), 2000 * MS + MS / 10);
    assert!((t.time_in("idle") - 1000 * MS).abs() < 15 * MS, "{}", t.time_in("idle"));
    assert!(t.resends().is_empty());
    assert_tiles(&t);
}

#[test]
fn ports_used_again_are_another_flow() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    let mut again = Script::new(false);
    for p in &mut again.packets {
        p.number += 10;
        p.time_ns = p.time_ns.map(|t| t + 1000 * MS);
        let tcp = p.tcp.as_mut().unwrap();
        tcp.seq = tcp.seq.wrapping_add(77_777);
        tcp.ack = tcp.ack.wrapping_add(77_777);
    }
    s.packets.extend(again.packets);
    let flows: usize = s.run().batches("flows").map(RecordBatch::num_rows).sum();
    assert_eq!(flows, 4);
}

prop_compose! {
    /// Any TCP packet between four ends, numbers near each other or anywhere.
    fn any_packet()(
        ends in 0u8..8, seq in prop_oneof![0u32..20_000, any::<u32>(), (u32::MAX - 5000)..u32::MAX],
        ack in prop_oneof![0u32..20_000, any::<u32>()], f in 0u16..512, window in prop_oneof![Just(0u16), any::<u16>()],
        len in prop_oneof![Just(0u32), Just(1u32), 0u32..3000, any::<u32>()], id in prop_oneof![Just(None), (0u32..50).prop_map(Some)],
        step in prop_oneof![Just(0i64), 0i64..3_000_000, -1_000_000_000i64..100_000_000_000, any::<i64>()],
        ts in prop_oneof![Just(None), (0u32..5000, 0u32..5000).prop_map(Some), any::<(u32, u32)>().prop_map(Some)],
        sack in prop::collection::vec(any::<(u32, u32)>(), 0..5), near in prop::collection::vec((0u32..20_000, 0u32..20_000), 0..5),
        mss in prop_oneof![Just(None), any::<u16>().prop_map(Some)], wscale in prop_oneof![Just(None), (0u8..15).prop_map(Some)],
        timeless in prop::bool::weighted(0.05),
    ) -> (Packet, i64) {
        let mut tcp = Tcp { seq, ack, flags: f, window, mss, wscale, sack_permitted: f & 1 == 0, timestamps: ts, ..Tcp::default() };
        let blocks = if f & 8 == 0 { near } else { sack };
        for (slot, b) in tcp.sack.iter_mut().zip(&blocks) {
            *slot = *b;
        }
        tcp.sack_blocks = blocks.len().min(4) as u8;
        let (src, dst) = (Addr::v4([10, 0, 0, ends & 1]), Addr::v4([10, 0, 0, (ends >> 1) & 1]));
        let p = Packet {
            time_ns: (!timeless).then_some(0), ip_version: 4, src, dst, src_port: Some(u16::from(ends >> 2)), dst_port: Some(7),
            ip_id: id, payload_bytes: Some(len), tcp: Some(tcp), wire_bytes: len.wrapping_add(40), ..Packet::default()
        };
        (p, step)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 2000 }))]
    #[test]
    fn no_packet_does_harm(list in prop::collection::vec(any_packet(), 1..300)) {
        let mut now = 1_700_000_000_000_000_000i64;
        let packets: Vec<Packet> = list.into_iter().enumerate().map(|(i, (mut p, step))| {
            now = now.saturating_add(step);
            p.number = i as u64 + 1;
            p.time_ns = p.time_ns.map(|_| now);
            p
        }).collect();
        let t = run(&packets);
        let rows: usize = t.batches("segments").map(RecordBatch::num_rows).sum();
        prop_assert_eq!(rows, packets.len());
        let numbers: Vec<u64> = t.batches("segments").flat_map(|b| b.column_by_name("packet").unwrap().as_primitive::<UInt64Type>().values().to_vec()).collect();
        prop_assert!(numbers.windows(2).all(|w| w[0] < w[1]));
        assert_tiles(&t);
        for (name, batch) in &t.0 {
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                prop_assert!(field.is_nullable() || column.null_count() == 0, "{} {}", name, field.name());
            }
        }
    }
}

#[test]
fn connections_gone_quiet_keep_no_lists() {
    let mut tracker = Tracker::default();
    let template = Script::new(false).packets[0];
    let mut number = 0;
    for flow in 0..400u32 {
        for n in 0..100u32 {
            number += 1;
            let mut p = template;
            p.number = number;
            p.src = Addr::v4([11, 0, (flow >> 8) as u8, flow as u8]);
            p.time_ns = Some(i64::from(flow) * 1000 * MS + i64::from(n));
            p.ip_id = Some(n);
            let tcp = p.tcp.as_mut().unwrap();
            (tcp.flags, tcp.seq, tcp.ack) = (flags::ACK, 1000 + n * 1460, 1);
            p.payload_bytes = Some(1460);
            tracker.observe(&p, 0);
        }
    }
    let runs: Vec<usize> =
        tracker.slab.iter().flatten().map(|e| e.connection.halves.iter().map(|h| h.board.len()).sum()).collect();
    assert!(runs.iter().filter(|r| **r > 2).count() < 200, "{runs:?}");
}

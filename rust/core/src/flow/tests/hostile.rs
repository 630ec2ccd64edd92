//! Random packets: no panic, every packet a row, memory within bounds.

use proptest::prelude::*;

use super::*;

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
    fn random_packets_give_one_row_each(list in prop::collection::vec(any_packet(), 1..300)) {
        let mut now = 1_700_000_000_000_000_000i64;
        let packets: Vec<Packet> = list.into_iter().enumerate().map(|(i, (mut p, step))| {
            now = now.saturating_add(step);
            p.number = i as u64 + 1;
            p.time_ns = p.time_ns.map(|_| now);
            p
        }).collect();
        super::numbers::compare(&packets);
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
fn idle_connections_keep_no_lists() {
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
        tracker.slab.iter().flatten().map(|e| e.connection.senders.iter().map(|h| h.scoreboard.len()).sum()).collect();
    assert!(runs.iter().filter(|r| **r > 2).count() < 200, "{runs:?}");
}

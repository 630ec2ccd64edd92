//! Pairing of constructed packets: order of batches, memory, and packets that must not be paired.

use super::*;
use crate::frame::{control, Frame};
use crate::packet::{flags, Addr, Packet, Tcp};
use crate::table::frames::FrameTable;
use crate::table::packets::{PacketTable, Row, BLOCK};

/// Segment `n` of a stream, sent at `t_ns`.
fn segment(n: u32, id: u32, t_ns: i64) -> Packet {
    Packet {
        number: u64::from(n) + 1,
        time_ns: Some(t_ns),
        ip_version: 4,
        src: Addr::v4([10, 0, 0, 1]),
        dst: Addr::v4([10, 0, 0, 2]),
        ip_id: Some(id),
        protocol: Some(6),
        src_port: Some(40_000),
        dst_port: Some(80),
        payload_bytes: Some(1000),
        payload_digest: Some(n.wrapping_mul(2_654_435_761)),
        tcp: Some(Tcp { seq: n.wrapping_mul(1000), ack: 1, flags: flags::ACK, ..Tcp::default() }),
        ..Packet::default()
    }
}

fn batches(packets: &[Packet], rows: usize) -> Vec<RecordBatch> {
    let mut table = PacketTable::default();
    packets
        .chunks(rows)
        .map(|chunk| {
            let mut rows: Vec<Row> = chunk.iter().map(|p| Row::new(p, 0)).collect();
            rows.chunks_mut(BLOCK).for_each(|block| table.append(block));
            table.finish().expect("rows")
        })
        .collect()
}

/// All pairs, and the maximum of rows held at once.
fn paired(a: &[Packet], b: &[Packet], rows: usize) -> (Vec<Pair>, usize) {
    met(Of::Packets { nat: false }, [batches(a, rows), batches(b, rows)])
}

fn met(of: Of, sides: [Vec<RecordBatch>; 2]) -> (Vec<Pair>, usize) {
    let mut work = Pairing::new(of);
    for (side, batches) in [Side::A, Side::B].into_iter().zip(&sides) {
        batches.iter().for_each(|batch| work.sample(side, batch).expect("whole batches"));
    }
    work.compare();
    let mut next = [0, 0];
    let (mut out, mut most, mut more) = (Vec::new(), 0, true);
    while more {
        while let Some(side) = work.wants() {
            let batch = sides[side as usize].get(next[side as usize]);
            work.push(side, batch.map(|b| work.reading(side).read(b).expect("whole batches")));
            next[side as usize] += 1;
        }
        most = most.max(work.held.iter().map(|h| h.rows.len()).sum());
        more = work.step(&mut out);
    }
    (out, most)
}

fn same(pairs: &[Pair]) -> Vec<(u64, u64)> {
    pairs.iter().map(|p| (p.a, p.b)).collect()
}

#[test]
fn batch_sizes_do_not_change_the_pairs() {
    let a: Vec<_> = (0..5000).map(|n| segment(n, n + 1, i64::from(n))).collect();
    let b: Vec<_> = (0..5000).filter(|n| n % 7 != 0).map(|n| segment(n, n + 1, i64::from(n))).collect();
    let (whole, _) = paired(&a, &b, 5000);
    assert_eq!(whole.len(), b.len());
    assert!(whole.iter().all(|p| p.copy_safe && p.kind == Kind::Same));
    for rows in [1, 97, 1024] {
        assert_eq!(paired(&a, &b, rows).0, whole);
    }
}

#[test]
fn memory_is_bounded_by_a_window() {
    let count = 400_000;
    let a: Vec<_> = (0..count).map(|n| segment(n, n % 65_535 + 1, i64::from(n))).collect();
    let b: Vec<_> = (0..count).filter(|n| n % 50 != 0).map(|n| segment(n, n % 65_535 + 1, i64::from(n))).collect();
    let (pairs, most) = paired(&a, &b, 16_384);
    assert_eq!(pairs.len(), b.len());
    assert!(most < 200_000, "{most} rows held");
}

#[test]
fn another_copy_is_not_paired() {
    // Each tap missed another copy of the last segment: the IP IDs distinguish them.
    let mut a: Vec<_> = (0..100).map(|n| segment(n, n + 1, 0)).collect();
    let mut b = a.clone();
    a.push(segment(50, 500, 1));
    b.push(segment(51, 501, 1));
    let pairs = same(&paired(&a, &b, 64).0);
    assert_eq!(pairs, (0..100).map(|n| (n, n)).collect::<Vec<_>>());
}

#[test]
fn rows_without_packets_stay_unpaired() {
    let odd = Packet { number: 1, ..Packet::default() };
    let (pairs, _) = paired(&[odd; 20], &[odd; 20], 8);
    assert_eq!(pairs, []);
    assert_eq!(paired(&[], &[odd; 3], 8).0, []);
    assert_eq!(paired(&[odd; 3], &[], 8).0, []);
}

#[test]
fn many_identical_copies_cost_little() {
    // A flood of identical packets: too many to be distinguished, and detected quickly.
    let a: Vec<_> = (0..20_000).map(|_| segment(1, 0, 0)).collect();
    let (pairs, _) = paired(&a, &a, 16_384);
    assert_eq!(pairs, []);
}

#[test]
fn a_missing_column_is_named_in_the_error() {
    let batch = batches(&[segment(1, 1, 1)], 1).remove(0);
    let kept: Vec<usize> = (0..batch.num_columns()).filter(|i| batch.schema().field(*i).name() != "tcp_seq").collect();
    let less = batch.project(&kept).expect("columns of the batch");
    assert_eq!(Pairing::new(Of::Packets { nat: false }).sample(Side::A, &less), Err(BadColumn("tcp_seq")));
}

/// Numbers that look random, the same in every run.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = hash::mix(self.0, 1);
        self.0 % n
    }
}

/// The packets that a tap captures of some events: it misses one in 15; one in 30 twice, one in 20 after the next.
fn tapped<T: Copy>(rng: &mut Rng, events: &[T], doubles: bool) -> Vec<(usize, T)> {
    let mut out = Vec::new();
    for (n, event) in events.iter().enumerate() {
        if rng.below(15) != 0 {
            out.push((n, *event));
            if doubles && rng.below(30) == 0 {
                out.push((n, *event));
            }
        }
    }
    for k in 1..out.len() {
        if doubles && rng.below(20) == 0 {
            out.swap(k - 1, k);
        }
    }
    out
}

#[test]
fn no_wrong_pair_with_losses_duplicates_and_reordering() {
    for seed in 1..20 {
        let mut rng = Rng(seed);
        // One in ten is a retransmission.
        let mut sent: Vec<Packet> = Vec::new();
        for n in 0..3000u32 {
            let of = if n > 20 && rng.below(10) == 0 { n - 1 - rng.below(20) as u32 } else { n };
            sent.push(segment(of, n + 1, i64::from(n) * 1000));
        }
        let (a, b) = (tapped(&mut rng, &sent, true), tapped(&mut rng, &sent, true));
        let packets = |tap: &[(usize, Packet)]| tap.iter().map(|t| t.1).collect::<Vec<_>>();
        let (pairs, _) = paired(&packets(&a), &packets(&b), 1000);
        let wrong = pairs.iter().filter(|p| a[p.a as usize].0 != b[p.b as usize].0);
        assert_eq!(wrong.count(), 0, "seed {seed}");
        let both = (0..sent.len()).filter(|n| a.iter().any(|t| t.0 == *n) && b.iter().any(|t| t.0 == *n));
        let mut linked: Vec<usize> = pairs.iter().map(|p| a[p.a as usize].0).collect();
        linked.dedup();
        assert!(linked.len() >= both.count(), "seed {seed}");
    }
}

#[test]
fn rewritten_sequence_numbers_are_mapped_back() {
    // A firewall adds its own offset to the numbers of each connection; the copies of a retransmitted segment are distinguished by their IDs.
    let mut a: Vec<_> = (0..500).map(|n| segment(n, n + 1, i64::from(n))).collect();
    a.extend((100..120).map(|n| segment(n, n + 1000, 600 + i64::from(n))));
    let shifted = |p: &Packet| {
        let tcp = p.tcp.map(|t| Tcp { seq: t.seq.wrapping_add(0xfeed_beef), ack: t.ack.wrapping_sub(77), ..t });
        Packet { tcp, ..*p }
    };
    let b: Vec<_> = a.iter().map(shifted).collect();
    let (pairs, _) = paired(&a, &b, 64);
    assert_eq!(same(&pairs), (0..520).map(|n| (n, n)).collect::<Vec<_>>());
    // Other payloads at numbers that do not fit are other packets.
    let other: Vec<_> =
        b.iter().map(|p| Packet { payload_digest: p.payload_digest.map(|d| d ^ 0x5555), ..*p }).collect();
    assert_eq!(paired(&a, &other, 64).0, []);
}

/// A frame captured by two sniffers.
fn on_air(kind: u16, number: u32, retry: bool, t_us: i64) -> Frame {
    let data = kind == control::DATA;
    Frame {
        control: Some(kind | if data { 0x80 } else { 0xd0 } | if retry { control::RETRY } else { 0 }),
        address_1: Some([2, 0, 0, 0, 0, if data { 1 } else { 2 }]),
        address_2: data.then_some([2, 0, 0, 0, 0, 2]),
        seq_ctl: data.then_some((number as u16 & 0xfff) << 4),
        qos: data.then_some(0),
        body_digest: data.then_some(number.wrapping_mul(2_654_435_761)),
        mpdu_bytes: if data { 1500 } else { 14 },
        time_ns: Some(t_us * 1000),
        ..Frame::default()
    }
}

fn frame_batches(frames: &[(usize, Frame)], shift_ns: i64) -> Vec<RecordBatch> {
    let mut table = FrameTable::default();
    frames
        .chunks(1000)
        .map(|chunk| {
            for (n, f) in chunk {
                table.push(&Frame { number: *n as u64, time_ns: f.time_ns.map(|t| t + shift_ns), ..*f }, 0);
            }
            table.finish()
        })
        .collect()
}

#[test]
fn frames_of_two_sniffers() {
    for seed in 1..8 {
        let mut rng = Rng(seed);
        let (mut sent, mut t) = (Vec::new(), 0);
        // Sequence numbers repeat after 4096 frames; one frame in five is retransmitted, all with an ACK of the same bytes.
        for n in 0..10_000u32 {
            for attempt in 0..1 + u64::from(rng.below(5) == 0) * (1 + rng.below(3)) {
                sent.push(on_air(control::DATA, n, attempt > 0, t));
                sent.push(on_air(control::CONTROL, n, false, t + 310));
                t += 350 + 20 * rng.below(30) as i64;
            }
        }
        let (a, b) = (tapped(&mut rng, &sent, false), tapped(&mut rng, &sent, false));
        let (pairs, _) = met(Of::Frames, [frame_batches(&a, 0), frame_batches(&b, 77_000_000)]);
        let (mut wrong, mut acks) = (0, 0);
        for p in &pairs {
            let (x, y) = (&a[p.a as usize], &b[p.b as usize]);
            wrong += usize::from(x.0 != y.0);
            acks += usize::from(!x.1.is_data());
            assert!(!p.copy_safe || !x.1.retry(), "seed {seed}: bytes do not tell attempts apart");
        }
        assert_eq!(wrong, 0, "seed {seed}");
        assert!(acks > 7000, "{acks}");
        assert!(pairs.len() > sent.len() * 8 / 10, "{} of {}", pairs.len(), sent.len());
    }
}

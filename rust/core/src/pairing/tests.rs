//! Pairing of made packets: order of batches, memory, and what must not be paired.

use super::*;
use crate::packet::{flags, Addr, Packet, Tcp};
use crate::table::packets::PacketTable;

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
            chunk.iter().for_each(|p| table.push(p, 0, None));
            table.finish()
        })
        .collect()
}

/// All pairs, and the most rows held at once.
fn paired(a: &[Packet], b: &[Packet], rows: usize) -> (Vec<Pair>, usize) {
    let sides = [batches(a, rows), batches(b, rows)];
    let mut work = Pairing::new(false);
    for (side, batches) in [Side::A, Side::B].into_iter().zip(&sides) {
        batches.iter().for_each(|batch| work.sample(side, batch).expect("whole batches"));
    }
    work.compare();
    let mut next = [0, 0];
    let (mut out, mut most, mut more) = (Vec::new(), 0, true);
    while more {
        while let Some(side) = work.wants() {
            work.push(side, sides[side as usize].get(next[side as usize])).expect("whole batches");
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
fn batches_change_nothing() {
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
fn memory_is_that_of_a_window() {
    let count = 400_000;
    let a: Vec<_> = (0..count).map(|n| segment(n, n % 65_535 + 1, i64::from(n))).collect();
    let b: Vec<_> = (0..count).filter(|n| n % 50 != 0).map(|n| segment(n, n % 65_535 + 1, i64::from(n))).collect();
    let (pairs, most) = paired(&a, &b, 16_384);
    assert_eq!(pairs.len(), b.len());
    assert!(most < 200_000, "{most} rows held");
}

#[test]
fn another_copy_is_no_partner() {
    // Each tap missed another copy of the last segment: the IP ids tell.
    let mut a: Vec<_> = (0..100).map(|n| segment(n, n + 1, 0)).collect();
    let mut b = a.clone();
    a.push(segment(50, 500, 1));
    b.push(segment(51, 501, 1));
    let pairs = same(&paired(&a, &b, 64).0);
    assert_eq!(pairs, (0..100).map(|n| (n, n)).collect::<Vec<_>>());
}

#[test]
fn what_is_no_packet_stays_alone() {
    let odd = Packet { number: 1, ..Packet::default() };
    let (pairs, _) = paired(&[odd; 20], &[odd; 20], 8);
    assert_eq!(pairs, []);
    assert_eq!(paired(&[], &[odd; 3], 8).0, []);
    assert_eq!(paired(&[odd; 3], &[], 8).0, []);
}

#[test]
fn copies_beyond_counting_cost_no_more() {
    // A flood of packets that all look alike: too many to be told apart, and found out quickly.
    let a: Vec<_> = (0..20_000).map(|_| segment(1, 0, 0)).collect();
    let (pairs, _) = paired(&a, &a, 16_384);
    assert_eq!(pairs, []);
}

#[test]
fn a_missing_column_is_named() {
    let batch = batches(&[segment(1, 1, 1)], 1).remove(0);
    let kept: Vec<usize> = (0..batch.num_columns()).filter(|i| batch.schema().field(*i).name() != "tcp_seq").collect();
    let less = batch.project(&kept).expect("columns of the batch");
    assert_eq!(Pairing::new(false).sample(Side::A, &less), Err(BadColumn("tcp_seq")));
}

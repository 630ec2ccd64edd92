//! The numbers of connections without facts are those of the tracker, or undecided.

use super::super::numbers::FlowNumbers;
use super::*;

/// Numbers of both, and whether those without facts are decided to the end.
pub fn compare(packets: &[Packet]) -> bool {
    let (mut tracker, mut numbers) = (Tracker::default(), FlowNumbers::default());
    let start_ns = packets.iter().find_map(|p| p.time_ns).unwrap_or(0);
    for p in packets {
        let (expected, found) = (tracker.observe(p, start_ns), numbers.observe(p, start_ns));
        if !numbers.decided() {
            return false;
        }
        assert_eq!(found, expected, "packet {}", p.number);
    }
    true
}

/// A packet between the two ends of `Script`, at a time in seconds.
fn packet(s: f64, from_a: bool, seq: u32, ack: u32, f: u16) -> Packet {
    let mut script = Script::new(false);
    script.push(s * 1e3, from_a, seq, ack, f, 0, &[], None);
    script.packets.pop().unwrap()
}

#[test]
fn a_syn_with_another_number_is_a_new_connection() {
    let mut packets = Script::new(false).packets;
    packets.push(packet(1.0, true, 999, 0, flags::SYN));
    packets.push(packet(2.0, true, 70_000, 0, flags::SYN));
    packets.push(packet(3.0, false, 90_000, 0, flags::SYN));
    packets.push(packet(3.1, true, 90_000, 0, flags::ACK));
    assert!(compare(&packets));
}

#[test]
fn what_depends_on_the_end_of_a_connection_is_undecided() {
    let ended = |later: Packet| {
        let mut packets = Script::new(false).packets;
        packets.push(packet(1.0, true, 1000, 5000, flags::FIN | flags::ACK));
        packets.push(packet(1.1, false, 5000, 1001, flags::FIN | flags::ACK));
        packets.push(later);
        compare(&packets)
    };
    assert!(ended(packet(2.0, true, 1001, 5001, flags::ACK)));
    assert!(ended(packet(2.0, true, 123_456, 0, flags::SYN)));
    assert!(!ended(packet(2.0, false, 123_456, 7, flags::SYN | flags::ACK)));
    assert!(!ended(packet(300.0, true, 1001, 5001, flags::ACK)));
}

#[test]
fn a_connection_idle_for_very_long_is_undecided() {
    let mut packets = Script::new(false).packets;
    packets.push(packet(3000.0, true, 1000, 5000, flags::ACK));
    assert!(compare(&packets));
    packets.push(packet(7000.0, true, 1000, 5000, flags::ACK));
    assert!(!compare(&packets));
}

#[test]
fn more_connections_than_are_kept_are_undecided() {
    let mut packets = Vec::new();
    for n in 0..=crate::limits::LIVE_FLOWS as u32 {
        let mut p = packet(f64::from(n) * 1e-6, true, 5, 0, flags::SYN);
        (p.number, p.src) = (u64::from(n) + 1, Addr::v4([11, (n >> 16) as u8, (n >> 8) as u8, n as u8]));
        packets.push(p);
    }
    assert!(!compare(&packets));
    packets.pop();
    assert!(compare(&packets));
}

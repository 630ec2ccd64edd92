//! The queue of the sender's host, above the tap.

use super::*;
use crate::flow::HostQueues;

/// Another connection of the two hosts, whose packets come from port 40001.
fn other(s: &mut Script, ms: f64, from_a: bool, seq: u32, f: u16, len: u32) {
    s.push(ms, from_a, seq, 5000, f, len, &[], None);
    let p = s.packets.last_mut().unwrap();
    let port = if from_a { &mut p.src_port } else { &mut p.dst_port };
    *port = Some(40001);
}

/// A handshake that the host answers at once, and segments of that connection, one each `pace_ms` from 21 ms on; the SYN+ACK of the
/// first connection passes at 40 ms and its first segment at `sent_ms`, which is acknowledged 20 ms later.
fn behind_others(pace_ms: f64, sent_ms: f64) -> Tables {
    let mut s = Script::new(false);
    s.packets.clear();
    other(&mut s, 0.0, true, 999, flags::SYN, 0);
    other(&mut s, 20.0, false, 4999, flags::SYN | flags::ACK, 0);
    other(&mut s, 20.1, true, 1000, flags::ACK, 0);
    s.push(20.2, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    let mut k = 0;
    while 21.0 + pace_ms * f64::from(k) < sent_ms {
        other(&mut s, 21.0 + pace_ms * f64::from(k), true, 1000 + 1000 * k, flags::ACK, 1000);
        k += 1;
    }
    s.push(40.25, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    s.push(sent_ms, true, 1000, 5000, flags::ACK, 1000, &[], None);
    s.ack(sent_ms + 20.0, 1);
    s.in_order();
    s.run()
}

/// Time of the second connection in each state until its first segment, ms.
fn opening(t: &Tables, state: &str) -> i64 {
    let rows = t.intervals();
    rows.iter().filter(|r| r.0 == 1 && r.4 == state).map(|r| r.3 - r.2).sum::<i64>() / MS
}

#[test]
fn a_handshake_ends_when_its_answer_reaches_the_host() {
    // In less than 200 ms no timer of lost data expires, whatever kept it.
    let t = behind_others(50.0, 100.0);
    assert_eq!((opening(&t, "handshake"), opening(&t, "slow_start")), (20, 59), "{:?}", t.intervals());
}

#[test]
fn data_waits_in_a_queue_while_the_interface_sends_without_a_pause() {
    let t = behind_others(1.0, 600.0);
    assert_eq!((opening(&t, "handshake"), opening(&t, "slow_start")), (20, 559), "{:?}", t.intervals());
    // With pauses it may have been lost above the tap, and repeated by a timer.
    let t = behind_others(50.0, 600.0);
    assert_eq!((opening(&t, "handshake"), opening(&t, "undecided")), (20, 559), "{:?}", t.intervals());
}

#[test]
fn data_that_waits_in_its_host_for_longer_than_a_timer_waits_for_the_queue() {
    let t = behind_others(1.0, 1600.0);
    assert_eq!((opening(&t, "handshake"), opening(&t, "slow_start")), (20, 1559), "{:?}", t.intervals());
}

#[test]
fn a_timestamp_shows_that_the_host_answered_at_once() {
    // The only connection: its SYN+ACK comes after 20 ms, and its first segment passes at `ms`; its clock then.
    let opening = |ms: f64, made: u32| {
        let mut s = Script::new(false);
        s.packets.clear();
        s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        s.stamp(1000, 0);
        s.push(20.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.stamp(7, 1000);
        s.data(ms, 0);
        s.stamp(made, 7);
        s.ack(ms + 20.0, 1);
        s.stamp(507, made);
        s.run().time_in("handshake") / MS
    };
    assert_eq!(opening(520.0, 1020), 20);
    assert_eq!(opening(520.0, 1520), 520);
    // A clock of 100 Hz in the middle of a path, and one of 250 Hz.
    assert_eq!(opening(520.0, 1052), 520);
    assert_eq!(opening(80.0, 1020), 80);
}

#[test]
fn a_timestamp_shows_that_data_waited_in_its_host() {
    // A segment is acknowledged after 40 ms, and the next one passes 260 ms later; its clock then, and for how long it was idle.
    let idle = |made: u32| {
        let mut s = Script::new(true);
        s.data(20.2, 0);
        s.stamp(1040, 20);
        s.ack(60.2, 1);
        s.stamp(80, 1040);
        s.data(320.2, 1);
        s.stamp(made, 80);
        s.ack(360.2, 2);
        s.stamp(380, made);
        s.run().time_in("idle") / MS
    };
    assert_eq!(idle(1080), 0);
    assert_eq!(idle(1340), 260);
    // It was written later than that ACK came; or the clock has 100 Hz.
    assert_eq!(idle(1200), 260);
    assert_eq!(idle(1070), 260);
}

#[test]
fn a_host_on_the_link_of_the_tap_waits_behind_its_own_syns() {
    // 40 connections at once, 1 ms each on the line; the peer answers the first SYN after 0.2 ms. Its packets passed a router.
    let opening_of_first = |ttl: u8| {
        let mut s = Script::new(false);
        s.packets.clear();
        for k in 0..40u16 {
            s.push(f64::from(k), true, 999, 0, flags::SYN, 0, &[], Some(1460));
            s.last().src_port = Some(40_000 + k);
        }
        s.push(0.2, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.push(40.0, true, 1000, 5000, flags::ACK, 1000, &[], None);
        s.ack(60.0, 1);
        s.in_order();
        for p in &mut s.packets {
            p.ip_ttl = Some(if p.dst_port == Some(40_000) { ttl } else { 64 });
        }
        s.run().time_in("handshake") / MS
    };
    assert_eq!(opening_of_first(63), 0);
    // Hosts of one link: which of them is near does not show.
    assert_eq!(opening_of_first(64), 40);
}

#[test]
fn a_repair_that_waits_in_the_queue_shows_no_end_of_the_data() {
    // Segment 2 is lost. The third duplicate ACK passes at 64 ms, its repair 19 ms later: until then it was slow start.
    let mut s = Script::new(false);
    s.flight(20.2, 0..2);
    s.ack(41.2, 2);
    s.flight(41.3, 2..6);
    for ms in [62.0, 63.0, 64.0] {
        s.ack(ms, 2);
    }
    s.data(83.0, 2);
    s.ack(103.0, 6);
    let t = s.run();
    let last = t.intervals().iter().rposition(|r| r.4 == "slow_start").map(|i| t.intervals()[i].2..t.intervals()[i].3);
    assert_eq!(last, Some(20_200_000..64_000_000), "{:?}", t.intervals());
}

#[test]
fn a_timer_of_data_that_the_queue_dropped_begins_with_the_ack_that_released_it() {
    // An ACK after the three segments that never pass; the timer repeats the first.
    let mut s = Script::new(false);
    s.push(100.0, true, 4000, 5000, flags::ACK, 0, &[], None);
    s.data(1300.0, 0);
    s.ack(1320.0, 1);
    let t = s.run();
    assert_eq!((t.time_in("handshake") / MS, t.time_in("rto_wait") / MS), (20, 1300), "{:?}", t.intervals());
}

#[test]
fn data_that_echoes_an_older_ack_was_written_before_the_latest() {
    // The host answers two ACKs while another connection has the interface to itself, until 600 ms. Its clock of 1 ms seems to tick each
    // 4 ms, as all its later packets wait.
    let idle = |echo: u32| {
        let mut s = Script::new(false);
        s.stamp(1000, 7);
        for (k, ms) in [(0, 20.2), (1, 20.3)] {
            s.data(ms, k);
            s.stamp(1000, 7);
        }
        for (k, ms) in [(1, 40.0), (2, 45.0)] {
            s.ack(ms, k);
            s.stamp(7 + 20 * k, 1000);
        }
        for k in 0..600 {
            other(&mut s, 21.0 + f64::from(k), true, 1000 + 1000 * k, flags::ACK, 1000);
        }
        for k in 2..4 {
            s.data(621.5, k);
            s.stamp(1125, echo);
        }
        s.ack(641.5, 4);
        s.stamp(700, 1125);
        s.in_order();
        s.run().time_in("idle") / MS
    };
    assert_eq!(idle(27), 0);
    assert!(idle(47) > 100);
}

/// A host that opens `connections` connections at once, to as many peers or to one, each answered after 30 ms: its queue keeps the
/// answers for 170 ms more, and later ones longer. ms of all handshakes.
fn opened_at_once(connections: u16, peers: u16) -> i64 {
    let mut s = Script::new(false);
    s.packets.clear();
    for k in 0..connections {
        let n = f64::from(k);
        let late = 200.0 + 6.0 * n + f64::from(k % 3);
        for (ms, from_a, seq, ack, f, len) in [
            (3.0 * n, true, 999, 0, flags::SYN, 0),
            (30.0 + 3.0 * n, false, 4999, 1000, flags::SYN | flags::ACK, 0),
            (late, true, 1000, 5000, flags::ACK, 1000),
            (late + 250.0, false, 5000, 2000, flags::ACK, 0),
        ] {
            s.push(ms, from_a, seq, ack, f, len, &[], (f & flags::SYN != 0).then_some(1460));
            let peer = Addr::v4([10, 0, 1, (k % peers) as u8]);
            let p = s.last();
            *(if from_a { &mut p.src_port } else { &mut p.dst_port }) = Some(40_000 + k);
            *(if from_a { &mut p.dst } else { &mut p.src }) = peer;
            p.ip_ttl = Some(64);
        }
    }
    s.in_order();
    s.run().time_in("handshake") / MS
}

#[test]
fn the_host_of_a_capture_of_its_own_packets_is_near() {
    // Each handshake ends when its SYN+ACK passes.
    assert_eq!(opened_at_once(40, 40), 40 * 30);
    // Two hosts may both be far away, and a few connections may have one end in common by chance.
    assert!(opened_at_once(40, 1) > 40 * 100);
    assert!(opened_at_once(8, 8) > 8 * 100);
}

#[test]
fn what_the_host_dropped_is_waited_for() {
    // Forty segments in turn; `dropped` ids are missing before a repair, and nothing passes for 400 ms after its ACK.
    let states = |dropped: u32, later: u32| {
        let mut s = Script::new(true);
        for n in 0..40 {
            s.data(20.2 + f64::from(n) * 20.0, n);
            s.ack(40.1 + f64::from(n) * 20.0, n + 1);
        }
        s.data(830.0, 40);
        s.sack(850.0, 40, 41, 42);
        s.ids[0] += dropped;
        s.data(850.1, 40);
        s.ack(870.0, 41);
        s.ids[0] += later;
        s.data(1270.0, 41);
        s.ack(1290.0, 42);
        let t = s.run();
        (t.time_in("rto_wait") / MS, t.time_in("idle") / MS)
    };
    assert_eq!(states(5, 0), (400, 10));
    assert_eq!(states(0, 0), (0, 410));
    // Others may have used the counter in the silence.
    assert_eq!(states(0, 5), (0, 410));
}

#[test]
fn ids_without_a_gap_show_a_pause_after_the_first_segment() {
    let mut s = Script::new(true);
    s.packets.truncate(2);
    s.ids[0] -= 1;
    s.data(20.1, 0);
    s.ack(40.1, 1);
    s.data(640.1, 1);
    s.ack(660.1, 2);
    assert_eq!(s.run().time_in("idle") / MS, 600);
}

#[test]
fn a_repair_of_what_the_hosts_queue_lost_waits_behind_other_data() {
    // Segment 4 never passes, but what was sent after it does, one for each duplicate ACK; a sender that waits for its timer sends two.
    for (more, trigger) in [(60, "fast"), (2, "rto")] {
        let mut s = Script::new(false);
        s.flight(30.0, 0..4);
        s.ack(50.0, 4);
        s.flight(51.0, 5..8);
        for k in 0..60 {
            let t = 60.0 + 5.0 * f64::from(k);
            s.ack(t, 4);
            if k < more {
                s.data(t + 0.1, 8 + k);
            }
        }
        s.data(361.0, 4);
        s.ack(390.0, 8 + more);
        assert_eq!(s.run().resends()[0].0, trigger, "{more}");
    }
}

#[test]
fn a_syn_that_a_damaged_record_calls_empty_is_no_fault() {
    let mut hosts = HostQueues::default();
    for (t, bytes, syn) in [(0, 0, true), (MS, 60, false), (2 * MS, 0, true), (2 * MS, 0, false)] {
        hosts.observe(0, t, bytes, syn);
    }
    assert!(!hosts.observe(0, 3 * MS, 60, false).delays(0, 3 * MS));
}

//! Pauses of a sender: its application was idle, or a queue held its data.

use super::*;

#[test]
fn an_idle_sender_stays_idle_while_its_peer_sends() {
    // A request, and an answer of a segment each 0.4 ms, which divides the pause of the one that asked.
    let mut s = Script::new(false);
    s.push(21.0, true, 1000, 5000, flags::ACK | flags::PSH, 200, &[], None);
    for n in 0..200u32 {
        s.push(41.0 + 0.4 * f64::from(n), false, 5000 + 1000 * n, 1200, flags::ACK, 1000, &[], None);
        s.push(41.1 + 0.4 * f64::from(n), true, 1200, 6000 + 1000 * n, flags::ACK, 0, &[], None);
    }
    let t = s.run();
    let idle: i64 = t.intervals().iter().filter(|r| r.1 == 0 && r.4 == "idle").map(|r| r.3 - r.2).sum();
    assert!(idle > 75 * MS, "{:?}", t.intervals());
    assert_tiles(&t);
}

#[test]
fn a_short_write_ends_what_a_sender_waits_for() {
    // Near the receiver: writes of three segments, the last one short, one each 25 ms. Timestamps of 1 ms echo the latest ACK. That of
    // every other write's last segment comes with the next write, so that something is outstanding until then: what had passed before did
    // not release that.
    let mut s = Script::between(false, 0.1);
    s.packets[2].time_ns = s.packets[0].time_ns.map(|t| t + 2 * MS);
    let (mut seq, mut echo) = (1000, 2000);
    for n in 0..12u32 {
        let at = 10 + 25 * n;
        for (k, len) in [(0, 1000), (1, 1000), (2, 700)] {
            let more = if len < 1000 { flags::PSH } else { 0 };
            s.push(f64::from(at + k), true, seq, 5000, flags::ACK | more, len, &[], None);
            s.stamp(1000 + at, echo);
            seq += len;
        }
        for (k, left) in [(1, 700), (2, 0)].into_iter().take(2 - n as usize % 2) {
            s.push(f64::from(at + k) + 0.1, false, 5000, seq - left, flags::ACK, 0, &[], None);
            s.stamp(2000 + at + k, 1000 + at);
            echo = 2000 + at + k;
        }
    }
    s.in_order();
    let t = s.run();
    assert!(t.time_in("idle") > 100 * MS, "{:?}", t.intervals());
    assert_eq!(t.time_in("undecided"), 0, "{:?}", t.intervals());
}

#[test]
fn a_timer_shorter_than_the_path_leaves_the_pause_before_it_idle() {
    // Near the receiver. The sender's timer of 310 ms is shorter than the way there and back, so that it repeats what it sends after a
    // pause, before any answer can have reached it.
    let mut s = Script::between(false, 0.1);
    s.packets[2].time_ns = s.packets[0].time_ns.map(|t| t + 411 * MS);
    for (n, at) in [(0, 1000.0), (1, 60_000.0)] {
        let seq = 1000 + 522 * n;
        s.push(at, true, seq, 5000, flags::ACK | flags::PSH, 522, &[], None);
        s.push(at + 2.0, false, 5000, seq + 522, flags::ACK, 0, &[], None);
        s.push(at + 310.0, true, seq, 5000, flags::ACK | flags::PSH, 522, &[], None);
        s.push(at + 312.0, false, 5000, seq + 522, flags::ACK, 0, &[], None);
    }
    let t = s.run();
    assert!(t.time_in("rto_wait") < 1000 * MS, "{:?}", t.intervals());
    assert!(t.time_in("idle") > 50_000 * MS, "{:?}", t.intervals());
}

#[test]
fn a_copy_right_behind_a_long_pause_shows_one_timer() {
    // Near the receiver, 411 ms from the sender: data after a minute, and its copy 66 ms later, which a timer sent. Both waited before the tap.
    let mut s = Script::between(false, 0.1);
    s.packets[2].time_ns = s.packets[0].time_ns.map(|t| t + 411 * MS);
    for (seq, ms) in [(1000, 1000.0), (1522, 60_000.0), (1522, 60_066.0), (2044, 62_000.0)] {
        s.push(ms, true, seq, 5000, flags::ACK | flags::PSH, 522, &[], None);
        s.push(ms + 2.0, false, 5000, seq + 522, flags::ACK, 0, &[], None);
    }
    let t = s.run();
    assert!((1000 * MS..2000 * MS).contains(&t.time_in("rto_wait")), "{:?}", t.intervals());
    assert!(t.time_in("idle") > 50_000 * MS, "{:?}", t.intervals());
}

#[test]
fn an_ack_that_opens_the_window_and_releases_nothing_shows_that_all_was_sent() {
    // The only segment fills the window. Another connection goes on after its ACK.
    let limited = |after_ms: f64| {
        let mut s = Script::new(false);
        s.data(20.2, 0);
        s.ack(65.0, 1);
        s.push(65.0 + after_ms, true, 1, 1, flags::ACK, 10, &[], None);
        s.last().src_port = Some(7);
        s.offer(1000);
        s.run().time_in("window_limited") / MS
    };
    assert_eq!(limited(300.0), 0);
    // Too early to tell.
    assert_eq!(limited(0.0), 44);
}

#[test]
fn a_pause_before_the_last_data_counts_and_one_before_the_end_does_not() {
    let idle = |f: u16| {
        let mut s = Script::new(false);
        s.data(20.1, 0);
        s.ack(40.1, 1);
        s.push(540.1, true, 2000, 5000, f, if f & flags::FIN == 0 { 1000 } else { 0 }, &[], None);
        s.run().time_in("idle") / MS
    };
    assert_eq!((idle(flags::ACK), idle(flags::ACK | flags::FIN)), (500, 0));
}

//! A link that data and ACKs share.

use super::super::link_times::{Bursts, LinkTimes};
use super::*;

/// Bursts of 1, 2 and then 4 segments, the window, each sent with the ACK of the one before; a burst takes `answer` and 16 ms a segment.
/// The handshake took 20 ms. Time in slow start, at a full window and on a full path, ms.
fn bursts(answer: f64, pause: f64) -> [i64; 3] {
    let mut s = Script::new(false);
    let (mut ms, mut first) = (20.2, 0);
    for size in [1, 2, 4, 4, 4, 4] {
        s.flight(ms, first..first + size);
        first += size;
        ms += answer + 16.0 * f64::from(size);
        s.ack(ms, first);
        ms += pause;
    }
    s.offer(4000);
    let t = s.run();
    ["slow_start", "window_limited", "full_path"].map(|state| t.time_in(state) / MS)
}

#[test]
fn a_window_that_keeps_the_air_busy_is_no_limit() {
    // A packet without data takes 10 ms, so that a handshake takes 20 ms.
    assert_eq!(bursts(10.0, 0.0), [0, 0, 364]);
    // The application pauses after each burst: it had sent all of the first one, which shows no link yet.
    assert_eq!(bursts(10.0, 300.0), [0, 0, 337]);
}

#[test]
fn on_a_line_with_a_delay_it_is() {
    // A packet without data takes no time, and the path 20 ms: a larger window would use a quarter more of it.
    let [slow, window, full] = bursts(20.0, 0.0);
    assert!(slow + window > 400 && full == 0, "{slow} {window} {full}");
}

#[test]
fn bursts_whose_acks_a_timer_delays_keep_no_link_busy() {
    // Every burst is answered 100 ms after it arrived.
    assert_eq!(bursts(110.0, 0.0)[2], 0);
}

#[test]
fn a_timer_in_every_round_trip_shows_no_line() {
    let mut sizes = LinkTimes::default();
    // 20 ms there and back, 2 us a byte, and the receiver's timer of 100 ms.
    for bytes in [18, 180, 162] {
        sizes.note(bytes, 120_000_000 + bytes * 2000, None);
        sizes.compare(bytes, 120_000_000 + bytes * 2000);
    }
    assert!(sizes.of_line(180, 100_000_000).is_some());
    assert_eq!(sizes.of_line(180, 20_000_000), None);
}

#[test]
fn a_line_of_any_speed_has_a_round_trip() {
    let mut sizes = LinkTimes::default();
    for (bytes, rtt) in [(1, 1), (3, 1 << 39), (2, 1 << 38)] {
        sizes.note(bytes, rtt, None);
        sizes.compare(bytes, rtt);
    }
    assert!(sizes.of_line(2, 1 << 38).is_some_and(|rtt| (rtt - (1 << 38)).abs() < 9));
    // 2^31 bytes would take longer than any number of ns.
    assert!(sizes.of_line(1 << 31, 1 << 38).is_some_and(|rtt| rtt <= 1 << 41));
}

#[test]
fn bursts_of_any_size_keep_a_link_busy_or_not() {
    // Two that differ by a byte, 2^40 bytes long, the larger one minutes later.
    let mut times = LinkTimes::default();
    let (bytes, rtt) = (1 << 40, 1 << 39);
    times.note(bytes - 1, 1, Some(1));
    times.note(bytes, rtt, Some(1));
    assert_eq!(Bursts::follow(None, rtt, rtt, 0).busy_since(rtt, (bytes, rtt), &times, 1000), None);
}

#[test]
fn a_burst_far_longer_than_the_least_round_trip_and_any_timer_fills_a_line() {
    let since = |rtt: i64, least| Bursts::follow(None, rtt, rtt, 0).fill_line_since(rtt, rtt, least);
    assert_eq!(since(7_870 * MS, 94 * MS), Some((0, 7_870 * MS)));
    // A timer of the receiver may be in it, or the path's own delay; or no other round trip is known.
    assert_eq!(since(200 * MS, 2 * MS), None);
    assert_eq!(since(7_870 * MS, 900 * MS), None);
    assert_eq!(since(7_870 * MS, i64::MAX), None);
}

//! Slow start that goes on after a recovery.

use super::*;

/// Time in slow start, ms: of a sender that repaired a loss, and whose round trips of 20 ms then have so many segments.
fn slow_start_ms(flights: &[u32]) -> i64 {
    let mut s = Script::new(false);
    s.flight(30.0, 0..4);
    for n in 0..3 {
        s.ack(50.0 + f64::from(n), 0);
    }
    s.data(52.1, 0);
    s.ack(72.1, 4);
    let (mut next, mut t, mut before) = (4, 72.2, 0);
    for n in flights.iter().copied() {
        // The ACKs of the round trip before release the segments of this one.
        let first = next - before;
        let mut acked = 0;
        for k in 0..n {
            let at = t + 0.1 * f64::from(k);
            let released_by = before.min(k * before / n + 1);
            if released_by > acked {
                s.ack(at, first + released_by);
                acked = released_by;
            }
            s.data(at + 0.05, next + k);
        }
        (next, t, before) = (next + n, t + 20.0, n);
    }
    s.run().time_in("slow_start") / MS
}

#[test]
fn a_window_that_doubles_again_is_slow_start() {
    let before = slow_start_ms(&[4, 5, 6, 7]);
    assert!(slow_start_ms(&[4, 8, 16, 32]) >= before + 35);
    // An application that writes again sends more than twice as much at once.
    assert!(slow_start_ms(&[4, 4, 20, 20]) <= before + 10);
    // The window had been as large before.
    assert_eq!(slow_start_ms(&[8, 4, 8, 8]), before);
}

/// Flights in turn, one a round trip of 22 ms, after a timer has repeated the first segment, of which nothing had been lost: ms.
fn after_a_timer(flights: &[u32]) -> i64 {
    let mut s = Script::new(true);
    s.data(30.0, 0);
    s.stamp(100, 1);
    s.data(230.0, 0);
    s.stamp(300, 1);
    s.ack(253.0, 1);
    s.stamp(10, 100);
    let (mut t, mut next) = (253.1, 1);
    for (k, flight) in flights.iter().enumerate() {
        for i in 0..*flight {
            s.data(t + 0.1 * f64::from(i), next + i);
            s.stamp(400 + 22 * k as u32, 20 + k as u32);
        }
        next += flight;
        t += 22.0;
        s.ack(t - 0.1, next);
        s.stamp(30 + 22 * k as u32, 400 + 22 * k as u32);
    }
    s.run().time_in("slow_start") / MS
}

#[test]
fn a_timer_that_may_be_a_probes_ends_no_slow_start() {
    assert!(after_a_timer(&[2, 4, 8, 16]) >= 75);
    assert!(after_a_timer(&[2; 40]) < 440);
}

#[test]
fn an_ack_that_its_receiver_delays_does_not_end_it() {
    // The first segment of a window of one: its ACK comes after two round trips and more.
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(93.0, 1);
    let (mut t, mut next) = (93.1, 1);
    for flight in [2, 4, 8] {
        s.flight(t, next..next + flight);
        next += flight;
        t += 21.0;
        s.ack(t - 0.1, next);
    }
    s.flight(t, next..next + 16);
    let t = s.run();
    assert!(t.time_in("slow_start") >= 60 * MS, "{:?}", t.intervals());
}

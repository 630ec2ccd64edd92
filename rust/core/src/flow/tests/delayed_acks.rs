//! ACKs that the receiver delays.

use super::*;

/// How long an ACK was delayed, ms. Two segments are sent at once, and the first is acknowledged 200 ms late. Then the second is sent again,
/// or it is acknowledged, or the capture ends.
fn delayed(lost: Option<bool>) -> i64 {
    let mut s = Script::new(false);
    for n in 0..4 {
        s.data(30.0 + 25.0 * f64::from(n), n);
        s.ack(50.0 + 25.0 * f64::from(n), n + 1);
    }
    s.flight(130.0, 4..6);
    s.ack(351.0, 5);
    s.flight(351.1, 6..8);
    if lost == Some(true) {
        s.ack(371.1, 5);
        s.ack(372.1, 5);
        s.data(700.0, 5);
        s.ack(720.0, 8);
    } else if lost == Some(false) {
        s.ack(380.0, 8);
    }
    s.run().time_in("delayed_ack") / MS
}

#[test]
fn a_receiver_delays_the_ack_of_a_segment_if_the_next_one_is_lost() {
    assert_eq!(delayed(Some(true)), 200);
    // A queue held both, or nothing shows which.
    assert_eq!((delayed(Some(false)), delayed(None)), (0, 0));
}

/// How long ACKs were delayed, ms: bursts of two, four and four segments, each answered at once after so many ms.
fn answered(after: [f64; 3]) -> i64 {
    let mut s = Script::new(false);
    let (mut next, mut t) = (0, 30.0);
    for (n, wait) in [2, 4, 4].into_iter().zip(after) {
        s.flight(t, next..next + n);
        next += n;
        t += wait;
        s.ack(t, next);
        t += 0.1;
    }
    s.data(t, next);
    s.ack(t + 20.0, next + 1);
    s.run().time_in("delayed_ack") / MS
}

#[test]
fn a_larger_burst_that_takes_no_longer_waits_for_a_timer_of_the_receiver() {
    // The second and the third wait for it, and by what the first shows alone, a slow path can do the same.
    assert!((230..=260).contains(&answered([150.0, 150.0, 151.0])));
    assert!((220..=260).contains(&answered([150.0, 143.0, 144.0])));
    // A path that takes 65 ms a segment.
    assert_eq!(answered([150.0, 280.0, 280.0]), 0);
}

#[test]
fn a_burst_that_the_path_passes_sooner_waits_for_a_timer_of_the_receiver() {
    // The handshake takes 2 ms: 80 bytes in that time are 2000 in 50 ms.
    let waited = |after: f64| {
        let mut s = Script::new(false);
        let syn = s.packets[0].time_ns.unwrap();
        (s.packets[1].time_ns, s.packets[2].time_ns) = (Some(syn + 2 * MS), Some(syn + 2 * MS + MS / 10));
        for n in 0..4 {
            let t = 30.0 + (after + 0.1) * f64::from(n);
            s.flight(t, 2 * n..2 * n + 2);
            s.ack(t + after, 2 * n + 2);
        }
        s.run().time_in("delayed_ack") / MS
    };
    assert!((290..=400).contains(&waited(100.0)));
    assert_eq!(waited(70.0), 0);
}

#[test]
fn an_ack_that_opens_the_window_waited_for_the_application() {
    // The window is full, and every second ACK is 100 ms late: how much does it offer then?
    let delayed = |offered: u16| {
        let mut s = Script::new(false);
        let mut t = 30.0;
        for n in 0..8 {
            s.data(t, n);
            t += if n % 2 == 0 { 20.0 } else { 120.0 };
            s.ack(t, n + 1);
            s.last().tcp.as_mut().unwrap().window = if n % 2 == 0 { 1_500 } else { offered };
            t += 0.1;
        }
        s.data(t, 8);
        s.ack(t + 20.0, 9);
        s.run().time_in("delayed_ack") / MS
    };
    assert_eq!(delayed(1_500), 400);
    assert_eq!(delayed(20_000), 0);
}

#[test]
fn at_the_receiver_a_delayed_ack_shows_after_any_burst() {
    // 20 ms to the sender and back; the path's speed is unknown. Data that comes later than that did not wait for the ACK.
    for (next_ms, least_ms, most_ms) in [(240.3, 199, 200), (300.3, 0, 0)] {
        let mut s = Script::between(false, 0.1);
        for (ms, n) in [(20.1, 0), (20.2, 1), (next_ms, 2)] {
            if n == 2 {
                s.push(220.2, false, 5000, 3000, flags::ACK, 0, &[], None);
            }
            s.push(ms, true, 1000 + n * 1000, 5000, flags::ACK, 1000, &[], None);
        }
        s.push(next_ms + 0.1, false, 5000, 4000, flags::ACK, 0, &[], None);
        let t = s.run();
        let delayed = t.time_in("delayed_ack");
        assert!((least_ms * MS..=most_ms * MS).contains(&delayed), "{delayed} {:?}", t.intervals());
    }
}

#[test]
fn at_the_receiver_a_full_window_waits_for_a_delayed_ack_however_long_the_way_is() {
    // 20 ms to the sender and back in the handshake, and 45 ms later: only a window without room had kept back what follows.
    for (window, least_ms, most_ms) in [(1000, 39, 40), (60_000, 0, 0)] {
        let mut s = Script::between(false, 0.1);
        s.push(20.1, true, 1000, 5000, flags::ACK, 1000, &[], None);
        s.push(60.1, false, 5000, 2000, flags::ACK, 0, &[], None);
        s.push(105.0, true, 2000, 5000, flags::ACK, 1000, &[], None);
        s.push(105.1, false, 5000, 3000, flags::ACK, 0, &[], None);
        for p in s.packets.iter_mut().filter(|p| p.src_port == Some(5001)) {
            p.tcp.as_mut().unwrap().window = window;
        }
        let t = s.run();
        let delayed = t.time_in("delayed_ack");
        assert!((least_ms * MS..=most_ms * MS).contains(&delayed), "{delayed} {:?}", t.intervals());
    }
}

#[test]
fn the_window_of_a_syn_is_no_smaller_one() {
    // Bursts that double, each answered after 120 ms. The scale makes each window larger than the SYN+ACK's.
    let mut s = Script::new(false);
    for p in s.packets.iter_mut().filter_map(|p| p.tcp.as_mut()).filter(|tcp| tcp.flags & flags::SYN != 0) {
        p.wscale = Some(4);
    }
    let mut n = 0;
    for k in 0..5 {
        let t = 30.0 + 120.0 * f64::from(k);
        s.flight(t, n..n + (2 << k));
        n += 2 << k;
        s.ack(t + 119.0, n);
    }
    assert!(s.run().time_in("delayed_ack") / MS >= 190);
}

/// How long ACKs were delayed, ms: single segments of these bytes, one after another, each answered after 2 s and so long a KB.
fn singly(bytes: &[u32], ms_per_kb: f64, timer: impl Fn(u32) -> f64) -> i64 {
    let mut s = Script::between(false, 2000.0);
    s.packets[2].time_ns = s.packets[1].time_ns;
    let (mut t, mut seq) = (2030.0, 1000);
    for len in bytes {
        s.push(t, true, seq, 5000, flags::ACK, *len, &[], None);
        seq += len;
        t += 2000.0 + ms_per_kb * f64::from(*len) / 1000.0 + timer(*len);
        s.push(t, false, 5000, seq, flags::ACK, 0, &[], None);
        t += 0.1;
    }
    s.run().time_in("delayed_ack") / MS
}

#[test]
fn round_trips_that_grow_with_the_bytes_are_a_lines() {
    let sizes = [100, 400, 200, 400, 100, 200, 400, 200];
    // The second one takes 210 ms longer than the first: a third size shows that its bytes do.
    assert!(singly(&sizes, 700.0, |_| 0.0) <= 280);
    // A receiver that answers small segments at once and delays the others.
    assert!(singly(&sizes, 0.0, |len| if len > 100 { 100.0 } else { 0.0 }) >= 300);
}

//! Small segments that wait for the ACK of everything before them (Nagle).

use super::{flags, Script};

/// Segments of this size, one a round trip of 20 ms.
fn one_a_round_trip(len: u32) -> Script {
    let mut s = Script::new(false);
    for n in 0..4 {
        let ms = 20.2 + 20.0 * f64::from(n);
        s.push(ms, true, 1000 + n * len, 5000, flags::ACK, len, &[], None);
        s.push(ms + 20.0, false, 5000, 1000 + (n + 1) * len, flags::ACK, 0, &[], None);
    }
    s
}

#[test]
fn a_sender_of_small_segments_is_not_in_slow_start() {
    let t = one_a_round_trip(90).run();
    assert_eq!((t.time_in("slow_start"), t.time_in("transfer")), (0, 80_000_000), "{:?}", t.intervals());
    let t = one_a_round_trip(1400).run();
    assert!(t.time_in("slow_start") > 50_000_000, "{:?}", t.intervals());
}

fn kept_back(first: u32, full: u32) -> Script {
    let (mut s, next) = (Script::new(false), 1000 + first);
    s.push(30.0, true, 1000, 5000, flags::ACK, first, &[], None);
    s.push(50.0, false, 5000, next, flags::ACK, 0, &[], None);
    s.push(60.0, true, next, 5000, flags::ACK, 600, &[], None);
    s.push(100.0, true, next + 600, 5000, flags::ACK, full, &[], None);
    s
}

/// A write of `first` bytes, acknowledged; 600 bytes, and 40 ms later `full` ones: how long the sender waited for a delayed ACK. The ACK
/// of `acked` more takes `rtt_ms`.
fn full_after_small(first: u32, full: u32, acked: u32, rtt_ms: f64) -> i64 {
    let mut s = kept_back(first, full);
    let next = 1000 + first;
    s.push(100.0 + rtt_ms, false, 5000, next + acked, flags::ACK, 0, &[], None);
    s.push(100.1 + rtt_ms, true, next + 600 + full, 5000, flags::ACK, 200, &[], None);
    s.push(120.1 + rtt_ms, false, 5000, next + 800 + full, flags::ACK, 0, &[], None);
    s.run().time_in("delayed_ack")
}

#[test]
fn writes_kept_back_while_the_receiver_delays_an_ack() {
    assert_eq!(full_after_small(600, 1000, 1600, 20.0), 30_000_000);
    // One write fills a segment; what is not full is sent without Nagle's algorithm.
    assert_eq!(full_after_small(1000, 1000, 1600, 20.0), 0);
    assert_eq!(full_after_small(600, 700, 1300, 20.0), 0);
    // The receiver acknowledged the small one by itself; the path is as slow as that.
    assert_eq!(full_after_small(600, 1000, 600, 20.0), 0);
    assert_eq!(full_after_small(600, 1000, 1600, 41.0), 0);
    // No ACK comes.
    assert_eq!(kept_back(600, 1000).run().time_in("delayed_ack"), 0);
}

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

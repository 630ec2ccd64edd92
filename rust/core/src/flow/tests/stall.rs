//! A queue that stands still: behind it, the sender's timestamps show that its timer expired meanwhile.

use super::*;

/// Segment `n` passes near the receiver; by its timestamps it was sent at another time. Its ACK follows at once.
fn stamped(s: &mut Script, ms: u32, n: u32, sent_ms: u32, echo_ms: u32, acked: u32) {
    s.data(f64::from(ms), n);
    s.stamp(1000 + sent_ms, 9000 + echo_ms);
    s.ack(f64::from(ms) + 0.1, acked);
    s.stamp(9000 + ms, 1000 + sent_ms);
}

/// 60 segments, one every 5 ms, each sent 10 ms before.
fn steady() -> Script {
    let mut s = Script::between(true, 0.1);
    s.stamp(1010, 9000);
    for n in 0..60 {
        let ms = 30 + 5 * n;
        stamped(&mut s, ms, n, ms - 10, ms - 20, n + 1);
    }
    s
}

/// Then two segments that a queue keeps `late_ms` longer, and the copy of the timer, sent 200 ms after them, which comes right after them.
fn after_a_stall(late_ms: u32) -> Tables {
    let mut s = steady();
    let end = 330 + late_ms;
    stamped(&mut s, end, 60, 320, 310, 61);
    stamped(&mut s, end + 1, 61, 325, 315, 62);
    stamped(&mut s, end.max(535) + 2, 58, 525, 315, 62);
    stamped(&mut s, end.max(535) + 22, 62, end.max(535) + 12, end.max(535) + 2, 63);
    s.run()
}

#[test]
fn a_timer_expires_while_a_queue_stands_still() {
    let t = after_a_stall(500);
    assert_tiles(&t);
    assert_eq!(t.resends()[0].0, "rto");
    // From the latest segment that it had sent, by its clock at 335 ms behind a path of 10 ms, to the ACK of new data at 852.1 ms.
    assert_eq!(t.time_in("rto_wait") / MS, 852 - 336);
}

#[test]
fn a_timer_expires_in_a_silence_of_the_tap() {
    let t = after_a_stall(0);
    assert_eq!(t.resends()[0].0, "rto");
    assert_eq!(t.time_in("rto_wait") / MS, 557 - 331);
}

#[test]
fn a_path_that_has_become_longer_is_no_queue() {
    let mut s = steady();
    // What was sent since 320 ms is 500 ms longer on its way; so is the copy that the timer sent 200 ms after the latest segment.
    stamped(&mut s, 830, 60, 320, 310, 61);
    stamped(&mut s, 835, 61, 325, 315, 62);
    stamped(&mut s, 1035, 58, 525, 315, 62);
    stamped(&mut s, 1040, 62, 530, 830, 63);
    let t = s.run();
    assert_tiles(&t);
    assert_eq!(t.time_in("rto_wait") / MS, 1040 - 835);
}

//! Away from the sender: what it sent before its timer expired and no tap captured, and ACKs that reached it after the expiry.

use super::*;

/// Near the receiver, with SACK: ten segments arrive, each with its ACK.
fn after_ten_segments() -> Script {
    let mut s = Script::between(true, 0.1);
    for n in 0..10 {
        s.data(30.0 + f64::from(n), n);
        s.ack(30.1 + f64::from(n), n + 1);
    }
    s
}

/// After ten segments: 10 is lost, 11 arrives, 12 is lost. The timer repeats 10; 13 and 14 follow its ACK, with
/// `skipped` packets missing before them, and then 12.
fn after_timeout(skipped: u32) -> Vec<&'static str> {
    let mut s = after_ten_segments();
    s.ids[0] += 1;
    s.data(41.0, 11);
    s.sack(41.1, 10, 11, 12);
    s.ids[0] += 1;
    s.data(350.0, 10);
    s.ack(350.1, 12);
    s.ids[0] += skipped;
    for n in 13..15 {
        s.data(358.0 + f64::from(n), n);
        s.sack(358.1 + f64::from(n), 12, 13, n + 1);
    }
    s.data(392.0, 12);
    s.ack(392.1, 15);
    s.run().resends().iter().map(|r| r.0).collect()
}

#[test]
fn a_timeout_marks_as_lost_what_the_ids_show_was_sent_before_it() {
    // No packet is missing since the timer expired, so segment 12 was sent before.
    assert_eq!(after_timeout(0), ["rto", "go_back_n"]);
}

#[test]
fn bytes_that_may_have_been_sent_before_a_timeout_are_undecided() {
    assert_eq!(after_timeout(1)[1], "undecided");
}

#[test]
fn more_new_data_than_f_rto_sends_shows_that_the_timeout_was_undone() {
    let mut s = after_ten_segments();
    // All ACKs from the ninth on are lost, and so are segments 10 and 11; the timer repeats 8.
    s.ids[0] += 2;
    s.data(350.0, 8);
    s.sack(350.1, 10, 8, 9);
    for n in 12..16 {
        s.data(359.0 + f64::from(n), n);
        s.sack(359.1 + f64::from(n), 10, 12, n + 1);
    }
    s.data(392.0, 10);
    s.ack(392.1, 16);
    assert_eq!(s.run().resends()[1].0, "fast");
}

#[test]
fn an_ack_that_may_have_arrived_after_the_expiry_can_undo_it() {
    for (reported_ms, trigger) in [(344.0, "undecided"), (45.0, "go_back_n")] {
        let mut s = after_ten_segments();
        s.ids[0] += 1;
        s.data(41.0, 11);
        s.sack(41.1, 10, 11, 12);
        s.ids[0] += 1;
        s.data(reported_ms, 13);
        s.push(reported_ms + 0.1, false, 5000, 11000, flags::ACK, 0, &[(14000, 15000), (12000, 13000)], None);
        s.data(360.0, 10);
        s.sack(360.1, 12, 13, 14);
        s.data(382.0, 12);
        s.ack(382.1, 14);
        assert_eq!(s.run().resends()[1].0, trigger, "{reported_ms}");
    }
}

#[test]
fn a_copy_that_comes_later_than_any_first_timer_waited_on_its_way() {
    // No packet is missing before it: whether the sender waited for its timer for so long is not known.
    let waits = |ms: f64| {
        let mut s = after_ten_segments();
        s.data(40.0, 10);
        s.data(40.0 + ms, 10);
        s.ack(40.1 + ms, 11);
        let t = s.run();
        (t.time_in("rto_wait") / MS, t.time_in("undecided") / MS)
    };
    assert_eq!((waits(3000.0), waits(6000.0)), ((3000, 0), (180, 5820)));
}

/// Near a receiver whose SYN+ACK the sender answers after `loop_ms`: a segment at 10 s, and its copy 1.5 s after its ACK. The undecided time.
fn copied(loop_ms: i64) -> i64 {
    let mut s = Script::between(false, 0.1);
    s.packets[2].time_ns = s.packets[0].time_ns.map(|t| t + loop_ms * MS);
    s.data(10_000.0, 0);
    s.ack(10_000.1, 1);
    s.data(11_500.1, 0);
    s.ack(11_500.2, 1);
    let t = s.run();
    t.time_in("undecided") / MS
}

#[test]
fn a_queue_of_seconds_may_have_held_the_copy_of_what_is_acknowledged() {
    // A timer sent it although the ACK had passed the tap, which was lost.
    assert_eq!(copied(411), 0);
    // Nor is known how much of the handshake of 2 s was a timer.
    assert_eq!(copied(2000), 2000 + 1500);
}

#[test]
fn a_handshake_of_seconds_does_not_tell_how_many_timers_a_silence_was() {
    // Its sender, 1.5 s away and back, sends a segment, and no data follows an ACK; packets are missing before its copy.
    let waits = |ms: f64| {
        let mut s = Script::between(false, 0.1);
        s.packets[2].time_ns = s.packets[0].time_ns.map(|t| t + 1500 * MS);
        s.data(1500.1, 0);
        s.ack(1500.2, 1);
        s.ids[0] += 1;
        s.data(1500.1 + ms, 0);
        s.ack(1500.2 + ms, 1);
        let t = s.run();
        (t.time_in("rto_wait") / MS, t.time_in("backoff_wait") / MS)
    };
    assert_eq!(waits(3900.0), (3900, 0));
    // Two expiries take three times the least one; and as what the sender waited for before is not known, this may be the second, too.
    assert_eq!(waits(4500.0), (0, 0));
}

#[test]
fn a_silence_that_several_timers_of_200_ms_fit_may_have_been_theirs() {
    // On a path of 20 ms a segment is missing, and a packet before its copy.
    let waits = |ms: f64, missing: u32| {
        let mut s = after_ten_segments();
        s.ids[0] += 1;
        s.data(41.0, 11);
        s.sack(41.1, 10, 11, 12);
        s.ids[0] += missing;
        s.data(41.0 + ms, 10);
        s.ack(41.1 + ms, 12);
        let t = s.run();
        (t.time_in("rto_wait") / MS, t.time_in("undecided") / MS)
    };
    assert_eq!((waits(220.0, 1), waits(1400.0, 1)), ((220, 0), (180, 1220)));
    // No copy is missing; or one timer of RFC 6298 is enough.
    assert_eq!((waits(1400.0, 0), waits(1010.0, 1)), ((1400, 0), (1010, 0)));
}

/// Near a receiver, a second from its sender and back, which answers each of its ACKs; then a segment is lost, and its copy passes after `ms`.
fn backed_off(ms: f64) -> i64 {
    let mut s = Script::between(false, 0.1);
    s.packets[2].time_ns = s.packets[0].time_ns.map(|t| t + 1000 * MS);
    for (n, (tsval, tsecr)) in [(1, 0), (9000, 1), (501, 9000)].into_iter().enumerate() {
        s.packets[n].tcp.as_mut().unwrap().timestamps = Some((tsval, tsecr));
    }
    let at = |n: u32| f64::from(n) * 1000.0 + 1000.2;
    for n in 0..10 {
        s.data(at(n), n);
        s.stamp(501 + 1000 * n, 9000 + 1000 * n);
        s.ack(at(n) + 0.1, n + 1);
        s.stamp(9000 + 1000 * (n + 1), 501 + 1000 * n);
    }
    s.ids[0] += 1;
    s.data(at(10), 11);
    s.stamp(10_501, 19_000);
    s.ack(at(10) + 0.1, 10);
    s.stamp(20_000, 9501);
    s.ids[0] += 1;
    s.data(at(10) + ms, 10);
    s.stamp(10_501 + ms as u32, 20_000);
    s.ack(at(10) + ms + 0.1, 12);
    s.stamp(20_000 + ms as u32, 10_501 + ms as u32);
    let t = s.run();
    t.time_in("backoff_wait") / MS
}

#[test]
fn only_a_silence_longer_than_the_first_timer_of_any_model_shows_a_second_one() {
    // Linux 2.2 waits for up to 11.25 round trips.
    assert_eq!(backed_off(8000.0), 0);
    assert!((8_000..12_000).contains(&backed_off(15_000.0)), "{}", backed_off(15_000.0));
}

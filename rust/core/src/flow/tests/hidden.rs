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

//! What the receiver reports of segments that arrive twice, and what follows for the need of a retransmission.

use super::*;

/// Segments 0 to 2; the timer retransmits 2, whose ACK comes a round trip later; `after`: then a plain duplicate of this ACK.
fn tail(sack: bool, after: bool) -> Script {
    let mut s = Script::new(sack);
    s.flight(30.0, 0..3);
    s.ack(52.0, 2);
    s.data(500.0, 2);
    s.ack(521.0, 3);
    if after {
        s.ack(521.2, 3);
    }
    s.data(600.0, 3);
    s.ack(620.0, 4);
    s
}

impl Script {
    /// Of six segments the first is missing, and the duplicate ACKs call for it.
    fn repaired_first(&mut self) {
        self.flight(30.0, 0..6);
        for n in 0..4 {
            self.ack(51.0 + f64::from(n), 0);
        }
        self.data(54.1, 0);
    }

    /// Of six segments the second is missing: SACK blocks call for it, and the ACK of all comes a round trip later.
    fn repaired_second(&mut self) {
        self.flight(30.0, 0..6);
        self.ack(50.0, 1);
        for n in 2..6 {
            self.sack(50.0 + f64::from(n), 1, 2, n + 1);
        }
        self.data(56.0, 1);
        self.ack(76.0, 6);
    }
}

#[test]
fn a_plain_duplicate_of_the_ack_shows_bytes_that_arrived_twice() {
    assert_eq!(tail(true, false).run().resends()[0].1, None);
    assert_eq!(tail(true, true).run().resends()[0].1, Some(true));
}

#[test]
fn without_sack_and_a_hole_the_need_is_open() {
    assert_eq!(tail(false, false).run().resends()[0].1, None);
}

/// Segment 1 is late: the third duplicate ACK repeats it, the copy fills the hole, and a DSACK reports the late original.
#[test]
fn a_late_original_shows_that_nothing_was_lost() {
    for stamps in [true, false] {
        let mut s = Script::new(true);
        s.repaired_second();
        s.sack(80.0, 6, 1, 2);
        s.data(90.0, 6);
        s.ack(110.0, 7);
        if stamps {
            stamp(&mut s);
        }
        assert_eq!(s.run().resends()[0].1, Some(true), "{stamps}");
    }
}

/// The third duplicate ACK repeats segment 1; the copy comes first, and one more duplicate ACK answers the original.
#[test]
fn without_sack_a_late_original_causes_one_more_duplicate_ack() {
    for stamps in [true, false] {
        let mut s = Script::new(false);
        s.flight(30.0, 0..5);
        s.ack(50.0, 1);
        for n in 0..3 {
            s.ack(52.0 + f64::from(n), 1);
        }
        s.data(54.1, 1);
        s.ack(74.2, 5);
        s.data(74.3, 5);
        s.ack(75.0, 5);
        s.ack(94.4, 6);
        s.data(95.0, 6);
        s.ack(115.1, 7);
        if stamps {
            stamp(&mut s);
        }
        assert_eq!(s.run().resends()[0].1, Some(true), "{stamps}");
    }
}

/// Timestamps of 1 ms; an ACK echoes what was sent 20 ms before.
fn stamp(s: &mut Script) {
    for p in s.packets.iter_mut() {
        let ms = (p.time_ns.unwrap() - 1_700_000_000_000_000_000) / MS;
        let from_a = p.src_port == Some(A.1);
        let echo = if from_a { 0 } else { u32::try_from(ms).unwrap().saturating_sub(20) + 1000 };
        p.tcp.as_mut().unwrap().timestamps = Some((ms as u32 + 1000, echo));
    }
}

#[test]
fn an_ack_that_a_late_original_can_have_caused_shows_no_hole() {
    // There are no duplicate ACKs, because all packets were late. The ACK of segment 0 arrives after its copy, and segment 1 is retransmitted.
    let mut s = Script::new(false);
    for n in 0..4 {
        s.data(30.0, n);
    }
    s.data(500.0, 0);
    s.ack(530.0, 1);
    s.data(530.1, 1);
    s.ack(551.0, 2);
    s.data(551.1, 2);
    s.ack(572.0, 4);
    s.data(572.1, 4);
    s.ack(600.0, 5);
    assert_eq!(s.run().resends()[1].1, None);
}

#[test]
fn a_copy_that_no_report_shows_is_needed_only_if_its_ack_came_in_time() {
    // An ACK that takes longer than the timer waited may as well be a late one of the original.
    for (after_ms, needed) in [(21.0, Some(false)), (800.0, None)] {
        let mut s = Script::new(true);
        for n in 0..4 {
            s.data(30.0 + 30.0 * f64::from(n), n);
            s.ack(50.5 + 30.0 * f64::from(n), n + 1);
        }
        // The receiver reports what comes twice.
        s.sack(141.0, 4, 3, 4);
        s.data(200.0, 4);
        s.data(500.0, 4);
        s.ack(500.0 + after_ms, 5);
        s.data(1500.0, 5);
        s.ack(1521.0, 6);
        assert_eq!(s.run().spurious().iter().flatten().count(), usize::from(needed.is_some()));
        assert_eq!(s.run().resends()[0].1, needed);
    }
}

#[test]
fn acks_that_overtake_each_other_prove_nothing_by_time() {
    for overtaken in [false, true] {
        let mut s = Script::new(false);
        s.flight(30.0, 0..6);
        s.ack(51.0, 2);
        if overtaken {
            s.ack(51.1, 1);
        }
        s.data(400.0, 2);
        s.ack(403.0, 6);
        s.data(404.0, 6);
        s.ack(425.0, 7);
        assert_eq!(s.run().resends()[0].1, (!overtaken).then_some(true));
    }
}

#[test]
fn a_recovery_ends_at_its_point_even_without_sack() {
    let mut s = Script::new(false);
    s.repaired_first();
    s.ack(75.0, 6);
    s.data(75.1, 6);
    s.data(500.0, 6);
    s.ack(521.0, 7);
    let t = s.run();
    assert_eq!(t.names("recoveries", "ended_by", crate::table::tcp::RECOVERY_ENDS), ["acked"]);
}

#[test]
fn a_report_of_a_duplicate_alone_shows_no_hole() {
    let mut s = Script::new(true);
    s.data(30.0, 0);
    s.ack(50.0, 1);
    s.data(60.0, 1);
    s.sack(70.0, 1, 0, 1);
    s.data(400.0, 1);
    s.ack(420.0, 2);
    let t = s.run();
    assert_eq!(t.resends()[0].0, "undecided");
    assert_eq!(t.batches("recoveries").count(), 0);
}

#[test]
fn a_dsack_that_comes_long_after_the_copy_counts() {
    // The third duplicate ACK repeats segment 1; the original comes five round trips later.
    for late in [false, true] {
        let mut s = Script::new(true);
        s.repaired_second();
        for n in 6..12 {
            s.data(80.0 + 21.0 * f64::from(n - 6), n);
            s.ack(100.0 + 21.0 * f64::from(n - 6), n + 1);
        }
        if late {
            s.sack(210.0, 12, 1, 2);
        }
        s.data(220.0, 12);
        assert_eq!(s.run().resends()[0].1, Some(late));
    }
}

#[test]
fn a_timeout_is_spurious_only_if_no_ack_can_have_been_lost() {
    // The ACK comes sooner than the copy can have caused it. The first of two segments may have had its own ACK, on a slow line.
    for (acked, kind) in [(1, "spurious"), (2, "undecided"), (4, "undecided")] {
        let mut s = Script::new(false);
        for n in 0..6 {
            s.data(30.0, n);
        }
        s.data(400.0, 0);
        s.ack(403.0, acked);
        s.data(404.0, 6);
        s.ack(425.0, 7);
        let t = s.run();
        assert_eq!(t.resends(), [("rto", Some(true))]);
        assert_eq!(t.names("timeouts", "kind", TIMEOUT_KINDS), [kind]);
    }
}

#[test]
fn an_ack_after_two_copies_does_not_show_which_one_filled_the_hole() {
    // The ACK may be of the first copy: then segment 6, sent after it, is no hole.
    let mut s = Script::new(false);
    s.repaired_first();
    s.data(56.0, 6);
    s.data(400.0, 0);
    s.ack(430.0, 6);
    s.data(430.1, 6);
    s.ack(451.0, 7);
    s.data(452.0, 7);
    s.ack(473.0, 8);
    assert_eq!(s.run().resends()[2], ("go_back_n", None));
}

#[test]
fn a_hole_that_stands_for_round_trips_is_a_loss_also_where_packets_overtake_each_other() {
    // The duplicate ACKs come after a round trip, or after four.
    for (shown, needed) in [(81.0, None), (148.0, Some(false))] {
        let mut s = Script::new(true);
        s.flight(30.0, 0..3);
        s.ack(51.0, 3);
        s.ack(51.1, 2);
        s.flight(60.0, 3..12);
        for n in 5..12 {
            s.sack(shown + 0.1 * f64::from(n), 3, 4, n);
        }
        s.data(shown + 1.3, 3);
        s.ack(shown + 22.3, 12);
        s.data(shown + 23.0, 12);
        s.ack(shown + 44.0, 13);
        assert_eq!(s.run().resends(), [("fast", needed)]);
    }
}

#[test]
fn a_probe_follows_duplicate_acks_that_report_nothing() {
    // Where SACK is agreed they answer a copy that came twice; then the last segment is repeated after two round trips.
    let repeated = |sack: bool| {
        let mut s = Script::new(sack);
        s.data(30.0, 0);
        s.ack(50.0, 1);
        s.flight(50.1, 1..3);
        s.ack(52.0, 1);
        s.data(130.0, 2);
        s.ack(150.0, 3);
        s.run().resends()[0].0
    };
    assert_eq!(repeated(true), "tail_loss_probe");
    assert_eq!(repeated(false), "undecided");
}

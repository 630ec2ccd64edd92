//! Senders that can undo a timeout: what they repeat next.

use super::*;

impl Script {
    /// A segment of the sender with this TSval, which echoes `tsecr`.
    fn sent_with(&mut self, ms: f64, n: u32, tsval: u32, tsecr: u32) {
        self.data(ms, n);
        self.packets.last_mut().unwrap().tcp.as_mut().unwrap().timestamps = Some((tsval, tsecr));
    }

    /// An ACK of the first n segments with this TSval, which echoes `tsecr`.
    fn acked_with(&mut self, ms: f64, n: u32, tsval: u32, tsecr: u32) {
        self.ack(ms, n);
        self.packets.last_mut().unwrap().tcp.as_mut().unwrap().timestamps = Some((tsval, tsecr));
    }

    fn triggers(&self) -> Vec<&'static str> {
        self.run().resends().iter().map(|r| r.0).collect()
    }
}

/// Six segments, and the timer repeats the first after 300 ms.
fn timed_out() -> Script {
    let mut s = Script::new(true);
    for n in 0..6 {
        s.sent_with(30.0 + f64::from(n), n, 1030 + n, 2020);
    }
    s.sent_with(330.0, 0, 1330, 2020);
    s
}

#[test]
fn what_only_the_timers_copy_has_overtaken_is_repaired_by_either() {
    // The ACK echoes an original, the second one. With the Eifel detection the sender undoes the timeout, and RACK finds segment 2 lost (RFC 8985 section
    // 6.2); without it the sender goes back to segment 2.
    let mut s = timed_out();
    s.acked_with(351.0, 2, 2351, 1031);
    s.sent_with(351.1, 2, 1351, 2351);
    s.acked_with(372.0, 6, 2372, 1351);
    assert_eq!(s.triggers(), ["rto", "undecided"]);
}

#[test]
fn duplicate_acks_that_the_sender_had_not_read_call_for_nothing() {
    // Held on the path, all ACKs come at once; the sender answers the first one, and its packets wait below TCP.
    let mut s = timed_out();
    s.acked_with(351.00, 1, 2051, 1030);
    s.sent_with(351.01, 1, 1351, 2051);
    s.acked_with(351.02, 2, 2052, 1030);
    for n in 0..4 {
        s.acked_with(351.03, 2, 2053 + n, 1030);
    }
    s.acked_with(351.04, 6, 2060, 1030);
    s.sent_with(351.10, 2, 1351, 2051);
    s.sent_with(351.20, 3, 1351, 2051);
    assert_eq!(s.triggers(), ["rto", "go_back_n", "go_back_n", "go_back_n"]);
}

#[test]
fn evidence_that_a_timeout_was_not_needed_stands_where_its_kind_is_undecided() {
    // The ACK echoes an original: whether an earlier ACK was lost, or this one late, does not show.
    let evidence = |mut s: Script| {
        s.acked_with(351.0, 6, 2351, 1030);
        let t = s.run();
        assert_eq!(t.names("timeouts", "kind", TIMEOUT_KINDS), ["undecided"]);
        let column = t.batches("timeouts").next().unwrap().column_by_name("kind_evidence").unwrap().clone();
        column.is_valid(0)
    };
    assert!(evidence(timed_out()));
    // Away from the sender that ACK may have come after the timer.
    let mut away = Script::between(true, 0.1);
    away.packets.extend(timed_out().packets.into_iter().skip(3));
    for (i, p) in away.packets.iter_mut().enumerate() {
        p.number = i as u64 + 1;
    }
    assert!(!evidence(away));
}

/// Twelve segments, of which the first arrives late: the sender repeats it for three duplicate ACKs, and an ACK of an original answers.
fn repeated_too_early() -> Script {
    let mut s = Script::new(true);
    for n in 0..12 {
        s.sent_with(30.0 + f64::from(n), n, 1030 + n, 2020);
    }
    for n in 0..3 {
        s.sack(51.0 + f64::from(n), 0, 1, 2 + n);
        s.stamp(2051 + n, 1030);
    }
    s.sent_with(53.1, 0, 1053, 2020);
    s.acked_with(55.0, 4, 2055, 1030);
    s
}

fn recovery(s: &Script) -> i64 {
    s.run().time_in("fast_recovery") / MS
}

#[test]
fn a_sender_without_the_eifel_detection_goes_on_with_its_recovery() {
    let mut s = repeated_too_early();
    s.sent_with(55.1, 4, 1055, 2055);
    s.acked_with(75.0, 8, 2075, 1034);
    s.sent_with(75.1, 8, 1075, 2075);
    s.acked_with(95.0, 12, 2095, 1038);
    assert_eq!(recovery(&s), 41);
    // With it, new data follows.
    let mut s = repeated_too_early();
    s.sent_with(55.1, 12, 1055, 2055);
    s.acked_with(75.0, 8, 2075, 1034);
    s.sent_with(75.1, 13, 1075, 2075);
    s.acked_with(95.0, 14, 2095, 1075);
    assert_eq!(recovery(&s), 2);
}

#[test]
fn dsacks_of_every_copy_end_a_recovery() {
    // Without timestamps. The receiver reports the copy as a duplicate, and later ACKs go on.
    let ends = |reported: bool| {
        let mut s = Script::new(true);
        s.flight(30.0, 0..12);
        for n in 0..3 {
            s.sack(51.0 + f64::from(n), 0, 1, 2 + n);
        }
        s.data(53.1, 0);
        s.ack(55.0, 4);
        if reported {
            s.sack(56.0, 4, 0, 1);
        }
        s.ack(58.0, 5);
        s.data(58.1, 12);
        s.ack(80.0, 8);
        s.data(80.1, 13);
        s.ack(95.0, 14);
        recovery(&s)
    };
    assert_eq!((ends(true), ends(false)), (5, 42));
}

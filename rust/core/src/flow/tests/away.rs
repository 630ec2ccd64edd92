//! Facts at a tap near the receiver, which sees neither losses before it nor when an ACK reached the sender.

use super::*;

/// The tap is 0.1 ms from the receiver, in a round trip of 20.1 ms. Ten segments, each acknowledged.
fn begun(sack: bool) -> Script {
    let mut s = Script::between(sack, 0.1);
    for n in 0..10 {
        s.data(30.0 + f64::from(n), n);
        s.ack(30.1 + f64::from(n), n + 1);
    }
    s
}

impl Script {
    /// The last packet was sent by this many packets earlier (or later) than the counter says.
    fn sent(&mut self, packets: i32) {
        let id = self.last().ip_id.map(|i| i.wrapping_add_signed(packets) & 0xffff);
        self.last().ip_id = id;
    }

    /// No IP ids.
    fn without_ids(&mut self) {
        self.packets.iter_mut().for_each(|p| p.ip_id = Some(0));
    }

    fn transmissions(&self) -> Vec<&'static str> {
        let what = self.run().names("segments", "transmission", TRANSMISSIONS);
        what.into_iter().filter(|w| *w != "first").collect()
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.run().names("timeouts", "kind", TIMEOUT_KINDS)
    }
}

/// Segment 10 is missing, 11 to 15 come with a duplicate ACK each; then segment 10, `ms` after 11.
fn overtaken(ms: f64) -> Script {
    let mut s = begun(false);
    for n in 11..16 {
        s.data(60.0 + f64::from(n - 11) / 4.0, n);
        s.ack(60.1 + f64::from(n - 11) / 4.0, 10);
    }
    s.data(60.0 + ms, 10);
    s.ack(60.1 + ms, 16);
    s
}

#[test]
fn an_earlier_id_outweighs_duplicate_acks_also_among_other_packets_and_across_the_wrap() {
    for (base, others) in [(0, 0), (65_400, 0), (300, 40), (65_300, 7)] {
        let mut s = overtaken(30.0);
        let late = s.packets.len() - 2;
        for (n, p) in s.packets.iter_mut().enumerate() {
            let at = if n == late { n as u32 - 11 } else { n as u32 };
            p.ip_id = Some((base + at * (1 + others) + at % 3) & 0xffff);
        }
        assert_eq!(s.transmissions(), ["reordered"], "{base} {others}");
    }
}

#[test]
fn a_later_id_shows_a_retransmission_however_soon() {
    // So soon that the duplicate ACKs had not reached the sender.
    assert_eq!(overtaken(3.0).run().resends(), [("undecided", Some(false))]);
    assert_eq!(overtaken(24.0).run().resends(), [("fast", Some(false))]);
}

#[test]
fn without_ids_the_timestamps_show_the_order() {
    for (tsval, what) in [(1029, "reordered"), (1060, "retransmission")] {
        let mut s = overtaken(30.0);
        s.without_ids();
        for p in s.packets.iter_mut().filter(|p| p.src == Addr::v4([10, 0, 0, A.0])) {
            p.tcp.as_mut().unwrap().timestamps = Some((1030, 7));
        }
        let n = s.packets.len() - 2;
        s.packets[n].tcp.as_mut().unwrap().timestamps = Some((tsval, 7));
        assert_eq!(s.transmissions(), [what]);
    }
}

#[test]
fn without_ids_and_timestamps_a_round_trip_decides() {
    for (ms, what) in [(6.0, "reordered"), (24.0, "retransmission")] {
        let mut s = overtaken(ms);
        s.without_ids();
        assert_eq!(s.transmissions(), [what]);
    }
}

#[test]
fn on_a_path_that_reorders_what_may_be_late_is_no_retransmission() {
    // Segment 16 is 6 ms late, sooner than any repair; segment 18 a round trip and 4 ms.
    let mut s = overtaken(6.0);
    for (ms, n, acked) in [(80.0, 16, 17), (81.0, 17, 18), (100.0, 19, 18), (124.0, 18, 20)] {
        s.data(ms, n);
        s.ack(ms + 0.1, acked);
    }
    s.without_ids();
    assert_eq!(s.transmissions(), ["reordered", "reordered"]);
}

#[test]
fn the_sequence_number_of_a_pure_ack_shows_what_was_sent() {
    let mut s = begun(true);
    s.push(60.0, true, 1000 + 11_000, 5000, flags::ACK, 0, &[], None);
    s.data(300.0, 10);
    s.ack(300.1, 11);
    assert_eq!(s.run().resends().iter().map(|r| r.1).collect::<Vec<_>>(), [Some(false)]);
}

/// `begun`, and 40 segments, so that the counter is known to be the flow's own.
fn steady() -> Script {
    let mut s = begun(true);
    for n in 10..50 {
        s.data(30.0 + f64::from(n), n);
        s.ack(30.1 + f64::from(n), n + 1);
    }
    s
}

#[test]
fn a_skipped_id_shows_lost_data_only_if_the_sender_had_nothing_else_to_send() {
    let mut lost = steady();
    lost.data(400.0, 50);
    lost.sent(1);
    assert_eq!(lost.transmissions(), ["retransmission"]);
    // Data of the receiver was acknowledged meanwhile.
    let mut acked = steady();
    acked.push(90.0, false, 5000, 51_000, flags::ACK, 100, &[], None);
    acked.push(400.0, true, 51_000, 5100, flags::ACK, 1000, &[], None);
    acked.sent(1);
    assert!(acked.transmissions().is_empty());
    // Nothing is repaired so soon: another connection uses the counter.
    let mut shared = steady();
    shared.data(120.0, 50);
    shared.sent(1);
    shared.data(500.0, 51);
    shared.sent(3);
    assert!(shared.transmissions().is_empty());
}

#[test]
fn with_sack_a_probe_repeats_a_lone_segment_before_a_timer_does() {
    let after = |ms: f64| {
        let mut s = steady();
        s.data(79.0 + ms, 50);
        s.sent(1);
        s.ack(79.1 + ms, 51);
        s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>()
    };
    assert_eq!(after(150.0), ["tail_loss_probe"]);
    // Within two round trips and a delayed ACK no timer expires: another connection uses the counter.
    assert!(after(40.0).is_empty());
}

/// Two connections of one host in turn, ten segments each; `shared`: with one IP counter.
fn in_turn(shared: bool) -> Tables {
    let mut s = begun(true);
    for n in 10..60 {
        s.data(30.0 + f64::from(n), n);
        s.ack(30.1 + f64::from(n), n + 1);
    }
    let counter = s.ids[0];
    s.ids[0] = if shared { counter } else { 40_000 };
    for n in 0..10 {
        s.data(200.0 + f64::from(n), n);
        s.last().src_port = Some(A.1 + 1);
    }
    s.ids[0] = counter + 10;
    s.data(500.0, 60);
    s.data(501.0, 61);
    s.run()
}

#[test]
fn ids_that_another_connection_of_the_host_used_show_no_loss() {
    assert!(in_turn(true).resends().is_empty());
    assert_eq!(in_turn(false).resends().len(), 2);
}

#[test]
fn copies_missing_among_those_of_a_timeout_show_no_lost_data() {
    let mut s = begun(false);
    for n in 10..50 {
        s.data(30.0 + f64::from(n), n);
        s.ack(30.1 + f64::from(n), n + 1);
    }
    for n in [44, 45, 46, 48] {
        s.data(500.0 + f64::from(n), n);
        s.ack(500.1 + f64::from(n), 50);
        s.ids[0] += u32::from(n == 46);
    }
    s.data(570.0, 50);
    assert_eq!(s.run().resends().len(), 4);
}

#[test]
fn an_original_after_its_retransmission_makes_it_spurious() {
    for stamps in [false, true] {
        let mut s = overtaken(30.0);
        s.data(91.0, 10);
        s.sent(-12);
        if stamps {
            for p in s.packets.iter_mut().filter(|p| p.src == Addr::v4([10, 0, 0, A.0])) {
                p.tcp.as_mut().unwrap().timestamps = Some((1030, 7));
            }
            let n = s.packets.len();
            for (back, tsval) in [(3, 1080), (1, 1029)] {
                s.packets[n - back].tcp.as_mut().unwrap().timestamps = Some((tsval, 7));
            }
        }
        s.ack(91.1, 16);
        assert_eq!(s.transmissions(), ["retransmission", "reordered"]);
        assert_eq!(s.run().resends()[0].1, Some(true));
    }
}

#[test]
fn a_second_copy_without_ids_leaves_the_need_open() {
    let mut s = overtaken(30.0);
    s.data(31.0 + 60.0, 10);
    s.ack(91.1, 16);
    s.without_ids();
    assert_eq!(s.run().resends()[0].1, None);
}

/// The timer retransmits segment 9, whose ACK had passed; the receiver answers; the sender goes on and echoes `echo`.
fn timed_out(echo: u32, stamps: bool) -> Script {
    let mut s = Script::between(false, 0.1);
    for n in 0..10 {
        s.data(30.0 + f64::from(n) * 30.0, n);
        s.stamp(1000 + n * 30, 2000 + (n * 30).saturating_sub(30));
        s.ack(30.1 + f64::from(n) * 30.0, n + 1);
        s.stamp(2000 + n * 30, 1000 + n * 30);
    }
    s.data(900.0, 9);
    s.stamp(1870, 2240);
    s.ack(900.1, 10);
    s.stamp(2870, 1270);
    s.data(920.2, 10);
    s.stamp(1890, echo);
    s.ack(920.3, 11);
    s.stamp(2890, 1890);
    if !stamps {
        s.packets.iter_mut().for_each(|p| p.tcp.as_mut().unwrap().timestamps = None);
    }
    s
}

#[test]
fn the_echo_tells_a_lost_ack_from_a_late_one() {
    assert_eq!(timed_out(2870, true).kinds(), ["ack_lost"]);
    assert_eq!(timed_out(2270, true).kinds(), ["spurious"]);
    assert_eq!(timed_out(2870, false).kinds(), ["undecided"]);
}

#[test]
fn an_ack_made_after_the_timer_expired_does_not_show_that_the_first_was_late() {
    // Another ACK passes before the copy, which its sender had queued for 220 ms.
    for (sent, kind) in [(1650, "undecided"), (1870, "spurious")] {
        let mut s = timed_out(2820, true);
        let copy = s.packets.iter().position(|p| p.tcp.unwrap().timestamps == Some((1870, 2240))).unwrap();
        s.packets[copy].tcp.as_mut().unwrap().timestamps = Some((sent, 2240));
        s.ack(850.0, 10);
        s.stamp(2820, 1270);
        let second = s.packets.pop().unwrap();
        s.packets.insert(copy, second);
        assert_eq!(s.kinds(), [kind]);
    }
}

#[test]
fn a_dsack_reports_the_copy_that_came_last() {
    let mut s = begun(true);
    s.data(60.0, 11);
    s.sack(60.1, 10, 11, 12);
    s.data(82.0, 10);
    s.ack(82.1, 12);
    s.data(500.0, 10);
    s.sack(500.1, 12, 10, 11);
    s.data(530.0, 12);
    s.ack(530.1, 13);
    assert_eq!(s.run().resends().iter().map(|r| r.1).collect::<Vec<_>>(), [Some(false), Some(true)]);
}

#[test]
fn expiries_that_the_tap_may_have_missed_are_not_counted() {
    let backoffs = |skipped: i32| {
        let mut s = begun(true);
        s.data(60.0, 10);
        s.ack(60.1, 11);
        s.data(500.0, 10);
        s.sent(skipped);
        s.ids[0] = s.ids[0].wrapping_add_signed(skipped);
        s.ack(500.1, 11);
        s.data(1300.0, 10);
        s.ack(1300.1, 11);
        let t = s.run();
        t.batches("segments")
            .flat_map(|b| b.column_by_name("backoff").unwrap().as_primitive::<UInt16Type>().iter().collect::<Vec<_>>())
            .flatten()
            .collect::<Vec<_>>()
    };
    assert_eq!(backoffs(0), [0, 1]);
    assert!(backoffs(1).is_empty());
}

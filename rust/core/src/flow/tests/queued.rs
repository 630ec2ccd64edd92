//! What reaches the sender, and the tap, late: ACKs that pass a queue, copies below TCP, reports after a timeout.

use super::*;

/// `backoff` of each retransmission.
fn backoffs(t: &Tables) -> Vec<Option<u16>> {
    let what = t.names("segments", "transmission", TRANSMISSIONS);
    let backoff = t
        .batches("segments")
        .flat_map(|b| b.column_by_name("backoff").unwrap().as_primitive::<UInt16Type>().iter().collect::<Vec<_>>());
    backoff.zip(what).filter(|(_, what)| *what == "retransmission").map(|(backoff, _)| backoff).collect()
}

fn triggers(t: &Tables) -> Vec<&'static str> {
    t.resends().iter().map(|r| r.0).collect()
}

#[test]
fn an_expiry_that_passes_after_the_ack_continues_the_backoff() {
    let mut s = Script::between(false, 0.1);
    s.packets.truncate(2);
    let synack = |s: &mut Script, ms| s.push(ms, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    synack(&mut s, 1000.1);
    synack(&mut s, 3000.1);
    s.push(6500.0, true, 1000, 5000, flags::ACK, 0, &[], None);
    synack(&mut s, 7000.1);
    assert_eq!(backoffs(&s.run()), [Some(0), Some(1), Some(2)]);
}

#[test]
fn a_syn_that_waits_for_more_than_one_timer_hides_a_copy() {
    // An opening of repeated SYNs at these times.
    let opening = |seconds: &[f64]| {
        let mut s = Script::new(false);
        s.packets.clear();
        seconds.iter().for_each(|at| s.push(at * 1000.0, true, 999, 0, flags::SYN, 0, &[], Some(1460)));
        backoffs(&s.run())
    };
    assert_eq!(opening(&[0.0, 1.0, 3.0, 7.0]), [Some(0), Some(1), Some(2)]);
    // 3 s is one timer of 3 s, or those of 1 and 2 s; then each is uncertain.
    assert_eq!(opening(&[0.0, 3.0, 7.0]), [None, None]);
    assert_eq!(opening(&[0.0, 1.0, 7.0]), [Some(0), None]);
}

/// Segments 0 to 9 at 30 ms, of which 0 and 5 are lost; 0 again by the timer; then an ACK of original data.
fn timed_out() -> Script {
    let mut s = Script::new(true);
    s.flight(30.0, 0..10);
    s.data(1100.0, 0);
    s.sack(1120.0, 5, 6, 10);
    s
}

#[test]
fn a_reported_hole_after_f_rto_leaves_open_whether_the_timeout_was_undone() {
    let mut s = timed_out();
    s.data(1120.1, 5);
    s.ack(1140.0, 10);
    assert_eq!(triggers(&s.run()), ["rto", "undecided"]);
    // After an ACK of five segments slow start allows six, which Linux sends in F-RTO without an answer; more are sent after undoing.
    for (end, trigger) in [(13, "undecided"), (17, "fast")] {
        let mut s = timed_out();
        s.flight(1120.1, 10..end);
        s.sack(1141.0, 5, 6, 11);
        s.data(1141.1, 5);
        s.ack(1162.0, end);
        assert_eq!(triggers(&s.run())[1..], [trigger]);
    }
}

#[test]
fn a_queue_below_tcp_hides_copies() {
    // Segment 1 never passed the tap: repairs of it may have been dropped, too.
    for (first, copy) in [(1, Some(1)), (2, None)] {
        let mut s = Script::new(true);
        s.data(30.0, 0);
        s.flight(30.0 + f64::from(first), first..6);
        for n in 2..6 {
            s.sack(50.0 + f64::from(n), 1, 2, n + 1);
        }
        s.data(55.1, 1);
        s.ack(76.0, 6);
        let t = s.run();
        let copies =
            t.batches("segments").flat_map(|b| b["copy"].as_primitive::<UInt16Type>().iter().collect::<Vec<_>>());
        let what = t.names("segments", "transmission", TRANSMISSIONS);
        assert_eq!(copies.zip(what).find(|(_, what)| *what == "retransmission").map(|x| x.0), Some(copy));
    }
}

#[test]
fn a_retransmission_long_after_the_latest_ack_answers_no_ack() {
    let mut s = Script::new(true);
    s.flight(30.0, 0..6);
    for n in 2..6 {
        s.sack(50.0 + f64::from(n), 1, 2, n + 1);
    }
    s.data(400.0, 1);
    s.ack(420.0, 6);
    assert_eq!(triggers(&s.run()), ["rto"]);
}

#[test]
fn without_all_options_of_a_syn_sack_is_possible() {
    // Near the receiver: two holes are repaired at once.
    let run = |cut: bool| {
        let mut s = Script::between(false, 0.1);
        s.packets[..2].iter_mut().for_each(|p| p.tcp.as_mut().unwrap().options_cut = cut);
        for n in [0, 2, 3, 4, 6, 7, 8, 9] {
            s.data(30.0 + f64::from(n), n);
            s.ack(30.1 + f64::from(n), 1);
        }
        s.data(80.0, 1);
        s.data(80.5, 5);
        s.ack(80.6, 10);
        triggers(&s.run())[1]
    };
    // Without SACK one ACK calls for one repair (RFC 6582 section 3.2).
    assert_eq!((run(false), run(true)), ("undecided", "fast"));
}

#[test]
fn a_sender_that_echoes_old_acks_waits_behind_a_queue() {
    // Each segment passes 100 ms after it was sent. Segment 10 is lost; three duplicate ACKs reach the sender long before its answer passes.
    let triggers = |behind: u32| {
        let mut s = Script::new(false);
        for n in 0..60u32 {
            let ms = 30 + 10 * n;
            if n != 10 {
                s.data(f64::from(ms), n);
                s.stamp(1000 + ms - behind, 3000 + ms - behind - 5);
            }
            s.ack(f64::from(ms) + 5.0, if n < 10 { n + 1 } else { 10 });
            s.stamp(3000 + ms + 5, 1000 + ms - behind);
        }
        s.data(640.0, 10);
        s.stamp(1640 - behind, 3640 - behind - 5);
        triggers(&s.run())
    };
    assert_ne!(triggers(100), triggers(0));
}

#[test]
fn a_repair_that_the_capture_ends_before_is_a_recovery() {
    // Segment 1 is lost, and others of the flight call for it at 62 to 65 ms. Until 100 ms data passes that echoes this ACK.
    let recovers = |echo: Option<u32>| {
        let mut s = Script::new(true);
        let stamp = |s: &mut Script, stamps| s.last().tcp.as_mut().unwrap().timestamps = echo.and(Some(stamps));
        for n in 0..10 {
            s.data(30.0 + f64::from(n), n);
            stamp(&mut s, (1030 + n, 2000));
        }
        s.ack(60.0, 1);
        stamp(&mut s, (2060, 1030));
        for n in 2..6u32 {
            s.sack(60.0 + f64::from(n), 1, 2, n + 1);
            stamp(&mut s, (2060 + n, 1030));
        }
        for n in 10..20 {
            s.data(81.0 + 2.0 * f64::from(n - 10), n);
            stamp(&mut s, (1045, echo.unwrap_or(0)));
        }
        s.run().time_in("fast_recovery") / MS
    };
    assert_eq!(recovers(Some(2060)), 99 - 64);
    // It has read the third duplicate ACK, and repeats nothing: it waits for more of them.
    assert_eq!(recovers(Some(2065)), 0);
    // The missing segment passed: no queue above the tap dropped it.
    assert_eq!(recovers(None), 0);
}

#[test]
fn a_repair_of_what_a_queue_above_the_tap_dropped() {
    // Without timestamps; segment 1 never passed.
    let mut s = Script::new(true);
    (0..10).filter(|n| *n != 1).for_each(|n| s.data(30.0 + f64::from(n), n));
    s.ack(60.0, 1);
    (2..6).for_each(|n| s.sack(60.0 + f64::from(n), 1, 2, n + 1));
    (10..20).for_each(|n| s.data(81.0 + 2.0 * f64::from(n - 10), n));
    assert_eq!(s.run().time_in("fast_recovery") / MS, 99 - 64);
}

#[test]
fn data_that_a_timer_may_have_sent_ends_no_round_trip() {
    let round_trip = |ms: f64, lost: u32| {
        let mut s = Script::between(false, 0.1);
        s.packets.truncate(2);
        s.ids[0] = 101 + lost;
        s.data(ms, 0);
        let t = s.run();
        let rows = t.batches("flows").next().unwrap().column_by_name("handshake_rtt_ns").unwrap().clone();
        let rows = rows.as_primitive::<Int64Type>();
        rows.is_valid(0).then(|| rows.value(0) / MS)
    };
    assert_eq!(round_trip(20.0, 1), Some(20));
    assert_eq!(round_trip(203.0, 0), Some(203));
    // The ACK, or the first copy of the data, never passed.
    assert_eq!(round_trip(203.0, 1), None);
}

#[test]
fn data_at_an_even_pace_is_no_idle_time_after_such_an_opening() {
    let mut s = Script::between(false, 0.1);
    s.packets.truncate(2);
    s.ids[0] = 102;
    for n in 0..20 {
        s.data(203.0 + 50.0 * f64::from(n), n);
        s.ack(203.1 + 50.0 * f64::from(n), n + 1);
    }
    assert_eq!(s.run().time_in("idle"), 0);
}

#[test]
fn recovery_begins_with_the_third_duplicate_ack() {
    // The retransmission waits behind two segments in a queue between TCP and the tap.
    let mut s = Script::new(false);
    s.flight(30.0, 0..6);
    s.ack(50.0, 1);
    for ms in [52.0, 53.0, 54.0] {
        s.ack(ms, 1);
    }
    s.data(58.0, 6);
    s.data(61.0, 7);
    s.data(64.0, 1);
    s.ack(84.0, 8);
    s.data(85.0, 8);
    s.ack(105.0, 9);
    let t = s.run();
    assert_eq!(t.resends(), [("fast", Some(false))]);
    assert_eq!(t.time_in("fast_recovery"), 30 * MS, "{:?}", t.intervals());
}

#[test]
fn data_that_echoes_an_older_ack_waited_before_the_tap() {
    // It passes 40 ms after the ACK of all before it: made before that ACK came, or by an application that wrote late.
    for (echo, idle) in [(2050, 0), (2080, 40 * MS)] {
        let mut s = Script::new(false);
        s.data(20.1, 0);
        s.ack(50.0, 1);
        s.flight(50.0, 1..3);
        s.ack(70.0, 2);
        s.ack(80.0, 3);
        s.data(120.0, 3);
        s.ack(140.0, 4);
        let sent = [(1030, 2030), (2050, 1030), (1050, 2050), (1050, 2050)];
        let stamps = sent.into_iter().chain([(2070, 1050), (2080, 1050), (1120, echo), (2140, 1120)]);
        let first = s.packets.len() - 8;
        for (p, stamp) in s.packets[first..].iter_mut().zip(stamps) {
            p.tcp.as_mut().unwrap().timestamps = Some(stamp);
        }
        assert_eq!(s.run().time_in("idle"), idle, "{echo}");
    }
}

#[test]
fn a_window_that_the_sender_did_not_need_is_no_limit() {
    let mut s = Script::new(false);
    for (ms, n) in [(30.0, 0), (50.1, 2)] {
        s.data(ms, n);
        s.data(ms, n + 1);
        s.ack(ms + 20.0, n + 2);
    }
    s.data(200.0, 4);
    s.ack(220.0, 5);
    for p in &mut s.packets {
        p.tcp.as_mut().unwrap().window = 2000;
    }
    // The first ACK releases more, the second one does not, and no other packet of the host is in the way.
    let t = s.run();
    assert_eq!(t.time_in("window_limited") / MS, 20, "{:?}", t.intervals());
}

#[test]
fn a_copy_of_arrived_bytes_is_on_the_path() {
    // A window of two segments on a path that holds each for 900 ms, and a copy after 600 ms repeats what arrives. Full, window-limited: ms.
    let limits = |copies: bool| {
        let mut s = Script::new(false);
        for n in 0..4 {
            let ms = 30 + 900 * n;
            for k in 0..2 {
                s.data(f64::from(ms), 2 * n + k);
                s.stamp(100 + ms, 1);
            }
            if copies {
                s.data(f64::from(ms + 600), 2 * n);
                s.stamp(700 + ms, 1);
            }
            s.ack(f64::from(ms) + 899.9, 2 * n + 2);
            s.stamp(10 + n, 100 + ms);
        }
        s.offer(2000);
        let t = s.run();
        (t.time_in("full_path") / MS, t.time_in("window_limited") / MS)
    };
    assert_eq!(limits(false), (0, 3599));
    assert_eq!(limits(true), (2699, 0));
}

#[test]
fn what_a_capture_ends_before_the_answer_to_is_in_a_queue() {
    // The first segment after a SYN that a timer repeated; up to 9 s the peer answers copies of the SYN, and nothing else.
    let unanswered = |sent: f64, reported: bool| {
        let mut s = Script::new(false);
        s.packets.clear();
        s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1000));
        s.push(1000.0, true, 999, 0, flags::SYN, 0, &[], Some(1000));
        s.push(sent - 0.2, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1000));
        s.data(sent, 0);
        if reported {
            s.ack(sent + 50.0, 0);
        }
        s.push(9000.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1000));
        let t = s.run();
        (t.time_in("slow_start") / MS, t.time_in("full_path") / MS)
    };
    // A timer after a repeated SYN takes 3 s.
    assert_eq!(unanswered(2000.2, false), (0, 6999));
    assert_eq!(unanswered(7000.2, false), (1999, 0));
    // A duplicate ACK shows a hole.
    assert_eq!(unanswered(2000.2, true), (6999, 0));
}

#[test]
fn a_path_is_full_since_its_data_began_to_fill_it() {
    // Ten segments at once, of which the path passes one in 5 ms, and two for each ACK: it is never empty, as the answers show later.
    let mut s = Script::new(false);
    (0..10).for_each(|n| s.data(30.0 + 0.01 * f64::from(n), n));
    for k in 0..40 {
        let t = 50.0 + 5.0 * f64::from(k);
        s.ack(t, k + 1);
        s.data(t + 0.1, 10 + 2 * k);
        s.data(t + 0.2, 11 + 2 * k);
    }
    let t = s.run();
    assert!(t.time_in("slow_start") <= 35 * MS, "{:?}", t.intervals());
    assert!(t.time_in("full_path") > 180 * MS, "{:?}", t.intervals());
}

#[test]
fn a_burst_that_the_path_passes_segment_by_segment_fills_it_since_it_was_sent() {
    // A window of twenty segments at once after a pause, of which the path passes one in 2.5 ms: the first ones are hardly late.
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(50.0, 1);
    (1..21).for_each(|n| s.data(500.0 + 0.01 * f64::from(n), n));
    for k in 0..40 {
        let t = 520.0 + 2.5 * f64::from(k);
        s.ack(t, 2 + k);
        s.data(t + 0.1, 21 + k);
    }
    s.offer(20_000);
    let t = s.run();
    assert!(t.time_in("window_limited") < MS, "{:?}", t.intervals());
    assert!(t.time_in("full_path") > 115 * MS, "{:?}", t.intervals());
}

#[test]
fn copies_whose_answers_come_late_keep_the_path_full() {
    // A window of one segment, each repeated by a probe after 1 s, on a path that passes one in 2 s.
    let mut s = Script::new(true);
    for n in 0..6 {
        let at = if n == 0 { 30.0 } else { 2050.0 + 4000.0 * f64::from(n - 1) };
        s.data(at, n);
        s.data(at + 1000.0, n);
        // The answer to the copy of the segment before, and to this one.
        if n > 0 {
            s.ack(at + 2000.0, n);
        }
        s.ack(if n == 0 { 2050.0 } else { at + 4000.0 }, n + 1);
    }
    s.offer(1000);
    s.in_order();
    let t = s.run();
    // Until the first copy is answered nothing shows it.
    assert_eq!((t.time_in("window_limited") / MS, t.time_in("full_path") / MS), (1020, 15_000), "{:?}", t.intervals());
}

#[test]
fn a_fast_retransmit_in_the_queue_of_its_host() {
    // What passes after the third duplicate ACK was sent before it; in the other case each duplicate ACK calls for one segment.
    for (per_ack, trigger) in [(3, "fast"), (1, "rto")] {
        let mut s = Script::new(false);
        s.flight(30.0, 0..10);
        for k in 0..60 {
            let t = 60.0 + 5.0 * f64::from(k);
            s.ack(t, 0);
            (0..per_ack).for_each(|i| s.data(t + 0.1 + f64::from(i), 10 + per_ack * k + i));
        }
        s.data(361.0, 0);
        s.ack(390.0, 10 + 60 * per_ack);
        assert_eq!(s.run().resends()[0].0, trigger);
    }
}

#[test]
fn a_silence_that_no_ack_ends_shows_the_timer_also_where_the_host_drops_data() {
    // The host's queue dropped segment 3 above the tap, which was repaired at once. A segment each 10 ms, and its ACK 40 ms later; then the
    // timer repeats the head after 200 ms, no more than the least time of Linux 2.2 whatever the round trip.
    let mut s = Script::new(false);
    let (mut acked, mut sent) = (0, 0);
    for n in (0..60).filter(|n| *n != 3) {
        let ms = 30 + 10 * n;
        s.data(f64::from(ms), n);
        s.stamp(100 + ms, 1000 + ms - 1);
        sent = n + 1;
        if n >= 7 {
            if n == 7 {
                s.data(f64::from(ms) + 0.5, 3);
                s.stamp(100 + ms, 1000 + ms - 1);
            }
            acked = n - 3;
            s.ack(f64::from(ms) + 1.0, acked);
            s.stamp(1000 + ms, 60 + ms);
        } else if n >= 4 {
            s.ack(f64::from(ms) - 1.0, 3);
            s.stamp(1000 + ms - 2, 60 + ms);
        }
    }
    assert!(acked < sent);
    let at = 30 + 10 * 59 + 1 + 200;
    s.data(f64::from(at), acked);
    s.stamp(100 + at, 1000 + 30 + 10 * 59);
    s.ack(f64::from(at) + 20.0, sent);
    s.stamp(1000 + at + 10, 60 + 30 + 10 * 59);
    assert_eq!(triggers(&s.run()), ["fast", "rto"]);
}

#[test]
fn a_slow_line_is_not_full_of_segments_that_take_longer_than_a_syn() {
    // A window of two segments, which take 34.5 ms each (a SYN takes 20): the line passes both in 18.6 ms.
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.data(30.1, 1);
    for n in 0..8 {
        for k in 0..2 {
            let t = 64.5 + 34.5 * f64::from(n) + 9.3 * f64::from(k);
            s.ack(t, 2 * n + k + 1);
            s.data(t + 0.05, 2 * n + k + 2);
        }
    }
    s.offer(2000);
    let t = s.run();
    assert_eq!(t.time_in("full_path"), 0, "{:?}", t.intervals());
}

#[test]
fn acks_in_a_row_show_how_fast_a_line_in_a_queue_is() {
    // Three segments, each of which takes 30 ms; behind others' they are answered after 500 ms and more, never sooner.
    let mut s = Script::new(false);
    s.flight(30.0, 0..3);
    for n in 0..4 {
        for k in 0..3 {
            let t = 530.0 + 560.0 * f64::from(n) + 30.0 * f64::from(k);
            s.ack(t, 3 * n + k + 1);
            s.data(t + 0.1, 3 * n + k + 3);
        }
    }
    let t = s.run();
    assert!(t.time_in("full_path") > 1500 * MS, "{:?}", t.intervals());
}

#[test]
fn a_window_is_divided_by_its_acks() {
    // Ten segments in each round trip of 20 ms, evenly, and acknowledged in pairs: no pause in which the path is empty.
    let mut s = Script::new(false);
    s.flight(30.0, 0..1);
    s.ack(50.0, 1);
    (0..10).for_each(|n| s.data(50.1 + 2.0 * f64::from(n), 1 + n));
    for k in 0..40 {
        let t = 72.0 + 4.0 * f64::from(k);
        s.ack(t, 3 + 2 * k);
        (0..2).for_each(|n| s.data(t + 0.02 * f64::from(n), 11 + 2 * k + n));
    }
    s.offer(10_000);
    let t = s.run();
    let limited = t.intervals().iter().filter(|r| r.4 == "window_limited" && r.3 > r.2).count();
    assert!(limited >= 30, "{:?}", t.intervals());
}

#[test]
fn slow_start_behind_others_data_goes_on() {
    // Each round trip takes three times the least one; the flights double, and leave the queue together.
    let mut s = Script::new(false);
    let (mut t, mut next) = (30.0, 0);
    for flight in [2, 4, 8] {
        s.flight(t, next..next + flight);
        t += 60.0;
        for k in 1..=flight / 2 {
            s.ack(t + 2.0 * f64::from(k), next + 2 * k);
        }
        next += flight;
        t += 2.0 + f64::from(flight);
    }
    s.flight(t, next..next + 16);
    let t = s.run();
    assert!(t.time_in("slow_start") >= 190 * MS, "{:?}", t.intervals());
}

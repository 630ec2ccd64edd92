//! Timers and what looks like one.

use super::*;

/// The n-th segment, alone, is retransmitted so long after it was sent, and acknowledged a round trip after the last copy.
fn alone(s: &mut Script, n: u32, at: f64, copies: &[f64]) {
    s.data(at, n);
    copies.iter().for_each(|ms| s.data(at + ms, n));
    s.ack(at + copies[copies.len() - 1] + 20.0, n + 1);
}

#[test]
fn a_probe_and_an_expiry_of_one_segment_look_the_same() {
    let triggers = |cases: &[&[f64]]| -> Vec<&'static str> {
        let mut s = Script::new(true);
        for (n, copies) in (0..).zip(cases) {
            alone(&mut s, n, 30.0 + 5000.0 * f64::from(n), copies);
        }
        s.run().resends().iter().map(|r| r.0).collect()
    };
    assert_eq!(triggers(&[&[230.0]]), ["undecided"]);
    // Longer than two round trips and the longest delay of an ACK (RFC 8985 section 7.2).
    assert_eq!(triggers(&[&[1200.0]]), ["rto"]);
    // The timer runs twice as long after an expiry, not after a probe; then it is known whether the sender has probes.
    assert_eq!(triggers(&[&[230.0, 690.0], &[230.0]]), ["rto", "rto", "rto"]);
    assert_eq!(triggers(&[&[230.0, 470.0], &[230.0]]), ["tail_loss_probe", "rto", "tail_loss_probe"]);
}

#[test]
fn near_the_receiver_a_usual_silence_does_not_show_a_timer() {
    for (gap_ms, trigger) in [(300.0, "rto"), (1000.0, "undecided")] {
        let mut s = Script::between(false, 0.1);
        for n in [0, 1, 3, 4, 5] {
            s.data(30.0 + gap_ms * f64::from(n), n);
            s.ack(30.1 + gap_ms * f64::from(n), (n + 1).min(2));
        }
        let t = 30.0 + gap_ms * 5.0 + 1500.0;
        s.data(t, 2);
        s.ack(t + 0.1, 6);
        assert_eq!(s.run().resends()[0].0, trigger);
    }
}

#[test]
fn near_the_receiver_duplicate_acks_do_not_call_for_bytes_below_them() {
    let mut s = Script::between(false, 0.1);
    for n in [0, 1, 3, 4, 5] {
        s.data(30.0 + f64::from(n), n);
        s.ack(30.1 + f64::from(n), (n + 1).min(2));
    }
    s.data(290.0, 1);
    s.ack(290.1, 2);
    s.data(300.0, 2);
    s.ack(300.1, 6);
    assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["rto", "go_back_n"]);
}

#[test]
fn a_probe_is_no_expiry_if_the_next_wait_is_not_twice_as_long() {
    let mut s = Script::new(true);
    // 230 ms, then 950 ms: four times as long.
    alone(&mut s, 0, 30.0, &[230.0, 1180.0]);
    assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["tail_loss_probe", "rto"]);
}

#[test]
fn no_recovery_repeats_a_repair_that_nothing_overtook() {
    // Duplicate ACKs of data sent before the repair arrive until the timer repeats it; or one of data sent after it (RACK).
    for (overtaken, trigger) in [(false, "rto"), (true, "sack")] {
        let mut s = Script::new(true);
        for n in 0..40 {
            s.data(30.0 + 0.5 * f64::from(n), n);
        }
        for n in 1..4 {
            s.sack(60.0 + f64::from(n), 0, 1, n + 1);
        }
        s.data(63.1, 0);
        s.data(63.2, 40);
        for n in 4..39 {
            s.sack(70.0 + 5.0 * f64::from(n), 0, 1, n + 1);
        }
        if overtaken {
            s.sack(265.5, 0, 1, 41);
        }
        s.data(266.0, 0);
        s.ack(287.0, 41);
        assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["fast", trigger]);
    }
}

#[test]
fn an_ack_of_new_data_after_a_timeout_calls_for_the_next_hole() {
    // Step 3a of RFC 5682: it comes later than the timer model's time, but first.
    let mut s = Script::new(true);
    s.data(30.0, 0);
    s.data(30.1, 1);
    s.data(330.0, 0);
    s.ack(351.0, 1);
    s.data(351.1, 2);
    s.sack(1400.0, 1, 2, 3);
    s.data(1400.1, 1);
    s.ack(1421.0, 3);
    assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["rto", "go_back_n"]);
}

#[test]
fn a_syn_after_an_undecided_copy_has_no_known_backoff() {
    let mut s = Script { packets: Vec::new(), sack: false, ids: [100, 5000] };
    let syn = |s: &mut Script, ms| s.push(ms, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    let answer = |s: &mut Script, ms| s.push(ms, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    syn(&mut s, 0.0);
    answer(&mut s, 0.1);
    syn(&mut s, 1000.0);
    // The answer to the second SYN, or the timer at that moment.
    answer(&mut s, 1000.1);
    answer(&mut s, 3000.0);
    let t = s.run();
    let backoff = t.batches("segments").next().unwrap()["backoff"].as_primitive::<UInt16Type>().clone();
    assert_eq!(t.resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["rto", "undecided", "rto"]);
    assert!(backoff.is_null(4) && backoff.value(2) == 0);
}

#[test]
fn data_sent_after_a_timeout_is_repaired_by_its_own_duplicate_acks() {
    let mut s = Script::new(false);
    for n in 0..3 {
        s.data(30.0, n);
    }
    s.data(400.0, 0);
    s.ack(421.0, 1);
    s.data(421.1, 1);
    s.data(421.2, 2);
    s.data(421.3, 3);
    s.ack(442.0, 3);
    for n in 4..7 {
        s.data(442.1, n);
    }
    for n in 0..3 {
        s.ack(463.0 + f64::from(n), 3);
    }
    s.data(465.1, 3);
    s.ack(486.0, 7);
    assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["rto", "go_back_n", "go_back_n", "fast"]);
}

#[test]
fn a_late_answer_to_repeated_syns_is_no_measure_of_the_path() {
    // The first ACK was lost. The second answers the copy sent at 3 s, or one before.
    let mut s = Script { packets: Vec::new(), sack: false, ids: [100, 5000] };
    s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    for ms in [0.1, 1000.1, 3000.1] {
        s.push(ms, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    }
    s.push(5000.0, true, 1000, 5000, flags::ACK, 0, &[], None);
    for n in 0..4 {
        s.data(5001.0 + 100.0 * f64::from(n), n);
        s.ack(5001.1 + 100.0 * f64::from(n), n + 1);
    }
    for p in s.packets.iter_mut() {
        let ms = (p.time_ns.unwrap() - 1_700_000_000_000_000_000) / MS;
        let from_a = p.src_port == Some(A.1);
        // Made at 3.4 s; later packets take as long.
        let made = if from_a && ms >= 5000 { ms - 1600 } else { ms };
        let echo = if from_a { 2000 } else { made };
        p.tcp.as_mut().unwrap().timestamps =
            Some((made as u32 + 2000, if ms == 0 && from_a { 0 } else { echo as u32 }));
    }
    assert_eq!(s.run().names("timeouts", "kind", TIMEOUT_KINDS), ["undecided"; 2]);
}

#[test]
fn what_is_sent_on_after_resets_is_sent_by_no_timer() {
    for (resets, trigger) in [(1, "rto"), (2, "undecided")] {
        let mut s = Script::new(false);
        s.data(30.0, 0);
        for n in 0..resets {
            s.push(50.0 + f64::from(n), false, 5000, 0, flags::RST, 0, &[], None);
        }
        s.data(1500.0, 0);
        assert_eq!(s.run().resends()[0].0, trigger);
    }
}

#[test]
fn near_the_sender_a_silence_that_no_ack_ended_is_a_timer_however_short() {
    // Round trips of 2 s in a queue; the sender's timer takes 1.2 s, as it measured none of those (Karn's algorithm).
    for sack in [false, true] {
        let mut s = Script::new(sack);
        for n in 0..4 {
            s.data(20.2 + 2000.1 * f64::from(n), n);
            s.ack(2020.2 + 2000.1 * f64::from(n), n + 1);
        }
        s.data(8020.6, 4);
        s.data(9220.6, 4);
        s.ack(10_020.6, 5);
        let t = s.run();
        let name = if sack { "undecided" } else { "rto" };
        assert_eq!(t.resends().iter().map(|r| r.0).collect::<Vec<_>>(), [name]);
        assert!(t.time_in("rto_wait") >= 1200 * MS, "{:?}", t.intervals());
    }
}

#[test]
fn a_sniffer_that_hears_no_ack_for_longer_than_a_timer_leaves_open_what_the_sender_waits_for() {
    // Twenty segments, each with its ACK; then the station repeats frames that no receiver acknowledges.
    let undecided = |sniffed: bool| {
        let mut s = Script::between(false, 10.0);
        for n in 0..20 {
            s.data(30.0 + 2.0 * f64::from(n), n);
            s.ack(31.0 + 2.0 * f64::from(n), n + 1);
        }
        for n in 20..60 {
            s.data(70.0 + 20.0 * f64::from(n - 20), n);
        }
        s.ack(880.0, 60);
        for p in s.packets.iter_mut().filter(|_| sniffed) {
            p.mpdu = Some(Mpdu { ta: [2; 6], ra: [4; 6], seq_ctl: p.number as u16 * 16, tid: 0, retry: false });
        }
        s.run().time_in("undecided") / MS
    };
    assert_eq!(undecided(false), 0);
    assert!((550..=650).contains(&undecided(true)), "{}", undecided(true));
}

#[test]
fn an_ack_of_what_came_twice_does_not_start_the_timer_of_a_probe_again() {
    let mut s = Script::new(true);
    s.data(30.0, 0);
    s.ack(330.0, 1);
    s.data(330.1, 1);
    s.data(330.2, 2);
    // Segment 0 had come twice. Two round trips after the last data a probe repeats that, not what a timer would.
    s.sack(900.0, 1, 0, 1);
    s.data(935.0, 2);
    s.ack(1300.0, 3);
    assert_eq!(s.run().resends()[0].0, "tail_loss_probe");
}

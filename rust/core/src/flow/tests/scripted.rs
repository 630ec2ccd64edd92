//! Scripted connections, and the facts that follow from them.

use super::*;

#[test]
fn a_delayed_ack_is_the_time_above_path_and_transmission_time() {
    // RTT 20 ms, and 4 ms per segment; the receiver delays its first ACK by 40 ms.
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(94.0, 1);
    s.data(94.0, 1);
    s.ack(118.0, 2);
    let t = s.run();
    assert_tiles(&t);
    assert_eq!(t.time_in("delayed_ack"), 40 * MS);
    // Thirteen segments in a burst occupy the path for 52 ms: no ACK was delayed.
    for n in 2..15 {
        s.data(120.0, n);
    }
    s.ack(192.0, 15);
    let t = s.run();
    assert_tiles(&t);
    assert_eq!(t.time_in("delayed_ack"), 40 * MS);
}

#[test]
fn an_ack_of_a_hole_that_was_never_filled_is_noted() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.data(30.1, 2);
    s.ack(50.0, 3);
    let t = s.run();
    let unseen = |b: &RecordBatch| b.column_by_name("acked_unseen").unwrap().as_primitive::<UInt64Type>().value(0);
    assert_eq!(t.batches("flows").map(unseen).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_hole_filled_after_three_duplicate_acks_is_a_needed_fast_retransmit() {
    let mut s = Script::new(false);
    s.flight(30.0, 0..6);
    s.ack(50.0, 1);
    for n in 0..4 {
        s.ack(52.0 + f64::from(n), 1);
    }
    s.data(54.2, 1);
    s.ack(75.0, 6);
    s.data(76.0, 6);
    s.ack(97.0, 7);
    let t = s.run();
    assert_eq!(t.resends(), [("fast", Some(false))]);
    assert_eq!(t.batches("recoveries").map(RecordBatch::num_rows).sum::<usize>(), 1);
    assert_tiles(&t);
}

#[test]
fn a_retransmitted_syn_ack_does_not_change_the_tap_position() {
    let mut s = Script { packets: Vec::new(), sack: true, ids: [100, 5000] };
    s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    for ms in [0.1, 1000.0] {
        s.push(ms, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    }
    s.data(1014.0, 0);
    let t = s.run();
    assert_eq!(t.names("flows", "tap", TAPS), ["near_receiver", "near_sender"]);
    let whole = t.batches("flows").map(|b| b["handshake_rtt_ns"].as_primitive::<Int64Type>().value(0));
    assert_eq!(whole.collect::<Vec<_>>(), [14 * MS + MS / 10]);
}

#[test]
fn near_the_receiver_a_timer_runs_a_round_trip_longer() {
    // The round trip of the handshake may have been that of a queue: the timer can be shorter.
    for (ms, trigger) in [(560.0, "fast"), (1200.0, "undecided"), (2500.0, "rto")] {
        let mut s = Script { packets: Vec::new(), sack: false, ids: [100, 5000] };
        s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        s.push(0.1, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.data(900.0, 0);
        s.ack(900.1, 1);
        for n in 2..6 {
            s.data(901.0 + f64::from(n), n);
            s.ack(901.1 + f64::from(n), 1);
        }
        s.data(901.0 + ms, 1);
        s.ack(901.1 + ms, 6);
        assert_eq!(s.run().resends(), [(trigger, Some(false))]);
    }
}

#[test]
fn near_the_receiver_an_immediate_ack_proves_nothing() {
    let mut s = Script::between(true, 0.1);
    for n in 0..4 {
        s.data(30.0 + 40.0 * f64::from(n), n);
        s.ack(32.0 + 40.0 * f64::from(n), n + 1);
    }
    s.data(200.0, 5);
    s.sack(200.1, 4, 5, 6);
    s.data(500.0, 4);
    s.ack(500.01, 6);
    assert_eq!(s.run().resends(), [("rto", Some(false))]);
}

#[test]
fn near_the_receiver_a_later_byte_may_follow_a_timeout_that_was_undone() {
    // ACKs of the originals that come late let the sender undo it: then another timer repeats segment 3.
    for (n, trigger) in [(3, "undecided"), (1, "rto")] {
        let mut s = Script::between(true, 0.1);
        for n in 0..6 {
            s.data(30.0 + f64::from(n), n);
            s.ack(30.1 + f64::from(n), n + 1);
        }
        s.data(300.0, 1);
        s.ack(300.1, 6);
        s.data(800.0, n);
        s.ack(800.1, 6);
        assert_eq!(s.run().resends(), [("rto", Some(true)), (trigger, Some(true))]);
    }
}

#[test]
fn a_sniffer_without_the_handshake_is_in_the_middle() {
    let mut s = Script::new(true);
    s.packets.clear();
    for n in 0..6 {
        s.data(30.0 * f64::from(n), n);
        s.ack(30.0 * f64::from(n) + 29.9, n + 1);
    }
    assert_eq!(s.run().names("flows", "tap", TAPS)[0], "near_sender");
    for (n, p) in s.packets.iter_mut().enumerate() {
        p.mpdu = Some(Mpdu { ta: [2; 6], ra: [4; 6], seq_ctl: n as u16 * 16, tid: 0, retry: false });
    }
    assert_eq!(s.run().names("flows", "tap", TAPS), ["middle", "middle"]);
}

#[test]
fn acks_in_order_after_a_timeout_prove_it_spurious() {
    let mut s = Script::new(false);
    s.flight(30.0, 0..4);
    s.data(330.0, 0);
    s.ack(400.0, 1);
    s.data(400.1, 1);
    s.ack(400.2, 2);
    s.ack(400.4, 4);
    let t = s.run();
    assert_eq!(t.resends()[0], ("rto", Some(true)));
    assert_eq!(t.resends()[1], ("go_back_n", Some(true)));
    assert_eq!(t.names("timeouts", "kind", TIMEOUT_KINDS), ["spurious"]);
    assert_eq!(t.time_in("rto_wait"), 367 * MS);
    assert_tiles(&t);
}

#[test]
fn a_lost_head_shown_by_sack_makes_a_genuine_timeout() {
    let mut s = Script::new(true);
    s.data(30.0, 0);
    s.data(31.0, 1);
    s.sack(51.0, 0, 1, 2);
    s.data(330.0, 0);
    s.ack(351.0, 2);
    s.data(352.0, 2);
    s.ack(373.0, 3);
    let t = s.run();
    assert_eq!(t.resends(), [("rto", Some(false))]);
    assert_eq!(t.names("timeouts", "kind", TIMEOUT_KINDS), ["genuine"]);
}

#[test]
fn a_dsack_in_the_first_ack_after_a_timeout_means_lost_acks() {
    let mut s = Script::new(true);
    s.flight(30.0, 0..4);
    s.data(330.0, 0);
    s.sack(351.0, 4, 0, 1);
    s.data(352.0, 4);
    s.ack(373.0, 5);
    let t = s.run();
    assert_eq!(t.resends(), [("rto", Some(true))]);
    assert_eq!(t.names("timeouts", "kind", TIMEOUT_KINDS), ["ack_lost"]);
}

#[test]
fn a_tail_retransmitted_before_any_timeout_is_a_probe() {
    let mut s = Script::new(true);
    s.flight(30.0, 0..4);
    s.ack(51.0, 2);
    s.data(300.0, 3);
    s.ack(321.0, 4);
    assert_eq!(s.run().resends()[0].0, "tail_loss_probe");
}

#[test]
fn the_same_ip_id_is_no_retransmission() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    let mut copy = s.packets[3];
    copy.number = 5;
    copy.time_ns = copy.time_ns.map(|t| t + MS / 100);
    s.packets.push(copy);
    let t = s.run();
    assert!(t.resends().is_empty());
    assert_eq!(t.names("segments", "transmission", TRANSMISSIONS)[4], "capture_duplicate");
}

#[test]
fn a_late_segment_with_an_earlier_ip_id_is_reordered() {
    let mut s = Script::new(false);
    s.flight(30.0, 0..6);
    // Segment 6 is overtaken by 7.
    s.data(40.0, 7);
    let id = s.ids[0];
    s.data(40.2, 6);
    let n = s.packets.len();
    s.packets[n - 2].ip_id = Some(id + 1);
    s.packets[n - 1].ip_id = Some(id);
    let t = s.run();
    assert_eq!(*t.names("segments", "transmission", TRANSMISSIONS).last().unwrap(), "reordered");
    assert!(t.resends().is_empty());
}

#[test]
fn an_idle_application_and_a_zero_window_are_distinguished() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(51.0, 1);
    s.data(1051.0, 1);
    s.ack(1072.0, 2);
    let n = s.packets.len();
    s.packets[n - 1].tcp.as_mut().unwrap().window = 0;
    s.ack(3072.0, 2);
    s.data(3072.1, 2);
    s.ack(3093.0, 3);
    let t = s.run();
    // A tenth of a millisecond of processing counts with the wait before it.
    assert_eq!(t.time_in("zero_window"), 2000 * MS + MS / 10);
    assert!((t.time_in("idle") - 1000 * MS).abs() < 15 * MS, "{}", t.time_in("idle"));
    assert!(t.resends().is_empty());
    assert_tiles(&t);
}

#[test]
fn reused_ports_are_another_flow() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    let mut again = Script::new(false);
    for p in &mut again.packets {
        p.number += 10;
        p.time_ns = p.time_ns.map(|t| t + 1000 * MS);
        let tcp = p.tcp.as_mut().unwrap();
        tcp.seq = tcp.seq.wrapping_add(77_777);
        tcp.ack = tcp.ack.wrapping_add(77_777);
    }
    s.packets.extend(again.packets);
    let flows: usize = s.run().batches("flows").map(RecordBatch::num_rows).sum();
    assert_eq!(flows, 4);
}

/// The packets of a script and a copy of each, made by a second tap `delay_ms` later, without IP IDs.
fn mirrored(s: &Script, delay_ms: f64) -> Vec<Packet> {
    let mut out: Vec<Packet> = s.packets.iter().map(|p| Packet { ip_id: Some(0), ..*p }).collect();
    let copies = out.iter().map(|p| Packet { time_ns: p.time_ns.map(|t| t + (delay_ms * MS as f64) as i64), ..*p });
    out.extend(copies.collect::<Vec<_>>());
    out.sort_by_key(|p| p.time_ns);
    for (n, p) in out.iter_mut().enumerate() {
        p.number = n as u64 + 1;
    }
    out
}

#[test]
fn copies_with_exactly_the_same_delay_are_the_captures() {
    let mut s = Script::new(false);
    for n in 0..40 {
        s.data(30.0 + 7.0 * f64::from(n), n);
        s.ack(51.0 + 7.0 * f64::from(n), n + 1);
    }
    s.packets.sort_by_key(|p| p.time_ns);
    let t = run(&mirrored(&s, 50.0));
    let what = t.names("segments", "transmission", TRANSMISSIONS);
    // All but those that came before a third of all packets were copies.
    assert!(what.iter().filter(|w| **w == "capture_duplicate").count() >= 60, "{what:?}");
    assert!(t.resends().len() <= 12);
}

#[test]
fn retransmissions_after_the_same_time_are_no_copies() {
    let mut s = Script::new(false);
    s.flight(30.0, 0..12);
    for n in 0..4 {
        s.data(130.0 + f64::from(n), n);
    }
    s.ack(160.0, 12);
    for p in &mut s.packets {
        p.ip_id = Some(0);
    }
    assert_eq!(s.run().resends().len(), 4);
}

#[test]
fn a_retransmission_lost_again_is_repeated_without_a_timer() {
    // RACK (RFC 8985): data sent after the first retransmission of 0 arrives, 400 ms later; 0 has not.
    let mut s = Script::new(true);
    s.flight(30.0, 0..8);
    for n in 2..5 {
        s.sack(250.0 + f64::from(n), 0, 1, n);
    }
    s.data(254.1, 0);
    s.data(254.2, 8);
    s.sack(460.0, 0, 1, 8);
    s.sack(675.0, 0, 1, 9);
    s.data(675.1, 0);
    s.ack(890.0, 9);
    assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["fast", "sack"]);
}

#[test]
fn after_an_undone_timeout_losses_are_repaired_in_recovery() {
    for (acked, triggers) in [(2, ["rto", "fast"]), (0, ["rto", "go_back_n"])] {
        let mut s = Script::new(true);
        s.flight(30.0, 0..6);
        s.data(330.0, 0);
        // A DSACK of the only copy lets the sender undo the timeout (RFC 3708), and it sends new data.
        if acked > 0 {
            s.sack(351.0, acked, 0, 1);
            s.data(351.1, 6);
            s.data(351.2, 7);
            s.data(351.3, 8);
        } else {
            s.ack(351.0, 2);
        }
        s.sack(372.0, 2, 6, 7);
        s.sack(372.1, 2, 6, 8);
        s.sack(372.2, 2, 6, 9);
        s.data(372.3, 2);
        s.ack(393.0, 9);
        let s = if acked > 0 { s } else { went_back() };
        assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), triggers);
    }
}

/// The timeout was real: the ACK lets the sender repeat the next bytes at once.
fn went_back() -> Script {
    let mut s = Script::new(true);
    s.flight(30.0, 0..6);
    s.data(330.0, 0);
    s.ack(351.0, 1);
    s.data(351.1, 1);
    s.ack(372.0, 6);
    s
}

#[test]
fn a_dsack_makes_one_copy_spurious() {
    let mut s = Script::new(true);
    s.flight(30.0, 0..4);
    for n in 2..5 {
        s.sack(50.0 + f64::from(n), 0, 1, n);
    }
    s.data(54.1, 0);
    // The ACK of the copy is lost; the timer's copy is the duplicate that the receiver reports.
    s.data(330.0, 0);
    s.sack(351.0, 4, 0, 1);
    s.data(352.0, 4);
    s.ack(373.0, 5);
    assert_eq!(s.run().resends()[1], ("rto", Some(true)));
    assert_ne!(s.run().resends()[0].1, Some(true));
}

#[test]
fn without_sack_a_duplicate_ack_shows_that_a_filled_hole_was_no_loss() {
    for (again, spurious) in [(true, Some(true)), (false, Some(false))] {
        let mut s = Script::new(false);
        s.flight(30.0, 0..6);
        s.ack(50.0, 1);
        for n in 0..4 {
            s.ack(52.0 + f64::from(n), 1);
        }
        s.data(54.2, 1);
        s.data(54.3, 6);
        s.ack(75.0, 6);
        if again {
            s.ack(75.2, 6);
        }
        s.ack(76.0, 7);
        for n in 7..12 {
            s.data(80.0 + 30.0 * f64::from(n), n);
            s.ack(101.0 + 30.0 * f64::from(n), n + 1);
        }
        assert_eq!(s.run().resends(), [("fast", spurious)]);
    }
}

#[test]
fn an_answer_to_a_repeated_syn_and_to_a_window_update_are_no_timers() {
    let mut s = Script { packets: Vec::new(), sack: true, ids: [100, 5000] };
    for ms in [0.0, 1000.0] {
        s.push(ms, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        s.push(ms + 0.1, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    }
    s.push(1020.0, true, 1000, 5000, flags::ACK, 0, &[], None);
    assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["rto", "undecided"]);
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.data(30.1, 1);
    s.ack(51.0, 1);
    let n = s.packets.len();
    s.packets[n - 1].tcp.as_mut().unwrap().window = 0;
    s.ack(900.0, 1);
    s.data(900.1, 1);
    s.ack(921.0, 2);
    assert_eq!(s.run().resends(), [("undecided", None)]);
}

#[test]
fn no_timer_is_shorter_than_the_least_timeout() {
    for (ms, trigger) in [(100.0, "undecided"), (250.0, "rto")] {
        let mut s = Script::between(false, 10.0);
        for n in 0..4 {
            s.data(30.0 + 40.0 * f64::from(n), n);
            s.ack(50.0 + 40.0 * f64::from(n), n + 1);
        }
        s.data(200.0, 4);
        s.data(200.0, 5);
        s.data(200.0 + ms, 4);
        s.ack(221.0 + ms, 6);
        assert_eq!(s.run().resends()[0].0, trigger);
    }
}

#[test]
fn only_a_timer_repeats_what_is_outstanding_alone() {
    for ms in [30.0, 100.0] {
        let mut s = Script::between(false, 10.0);
        s.data(30.0, 0);
        s.ack(50.0, 1);
        s.data(200.0, 1);
        s.data(200.0 + ms, 1);
        s.ack(221.0 + ms, 2);
        assert_eq!(s.run().resends()[0].0, "rto");
    }
}

#[test]
fn silence_after_duplicate_acks_is_a_timer() {
    let mut s = Script::new(true);
    s.flight(30.0, 0..6);
    s.data(330.0, 0);
    for n in 2..5 {
        s.sack(351.0 + f64::from(n), 0, 1, n);
    }
    s.data(1355.0, 0);
    s.ack(1376.0, 6);
    assert_eq!(s.run().resends().iter().map(|r| r.0).collect::<Vec<_>>(), ["rto", "rto"]);
}

#[test]
fn a_delayed_ack_counts_only_if_the_sender_waited_for_it() {
    for (next_ms, waited) in [(94.0, 40), (300.0, 0)] {
        let mut s = Script::new(false);
        s.data(30.0, 0);
        s.ack(94.0, 1);
        s.data(next_ms, 1);
        s.ack(next_ms + 24.0, 2);
        s.data(next_ms + 24.1, 2);
        s.ack(next_ms + 48.1, 3);
        let t = s.run();
        assert_tiles(&t);
        assert_eq!(t.time_in("delayed_ack"), waited * MS);
    }
}

/// Away from the server, after a repeated SYN: an answer, or the timer of the first one.
#[test]
fn a_syn_ack_a_round_trip_after_a_repeated_syn_may_answer_it() {
    for (repeated, trigger) in [(true, "undecided"), (false, "rto")] {
        let mut s = Script { packets: Vec::new(), sack: true, ids: [100, 5000] };
        s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        if repeated {
            s.push(1000.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        }
        s.push(1500.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.push(1500.1, true, 1000, 5000, flags::ACK, 0, &[], None);
        s.push(2500.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        assert_eq!(s.run().resends().last().unwrap().0, trigger);
    }
}

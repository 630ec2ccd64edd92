//! Away from the sender: triggers by what it can have known.

use super::super::causes::Causes;
use super::super::send::Sent;
use super::super::sender_state::SenderState;
use super::*;

/// Near the receiver, with timestamps of 1 ms: each ACK is echoed by what the sender sends after it. Segment 20 is missing; 21 to 24
/// are sent at once, and reported. Segment 20 comes `ms` later and echoes `echo`, the TSval of one of these ACKs.
fn repaired(sent: u32, echo: u32, ms: f64) -> Tables {
    let mut s = Script::between(false, 0.1);
    let stamp = |s: &mut Script, tsval: u32, tsecr: u32| {
        s.packets.last_mut().unwrap().tcp.as_mut().unwrap().timestamps = Some((tsval, tsecr));
    };
    for n in 0..20 {
        let ms = 40 + n * 20;
        s.data(f64::from(ms), n);
        stamp(&mut s, 1000 + ms - 10, 2000 + ms - 20);
        s.ack(f64::from(ms) + 0.1, n + 1);
        stamp(&mut s, 2000 + ms, 1000 + ms - 10);
    }
    for n in 21..25 {
        s.data(440.0 + f64::from(n), n);
        stamp(&mut s, 1430, 2420);
        s.ack(440.1 + f64::from(n), 20);
        stamp(&mut s, 2440 + n, 1410);
    }
    s.data(ms, 20);
    stamp(&mut s, sent, echo);
    s.ack(ms + 0.1, 25);
    stamp(&mut s, 2000 + ms as u32, sent);
    s.run()
}

#[test]
fn a_repair_that_echoes_the_third_duplicate_ack_is_fast() {
    // However late it comes: a queue held it.
    for ms in [480.0, 900.0] {
        assert_eq!(repaired(1473, 2463, ms).resends(), [("fast", Some(false))]);
    }
}

#[test]
fn a_repair_that_echoes_no_duplicate_ack_is_the_timers() {
    for ms in [660.0, 900.0] {
        assert_eq!(repaired(1650, 2420, ms).resends(), [("rto", Some(false))]);
    }
}

#[test]
fn a_repair_long_after_the_third_duplicate_ack_had_arrived_is_the_timers() {
    let mut s = Script::between(false, 0.1);
    for n in 0..20 {
        s.data(40.0 + f64::from(n) * 20.0, n);
        s.ack(40.1 + f64::from(n) * 20.0, n + 1);
    }
    // Sent by the duplicate ACKs, so the first repair was lost before the tap.
    for n in 21..40 {
        s.data(440.0 + f64::from(n) * 20.0, n);
        s.ack(440.1 + f64::from(n) * 20.0, 20);
    }
    s.data(1600.0, 20);
    s.ack(1600.1, 40);
    for (i, p) in s.packets.iter_mut().enumerate().skip(3) {
        let ms = ((p.time_ns.unwrap() - 1_700_000_000_000_000_000) / MS) as u32;
        let data = i % 2 == 1;
        p.tcp.as_mut().unwrap().timestamps =
            Some(if data { (1000 + ms - 10, 2000 + (ms - 20).min(1220)) } else { (2000 + ms, 1000 + ms - 10) });
    }
    assert_eq!(s.run().resends(), [("rto", Some(false))]);
}

#[test]
fn a_hole_that_sack_reported_before_it_became_the_first_is_repaired_at_once() {
    // Without timestamps; segment 10 comes late, 12 is lost. Its hole is reported while 10 is still missing, a round trip before the repair.
    let mut s = Script::between(true, 0.1);
    for n in 0..10 {
        s.data(40.0 + f64::from(n), n);
        s.ack(40.1 + f64::from(n), n + 1);
    }
    let late = s.ids[0] + 1;
    s.ids[0] += 1;
    s.data(60.0, 11);
    s.sack(60.1, 10, 11, 12);
    s.ids[0] += 1;
    for n in 13..17 {
        s.data(48.0 + f64::from(n), n);
        s.sack(48.1 + f64::from(n), 10, 13, n + 1);
    }
    s.data(76.0, 10);
    let id = s.ids[0] - 1;
    s.packets.last_mut().unwrap().ip_id = Some(late);
    s.ids[0] = id;
    s.sack(76.1, 12, 13, 17);
    s.data(82.0, 12);
    s.ack(82.1, 17);
    assert_eq!(s.run().resends(), [("fast", Some(false))]);
}

/// Near the receiver, without timestamps and SACK: ten segments, all but `lost` of the first, which come again at these times.
fn without_stamps(lost: u32, again: &[(f64, u32, u32)]) -> Vec<&'static str> {
    let mut s = Script::between(false, 0.1);
    for n in (0..10).filter(|n| *n >= lost) {
        s.data(30.0 + f64::from(n), n);
        s.ack(30.1 + f64::from(n), if lost == 0 { n + 1 } else { 0 });
    }
    for (ms, n, acked) in again {
        s.data(*ms, *n);
        s.ack(ms + 0.1, *acked);
    }
    s.run().resends().iter().map(|r| r.0).collect()
}

#[test]
fn after_a_timeout_the_timer_is_twice_as_long() {
    // Segment 2 comes sooner than twice the first wait: no second expiry, whatever was lost between.
    assert_eq!(without_stamps(0, &[(700.0, 0, 10), (900.0, 2, 10)]), ["rto", "go_back_n"]);
}

#[test]
fn bytes_where_no_ack_ended_are_repaired_after_a_timeout_only() {
    // The first is undecided: a report or a timer. One ACK covers all, so no ACK made segment 5 the first unacknowledged one.
    let triggers = without_stamps(1, &[(300.0, 0, 10), (320.0, 5, 10)]);
    assert_eq!(triggers[1], "go_back_n");
}

#[test]
fn what_begins_at_the_end_of_an_uncertain_time_begins_another() {
    let s = Sent {
        packet: 9,
        t: 9,
        start: 3000,
        end: 4000,
        len: 1000,
        ip_id: None,
        order: 0,
        tsval: None,
        control: false,
        more: false,
        sack_ok: false,
    };
    let mut sender = SenderState { end: 9000, unsure_until: 3000, ..SenderState::default() };
    sender.follow_doubt(&s, Causes::FAST.or(Causes::EXPIRY));
    assert!(sender.in_doubt(&Sent { start: 8000, end: 9000, ..s }));
    // Below it, it belongs to the one that began before.
    let mut sender = SenderState { end: 9000, unsure_until: 3000, ..SenderState::default() };
    sender.follow_doubt(&Sent { start: 2000, end: 3000, ..s }, Causes::FAST.or(Causes::EXPIRY));
    assert!(!sender.in_doubt(&Sent { start: 8000, end: 9000, ..s }));
}

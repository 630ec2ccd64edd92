//! What a sender waited for, at taps at and away from it.

use super::{flags, run, Packet, Script, MS};

/// At the receiver: 20 ms to the sender and back. Ten full segments, 12 ms apart, each acknowledged at once; the last one is shorter
/// by `short` bytes. After a pause two more, in a burst.
fn received(pause_ms: f64, short: u32) -> i64 {
    let mut s = Script::between(false, 0.1);
    for n in 0..10 {
        let t = 20.1 + 12.0 * f64::from(n);
        let len = 1000 - if n == 9 { short } else { 0 };
        s.push(t, true, 1000 + n * 1000, 5000, flags::ACK, len, &[], None);
        s.push(t + 0.1, false, 5000, 1000 + n * 1000 + len, flags::ACK, 0, &[], None);
    }
    let (t, next) = (128.2 + pause_ms, 11_000 - short);
    s.push(t, true, next, 5000, flags::ACK, 1000, &[], None);
    s.push(t + 0.1, true, next + 1000, 5000, flags::ACK, 1000, &[], None);
    s.push(t + 0.2, false, 5000, next + 2000, flags::ACK, 0, &[], None);
    let t = s.run();
    assert_eq!(t.time_in("idle") * t.time_in("undecided"), 0, "{:?}", t.intervals());
    (t.time_in("idle") - t.time_in("undecided")) / MS
}

#[test]
fn data_under_way_is_no_idle_time() {
    assert_eq!(received(12.0, 0), 0);
    assert_eq!(received(25.0, 500), 0);
}

#[test]
fn a_silence_longer_than_the_way_to_the_sender_and_back() {
    // The last segment was not full: all was written.
    assert_eq!(received(100.0, 500), 80);
    // A full one may have been followed by one that is late.
    assert_eq!(received(100.0, 0), -80);
}

#[test]
fn a_timer_of_a_syn() {
    let mut s = Script::new(false);
    let mut again: Vec<Packet> = vec![s.packets[0]];
    s.data(30.0, 0);
    s.ack(50.0, 1);
    for p in &mut s.packets {
        p.time_ns = p.time_ns.map(|t| t + 1000 * MS);
    }
    again.append(&mut s.packets);
    again[0].ip_id = Some(50);
    for (i, p) in again.iter_mut().enumerate() {
        p.number = i as u64 + 1;
    }
    let t = run(&again);
    assert_eq!(t.time_in("rto_wait"), 1000 * MS, "{:?}", t.intervals());
    assert_eq!(t.time_in("handshake"), 20_100_000);
}

/// Segments that are acknowledged after 20 ms, then one whose ACK was made 40 ms late and came `held` ms later than that.
fn delayed_then_held(held: f64) -> i64 {
    let mut s = Script::new(false);
    for n in 0..8 {
        let ms = 30.0 + 50.0 * f64::from(n);
        s.data(ms, n);
        s.stamp(ms as u32, 5000 + n * 50);
        s.ack(ms + 20.0, n + 1);
        s.stamp(5050 + n * 50, ms as u32);
    }
    s.data(430.0, 8);
    s.stamp(430, 5400);
    s.ack(490.0 + held, 9);
    s.stamp(5490, 430);
    s.data(490.1 + held, 9);
    s.stamp(490 + held as u32, 5490);
    s.ack(510.1 + held, 10);
    s.stamp(5510 + held as u32, 490 + held as u32);
    s.run().time_in("delayed_ack") / MS
}

#[test]
fn a_delayed_ack_that_the_path_held_afterwards() {
    for held in [0.0, 10.0, 60.0] {
        let found = delayed_then_held(held);
        assert!((38..=52).contains(&found), "{held}: {found}");
    }
}

#[test]
fn a_last_delayed_ack() {
    // One segment, acknowledged late, and nothing after it: the sender had sent all, and did not wait to send more.
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(250.0, 1);
    let t = s.run();
    assert_eq!((t.time_in("slow_start"), t.time_in("delayed_ack")), (0, 0), "{:?}", t.intervals());
}

#[test]
fn a_window_that_grows_on_a_full_path() {
    // Two segments are sent for each one that is acknowledged: the round trips grow far beyond the least.
    let mut s = Script::new(false);
    let (mut sent, mut acked) = (0, 0);
    for k in 0..60u32 {
        s.data(30.0 + 10.0 * f64::from(k), sent);
        s.data(30.1 + 10.0 * f64::from(k), sent + 1);
        sent += 2;
        if sent > 4 + k {
            acked += 1;
            s.ack(31.0 + 10.0 * f64::from(k), acked);
        }
    }
    let t = s.run();
    assert!(t.time_in("slow_start") < 250 * MS, "{:?}", t.intervals());
    assert!(t.time_in("full_path") > 250 * MS, "{:?}", t.intervals());
}

#[test]
fn a_sender_that_has_sent_all_is_not_in_slow_start() {
    let mut s = Script::new(false);
    for n in 0..4 {
        s.data(20.2, n);
    }
    s.ack(40.2, 2);
    s.ack(40.3, 4);
    let t = s.run();
    assert_eq!((t.time_in("slow_start"), t.time_in("transfer")), (0, 20_100_000), "{:?}", t.intervals());
    // The first ACK releases more.
    s.data(40.4, 4);
    s.ack(60.4, 5);
    let t = s.run();
    assert_eq!((t.time_in("slow_start"), t.time_in("transfer")), (20_200_000, 20_000_000), "{:?}", t.intervals());
}

#[test]
fn a_late_syn_ack_reopens_nothing() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.push(1020.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    s.data(1030.0, 1);
    s.ack(1050.0, 2);
    let t = s.run();
    assert_eq!(t.time_in("handshake"), 20_100_000, "{:?}", t.intervals());
}

#[test]
fn the_first_of_two_syn_acks_may_be_the_one_that_is_answered() {
    // At the receiver, 1.5 s from the sender: both ends repeat their SYN, and b answers the copy with a plain ACK, too.
    let mut s = Script { packets: Vec::new(), sack: false, ids: [100, 5000] };
    s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    s.push(0.1, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    s.push(1000.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    s.push(1000.1, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    s.push(1000.2, false, 5000, 1000, flags::ACK, 0, &[], None);
    s.push(1500.0, true, 1000, 5000, flags::ACK, 0, &[], None);
    for n in 0..4 {
        let t = 1500.1 + 1520.0 * f64::from(n);
        s.data(t, n);
        s.ack(t + 0.1, n + 1);
    }
    let t = s.run();
    assert!(t.time_in("idle") <= MS / 10, "{:?}", t.intervals());
    assert_eq!(t.time_in("rto_wait"), 1000 * MS);
}

/// Windows of four segments on a path of 20 ms that sends one in `spacing` ms, each acknowledged at once: ms with the window as limit.
fn limited_by_window(spacing: f64) -> i64 {
    let mut s = Script::new(false);
    let mut at = Vec::new();
    let mut free: f64 = 0.0;
    for n in 0..100usize {
        let sent = if n < 4 { 20.2 } else { at[n - 4] };
        free = free.max(sent + 20.0 - spacing) + spacing;
        at.push(free);
    }
    let mut events: Vec<(f64, bool, u32)> = (0..100u32).map(|n| (at[n as usize], false, n + 1)).collect();
    events.extend((0..100u32).map(|n| (if n < 4 { 20.2 } else { at[n as usize - 4] + 0.01 }, true, n)));
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (t, data, n) in events {
        if data {
            s.data(t, n);
        } else {
            s.ack(t, n);
        }
    }
    s.offer(4000);
    let t = s.run();
    let others: i64 = ["transfer", "full_path", "slow_start"].iter().map(|state| t.time_in(state)).sum();
    t.time_in("window_limited") * 100 / (t.time_in("window_limited") + others)
}

#[test]
fn a_window_that_waits_in_a_queue_is_no_limit() {
    // Four segments take 4 ms of the 20, or 40 ms.
    assert!(limited_by_window(1.0) > 90, "{}", limited_by_window(1.0));
    assert!(limited_by_window(10.0) < 10, "{}", limited_by_window(10.0));
}

#[test]
fn a_lost_syn_does_not_end_slow_start() {
    let mut s = Script::new(false);
    let syn = s.packets[0];
    for p in &mut s.packets {
        p.time_ns = p.time_ns.map(|t| t + 1000 * MS);
    }
    s.packets.insert(0, Packet { ip_id: Some(50), ..syn });
    for n in 0..4 {
        s.data(1020.2, n);
    }
    s.ack(1040.2, 4);
    s.data(1040.3, 4);
    s.ack(1060.3, 5);
    for (i, p) in s.packets.iter_mut().enumerate() {
        p.number = i as u64 + 1;
    }
    let t = s.run();
    assert!(t.time_in("slow_start") >= 20 * MS, "{:?}", t.intervals());
}

#[test]
fn a_long_handshake_away_from_the_sender_is_undecided() {
    let mut s = Script::between(false, 0.1);
    s.data(20.2, 0);
    s.ack(20.3, 1);
    for p in &mut s.packets[2..] {
        p.time_ns = p.time_ns.map(|t| t + 2000 * MS);
    }
    let t = s.run();
    assert_eq!((t.time_in("handshake"), t.time_in("undecided")), (0, 2_020_200_000), "{:?}", t.intervals());
}

/// At the receiver: ten segments, the last of which is not acknowledged yet, and after a silence more: ms undecided. `counted`: IP ids.
fn silence(ms: f64, counted: bool) -> i64 {
    let mut s = Script::between(false, 0.1);
    for n in 0..10 {
        let t = 20.1 + 12.0 * f64::from(n);
        s.data(t, n);
        if n < 9 {
            s.ack(t + 0.1, n + 1);
        }
    }
    for n in 10..14 {
        let t = 128.1 + ms + 12.0 * f64::from(n - 10);
        s.data(t, n);
        s.ack(t + 0.1, n + 1);
    }
    s.packets.iter_mut().filter(|_| !counted).for_each(|p| p.ip_id = Some(0));
    s.run().time_in("undecided") / MS
}

#[test]
fn in_a_long_silence_away_from_the_sender_its_timer_may_have_expired() {
    assert_eq!(silence(150.0, false), 0);
    // Longer than a round trip and a delayed ACK, so that none can have released the data that ends it.
    assert!((899..=900).contains(&silence(900.0, false)), "{}", silence(900.0, false));
    assert_eq!(silence(900.0, true), 0);
}

#[test]
fn a_short_segment_that_fills_the_window_does_not_end_the_data() {
    // At the receiver, which closes its window with 2500 bytes. The sender probes it twice, and the second probe is acknowledged.
    let closed = |probes: bool| {
        let mut s = Script::between(false, 0.1);
        for (n, window) in [(0, 1500u16), (1, 500)] {
            let t = 20.1 + 21.0 * f64::from(n);
            s.data(t, n);
            s.ack(t + 0.1, n + 1);
            s.packets.last_mut().unwrap().tcp.as_mut().unwrap().window = window;
        }
        s.push(62.1, true, 3000, 5000, flags::ACK, 500, &[], None);
        for t in [62.2, 400.0, 800.0] {
            if probes && t > 100.0 {
                s.push(t, true, 3499, 5000, flags::ACK, 0, &[], None);
            }
            s.push(t + 0.1, false, 5000, 3500, flags::ACK, 0, &[], None);
            s.packets.last_mut().unwrap().tcp.as_mut().unwrap().window = 0;
        }
        let t = s.run();
        assert_eq!(t.time_in("idle"), 0, "{:?}", t.intervals());
        t.time_in("zero_window") / MS
    };
    assert!(closed(true) > 700, "{}", closed(true));
    assert!(closed(false) < 100, "{}", closed(false));
}

#[test]
fn a_syn_that_waits_longer_than_any_first_timer_had_waited_before() {
    let timers = |wait_ms: f64| {
        let mut s = Script { packets: Vec::new(), sack: false, ids: [100, 5000] };
        for t in [0.0, wait_ms, 3.0 * wait_ms] {
            s.push(t, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        }
        s.push(3.0 * wait_ms + 20.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.push(3.0 * wait_ms + 20.1, true, 1000, 5000, flags::ACK, 0, &[], None);
        s.data(3.0 * wait_ms + 20.2, 0);
        s.ack(3.0 * wait_ms + 40.2, 1);
        let t = s.run();
        (t.time_in("rto_wait") / MS, t.time_in("backoff_wait") / MS)
    };
    assert_eq!(timers(3000.0), (3000, 6000));
    // The first timer took 1 s to 3.3 s, the rest is backoff.
    assert_eq!(timers(16_000.0), (1000, 44_700));
}

/// Round trips of 20 ms: in each, every segment is acknowledged, each ACK releases one, and the last ACK `more` in addition.
fn grows_by(more: impl Fn(u32) -> u32, late_ms: f64) -> i64 {
    let mut s = Script::new(false);
    let (mut sent, mut acked) = (2, 0);
    s.data(20.2, 0);
    s.data(20.3, 1);
    for round in 1..7u32 {
        let (t, window) = (20.3 + 20.0 * f64::from(round), sent - acked);
        let mut events = Vec::new();
        for i in 0..window {
            let at = t + 0.2 * f64::from(i);
            events.push((at, None, acked + i + 1));
            events.push((at + 0.05, Some(()), 0));
        }
        for i in 0..more(window) {
            events.push((t + 0.2 * f64::from(window - 1) + late_ms + 0.01 * f64::from(i), Some(()), 0));
        }
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at, data, n) in events {
            if data.is_some() {
                s.data(at, sent);
                sent += 1;
            } else {
                s.ack(at, n);
            }
        }
        acked += window;
    }
    let t = s.run();
    t.time_in("slow_start") / MS
}

#[test]
fn a_segment_more_in_a_round_trip_is_no_slow_start() {
    // Two round trips of which the ACKs show the growth, and the first data.
    assert!(grows_by(|_| 1, 0.1) <= 45, "{}", grows_by(|_| 1, 0.1));
    // A segment more for each ACK, even if the host sends it after the next ACK has come.
    for late_ms in [0.1, 2.0] {
        assert!(grows_by(|window| window, late_ms) >= 115, "{}", grows_by(|window| window, late_ms));
    }
}

#[test]
fn a_copy_of_a_syn_that_a_queue_held() {
    // At the receiver: the copy comes 16 s after the SYN, although its sender had the answer by then.
    let mut s = Script { packets: Vec::new(), sack: false, ids: [100, 5000] };
    s.push(0.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    for t in [0.1, 1000.1, 3000.1] {
        s.push(t, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    }
    s.push(16_000.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    s.push(16_000.1, false, 5000, 1000, flags::ACK, 0, &[], None);
    s.data(17_000.0, 0);
    s.ack(17_000.1, 1);
    let t = s.run();
    assert_eq!(t.time_in("rto_wait") + t.time_in("backoff_wait"), 0, "{:?}", t.intervals());
    assert!(t.time_in("undecided") > 16_000 * MS);
}

#[test]
fn a_hole_that_nothing_fills_away_from_the_sender() {
    // At the receiver, 20 ms from the sender and back: it has read of the hole, and sends new data, as long as no timer expires. What it
    // repeats is lost again, or waits.
    let mut s = Script::between(false, 0.1);
    s.data(20.2, 0);
    s.ack(20.3, 1);
    for n in 2..20 {
        let t = 20.2 + 20.0 * f64::from(n - 1);
        s.data(t, n);
        s.ack(t + 0.1, 1);
    }
    let t = s.run();
    assert!(t.time_in("fast_recovery") > 250 * MS, "{:?}", t.intervals());
}

#[test]
fn the_answer_to_a_timer_ends_the_wait_without_new_data() {
    // Between the hosts, 10 ms to the sender and back: after the ACK nothing but another ACK passes.
    let mut s = Script::between(false, 10.0);
    for n in 0..3 {
        s.data(30.0 + f64::from(n), n);
    }
    s.data(1230.0, 0);
    s.ack(1250.0, 1);
    s.ack(1300.0, 2);
    s.ack(2300.0, 3);
    let t = s.run();
    let waited = t.time_in("rto_wait") + t.time_in("backoff_wait");
    assert!(waited > 1100 * MS && waited < 1400 * MS, "{:?}", t.intervals());
}

#[test]
fn a_closed_window_of_a_connection_that_began_before_the_capture() {
    let closed = |answers_ms: f64| {
        let mut s = Script { packets: Vec::new(), sack: false, ids: [100, 5000] };
        s.ack(0.0, 0);
        s.ack(1.0, 1);
        s.packets[1].tcp.as_mut().unwrap().window = 0;
        s.ack(50.0, 1);
        s.data(50.0 + answers_ms, 1);
        s.data(50.1 + answers_ms, 2);
        s.ack(70.0 + answers_ms, 3);
        s.run().time_in("zero_window") / MS
    };
    assert_eq!((closed(0.2), closed(300.0)), (49, 0));
}

#[test]
fn a_fin_that_is_not_acknowledged_is_no_transfer() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.push(30.1, true, 2000, 5000, flags::ACK | flags::FIN, 0, &[], None);
    s.ack(50.0, 1);
    for k in 0..2 {
        s.push(200_000.0 + f64::from(k), false, 5000, 2000, flags::ACK, 500, &[], None);
    }
    let t = s.run();
    assert!(t.time_in("transfer") + t.time_in("slow_start") <= 30 * MS, "{:?}", t.intervals());
    assert_eq!(t.time_in("closing"), 0, "{:?}", t.intervals());
}

#[test]
fn a_sender_that_has_sent_its_fin_is_not_in_slow_start() {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.push(30.1, true, 2000, 5000, flags::ACK | flags::FIN, 700, &[], None);
    s.ack(50.0, 1);
    s.push(90.0, true, 2000, 5000, flags::ACK | flags::FIN, 700, &[], None);
    let t = s.run();
    assert_eq!(t.time_in("slow_start"), 0, "{:?}", t.intervals());
}

/// Segment 2 comes late, after three duplicate ACKs and a retransmission; the partial ACK echoes `echo`.
fn recovered(echo: u32) -> i64 {
    let mut s = Script::new(true);
    for p in &mut s.packets {
        p.tcp.as_mut().unwrap().timestamps = Some((900, 900));
    }
    let stamp = |s: &mut Script, tsval, tsecr| {
        s.packets.last_mut().unwrap().tcp.as_mut().unwrap().timestamps = Some((tsval, tsecr));
    };
    for n in 0..8u32 {
        s.data(30.0 + f64::from(n) / 10.0, n);
        stamp(&mut s, 1000 + n, 500);
    }
    s.ack(50.0, 2);
    stamp(&mut s, 600, 1001);
    for n in 0..3u32 {
        let sack = [(1000 + 3000, 1000 + 4000 + 1000 * n)];
        s.push(51.0 + f64::from(n), false, 5000, 3000, flags::ACK, 0, &sack, None);
        stamp(&mut s, 601 + n, 1001);
    }
    s.data(53.0, 2);
    stamp(&mut s, 1024, 603);
    s.ack(55.0, 6);
    stamp(&mut s, 605, echo);
    s.ack(90.0, 8);
    stamp(&mut s, 640, 1007);
    s.run().time_in("fast_recovery") / MS
}

#[test]
fn a_partial_ack_with_an_older_echo_ends_a_fast_recovery() {
    assert_eq!((recovered(1002), recovered(1024)), (2, 37));
}

#[test]
fn what_follows_the_ack_of_all_repeated_data_is_no_recovery() {
    // Without SACK the sender stays in its state until more is acknowledged, which a queue delays by two seconds.
    let mut s = Script::new(false);
    s.flight(30.0, 0..3);
    s.data(1100.0, 0);
    s.ack(1120.0, 3);
    s.data(1120.1, 3);
    s.ack(3120.0, 4);
    let t = s.run();
    assert_eq!(t.time_in("loss_recovery"), 0, "{:?}", t.intervals());
}

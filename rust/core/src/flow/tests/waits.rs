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
    assert!(t.time_in("transfer") > 250 * MS, "{:?}", t.intervals());
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

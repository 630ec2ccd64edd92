//! A SYN+ACK that comes late: by a timer, or by a queue.

use super::*;

/// A SYN whose answer comes after `late` s, a segment after it, and its ACK after `trip` ms.
fn late_answer(late: i64, trip: f64) -> i64 {
    let mut s = Script::new(false);
    s.data(30.0, 0);
    s.ack(30.0 + trip, 1);
    for p in &mut s.packets[1..] {
        p.time_ns = p.time_ns.map(|t| t + late * 1000 * MS);
    }
    let t = s.run();
    assert_eq!(t.time_in("handshake") + t.time_in("rto_wait"), late * 1000 * MS + 20_100_000, "{:?}", t.intervals());
    t.time_in("rto_wait") / MS
}

#[test]
fn an_answer_to_a_syn_by_the_timer_of_the_peer() {
    assert_eq!(late_answer(1, 20.0), 1000);
    assert_eq!(late_answer(3, 20.0), 3000);
    // No timer is so long; and a path so long that its round trip explains half of it.
    assert_eq!(late_answer(2, 20.0), 0);
    assert_eq!(late_answer(1, 600.0), 0);
}

/// These packets are of a second connection between the two hosts.
fn of_another_connection(packets: &mut [Packet]) {
    for p in packets {
        let port = if p.dst_port == Some(5001) { &mut p.src_port } else { &mut p.dst_port };
        *port = Some(40001);
    }
}

#[test]
fn a_queue_may_keep_an_answer_as_long_as_a_timer() {
    // Another connection found a round trip of 20 ms. The SYN+ACK comes after 1 s, and no ACK of data until the end.
    let timer = |outstanding: f64| {
        let mut s = Script::new(false);
        s.data(30.0, 0);
        s.ack(50.0, 1);
        let first = s.packets.len();
        s.push(60.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        s.push(1080.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.data(1080.1, 0);
        s.data(1080.1 + outstanding, 1);
        of_another_connection(&mut s.packets[first..]);
        s.run().time_in("rto_wait") / MS
    };
    assert_eq!(timer(100.0), 1000);
    // By then a round trip takes as long.
    assert_eq!(timer(900.0), 0);
}

#[test]
fn data_that_answers_a_repeated_syn_ack_waited_for_timers() {
    // At the receiver: its SYN+ACK is answered with data once the timer has repeated it.
    let states = |data_ms: f64| {
        let mut s = Script::between(false, 0.1);
        s.packets.truncate(2);
        s.push(1000.1, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.push(1020.1, true, 1000, 5000, flags::ACK, 0, &[], None);
        s.data(data_ms, 0);
        s.ack(data_ms + 0.1, 1);
        let t = s.run();
        (t.time_in("rto_wait"), t.time_in("handshake"), t.time_in("undecided"))
    };
    assert_eq!(states(1020.1), (1_000_100_000, 20_000_000, 0));
    // Data that comes later may have been written later, and only the ACK was lost.
    assert_eq!(states(1100.1).0, 0);
}

#[test]
fn a_syn_ack_that_its_timer_repeated_twice_waited_for_backoff() {
    let states = |repeated: [f64; 2]| {
        let mut s = Script::between(false, 0.1);
        s.packets.truncate(2);
        for ms in repeated {
            s.push(ms, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        }
        s.data(repeated[1] + 20.0, 0);
        s.ack(repeated[1] + 20.1, 1);
        let t = s.run();
        (t.time_in("rto_wait") / MS, t.time_in("backoff_wait") / MS, t.time_in("undecided") / MS)
    };
    assert_eq!(states([1000.1, 3000.1]), (1000, 2000, 0));
    // No timer sends it then: a queue kept it, and what it seems to be answered with.
    assert_eq!(states([2000.1, 5000.1]), (0, 0, 5020));
}

#[test]
fn a_copy_of_a_syn_that_no_timer_sends_then_waited_in_a_queue() {
    // At the receiver, which answers the SYN and its copies.
    let states = |late: f64| {
        let mut s = Script::between(false, 0.1);
        s.packets.truncate(2);
        for ms in [1000.0, 3000.0, 7000.0 + late] {
            s.push(ms, true, 999, 0, flags::SYN, 0, &[], Some(1460));
            s.push(ms + 0.1, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        }
        s.data(7020.0 + late, 0);
        s.ack(7020.1 + late, 1);
        let t = s.run();
        (t.time_in("rto_wait") / MS, t.time_in("backoff_wait") / MS, t.time_in("undecided") / MS)
    };
    assert_eq!(states(0.0), (1000, 6000, 0));
    assert_eq!(states(2500.0), (1000, 0, 8500));
}

#[test]
fn a_sender_that_others_show_to_be_near_may_have_read_the_answer_long_before_its_data_comes() {
    // At the receiver: in another connection its host answered in 20 ms. Here the data comes after `ms`.
    let states = |ms: f64| {
        let mut s = Script::between(false, 0.1);
        s.data(30.0, 0);
        s.ack(30.1, 1);
        let first = s.packets.len();
        s.push(60.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        s.push(60.1, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        s.data(60.1 + ms, 0);
        s.ack(60.2 + ms, 1);
        of_another_connection(&mut s.packets[first..]);
        let t = s.run();
        (t.time_in("handshake") / MS, t.time_in("undecided") / MS)
    };
    assert_eq!(states(25.0), (20 + 25, 0));
    // A queue kept it meanwhile.
    assert_eq!(states(500.0), (20 + 20, 480));
}

#[test]
fn what_answers_a_syn_ack_was_lost_by_the_ids() {
    // At the receiver: 240 ms after its SYN+ACK comes data, as the first packet since the SYN.
    let states = |missing: u32| {
        let mut s = Script::between(false, 0.1);
        s.packets.truncate(2);
        s.data(240.1, 0);
        s.ack(240.2, 1);
        (s.packets[0].ip_id, s.packets[2].ip_id) = (Some(10), Some(11 + missing));
        let t = s.run();
        (t.time_in("handshake") / MS, t.time_in("rto_wait") / MS, t.time_in("undecided") / MS)
    };
    assert_eq!(states(0), (240, 0, 0));
    // An ACK, and later data; or data that a timer repeated.
    assert_eq!(states(1), (0, 0, 240));
    // An ACK and data.
    assert_eq!(states(2), (0, 240, 0));
    // The ids count nothing, or packets that the capture does not hold.
    assert_eq!(states(500), (240, 0, 0));
}

#[test]
fn a_sender_whose_syn_was_lost_begins_with_one_segment() {
    // The peer's window takes one segment, too; only after the first ACK is it the limit.
    let limits = |syns: &[f64], echo| {
        let mut s = Script::new(false);
        s.packets.clear();
        for ms in syns {
            s.push(*ms, true, 999, 0, flags::SYN, 0, &[], Some(1000));
            s.stamp(*ms as u32 + 1, 0);
        }
        s.push(1020.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1000));
        s.stamp(7, echo);
        s.data(1020.1, 0);
        s.ack(1040.1, 1);
        s.data(1040.2, 1);
        s.ack(1060.2, 2);
        s.offer(1000);
        let t = s.run();
        (t.time_in("slow_start") / MS, t.time_in("window_limited") / MS)
    };
    assert_eq!(limits(&[1000.0], 1001), (0, 40));
    assert_eq!(limits(&[0.0, 1000.0], 1001), (20, 20));
    // The answer to the first SYN shows that it was only late.
    assert_eq!(limits(&[0.0, 1000.0], 1), (0, 40));
}

#[test]
fn the_answer_to_the_first_syn_was_not_sent_by_a_timer() {
    // It comes 1 s after the third SYN, and echoes one of them.
    let timers = |echo| {
        let mut s = Script::new(false);
        s.packets.clear();
        for (ms, stamp) in [(0.0, 1), (1000.0, 1001), (3000.0, 3001)] {
            s.push(ms, true, 999, 0, flags::SYN, 0, &[], Some(1000));
            s.stamp(stamp, 0);
        }
        s.push(4020.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1000));
        s.stamp(7, echo);
        s.data(4020.1, 0);
        s.ack(4040.1, 1);
        let t = s.run();
        (t.time_in("rto_wait") + t.time_in("backoff_wait")) / MS
    };
    assert_eq!(timers(3001), 4000);
    assert_eq!(timers(1), 3000);
}

#[test]
fn an_answer_as_late_as_a_timer_is_a_timers_also_where_no_round_trip_is_known() {
    // The capture ends before the first data is answered.
    let timers = |late| {
        let mut s = Script::new(false);
        s.packets.clear();
        for ms in [0.0, 1000.0] {
            s.push(ms, true, 999, 0, flags::SYN, 0, &[], Some(1000));
        }
        s.push(1000.0 + late, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1000));
        s.data(1000.1 + late, 0);
        let t = s.run();
        (t.time_in("rto_wait") + t.time_in("backoff_wait")) / MS
    };
    assert_eq!(timers(1004.0), 2000);
    assert_eq!(timers(1040.0), 1000);
}

#[test]
fn of_many_syns_the_first_may_be_the_one_that_is_answered() {
    use super::super::handshake::Handshake;

    let opened = |echo: Option<u32>| {
        let mut h = Handshake::default();
        for (second, stamp) in [(0, 10), (1, 1010), (3, 3010), (7, 7010)] {
            h.opening(second * 1000 * MS, false, echo.map(|_| (stamp, 0)));
        }
        h.opening(7600 * MS, true, echo.map(|echo| (1, echo)));
        h
    };
    // Without timestamps its round trip may have been as long; with them it is known.
    assert_eq!(opened(None).longest_trip(), Some(6600 * MS));
    assert_eq!((opened(Some(10)).longest_trip(), opened(Some(10)).syn), (None, Some(0)));
    assert_eq!((opened(Some(7010)).longest_trip(), opened(Some(7010)).syn), (None, Some(7000 * MS)));
    assert!(
        opened(Some(7010)).later_answered() && !opened(Some(10)).later_answered() && !opened(None).later_answered()
    );
}

#[test]
fn snd_nxt_above_the_first_segment_shows_that_a_timer_sent_that() {
    // Another connection shows the host to be near. Its queue drops all that answers the SYN+ACK, which its timer repeats; the first segment
    // passes, and an ACK with the number of the one after so many.
    let timer = |next: u32, late: f64| {
        let mut s = Script::new(false);
        s.data(30.0, 0);
        s.ack(50.0, 1);
        let first = s.packets.len();
        s.push(60.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
        for answered in [80.0, 80.0 + late] {
            s.push(answered, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
        }
        s.data(80.3 + late, 0);
        s.push(80.6 + late, true, 1000 + next * 1000, 5000, flags::ACK, 0, &[], None);
        s.ack(100.3 + late, 1);
        of_another_connection(&mut s.packets[first..]);
        let t = s.run();
        let starts = t.batches("timeouts").flat_map(|b| b["rel_seq"].as_primitive::<Int64Type>().values().to_vec());
        starts.filter(|start| *start == 1).count()
    };
    assert_eq!(timer(10, 1000.0), 1);
    // Nothing more was sent, or no timer is so short or so long.
    assert_eq!([timer(1, 1000.0), timer(10, 100.0), timer(10, 4000.0)], [0; 3]);
}

#[test]
fn a_first_timer_may_take_3_s() {
    // Not every stack has taken the handshake for a round trip: the capture may end before the timer of the first data.
    for (end, full) in [(2500.0, false), (4000.0, true)] {
        let mut s = Script::new(false);
        s.data(30.0, 0);
        s.push(end, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1000));
        assert_eq!(s.run().time_in("full_path") > 0, full);
    }
}

//! What order, silence and echoes prove of a retransmission, and what they leave open.

use super::*;

fn copies(t: &Tables) -> Vec<Option<u16>> {
    let columns = t.batches("segments").map(|b| b.column_by_name("copy").unwrap().as_primitive::<UInt16Type>());
    columns.flat_map(|c| c.iter().collect::<Vec<_>>()).collect()
}

/// Only the repeated SYN is answered in the capture: by a pure ACK, then by a SYN+ACK with this IP id after that of the ACK.
fn late_answer(step: i64, ms: f64) -> Vec<&'static str> {
    let mut s = Script::new(false);
    s.packets.truncate(1);
    s.push(1000.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    s.push(1000.1, false, 5000, 1000, flags::ACK, 0, &[], None);
    s.push(ms, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    let id = i64::from(s.packets[2].ip_id.unwrap());
    s.packets[3].ip_id = u32::try_from(id + step).ok();
    s.run().names("segments", "transmission", TRANSMISSIONS)[3..].to_vec()
}

#[test]
fn a_synack_sent_after_a_later_packet_is_a_retransmission() {
    assert_eq!(late_answer(1, 1001.0), ["retransmission"]);
    assert_eq!(late_answer(-1, 1001.0), ["reordered"]);
}

#[test]
fn without_ids_a_synack_is_late_until_a_timer_can_have_run() {
    assert_eq!(late_answer(20_000, 1001.0), ["reordered"]);
    assert_eq!(late_answer(20_000, 1400.0), ["retransmission"]);
}

#[test]
fn the_number_of_a_copy_is_unknown_where_one_may_be_missing() {
    let mut s = Script::new(false);
    s.packets.truncate(1);
    s.push(1000.0, true, 999, 0, flags::SYN, 0, &[], Some(1460));
    assert_eq!(copies(&s.run()), [Some(0), Some(1)]);
    // The second of three is missing.
    s.packets[1].time_ns = s.packets[1].time_ns.map(|t| t + 2000 * MS);
    assert_eq!(copies(&s.run()), [Some(0), None]);
}

#[test]
fn a_silent_sender_without_any_report_waited_for_its_timer() {
    let mut s = Script::new(false);
    s.data(40.0, 0);
    // One round trip of ten seconds: the timer of a sender that does not measure it is much shorter than the model's.
    s.ack(10_040.0, 1);
    s.flight(10_041.0, 1..5);
    s.ack(10_100.0, 2);
    s.data(13_000.0, 2);
    s.ack(13_030.0, 3);
    s.data(13_030.1, 3);
    let triggers: Vec<_> = s.run().resends().iter().map(|r| r.0).collect();
    assert_eq!(triggers, ["rto", "go_back_n"]);
}

#[test]
fn after_an_expiry_that_nobody_saw_nothing_above_comes_first() {
    let mut s = Script::between(false, 0.1);
    for n in 0..20 {
        s.data(40.0 + f64::from(n) * 20.0, n);
        s.ack(40.1 + f64::from(n) * 20.0, n + 1);
    }
    // Packets are missing, and the sender was silent: segment 20 may be a copy by its timer.
    s.ids[0] += 12;
    s.data(1500.0, 20);
    s.ack(1500.1, 21);
    // More than two segments above 21 come before it.
    s.ids[0] += 1;
    for n in 22..27 {
        s.data(1520.0 + f64::from(n), n);
        s.ack(1520.1 + f64::from(n), 21);
    }
    s.data(1580.0, 21);
    s.ack(1580.1, 27);
    assert_eq!(s.run().resends(), [("fast", Some(false))]);
}

#[test]
fn a_report_that_may_be_under_way_when_the_capture_ends_leaves_the_need_open() {
    let at_the_end = |more: bool| {
        let mut s = Script::new(true);
        s.data(40.0, 0);
        s.sack(60.0, 1, 0, 1);
        s.data(61.0, 1);
        s.ack(1061.0, 2);
        s.flight(1062.0, 2..12);
        s.data(5000.0, 2);
        s.ack(5030.0, 3);
        if more {
            s.ack(7000.0, 3);
        }
        s.run().spurious().into_iter().flatten().count()
    };
    assert_eq!((at_the_end(false), at_the_end(true)), (0, 1));
}

#[test]
fn the_timestamp_of_a_repeated_synack_is_not_echoed() {
    let mut s = Script::new(true);
    s.data(30.0, 0);
    s.push(1030.0, false, 4999, 1000, flags::SYN | flags::ACK, 0, &[], Some(1460));
    s.push(1030.1, true, 2000, 5000, flags::ACK, 0, &[], None);
    s.data(2500.0, 0);
    let stamps = [(10, 0), (510, 10), (30, 510), (40, 510), (1510, 10), (1040, 510), (2510, 510)];
    for (p, stamp) in s.packets.iter_mut().zip(stamps) {
        p.tcp.as_mut().unwrap().timestamps = Some(stamp);
    }
    // Later than any probe: with what it knows of the sender, the tap leaves only the retransmission timer.
    assert_eq!(s.run().resends().last().unwrap().0, "rto");
}

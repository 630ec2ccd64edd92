//! What is inferred about missed frames.

use super::*;

/// Sequence number, attempts seen, inferred, by what, outcome.
type Told<'a> = (Option<u16>, usize, u16, Option<&'a str>, &'a str);

fn told(rows: &[Row]) -> Vec<Told<'_>> {
    rows.iter().map(|r| (r.seq, r.packets.len(), r.inferred, r.by.as_deref(), r.outcome.as_str())).collect()
}

#[test]
fn numbers_passed_over() {
    let mut m = Made::new();
    m.send(qos(STA, AP, 0, 4094)).ack(STA).send(qos(STA, AP, 0, 1)).ack(STA);
    let rows = m.finish();
    assert_eq!(
        told(&rows),
        [
            (Some(4094), 1, 0, None, "delivered"),
            (Some(4095), 0, 1, Some("sequence_gap"), "unknown"),
            (Some(0), 0, 1, Some("sequence_gap"), "unknown"),
            (Some(1), 1, 0, None, "delivered"),
        ]
    );
    assert_eq!((rows[1].t_first_ns, rows[1].airtime_us, rows[1].fragment), (None, None, None));
    assert_eq!(m.noted(NoteKind::MissingSequence), 2);
}

#[test]
fn a_missing_number_comes_after_all() {
    // With Retry: an attempt was missed; without: it was only late.
    let mut m = Made::new();
    m.send(qos(STA, AP, 0, 1))
        .send(qos(STA, AP, 0, 4))
        .send(retry(qos(STA, AP, 0, 2)))
        .ack(STA)
        .send(qos(STA, AP, 0, 3));
    let rows = m.finish();
    assert_eq!(told(&rows)[1], (Some(2), 1, 1, Some("retry_bit"), "delivered"));
    assert_eq!(told(&rows)[2], (Some(3), 1, 0, None, "unknown"));
    assert_eq!(m.noted(NoteKind::MissingSequence), 0);
}

#[test]
fn too_large_a_step_is_another_matter() {
    let mut m = Made::new();
    m.send(qos(STA, AP, 0, 1)).send(qos(STA, AP, 0, 500));
    assert_eq!((m.finish().len(), m.noted(NoteKind::SequenceSkipped)), (2, 1));
}

#[test]
fn the_shared_counter() {
    // A station that sends to its access point alone.
    let mut m = Made::new();
    m.send(plain(STA, AP, 1)).send(plain(STA, AP, 3));
    assert_eq!(told(&m.finish())[1], (Some(2), 0, 1, Some("sequence_gap"), "unknown"));
    // An access point's missing number may belong to any receiver; a probe request was between.
    let mut m = Made::new();
    m.send(plain(AP, STA, 1)).send(plain(AP, STA, 3));
    m.send(plain(STA, AP, 1)).send(management(4, STA, ALL, 2)).send(plain(STA, AP, 3));
    assert!(m.finish().iter().all(|r| r.packets.len() == 1));
    // Numbers of group-addressed QoS data show nothing either.
    let mut m = Made::new();
    m.send(qos(AP, ALL, 0, 1)).send(qos(AP, ALL, 0, 3));
    assert_eq!(m.finish().len(), 2);
}

#[test]
fn one_counter_for_all_tids() {
    let mut m = Made::new();
    for seq in 0..40u16 {
        m.send(qos(AP, STA, (seq % 2 * 5) as u8, seq));
    }
    let missing = m.finish().iter().filter(|r| r.packets.is_empty()).count();
    assert!(missing < 8, "{missing}");
}

#[test]
fn lone_acks_are_those_of_the_missing_numbers() {
    let mut m = Made::new();
    m.send(plain(STA, AP, 1)).ack(STA).wait(5000).ack(STA).wait(5000).ack(STA).send(plain(STA, AP, 4)).ack(STA);
    let rows = m.finish();
    assert_eq!(
        told(&rows)[1..3],
        [(Some(2), 0, 1, Some("sequence_gap"), "delivered"), (Some(3), 0, 1, Some("sequence_gap"), "delivered")]
    );
    assert_eq!((rows[1].ack, rows[2].ack, rows.len()), (Some(3), Some(4), 4));
    // Fewer ACKs than numbers: it is unknown which, but they are no frames of their own either.
    let mut m = Made::new();
    m.send(plain(STA, AP, 1)).ack(STA).wait(5000).ack(STA).send(plain(STA, AP, 4));
    let rows = m.finish();
    assert_eq!((rows.len(), rows[1].acked, rows[2].acked), (4, None, None));
}

#[test]
fn a_lone_ack_without_a_missing_number_is_that_of_a_repeat() {
    let mut m = Made::new();
    m.send(plain(STA, AP, 1)).wait(5000).ack(STA).send(plain(STA, AP, 2)).ack(STA);
    let rows = m.finish();
    assert_eq!(told(&rows), [(Some(1), 1, 1, Some("lone_ack"), "delivered"), (Some(2), 1, 0, None, "delivered")]);
    assert_eq!((rows[0].ack, rows[0].acked), (Some(2), Some(true)));
    // An access point sends to many stations: the ACK may be another station's.
    let mut m = Made::new();
    m.send(plain(AP, STA, 1)).wait(5000).ack(AP).send(plain(AP, STA, 2)).ack(AP);
    assert_eq!(told(&m.finish())[..2], [(Some(1), 1, 0, None, "unknown"), (None, 0, 1, Some("lone_ack"), "delivered")]);
}

fn rts(ta: Mac, ra: Mac) -> Frame {
    Frame { duration: Some(500), ..answer(subtype::RTS, Some(ta), ra) }
}

fn cts(ra: Mac) -> Frame {
    Frame { duration: Some(400), ..answer(subtype::CTS, None, ra) }
}

#[test]
fn rts_and_cts_name_the_sender_of_an_ack() {
    let mut m = Made::new();
    m.at(0, rts(AP, STA), &[]).at(60, cts(AP), &[]).at(300, answer(subtype::ACK, None, AP), &[]);
    let r = &m.finish()[0];
    assert_eq!((r.ta.as_deref(), r.ra.as_deref()), (Some("00:00:00:00:00:0a"), Some("00:00:00:00:00:0b")));
    assert_eq!(r.by.as_deref(), Some("lone_ack"));
}

#[test]
fn a_reservation_that_nothing_filled() {
    let mut m = Made::new();
    m.at(0, rts(AP, STA), &[]).at(60, cts(AP), &[]).at(700, plain(STA, ALL, 1), &[]);
    let rows = m.finish();
    assert_eq!(told(&rows)[0], (None, 0, 1, Some("nav"), "unknown"));
    assert_eq!((rows[0].ra.as_deref(), rows[0].acked), (Some("00:00:00:00:00:0b"), None));
    // Too early for the end of the reservation: its CTS was not heard. Or the frame itself.
    for next in [rts(AP, STA), plain(AP, STA, 1)] {
        let mut m = Made::new();
        m.at(0, rts(AP, STA), &[]).at(60, cts(AP), &[]).at(300, next, &[]);
        assert!(m.finish().iter().all(|r| r.by.is_none()));
    }
    // A Block Ack that shows the missing number explains it.
    let mut m = Made::new();
    m.at(0, qos(AP, STA, 5, 9), &[]).at(1000, rts(AP, STA), &[]).at(1060, cts(AP), &[]).at(2000, rts(AP, STA), &[]);
    m.at(2060, cts(AP), &[]).at(2300, answer(subtype::BLOCK_ACK, Some(STA), AP), &compressed(5, 9, 0b11));
    let rows = m.finish();
    assert_eq!(told(&rows), [(Some(9), 1, 0, None, "delivered"), (Some(10), 0, 1, Some("block_ack"), "delivered")]);
}

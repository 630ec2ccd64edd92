//! Bitmaps joined to MPDUs.

use super::*;
use crate::phy::Radio;

fn mpdu(seq: u16, ampdu: u32) -> Frame {
    Frame { radio: Radio { ampdu: Some(ampdu), ..Radio::default() }, ..qos(STA, AP, 5, seq) }
}

fn told(rows: &[Row]) -> Vec<(u16, usize, u16, &str)> {
    rows.iter().map(|r| (r.seq.unwrap(), r.packets.len(), r.inferred, r.outcome.as_str())).collect()
}

#[test]
fn of_an_ampdu_with_a_hole() {
    let mut m = Made::new();
    for seq in [4094, 4095, 0] {
        m.at(0, mpdu(seq, 1), &[]);
    }
    m.block_ack(AP, STA, &compressed(5, 4094, 0b101));
    m.at(1000, retry(mpdu(4095, 2)), &[]).at(1000, mpdu(1, 2), &[]).block_ack(AP, STA, &compressed(5, 4095, 0b111));
    let rows = m.finish();
    assert_eq!(
        told(&rows),
        [(4094, 1, 0, "delivered"), (4095, 2, 0, "delivered"), (0, 1, 0, "delivered"), (1, 1, 0, "delivered")]
    );
    assert_eq!((rows[0].ack, rows[1].ack, rows[1].wasted_us), (Some(4), Some(7), Some(100.0)));
}

#[test]
fn a_bit_after_a_refusal_is_one_more_attempt() {
    let mut m = Made::new();
    m.send(mpdu(1, 1)).block_ack(AP, STA, &compressed(5, 1, 0)).block_ack(AP, STA, &compressed(5, 1, 1));
    let rows = m.finish();
    assert_eq!(told(&rows), [(1, 1, 1, "delivered")]);
    assert_eq!(rows[0].by.as_deref(), Some("block_ack"));
}

#[test]
fn a_zero_outside_its_own_ppdu_says_nothing() {
    // The recipient may have forgotten (partial-state operation).
    let mut m = Made::new();
    m.send(mpdu(1, 1)).send(mpdu(2, 2)).block_ack(AP, STA, &compressed(5, 1, 0b10));
    let rows = m.finish();
    assert_eq!((rows[0].acked, rows[1].acked), (None, Some(true)));
}

#[test]
fn after_a_request() {
    let mut m = Made::new();
    m.send(mpdu(1, 1)).send(mpdu(2, 1));
    m.at(m.now_us + 500, answer(subtype::BLOCK_ACK_REQUEST, Some(STA), AP), &compressed(5, 1, 0)[..4]);
    m.block_ack(AP, STA, &compressed(5, 1, 0b11));
    assert!(m.finish().iter().all(|r| r.outcome == "delivered"));
}

#[test]
fn bits_of_frames_never_seen() {
    let mut m = Made::new();
    // The first one only gives the position of the counter: its bits may be old.
    m.block_ack(AP, STA, &compressed(5, 100, u64::MAX));
    m.block_ack(AP, STA, &compressed(5, 102, u64::MAX ^ 1 << 62));
    let rows = m.finish();
    assert_eq!(told(&rows), [(164, 0, 1, "unknown"), (165, 0, 1, "delivered")]);
    assert_eq!(
        (rows[0].by.as_deref(), rows[1].by.as_deref(), rows[1].ack),
        (Some("sequence_gap"), Some("block_ack"), Some(2))
    );
    assert_eq!(m.noted(NoteKind::MissingSequence), 2);
}

#[test]
fn a_window_of_1024() {
    let mut m = Made::new();
    m.send(mpdu(0, 1));
    let body = |first: u16, set: &dyn Fn(usize) -> bool| {
        let mut map = vec![0u8; 128];
        (0..1024).filter(|i| set(*i)).for_each(|i| map[i / 8] |= 1 << (i % 8));
        [&[0x04, 0x50][..], &(first << 4 | 10).to_le_bytes(), &map].concat()
    };
    m.block_ack(AP, STA, &body(0, &|i| i != 500));
    m.block_ack(AP, STA, &body(0, &|_| true));
    let rows = m.finish();
    assert_eq!(rows.len(), 1024);
    assert!(rows
        .iter()
        .enumerate()
        .all(|(i, r)| r.outcome == "delivered" && r.ack == Some(if i == 500 { 3 } else { 2 })));
}

#[test]
fn multi_tid_and_multi_sta() {
    let mut m = Made::new();
    m.send(qos(STA, AP, 1, 10)).send(qos(STA, AP, 2, 20));
    let one = |tid: u16, seq: u16| {
        [&(tid << 12).to_le_bytes()[..], &(seq << 4).to_le_bytes(), &[1, 0, 0, 0, 0, 0, 0, 0]].concat()
    };
    m.block_ack(AP, STA, &[&[0x06, 0x10][..], &one(1, 10), &one(2, 20)].concat());
    assert!(m.finish().iter().all(|r| r.outcome == "delivered" && r.ack == Some(3)));

    // To all, by association identifier: known from the association response.
    let mut m = Made::new();
    m.at(0, management(1, AP, STA, 1), &[0, 0, 0, 0, 0x07, 0xc0]).send(qos(STA, AP, 3, 30));
    let body = [&[0x16, 0][..], &(3u16 << 12 | 0x800 | 7).to_le_bytes()].concat();
    m.at(m.now_us + 60, answer(subtype::BLOCK_ACK, Some(AP), ALL), &body);
    let rows = m.finish();
    // The Ack answers the PPDU before.
    assert_eq!((rows[1].seq, rows[1].outcome.as_str()), (Some(30), "delivered"));
}

#[test]
fn a_damaged_mpdu_of_the_same_ampdu_parts_nothing() {
    let mut m = Made::new();
    m.at(0, mpdu(1, 1), &[]).at(0, Frame { fcs_ok: Some(false), ..mpdu(2, 1) }, &[]);
    m.block_ack(AP, STA, &compressed(5, 1, 0));
    assert_eq!(m.finish()[0].acked, Some(false));
}

#[test]
fn malformed() {
    let mut m = Made::new();
    m.block_ack(AP, STA, &[4]).block_ack(AP, STA, &[0x1e, 0, 0, 0]).block_ack(AP, STA, &[]);
    m.at(9000, answer(subtype::BLOCK_ACK_REQUEST, Some(STA), AP), &[4, 0]);
    assert_eq!((m.noted(NoteKind::BlockAckMalformed), m.finish().len()), (4, 0));
}

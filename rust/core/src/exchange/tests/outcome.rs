//! Delivered, dropped, unknown.

use super::*;
use crate::phy::Radio;

/// This number of exchanges with captured responses, from `seq` on.
fn heard(m: &mut Made, seq: u16, count: u16) {
    for seq in seq..seq + count {
        m.send(plain(STA, AP, seq)).ack(STA);
    }
}

fn silent(m: &mut Made, seq: u16, attempts: u16) {
    m.send(plain(STA, AP, seq));
    for _ in 1..attempts {
        m.send(retry(plain(STA, AP, seq)));
    }
}

fn of(rows: &[Row], seq: u16) -> (&str, Option<bool>, Option<f64>) {
    let r = rows.iter().find(|r| r.seq == Some(seq)).unwrap();
    (&r.outcome, r.acked, r.wasted_us)
}

#[test]
fn given_up_at_the_limit() {
    let mut m = Made::new();
    heard(&mut m, 0, 10);
    silent(&mut m, 10, 7);
    heard(&mut m, 11, 1);
    assert_eq!(of(&m.finish(), 10), ("dropped", Some(false), Some(700.0)));
}

#[test]
fn not_without_evidence() {
    // Too few transmissions: the ACK was missed, or the last transmission.
    let mut m = Made::new();
    heard(&mut m, 0, 10);
    silent(&mut m, 10, 3);
    heard(&mut m, 11, 1);
    assert_eq!(of(&m.finish(), 10), ("unknown", None, Some(200.0)));
    // The sender did not continue.
    let mut m = Made::new();
    heard(&mut m, 0, 10);
    silent(&mut m, 10, 7);
    assert_eq!(of(&m.finish(), 10).0, "unknown");
    // The sniffer captures no responses, or too few.
    let mut m = Made::new();
    silent(&mut m, 0, 1);
    (1..20).for_each(|seq| silent(&mut m, seq, 7));
    assert!(m.finish().iter().all(|r| r.outcome == "unknown"));
    let mut m = Made::new();
    heard(&mut m, 0, 4);
    silent(&mut m, 4, 7);
    heard(&mut m, 5, 1);
    assert_eq!(of(&m.finish(), 4).0, "unknown");
}

#[test]
fn the_limit_shows_though_hearing_is_poor() {
    let mut m = Made::new();
    let mut seq = 0;
    for _ in 0..10 {
        heard(&mut m, seq, 1);
        silent(&mut m, seq + 1, if seq % 4 == 0 { 1 } else { 20 });
        seq += 2;
    }
    heard(&mut m, seq, 1);
    let rows = m.finish();
    let dropped: Vec<u16> = rows.iter().filter(|r| r.outcome == "dropped").map(|r| r.seq.unwrap()).collect();
    assert_eq!(dropped, [15, 19]);
}

#[test]
fn refused_and_left_behind() {
    let mpdu = |seq: u16, ampdu: u32| Frame {
        radio: Radio { ampdu: Some(ampdu), ..Radio::default() },
        ..qos(STA, AP, 0, seq)
    };
    let refused = |m: &mut Made| {
        m.at(0, mpdu(9, 1), &[]).at(0, mpdu(10, 1), &[]).block_ack(AP, STA, &compressed(0, 9, 0b01));
    };
    // The capture ends: it was not acknowledged, and the outcome is unknown.
    let mut m = Made::new();
    refused(&mut m);
    assert_eq!(of(&m.finish(), 10), ("unknown", Some(false), Some(100.0)));
    // The sender's request starts after it.
    let mut m = Made::new();
    refused(&mut m);
    m.at(500, answer(subtype::BLOCK_ACK_REQUEST, Some(STA), AP), &compressed(0, 11, 0)[..4]);
    assert_eq!(of(&m.finish(), 10), ("dropped", Some(false), Some(100.0)));
    // A window further.
    let mut m = Made::new();
    refused(&mut m);
    m.at(500, mpdu(74, 2), &[]);
    assert_eq!(of(&m.finish(), 10).0, "dropped");
    let mut m = Made::new();
    refused(&mut m);
    m.at(500, mpdu(73, 2), &[]);
    assert_eq!(of(&m.finish(), 10).0, "unknown");
    // A later Block Ack contains it.
    let mut m = Made::new();
    refused(&mut m);
    m.at(500, mpdu(74, 2), &[]).block_ack(AP, STA, &compressed(0, 10, u64::MAX));
    assert_eq!(of(&m.finish(), 74).0, "unknown");
}

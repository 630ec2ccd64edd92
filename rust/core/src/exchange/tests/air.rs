//! Which frame an ACK responds to.

use super::*;
use crate::phy::{Ppdu, Radio};

fn with_tsf(f: Frame, tsf_us: u64) -> Frame {
    Frame { radio: Radio { tsf_us: Some(tsf_us), ..Radio::default() }, ..f }
}

fn delivered(m: &mut Made) -> bool {
    m.finish()[0].outcome == "delivered"
}

#[test]
fn by_time_of_either_end() {
    let ack = || answer(subtype::ACK, None, STA);
    // Timestamps of the ends: SIFS and the ACK; of the starts: the frame and SIFS.
    for gap in [10 + 44, 100 + 16] {
        let mut m = Made::new();
        m.at(0, with_tsf(plain(STA, AP, 1), 500), &[]).at(300, with_tsf(ack(), 500 + gap), &[]);
        assert!(delivered(&mut m), "{gap}");
    }
    // Later than any response.
    let mut m = Made::new();
    m.at(0, with_tsf(plain(STA, AP, 1), 500), &[]).at(300, with_tsf(ack(), 900), &[]);
    assert!(!delivered(&mut m));
    // The host's timestamps alone are late, but by less than this.
    for (gap, found) in [(20, true), (900, true), (3000, false)] {
        let mut m = Made::new();
        m.at(0, plain(STA, AP, 1), &[]).at(gap, ack(), &[]);
        assert_eq!(delivered(&mut m), found, "{gap}");
    }
    // A MAC clock that jumped by 32 768 us.
    let mut m = Made::new();
    m.at(0, with_tsf(plain(STA, AP, 1), 100_000), &[]).at(40, with_tsf(ack(), 100_040 - 32_768), &[]);
    assert!(delivered(&mut m));
}

#[test]
fn without_any_clock_by_order() {
    let mut m = Made::new();
    for f in [plain(STA, AP, 1), answer(subtype::ACK, None, STA)] {
        m.number += 1;
        m.tracker.observe(&Frame { number: m.number, ..f }, &[], None, 0);
    }
    assert!(delivered(&mut m));
}

#[test]
fn of_another_station() {
    let mut m = Made::new();
    m.send(plain(STA, AP, 1)).ack(AP);
    let rows = m.finish();
    assert_eq!((rows[0].outcome.as_str(), rows[1].ta.as_deref()), ("unknown", Some("00:00:00:00:00:0a")));
    assert_eq!(rows[1].ra, None);
}

#[test]
fn a_frame_between_parts_them() {
    let mut m = Made::new();
    m.send(plain(STA, AP, 1)).at(1010, plain(AP, ALL, 9), &[]).ack(STA);
    assert!(!delivered(&mut m));
}

#[test]
fn another_channel_does_not() {
    let on = |f: Frame, channel: u16| Frame {
        radio: Radio { ppdu: Ppdu { channel_mhz: Some(channel), ..Ppdu::default() }, ..Radio::default() },
        ..f
    };
    let mut m = Made::new();
    m.at(0, on(plain(STA, AP, 1), 2412), &[]).at(10, on(plain(AP, ALL, 9), 5180), &[]);
    m.at(120, on(answer(subtype::ACK, None, STA), 2412), &[]);
    assert!(delivered(&mut m));
}

#[test]
fn an_ack_heard_twice_is_one() {
    let mut m = Made::new();
    m.send(plain(STA, AP, 1)).ack(STA).at(1062, answer(subtype::ACK, None, STA), &[]);
    assert_eq!((m.finish().len(), m.noted(NoteKind::LoneAck)), (1, 0));
}

#[test]
fn ps_poll_and_block_ack_request_are_answered_too() {
    let mut m = Made::new();
    m.send(answer(subtype::PS_POLL, Some(STA), AP)).ack(STA);
    m.send(answer(subtype::BLOCK_ACK_REQUEST, Some(STA), AP)).ack(STA);
    assert_eq!(m.finish().len(), 0);
}

#[test]
fn a_copy_after_its_ack_is_waste() {
    let mut m = Made::new();
    m.send(plain(STA, AP, 1)).ack(STA).send(retry(plain(STA, AP, 1))).ack(STA);
    let r = &m.finish()[0];
    assert_eq!((r.attempts, r.ack, r.wasted_us), (2, Some(2), Some(100.0)));
}

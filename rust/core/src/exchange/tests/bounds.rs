//! Memory is bounded for any capture.

use super::*;
use crate::limits;

#[test]
fn rows_are_handed_out_when_settled() {
    let mut m = Made::new();
    m.send(plain(STA, AP, 1)).ack(STA);
    assert_eq!(m.drain().len(), 0);
    m.wait(limits::EXCHANGE_NS / 1000).send(plain(STA, AP, 2));
    assert_eq!(m.drain().len(), 1);
    assert_eq!(m.finish().len(), 1);
    assert_eq!(m.finish().len(), 0);
}

#[test]
fn an_endless_exchange_ends() {
    let mut m = Made::new();
    for i in 0..100 {
        m.at(i * 500_000, retry(plain(STA, AP, 1)), &[]);
    }
    let rows = m.finish();
    assert!(rows.len() >= 4, "{}", rows.len());
    assert_eq!(rows.iter().map(|r| r.packets.len()).sum::<usize>(), 100);
    let mut m = Made::new();
    for i in 0..1000 {
        m.at(i, retry(plain(STA, AP, 1)), &[]);
    }
    let rows = m.finish();
    assert!(rows.iter().all(|r| r.packets.len() <= usize::from(limits::ATTEMPTS)));
    assert_eq!(rows.iter().map(|r| r.packets.len()).sum::<usize>(), 1000);
}

#[test]
fn stations_without_end() {
    let mut m = Made::new();
    let frames = limits::AIR_STATIONS as u32 + 5000;
    for i in 0..frames {
        let [_, b, c, d] = i.to_be_bytes();
        m.at(0, plain([2, 0, 0, b, c, d], AP, 1), &[]);
    }
    assert!(m.noted(NoteKind::ExchangesEvicted) > 0);
    assert_eq!(m.finish().len(), frames as usize);
}

#[test]
fn missing_numbers_without_end() {
    let mut m = Made::new();
    let mut seq = 0u16;
    for i in 0..3000 {
        m.at(i, qos(STA, AP, 0, seq), &[]);
        seq = (seq + 64) % 4096;
    }
    let rows = m.finish();
    assert!(rows.len() <= limits::INFERRED_ROWS + 3000);
    assert!(m.noted(NoteKind::ExchangesEvicted) > 0);
    assert_eq!(rows.iter().map(|r| r.packets.len()).sum::<usize>(), 3000);
}

#[test]
fn time_may_run_anywhere() {
    let mut m = Made::new();
    let mut frames = 0;
    for t in [0, i64::MAX, i64::MIN, -1, 5, i64::MAX - 1] {
        for f in [
            qos(STA, AP, 0, 1),
            answer(subtype::ACK, None, STA),
            answer(subtype::RTS, Some(STA), AP),
            answer(subtype::CTS, None, STA),
        ] {
            m.number += 1;
            frames += u64::from(f.is_data());
            let radio = crate::phy::Radio { tsf_us: Some(t as u64), ..Default::default() };
            m.tracker.observe(&Frame { number: m.number, time_ns: Some(t), radio, ..f }, &[], None, i64::MIN);
        }
    }
    assert_eq!(m.finish().iter().map(|r| r.packets.len() as u64).sum::<u64>(), frames);
}

/// Any frames in any order: each data and management frame is in exactly one exchange.
#[test]
fn any_frames_add_up() {
    let mut x = 1u64;
    let mut random = |n: u64| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x % n
    };
    for _ in 0..40 {
        let mut m = Made::new();
        let mut sent = Vec::new();
        for _ in 0..2000 {
            let (a, b) = if random(2) == 0 { (STA, AP) } else { (AP, STA) };
            let seq = (random(80) + 4060) as u16 % 4096;
            let body: Vec<u8> = (0..random(40)).map(|_| random(256) as u8).collect();
            let f = match random(12) {
                0..=3 => qos(a, b, random(3) as u8, seq),
                4 => plain(a, b, seq),
                5 => management(random(16) as u8, a, b, seq),
                6 => answer(subtype::ACK, None, a),
                7 => answer(subtype::BLOCK_ACK, Some(a), b),
                8 => answer(subtype::BLOCK_ACK_REQUEST, Some(a), b),
                9 => answer(subtype::RTS, Some(a), b),
                10 => answer(subtype::CTS, None, a),
                _ => Frame { fcs_ok: Some(false), ..qos(a, b, 0, seq) },
            };
            let f = if random(3) == 0 && f.seq_ctl.is_some() { retry(f) } else { f };
            let body = if random(3) == 0 { compressed(random(3) as u8, seq, random(u64::MAX)) } else { body };
            m.at(m.now_us + random(3000) as i64 - 100, f, &body);
            if f.seq_ctl.is_some() && f.fcs_ok != Some(false) {
                sent.push(m.number);
            }
        }
        let mut seen: Vec<u64> = m.finish().into_iter().flat_map(|r| r.packets).collect();
        seen.sort_unstable();
        assert_eq!(seen, sent);
    }
}

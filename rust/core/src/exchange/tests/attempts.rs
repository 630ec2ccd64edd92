//! Which frames are transmissions of one exchange.

use super::*;

#[test]
fn repeats_join_the_first() {
    let mut m = Made::new();
    let f = Frame {
        radio: crate::phy::Radio {
            ppdu: crate::phy::Ppdu { rate_mbps: Some(11.0), ..Default::default() },
            ..Default::default()
        },
        ..qos(STA, AP, 3, 7)
    };
    m.send(f).send(retry(f)).send(retry(qos(STA, AP, 3, 7))).ack(STA);
    let rows = m.finish();
    assert_eq!(rows.len(), 1);
    let r = &rows[0];
    assert_eq!((r.packets.clone(), r.attempts, r.inferred, r.by.clone()), (vec![1, 2, 3], 3, 0, None));
    assert_eq!(
        (r.seq, r.tid, r.fragment, r.outcome.as_str(), r.acked, r.ack),
        (Some(7), Some(3), Some(0), "delivered", Some(true), Some(4))
    );
    assert_eq!((r.airtime_us, r.wasted_us), (Some(300.0), Some(200.0)));
    assert_eq!((r.rates[0], r.rates[1], r.rates[2].is_nan()), (11.0, 11.0, true));
    assert_eq!((r.t_first_ns, r.t_ack_ns), (Some(1_000_000), Some(3_060_000)));
    assert_eq!((r.ta.as_deref(), r.ra.as_deref()), (Some("00:00:00:00:00:0b"), Some("00:00:00:00:00:0a")));
}

#[test]
fn each_counter_is_its_own() {
    let mut m = Made::new();
    let frames = [
        qos(STA, AP, 0, 7),
        qos(STA, AP, 1, 7),
        plain(STA, AP, 7),
        management(13, STA, AP, 7),
        qos(AP, STA, 0, 7),
        Frame { control: Some(control::DATA | control::QOS | control::NO_DATA | control::TO_DS), ..qos(STA, AP, 0, 7) },
        Frame { seq_ctl: Some(7 << 4 | 1), ..qos(STA, AP, 0, 7) },
    ];
    for f in frames {
        m.send(f);
    }
    assert_eq!(m.finish().len(), frames.len());
}

#[test]
fn numbers_are_used_again() {
    // After 4096 frames; the same length, without Retry.
    let mut m = Made::new();
    for i in 0..4097u16 {
        m.at(i64::from(i) * 10, qos(STA, AP, 0, i % 4096), &[]);
    }
    assert_eq!(m.finish().len(), 4097);
    // After a long time, even with Retry.
    let mut m = Made::new();
    m.send(plain(STA, AP, 5)).wait(2_000_000).send(retry(plain(STA, AP, 5)));
    let rows = m.finish();
    assert_eq!(rows.iter().map(|r| (r.packets.clone(), r.inferred)).collect::<Vec<_>>(), [(vec![1], 0), (vec![2], 1)]);
    // Another length is another frame; an HT Control field that comes or goes is not.
    let mut m = Made::new();
    let with = Frame {
        mpdu_bytes: 1504,
        control: Some(control::DATA | control::QOS | control::ORDER | control::TO_DS | control::RETRY),
        ..qos(STA, AP, 0, 5)
    };
    m.send(qos(STA, AP, 0, 5)).send(with).send(retry(Frame { mpdu_bytes: 60, ..qos(STA, AP, 0, 5) }));
    assert_eq!(m.finish().iter().map(|r| r.packets.clone()).collect::<Vec<_>>(), [vec![1, 2], vec![3]]);
}

#[test]
fn a_counter_begins_anew() {
    let mut m = Made::new();
    for seq in [3000, 3001, 0, 1] {
        m.send(qos(STA, AP, 0, seq));
    }
    // An association: any number may follow.
    m.send(management(0, STA, AP, 9))
        .ack(STA)
        .send(management(1, AP, STA, 9))
        .send(qos(STA, AP, 0, 20))
        .send(qos(STA, AP, 0, 21));
    let rows = m.finish();
    assert!(rows.iter().all(|r| r.packets.len() == 1), "{rows:?}");
    assert_eq!(m.noted(NoteKind::MissingSequence), 0);
    // The same number before and after.
    let mut m = Made::new();
    m.send(qos(STA, AP, 0, 20)).send(management(0, STA, AP, 9)).send(qos(STA, AP, 0, 20));
    assert_eq!(m.finish().len(), 3);
}

#[test]
fn qos_null_has_any_number() {
    let null =
        Frame { control: Some(control::DATA | control::QOS | control::NO_DATA | control::TO_DS), ..qos(STA, AP, 0, 0) };
    let mut m = Made::new();
    m.send(null).send(retry(null)).ack(STA).send(null).ack(STA);
    assert_eq!(m.finish().iter().map(|r| r.packets.clone()).collect::<Vec<_>>(), [vec![1, 2], vec![4]]);
    // One that takes a number of its TID's counter leaves none missing.
    let mut m = Made::new();
    m.send(qos(STA, AP, 0, 5)).send(Frame { seq_ctl: Some(6 << 4), ..null }).send(qos(STA, AP, 0, 7));
    assert_eq!(m.finish().len(), 3);
}

#[test]
fn damaged_frames_are_in_none() {
    let mut m = Made::new();
    m.send(qos(STA, AP, 0, 5)).send(Frame { fcs_ok: Some(false), ..qos(STA, AP, 0, 900) }).ack(STA);
    let rows = m.finish();
    // The ACK is not that of the first frame: the damaged one lies between.
    assert_eq!(rows[0].packets, [1]);
    assert_eq!((rows[0].outcome.as_str(), rows[1].by.as_deref(), rows.len()), ("unknown", Some("lone_ack"), 2));
}

#[test]
fn frames_without_a_number_are_noted() {
    let mut m = Made::new();
    m.send(Frame { seq_ctl: None, ..plain(STA, AP, 0) }).send(Frame { address_2: None, ..plain(STA, AP, 0) });
    assert_eq!((m.finish().len(), m.noted(NoteKind::NoSequence)), (0, 2));
}

#[test]
fn what_it_carries_is_told_by_any_attempt() {
    let mut m = Made::new();
    let mut f = qos(STA, AP, 0, 5);
    m.send(f);
    f.carries = Carries::Protected;
    m.send(retry(f));
    f.carries = Carries::TcpAck;
    m.send(retry(f));
    f.carries = Carries::Unknown;
    m.send(retry(f));
    assert_eq!(m.finish()[0].carries.as_deref(), Some("tcp_ack"));
}

#[test]
fn fragments() {
    let mut m = Made::new();
    let part = |n: u16, more: bool| {
        let f = Frame { seq_ctl: Some(5 << 4 | n), ..plain(STA, AP, 5) };
        Frame { control: f.control.map(|c| if more { c | control::MORE_FRAGMENTS } else { c }), ..f }
    };
    // The ACK of the first one was missed: the second one proves it.
    m.send(part(0, true)).send(retry(part(0, true))).send(part(1, true)).ack(STA).send(part(2, false));
    let rows = m.finish();
    let told: Vec<_> = rows.iter().map(|r| (r.fragment, r.packets.len(), r.outcome.as_str(), r.ack)).collect();
    assert_eq!(
        told,
        [(Some(0), 2, "delivered", None), (Some(1), 1, "delivered", Some(4)), (Some(2), 1, "unknown", None)]
    );
    assert_eq!(rows[0].wasted_us, Some(100.0));
}

#[test]
fn retry_on_the_first_copy() {
    let mut m = Made::new();
    m.send(retry(plain(STA, AP, 5))).ack(STA);
    let r = &m.finish()[0];
    assert_eq!((r.attempts, r.inferred, r.by.as_deref(), r.outcome.as_str()), (2, 1, Some("retry_bit"), "delivered"));
}

#[test]
fn what_expects_no_answer() {
    let mut m = Made::new();
    m.send(plain(AP, ALL, 1)).send(Frame { qos: Some(0x20), ..qos(STA, AP, 0, 1) }).send(management(14, STA, AP, 2));
    m.ack(STA);
    let rows = m.finish();
    assert_eq!(rows.len(), 4);
    for r in &rows[..3] {
        assert_eq!((r.acked, r.outcome.as_str(), r.wasted_us), (None, "unknown", Some(0.0)), "{r:?}");
    }
    assert_eq!(rows[3].by.as_deref(), Some("lone_ack"));
}

#[test]
fn airtime_is_null_unless_all_of_it_is_known() {
    let mut m = Made::new();
    let f = plain(STA, AP, 5);
    m.send(f).send(retry(Frame { airtime_ns: None, ..f }));
    let r = &m.finish()[0];
    assert_eq!((r.airtime_us, r.wasted_us), (None, None));
}

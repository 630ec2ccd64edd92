//! URBs joined, row by row.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, Int8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};

use super::*;

fn event(number: u64, event: Event, id: u64) -> UrbEvent {
    UrbEvent {
        number,
        time_ns: Some(number as i64 * 1000),
        id,
        event: Some(event),
        transfer: Some(Transfer::Bulk),
        bus: 1,
        device: 2,
        endpoint: 3,
        status: Some(if event == Event::Submit { -115 } else { 0 }),
        length: Some(100),
        ..UrbEvent::default()
    }
}

fn rows(events: &[UrbEvent]) -> (RecordBatch, Notes) {
    let mut tracker = Tracker::default();
    for e in events {
        tracker.observe(e, 0);
    }
    let mut out = Vec::new();
    tracker.finish(&mut out);
    (out.pop().expect("rows").1, tracker.notes.clone())
}

fn u64s(batch: &RecordBatch, name: &str) -> Vec<Option<u64>> {
    batch.column_by_name(name).expect(name).as_primitive::<UInt64Type>().iter().collect()
}

fn i64s(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    batch.column_by_name(name).expect(name).as_primitive::<Int64Type>().iter().collect()
}

fn depths(batch: &RecordBatch) -> Vec<Option<u16>> {
    batch.column_by_name("queue_depth").expect("depth").as_primitive::<UInt16Type>().iter().collect()
}

fn outcomes(batch: &RecordBatch) -> Vec<Option<i8>> {
    batch.column_by_name("outcome").expect("outcome").as_dictionary::<Int8Type>().keys().iter().collect()
}

use Event::{Complete, Error, Submit};

#[test]
fn queued_transfers() {
    let events = [event(1, Submit, 7), event(2, Submit, 8), event(5, Complete, 7), event(9, Complete, 8)];
    let (batch, notes) = rows(&events);
    assert_eq!(u64s(&batch, "packet"), [Some(5), Some(9)]);
    assert_eq!(u64s(&batch, "submit_packet"), [Some(1), Some(2)]);
    assert_eq!(i64s(&batch, "latency_ns"), [Some(4000), Some(7000)]);
    // The second was the oldest only after the first one's completion.
    assert_eq!(i64s(&batch, "service_ns"), [Some(4000), Some(4000)]);
    assert_eq!(depths(&batch), [Some(1), Some(2)]);
    assert_eq!(notes.iter().count(), 0);
}

#[test]
fn orphans_of_both_kinds_and_an_id_used_again() {
    let events =
        [event(1, Complete, 7), event(2, Submit, 8), event(3, Submit, 8), event(4, Complete, 8), event(5, Submit, 9)];
    let (batch, notes) = rows(&events);
    assert_eq!(u64s(&batch, "submit_packet"), [None, Some(2), Some(3), Some(5)]);
    assert_eq!(u64s(&batch, "complete_packet"), [Some(1), None, Some(4), None]);
    // Nothing had completed on the endpoint when the first submission was given up.
    assert_eq!(depths(&batch), [None, None, Some(1), Some(1)]);
    assert_eq!(i64s(&batch, "status"), [Some(0), None, Some(0), None]);
    assert_eq!((notes.get(NoteKind::UrbUnsubmitted).count, notes.get(NoteKind::UrbIncomplete).count), (1, 2));
}

#[test]
fn refused_and_unknown_events() {
    let mut refused = event(2, Error, 7);
    refused.status = Some(-32);
    let unknown = UrbEvent { event: None, ..event(3, Submit, 9) };
    let (batch, _) = rows(&[event(1, Submit, 7), refused, unknown]);
    assert_eq!(outcomes(&batch), [Some(1), None]);
    assert_eq!(i64s(&batch, "status"), [Some(-32), Some(-115)]);
    assert_eq!(u64s(&batch, "packet"), [Some(2), Some(3)]);
    assert!(batch.column_by_name("done_bytes").is_some_and(|c| c.null_count() == 2));
}

#[test]
fn endpoints_and_interfaces_are_apart() {
    let other = UrbEvent { endpoint: 4, ..event(2, Submit, 7) };
    let elsewhere = UrbEvent { interface: 1, ..event(3, Submit, 7) };
    let incoming = UrbEvent { is_in: true, ..event(4, Submit, 7) };
    let (batch, _) = rows(&[event(1, Submit, 7), other, elsewhere, incoming, event(5, Complete, 7)]);
    assert_eq!(u64s(&batch, "submit_packet"), [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(u64s(&batch, "complete_packet"), [Some(5), None, None, None]);
}

#[test]
fn stages_of_a_control_transfer_are_one_row() {
    let control = |number, kind, goes_on, length| UrbEvent {
        transfer: Some(Transfer::Control),
        goes_on,
        length,
        is_in: true,
        ..event(number, kind, 7)
    };
    let stages = [
        control(1, Submit, false, Some(255)),
        UrbEvent { is_in: false, ..control(2, Complete, true, Some(18)) },
        control(3, Complete, false, None),
        // The capture began in the middle of this one.
        control(4, Complete, true, Some(9)),
        control(5, Complete, false, None),
    ];
    let (batch, notes) = rows(&stages);
    assert_eq!(u64s(&batch, "submit_packet"), [Some(1), None]);
    assert_eq!(u64s(&batch, "complete_packet"), [Some(3), Some(5)]);
    let done: Vec<_> = batch.column_by_name("done_bytes").expect("done").as_primitive::<UInt32Type>().iter().collect();
    assert_eq!(done, [Some(18), Some(9)]);
    assert_eq!(notes.get(NoteKind::UrbUnsubmitted).count, 1);
}

#[test]
fn what_never_completes_is_capped_and_handed_out() {
    let mut tracker = Tracker::default();
    let mut out = Vec::new();
    for i in 0..20_000 {
        tracker.observe(&event(i + 1, Submit, i), 0);
        assert!(tracker.open.len() <= limits::OPEN_URBS && tracker.endpoints.len() <= limits::USB_ENDPOINTS);
    }
    tracker.finish(&mut out);
    let packets: Vec<u64> = out.iter().flat_map(|(_, b)| u64s(b, "packet")).flatten().collect();
    assert_eq!(packets, (1..=20_000).collect::<Vec<_>>());
    assert!(tracker.notes.get(NoteKind::UrbEvicted).count > 0);
    assert!(tracker.endpoints.values().all(|e| e.outstanding == 0));
}

#[test]
fn many_endpoints_are_forgotten_once_idle() {
    let mut tracker = Tracker::default();
    for i in 0..60_000u64 {
        let at = |number, kind| UrbEvent { bus: (i >> 8) as u16, device: (i & 0xff) as u16, ..event(number, kind, i) };
        tracker.observe(&at(2 * i + 1, Submit), 0);
        tracker.observe(&at(2 * i + 2, Complete), 0);
        assert!(tracker.endpoints.len() <= limits::USB_ENDPOINTS);
    }
    assert!(tracker.open.is_empty());
}

#[test]
fn times_at_the_ends_of_the_range() {
    let mut first = event(1, Submit, 7);
    first.time_ns = Some(i64::MIN);
    let mut last = event(2, Complete, 7);
    last.time_ns = Some(i64::MAX);
    let (batch, _) = rows(&[first, last]);
    assert_eq!((i64s(&batch, "latency_ns"), i64s(&batch, "service_ns")), (vec![None], vec![None]));
    let none = UrbEvent { time_ns: None, ..event(1, Submit, 7) };
    let (batch, _) = rows(&[none, event(2, Complete, 7)]);
    assert_eq!((i64s(&batch, "t_submit_ns"), i64s(&batch, "service_ns")), (vec![None], vec![None]));
}

//! The frame check sequence (IEEE 802.11-2020 clause 9.2.4.9): announced, or recognised by its value. Of Ethernet frames only an
//! announced one is verified.
//!
//! A wrong one shows damage only if the interface had a right one before: simulators and some drivers announce the field and
//! do not compute it. By chance one is right with probability 2^-32. Frames that the interface sent count apart.

use crate::frame::{control, subtype};
use crate::limits;
use crate::notes::NoteKind;

use super::decoder::Decoder;
use super::radio_header::RadioHeader;
use super::view::View;

pub(super) const BYTES: usize = 4;
/// The shortest frame: an ACK without its FCS.
const SHORTEST: usize = 10;
/// A frame with two addresses and nothing else: RTS, PS-Poll, CF-End.
const TWO_ADDRESSES: usize = 16;

/// The result for one frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settled {
    /// Whether the frame's bytes end with it; None if unknown.
    pub at_end: Option<bool>,
    /// Whether it is right; None if it was not captured and the receiver does not report it.
    pub ok: Option<bool>,
}

/// Determine the FCS of a frame that begins `v`.
pub(super) fn settle(d: &mut Decoder<'_>, v: View<'_>, radio_header: &RadioHeader) -> Settled {
    let at_end = radio_header.fcs.at_end.or(d.fcs_bytes.map(|n| n > 0)).or_else(|| find(d, v, radio_header));
    let at_end = if at_end == Some(true) && too_short(v) { Some(false) } else { at_end };
    let ok = match at_end {
        _ if radio_header.fcs.failed => Some(false),
        Some(true) => right(v).and_then(|right| believed(d, radio_header.frame.radio.transmitted, right)),
        _ => None,
    };
    Settled { at_end, ok }
}

/// Whether an Ethernet frame has a right FCS, if the container states its length (IEEE 802.3 clause 3.2.9: that of 802.11).
pub(super) fn of_ethernet(d: &mut Decoder<'_>, v: View<'_>) -> Option<bool> {
    if d.fcs_bytes.map(usize::from) != Some(BYTES) {
        return None;
    }
    let sent = d.packet.outgoing == Some(true);
    let ok = right(v).and_then(|right| believed(d, sent, right));
    if ok == Some(false) {
        d.note(NoteKind::BadFcs);
        d.unproven = true;
    }
    ok
}

/// Whether a right FCS, or a wrong one, shows anything.
fn believed(d: &mut Decoder<'_>, sent: bool, right: bool) -> Option<bool> {
    let computed = &mut d.state.interfaces.of(d.interface).computes_fcs[usize::from(sent)];
    *computed |= right;
    if !*computed {
        d.note(NoteKind::FcsUnverified);
        return None;
    }
    Some(right)
}

/// Whether a control frame has exactly the length that it has without an FCS (clause 9.3.1), whatever the capture says.
fn too_short(v: View<'_>) -> bool {
    let fields = v.le16(0).filter(|c| c & (control::TYPE | control::VERSION) == control::CONTROL);
    let Some(fields) = fields else {
        return v.wire() < SHORTEST + BYTES;
    };
    match ((fields & control::SUBTYPE) >> 4) as u8 {
        subtype::RTS | subtype::PS_POLL | subtype::CF_END | subtype::CF_END_CF_ACK => v.wire() == TWO_ADDRESSES,
        _ => v.wire() < SHORTEST + BYTES,
    }
}

/// Whether this interface's frames end with an FCS. A frame that this host sent has none, since no receiver
/// added one.
fn find(d: &mut Decoder<'_>, v: View<'_>, radio_header: &RadioHeader) -> Option<bool> {
    if radio_header.frame.radio.transmitted {
        return None;
    }
    let trial = &mut d.state.interfaces.of(d.interface).unannounced_fcs;
    if trial.decided.is_some() || v.data().len() < SHORTEST + BYTES {
        return trial.decided;
    }
    let right = right(v)?;
    trial.frames += 1;
    if right {
        trial.decided = Some(true);
        d.note(NoteKind::FcsFound);
    } else if trial.frames == limits::FCS_TRIALS {
        trial.decided = Some(false);
    }
    right.then_some(true)
}

/// Whether the last four bytes are the FCS of the bytes before; None if not everything was captured.
fn right(v: View<'_>) -> Option<bool> {
    let (body, &fcs) = v.data().split_last_chunk::<BYTES>()?;
    if !v.whole() {
        return None;
    }
    Some(crc32fast::hash(body) == u32::from_le_bytes(fcs))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{found_where_fcs_is_computed, record, Found};
    use super::super::{decode, State};
    use crate::limits;
    use crate::notes::{NoteKind, Notes};

    /// fcs_ok of a capture's frames, and how often an FCS was found; the interface of each is given.
    fn verdicts(frames: &[(u32, &[u8])]) -> (Vec<Option<bool>>, u64) {
        let (mut state, mut notes, mut found) = (State::default(), Notes::default(), Found::default());
        for (interface, data) in frames {
            let mut r = record(105, data, data.len());
            r.interface = *interface;
            decode(&r, 1, &mut state, &mut notes, &mut found);
        }
        (found.frames.iter().map(|f| f.0.fcs_ok).collect(), notes.get(NoteKind::FcsFound).count)
    }

    fn ack() -> Vec<u8> {
        let mut ack = vec![0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 1];
        ack.extend(crc32fast::hash(&ack).to_le_bytes());
        ack
    }

    #[test]
    fn found_once_and_checked_from_there_on() {
        let ack = ack();
        let mut damaged = ack.clone();
        damaged[5] ^= 1;
        let (found, notes) = verdicts(&[(0, &damaged), (0, &ack), (0, &damaged), (0, &ack[..10]), (0, &ack)]);
        assert_eq!((found, notes), (vec![None, Some(true), Some(false), None, Some(true)], 1));
    }

    #[test]
    fn announced_but_never_right_is_unknown() {
        let (mut state, mut notes, mut found) = (State::default(), Notes::default(), Found::default());
        let (right, beacon) = (ack(), [0x80; 60]);
        let mut zero = right.clone();
        zero[10..].fill(0);
        for data in [&zero[..], &beacon, &right[..10], &zero, &right, &zero, &right[..10]] {
            let mut r = record(105, data, data.len());
            r.fcs_bytes = Some(4);
            decode(&r, 1, &mut state, &mut notes, &mut found);
        }
        let ok: Vec<_> = found.frames.iter().map(|f| f.0.fcs_ok).collect();
        assert_eq!(ok, [None, None, None, None, Some(true), Some(false), None]);
        // A control frame too short for an FCS has none: all of it is the frame.
        assert_eq!((found.frames[6].0.mpdu_bytes, found.frames[6].0.address_1), (14, Some([2, 0, 0, 0, 0, 1])));
        assert_eq!((notes.get(NoteKind::FcsUnverified).count, notes.get(NoteKind::BadFcs).count), (3, 1));
    }

    #[test]
    fn a_control_frame_of_its_length_without_fcs_has_none() {
        let air = |control: u8, length: usize| {
            let mut data = vec![0u8; length];
            data[0] = control;
            let mut r = record(105, &data, length);
            r.fcs_bytes = Some(4);
            found_where_fcs_is_computed(&r).0.frames[0].0.fcs_ok
        };
        for (control, length) in [(0xd4, 10), (0xc4, 10), (0xb4, 16), (0xa4, 16), (0xe4, 16), (0xf4, 16)] {
            assert_eq!((air(control, length), air(control, length + 4)), (None, Some(false)), "{control:#x}");
        }
        // A damaged ACK of any other length stays damaged.
        assert_eq!((air(0xd4, 16), air(0x08, 16)), (Some(false), Some(false)));
    }

    #[test]
    fn each_interface_for_itself() {
        let (with, without) = (ack(), [0xd4; 20]);
        let last = u32::MAX;
        let (found, notes) = verdicts(&[(0, &with), (1, &without), (0, &with), (last, &with), (last - 1, &without)]);
        assert_eq!((found, notes), (vec![Some(true), None, Some(true), Some(true), Some(false)], 2));
    }

    #[test]
    fn a_capture_without_is_left_alone() {
        let (with, without) = (ack(), [0x80; 40]);
        let mut frames: Vec<(u32, &[u8])> = vec![(0, &without); usize::from(limits::FCS_TRIALS)];
        frames.push((0, &with));
        let (found, notes) = verdicts(&frames);
        assert!(found.iter().all(Option::is_none));
        assert_eq!(notes, 0);
    }
}

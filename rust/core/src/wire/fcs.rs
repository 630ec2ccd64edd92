//! The frame check sequence (IEEE 802.11-2020 clause 9.2.4.9): announced, or recognised by its value.

use crate::limits;
use crate::notes::NoteKind;

use super::decoder::Decoder;
use super::radio_header::RadioHeader;
use super::view::View;

pub(super) const BYTES: usize = 4;
/// The shortest frame: an ACK without its FCS.
const SHORTEST: usize = 10;

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
    let ok = match at_end {
        _ if radio_header.fcs.failed => Some(false),
        Some(true) => right(v),
        _ => None,
    };
    Settled { at_end, ok }
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
    use super::super::testing::{record, Found};
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
        assert_eq!((found, notes), (vec![None, Some(true), Some(false), Some(false), Some(true)], 1));
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

//! Elements of management frames (IEEE 802.11-2020 clause 9.4.2): whether their lengths are consistent.

use crate::frame::{control, Frame};
use crate::notes::NoteKind;

use super::decoder::Decoder;
use super::fcs;
use super::view::View;

const HEADER: usize = 2;
const SSID: u8 = 0;
const SSID_BYTES: usize = 32;

/// Note faults in the elements of a valid, unencrypted management frame. `fcs_known`: `body` ends before the FCS.
pub(super) fn check(d: &mut Decoder<'_>, frame: &Frame, body: View<'_>, fcs_known: bool) {
    if frame.kind() != Some(control::MANAGEMENT) || frame.has(control::PROTECTED) {
        return;
    }
    let Some(fixed) = frame.subtype().and_then(fixed_bytes) else { return };
    if body.wire() < fixed {
        d.note(NoteKind::ElementsMalformed);
        return;
    }
    let trailer = if fcs_known { 0 } else { fcs::BYTES };
    let mut rest = body.skip(fixed);
    while let (Some(id), Some(length)) = (rest.u8(0), rest.u8(1).map(usize::from)) {
        if rest.wire() <= trailer {
            return;
        }
        if HEADER + length > rest.wire() {
            d.note(NoteKind::ElementsMalformed);
            return;
        }
        if id == SSID && length > SSID_BYTES {
            d.note(NoteKind::SsidTooLong);
        }
        rest = rest.skip(HEADER + length);
    }
    if rest.whole() && rest.wire() == 1 {
        d.note(NoteKind::ElementsMalformed);
    }
}

/// Length of the fields before the elements, for frames without other content (clause 9.3.3).
fn fixed_bytes(subtype: u8) -> Option<usize> {
    Some(match subtype {
        // Association request: capabilities, listen interval; its response: capabilities, status, AID.
        0 => 4,
        1 | 3 => 6,
        // Reassociation request: the current access point too.
        2 => 10,
        // Probe request; its response and the beacon: timestamp, interval, capabilities.
        4 => 0,
        5 | 8 => 12,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, dot11, found, noted, record};
    use crate::notes::NoteKind;

    const AIR: u16 = 105;

    /// Notes of malformed elements and of overlong SSIDs.
    fn notes(control: u16, body: &[u8]) -> (u64, u64) {
        let data = dot11(control, &[], body);
        cut_everywhere(AIR, &data);
        // The container states that there is no FCS.
        let mut r = record(AIR, &data, data.len());
        r.fcs_bytes = Some(0);
        let notes = found(&r).1;
        (notes.get(NoteKind::ElementsMalformed).count, notes.get(NoteKind::SsidTooLong).count)
    }

    fn beacon(elements: &[u8]) -> Vec<u8> {
        [&[0; 12][..], elements].concat()
    }

    #[test]
    fn elements_that_hold_together_and_others() {
        assert_eq!(notes(0x80, &beacon(&[0, 1, b'x', 1, 2, 2, 4])), (0, 0));
        assert_eq!(notes(0x80, &beacon(&[0, 1, b'x', 48, 255, 1, 0])), (1, 0));
        assert_eq!(notes(0x80, &beacon(&[0, 1, b'x', 48])), (1, 0));
        assert_eq!(notes(0x80, &[0; 11]), (1, 0));
        assert_eq!(notes(0x40, &[&[0, 33][..], &[b'A'; 33]].concat()), (0, 1));
        assert_eq!(notes(0x00, &[0, 0, 0, 0, 0, 0]), (0, 0));
        assert_eq!(notes(0x20, &[0; 9]), (1, 0));
        // Actions and authentication have other content too; encrypted frames cannot be read.
        assert_eq!(notes(0xd0, &[1, 200, 3]), (0, 0));
        assert_eq!(notes(0xb0, &[1]), (0, 0));
        assert_eq!(notes(0x4080, &beacon(&[48, 255])), (0, 0));
    }

    #[test]
    fn what_may_be_an_fcs_and_what_was_not_captured() {
        let data = dot11(0x80, &[], &beacon(&[0, 1, b'x', 9, 200, 9, 200]));
        assert_eq!(noted(AIR, &data, NoteKind::ElementsMalformed), 0);
        let data = dot11(0x80, &[], &beacon(&[48, 200, 1, 0]));
        assert_eq!(found(&record(AIR, &data, data.len() + 300)).1.get(NoteKind::ElementsMalformed).count, 0);
    }
}

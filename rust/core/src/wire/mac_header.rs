//! The MAC header of every 802.11 frame type (IEEE 802.11-2020 clause 9.2 and 9.3).

use crate::frame::{control, subtype, Frame};
use crate::packet::Stop;

use super::view::View;

const ADDRESS_1: usize = 4;
const ADDRESS_2: usize = 10;
const ADDRESS_3: usize = 16;
const SEQ_CTL: usize = 22;
const ADDRESS_4: usize = 24;
/// Frame control to sequence control: the header of management and three-address data frames.
const THREE_ADDRESSES: usize = 24;
const ADDRESS_BYTES: usize = 6;
const HT_CONTROL_BYTES: usize = 4;
/// Individual/Group bit of an address, in its first byte: in a control frame's TA it signals the bandwidth.
const GROUP_BIT: u8 = 0x01;

/// Set the fields of the MAC header, as far as it was captured, and return its length. `frame.stop` is the reason if it
/// ended early.
pub(super) fn read(frame: &mut Frame, v: View<'_>) -> usize {
    let Some(control) = v.le16(0) else {
        frame.stop = v.lack(2);
        return 2;
    };
    if control & control::VERSION != 0 {
        // Nothing after the version can be read without knowing it (clause 9.2.4.1.2).
        frame.stop = Stop::BadHeader;
        return 2;
    }
    frame.control = Some(control);
    frame.duration = v.le16(2);
    frame.address_1 = v.array(ADDRESS_1);
    let length = match control & control::TYPE {
        control::MANAGEMENT => three_addresses(frame, v),
        control::DATA => data(frame, control, v),
        control::CONTROL => self::control(frame, control, v),
        // DMG Beacon: duration, BSSID. S1G Beacon: duration, SA (clause 9.3.4).
        _ => ADDRESS_2,
    };
    if v.data().len() < length {
        frame.stop = v.lack(length);
    }
    length
}

fn three_addresses(frame: &mut Frame, v: View<'_>) -> usize {
    frame.address_2 = v.array(ADDRESS_2);
    frame.address_3 = v.array(ADDRESS_3);
    frame.seq_ctl = v.le16(SEQ_CTL);
    let ht_control = if frame.has(control::ORDER) { HT_CONTROL_BYTES } else { 0 };
    THREE_ADDRESSES + if frame.kind() == Some(control::MANAGEMENT) { ht_control } else { 0 }
}

fn data(frame: &mut Frame, control: u16, v: View<'_>) -> usize {
    let mut length = three_addresses(frame, v);
    if frame.has(control::TO_DS | control::FROM_DS) {
        frame.address_4 = v.array(ADDRESS_4);
        length += ADDRESS_BYTES;
    }
    if control & control::QOS != 0 {
        frame.qos = v.le16(length);
        length += 2;
        if control & control::ORDER != 0 {
            length += HT_CONTROL_BYTES;
        }
    }
    length
}

/// Control frames have a receiver, most a transmitter, and no sequence number (clause 9.3.1).
fn control(frame: &mut Frame, control: u16, v: View<'_>) -> usize {
    let transmitter = |at: usize| v.array::<6>(at).map(|a| [a[0] & !GROUP_BIT, a[1], a[2], a[3], a[4], a[5]]);
    match frame.subtype() {
        Some(subtype::CTS | subtype::ACK) => ADDRESS_2,
        Some(subtype::CONTROL_WRAPPER) => {
            // Carried frame control, HT Control, then the carried frame from its second address on.
            const CARRIED: usize = ADDRESS_2 + 2 + HT_CONTROL_BYTES;
            match v.le16(ADDRESS_2).map(|c| ((c & control::SUBTYPE) >> 4) as u8) {
                Some(subtype::CTS | subtype::ACK) | None => CARRIED,
                Some(_) => {
                    frame.address_2 = transmitter(CARRIED);
                    CARRIED + ADDRESS_BYTES
                }
            }
        }
        Some(subtype::CONTROL_EXTENSION) if control & control::EXTENSION_SUBTYPE == control::DMG_DTS => ADDRESS_2,
        Some(0..=1) => ADDRESS_2,
        _ => {
            frame.address_2 = transmitter(ADDRESS_2);
            ADDRESS_3
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, frame};
    use crate::frame::Mac;
    use crate::packet::Stop;

    const AIR: u16 = 105;
    const A: Mac = [2, 0, 0, 0, 0, 1];
    const B: Mac = [2, 0, 0, 0, 0, 2];
    const C: Mac = [2, 0, 0, 0, 0, 3];
    const D: Mac = [2, 0, 0, 0, 0, 4];

    fn air(control: u16, rest: &[&[u8]]) -> Vec<u8> {
        [&control.to_le_bytes()[..], &[44, 0], &rest.concat()].concat()
    }

    /// A frame's addresses and the bytes after its header.
    #[track_caller]
    fn roles(control: u16, rest: &[&[u8]]) -> ([Option<Mac>; 5], usize) {
        let data = air(control, rest);
        cut_everywhere(AIR, &data);
        let (f, body) = frame(AIR, &data);
        assert_eq!((f.stop, f.control, f.duration), (Stop::None, Some(control), Some(44)));
        ([f.ta(), f.ra(), f.da(), f.sa(), f.bssid()], body.len())
    }

    #[test]
    fn management() {
        let body = [9; 12];
        let want = [Some(B), Some(A), Some(A), Some(B), Some(C)];
        assert_eq!(roles(0x0080, &[&A, &B, &C, &[0x35, 0x12], &body]), (want, 12));
        // With an HT Control field.
        assert_eq!(roles(0x8000 | 0xd0, &[&A, &B, &C, &[0, 0], &[0; 4], &body]), (want, 12));
        let (f, _) = frame(AIR, &air(0x0880, &[&A, &B, &C, &[0x35, 0x12]]));
        assert_eq!((f.seq(), f.fragment(), f.retry(), f.tid()), (Some(0x123), Some(5), true, None));
    }

    #[test]
    fn data_by_the_distribution_system() {
        let seq = [0x30, 0x12];
        let qos = [0x85, 0];
        let plain = [5, 0];
        assert_eq!(roles(0x0008, &[&A, &B, &C, &seq]).0, [Some(B), Some(A), Some(A), Some(B), Some(C)]);
        assert_eq!(roles(0x0108, &[&A, &B, &C, &seq]).0, [Some(B), Some(A), Some(C), Some(B), Some(A)]);
        assert_eq!(roles(0x0208, &[&A, &B, &C, &seq]).0, [Some(B), Some(A), Some(A), Some(C), Some(B)]);
        assert_eq!(roles(0x0308, &[&A, &B, &C, &seq, &D]).0, [Some(B), Some(A), Some(C), Some(D), None]);
        // An A-MSDU's addresses are in its subframes (Table 9-30).
        assert_eq!(roles(0x0188, &[&A, &B, &C, &seq, &qos]).0, [Some(B), Some(A), None, Some(B), Some(A)]);
        assert_eq!(roles(0x0288, &[&A, &B, &C, &seq, &qos]).0, [Some(B), Some(A), Some(A), None, Some(B)]);
        assert_eq!(roles(0x0388, &[&A, &B, &C, &seq, &D, &qos]).0, [Some(B), Some(A), None, None, Some(C)]);
        assert_eq!(roles(0x8388, &[&A, &B, &C, &seq, &D, &plain, &[0; 4], &[7; 9]]).1, 9);
        // The order bit of a frame without QoS asks for order (clause 9.2.4.1.10).
        assert_eq!(roles(0x8108, &[&A, &B, &C, &seq, &[7; 9]]).1, 9);
        let null = frame(AIR, &air(0x01c8, &[&A, &B, &C, &seq, &qos])).0;
        assert_eq!((null.tid(), null.amsdu()), (Some(5), None));
    }

    #[test]
    fn control_frames() {
        let both = [Some(B), Some(A), None, None, None];
        let receiver = [None, Some(A), None, None, None];
        for subtype in [0x24, 0x44, 0x54, 0x84, 0x94, 0xb4] {
            assert_eq!(roles(subtype, &[&A, &B, &[1, 2, 3]]), (both, 3), "{subtype:#04x}");
        }
        assert_eq!(roles(0xc4, &[&A]), (receiver, 0));
        assert_eq!(roles(0xd4, &[&A]), (receiver, 0));
        assert_eq!(roles(0xa4, &[&A, &B]).0, [Some(B), Some(A), None, None, Some(A)]);
        assert_eq!(roles(0xe4, &[&A, &B]).0, [Some(B), Some(A), None, None, Some(B)]);
        assert_eq!(roles(0xf4, &[&A, &B]).0, [Some(B), Some(A), None, None, Some(B)]);
        // The bandwidth is signalled in the group bit of the TA.
        assert_eq!(roles(0xb4, &[&A, &[3, 0, 0, 0, 0, 2]]).0, both);
        // Wrapped: a Block Ack, an ACK.
        assert_eq!(roles(0x74, &[&A, &[0x94, 0], &[0; 4], &B, &[1, 2]]), (both, 2));
        assert_eq!(roles(0x74, &[&A, &[0xd4, 0], &[0; 4]]), (receiver, 0));
        // Extended: a grant, and a DMG DTS, whose addresses are of other frames.
        assert_eq!(roles(0x0464, &[&A, &B]).0, both);
        assert_eq!(roles(0x0664, &[&A, &B, &C]).0, receiver);
        let grant = frame(AIR, &air(0x0864, &[&A, &B])).0;
        assert_eq!((grant.retry(), grant.flag(crate::frame::control::RETRY)), (false, None));
    }

    #[test]
    fn extension_frames_and_other_versions() {
        assert_eq!(roles(0x0c, &[&A, &[0; 9]]), ([None, None, None, None, Some(A)], 9));
        assert_eq!(roles(0x1c, &[&A, &[0; 9]]).0, [Some(A), None, None, Some(A), None]);
        assert_eq!(roles(0x2c, &[&A, &[0; 9]]).0, [None; 5]);
        let (f, _) = frame(AIR, &air(0x0189, &[&A, &B, &C, &[0; 30]]));
        assert_eq!((f.stop, f.control, f.address_1, f.mpdu_bytes), (Stop::BadHeader, None, None, 56));
    }

    #[test]
    fn a_header_that_ends_early() {
        let (f, body) = frame(AIR, &air(0x0188, &[&A, &B, &C]));
        assert_eq!((f.stop, f.address_3, f.seq_ctl, body.len()), (Stop::LengthLies, Some(C), None, 0));
        assert_eq!(frame(AIR, &[0xd4]).0.stop, Stop::LengthLies);
        assert_eq!(frame(AIR, &[]).0.stop, Stop::LengthLies);
    }
}

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

/// Fill what the MAC header says, as far as it was captured, and answer its length. `frame.stop` says why it ended
/// early.
pub(super) fn read(frame: &mut Frame, v: View<'_>) -> usize {
    let Some(control) = v.le16(0) else {
        frame.stop = v.lack(2);
        return 2;
    };
    if control & control::VERSION != 0 {
        // Nothing behind the version can be read without knowing it (clause 9.2.4.1.2).
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

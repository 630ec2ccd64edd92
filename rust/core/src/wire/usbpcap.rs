//! USBPcap (LINKTYPE_USBPCAP): requests between the Windows drivers of host and device.
//!
//! Source: desowin.org/usbpcap/captureformat.html. Little-endian.

use crate::notes::NoteKind;
use crate::packet::Stop;
use crate::urb::{Event, Setup, Transfer, UrbEvent};

use super::decoder::{Decoder, Found};
use super::usb;
use super::view::View;

const HEADER: usize = 27;
/// Info bit: from the device's driver back to the one above it.
const COMPLETED: u8 = 1;

/// Stages of a control transfer.
mod stage {
    pub const SETUP: u8 = 0;
    pub const DATA: u8 = 1;
    pub const STATUS: u8 = 2;
    pub const COMPLETE: u8 = 3;
}

pub(super) fn usbpcap(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let mut e = usb::begin(d);
    let (Some(header), Some(id), Some(status), Some(function), Some(info), Some(bus), Some(device)) =
        (v.le16(0), v.array(2), v.le32(10), v.le16(14), v.u8(16), v.le16(17), v.le16(19))
    else {
        d.note(NoteKind::UsbHeaderCut);
        return Found::Other;
    };
    e.id = u64::from_le_bytes(id);
    e.event = Some(if info & COMPLETED == 0 { Event::Submit } else { Event::Complete });
    e.status = Some(i64::from(status));
    e.function = Some(function);
    (e.bus, e.device) = (bus, device);
    let (Some(endpoint), Some(transfer), Some(length)) = (v.u8(21), v.u8(22), v.le32(23)) else {
        return usb::cut(d, e, v.lack(HEADER));
    };
    usb::set_endpoint(&mut e, endpoint);
    e.transfer = usb::transfer(transfer);
    let header = usize::from(header);
    if header < HEADER || header > v.wire() {
        e.stop = Stop::LengthLies;
        d.note(NoteKind::UsbLengthLies);
        return usb::finish(d, e, View::new(&[], 0));
    }
    let length = usb::believed(d, length);
    let behind = v.skip(header);
    if length.is_some_and(|n| n as usize > behind.wire()) {
        d.note(NoteKind::UsbLengthLies);
    }
    let mut data = behind.clip(length.map_or(behind.data().len(), |n| n as usize));
    let submitted = e.event == Some(Event::Submit);
    match e.transfer {
        Some(Transfer::Control) => data = control(&mut e, v, header, length, data),
        // The room of an IN transfer is not told, nor what an OUT transfer moved.
        _ if submitted == e.is_in => e.length = None,
        _ => e.length = length,
    }
    if e.transfer == Some(Transfer::Isochronous) && header >= HEADER + 12 {
        e.iso = v.le32(31).zip(v.le32(35));
    }
    usb::finish(d, e, data)
}

/// Which stage of a control transfer the record is, and what data it holds.
fn control<'a>(e: &mut UrbEvent, v: View<'a>, header: usize, length: Option<u32>, data: View<'a>) -> View<'a> {
    let stage = if header > HEADER { v.u8(HEADER) } else { None };
    let submitted = e.event == Some(Event::Submit);
    match stage {
        Some(stage::SETUP) => {
            e.setup = data.array(0).map(Setup::parse);
            if let Some(setup) = e.setup {
                e.is_in = setup.is_in();
                e.length = Some(u32::from(setup.length));
            }
            return data.skip(8);
        }
        Some(stage::DATA) => {
            e.goes_on = true;
            e.is_in = !submitted;
            e.length = length;
        }
        Some(stage::STATUS) => e.length = None,
        Some(stage::COMPLETE) => e.length = length.filter(|n| *n > 0 || e.is_in),
        // No stage told: the endpoint's direction bit decides.
        _ if submitted == e.is_in => e.length = None,
        _ => e.length = length,
    }
    data
}

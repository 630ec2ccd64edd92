//! The common part of usbmon and USBPcap records: the event is emitted after the packets of its bulk transfer.

use crate::limits;
use crate::notes::NoteKind;
use crate::packet::Stop;
use crate::urb::{Event, Transfer, UrbEvent};

use super::decoder::{Decoder, Found};
use super::usb_net;
use super::view::View;

/// Bit of an endpoint address: device to host (USB 2.0 section 9.6.6).
const IN: u8 = 0x80;
const ENDPOINT: u8 = 0x0f;

/// An event with the record's own values.
pub(super) fn begin(d: &Decoder<'_>) -> UrbEvent {
    UrbEvent { number: d.packet.number, time_ns: d.packet.time_ns, interface: d.interface, ..UrbEvent::default() }
}

/// Fill in the endpoint address.
pub(super) fn set_endpoint(e: &mut UrbEvent, address: u8) {
    e.endpoint = address & ENDPOINT;
    e.is_in = address & IN != 0;
}

pub(super) fn transfer(value: u8) -> Option<Transfer> {
    Some(match value {
        0 => Transfer::Isochronous,
        1 => Transfer::Interrupt,
        2 => Transfer::Control,
        3 => Transfer::Bulk,
        _ => return None,
    })
}

/// A possible length of a transfer; a larger one is noted and not used.
pub(super) fn believed(d: &mut Decoder<'_>, length: u32) -> Option<u32> {
    let sane = usize::try_from(length).is_ok_and(|n| n <= limits::USB_RECORD_BYTES);
    if !sane {
        d.note(NoteKind::UsbLengthLies);
    }
    sane.then_some(length)
}

/// Emit the packets in `data` and then the event.
pub(super) fn finish(d: &mut Decoder<'_>, mut e: UrbEvent, data: View<'_>) -> Found {
    if e.event.is_none() || e.transfer.is_none() {
        d.note(NoteKind::UsbUnknownEvent);
    }
    e.captured_bytes = u32::try_from(data.data().len()).unwrap_or(u32::MAX);
    // Data are in the submission of an OUT and in the completion of an IN transfer.
    let carried = matches!((e.event, e.is_in), (Some(Event::Submit), false) | (Some(Event::Complete), true));
    if e.transfer == Some(Transfer::Bulk) && carried && !data.data().is_empty() {
        usb_net::packets(d, &mut e, data);
    }
    d.sink.urb(&e);
    d.other()
}

/// The header is incomplete: emit the part that is there.
pub(super) fn cut(d: &mut Decoder<'_>, mut e: UrbEvent, stop: Stop) -> Found {
    d.note(NoteKind::UsbHeaderCut);
    e.stop = stop;
    finish(d, e, View::new(&[], 0))
}

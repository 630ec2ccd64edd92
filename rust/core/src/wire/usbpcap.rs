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
/// Info bit: from the device's driver to the driver above it.
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
        // The buffer size of an IN transfer and the bytes moved by an OUT transfer are not recorded.
        _ if submitted == e.is_in => e.length = None,
        _ => e.length = length,
    }
    if e.transfer == Some(Transfer::Isochronous) && header >= HEADER + 12 {
        e.iso = v.le32(31).zip(v.le32(35));
    }
    usb::finish(d, e, data)
}

/// The stage of a control transfer, and the data in the record.
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
        // No stage in the record: the endpoint's direction bit decides.
        _ if submitted == e.is_in => e.length = None,
        _ => e.length = length,
    }
    data
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, noted, packets, record, Found};
    use super::super::usb_net::tests::sound;
    use super::super::{decode, State};
    use super::*;
    use crate::notes::Notes;

    fn event(data: &[u8]) -> UrbEvent {
        let (mut state, mut notes, mut sink) = (State::default(), Notes::default(), Found::default());
        decode(&record(249, data, data.len()), 1, &mut state, &mut notes, &mut sink);
        sink.urbs[0]
    }

    fn urb(info: u8, endpoint: u8, transfer: u8, more: &[u8], data: &[u8]) -> Vec<u8> {
        let mut h = (27 + more.len() as u16).to_le_bytes().to_vec();
        h.extend(0xffff_c283_0000_0010u64.to_le_bytes());
        h.extend([0, 0, 0, 0, 9, 0, info, 3, 0, 7, 0, endpoint, transfer]);
        h.extend((data.len() as u32).to_le_bytes());
        h.extend(more);
        h.extend(data);
        h
    }

    #[test]
    fn bulk() {
        let sent = urb(0, 2, 3, &[], &sound(b"abc"));
        let e = event(&sent);
        assert_eq!((e.event, e.is_in, e.bus, e.device, e.endpoint), (Some(Event::Submit), false, 3, 7, 2));
        assert_eq!((e.length, e.packets, e.function), (Some(43), 1, Some(9)));
        cut_everywhere(249, &sent);
        // The buffer size of an IN transfer and the bytes moved by an OUT transfer are not recorded.
        assert_eq!(event(&urb(0, 0x81, 3, &[], &[])).length, None);
        assert_eq!(event(&urb(1, 2, 3, &[], &[])).length, None);
        assert_eq!(event(&urb(1, 0x81, 3, &[], &sound(b""))).length, Some(40));
    }

    #[test]
    fn control_stages() {
        let setup = [0x80, 6, 0, 1, 0, 0, 18, 0];
        let e = event(&urb(0, 0, 2, &[stage::SETUP], &setup));
        assert_eq!((e.is_in, e.length, e.goes_on, e.captured_bytes), (true, Some(18), false, 0));
        let e = event(&urb(1, 0x80, 2, &[stage::DATA], &[7; 18]));
        assert_eq!((e.is_in, e.length, e.goes_on, e.captured_bytes), (true, Some(18), true, 18));
        let e = event(&urb(1, 0, 2, &[stage::STATUS], &[]));
        assert_eq!((e.length, e.goes_on), (None, false));
        let e = event(&urb(1, 0x80, 2, &[stage::COMPLETE], &[7; 18]));
        assert_eq!((e.length, e.goes_on), (Some(18), false));
    }

    #[test]
    fn lies() {
        let data = urb(1, 0x81, 3, &[], &sound(b"abc"));
        for header in [0u16, 26, 0xffff] {
            let mut bad = data.clone();
            bad[..2].copy_from_slice(&header.to_le_bytes());
            assert_eq!((event(&bad).stop, event(&bad).packets), (Stop::LengthLies, 0));
            assert_eq!(noted(249, &bad, NoteKind::UsbLengthLies), 1);
        }
        let mut bad = data.clone();
        bad[23..27].fill(0xff);
        assert_eq!((event(&bad).length, packets(249, &bad).len()), (None, 1));
        assert_eq!(event(&urb(0, 0, 0xfe, &[], &[])).transfer, None);
        for n in 0..27 {
            assert_eq!(noted(249, &data[..n], NoteKind::UsbHeaderCut), 1);
        }
    }
}

//! usbmon's binary headers: 48 bytes (LINKTYPE_USB_LINUX) and 64 (LINKTYPE_USB_LINUX_MMAPPED).
//!
//! Source: Documentation/usb/usbmon.rst of Linux, struct usbmon_packet. Numbers are in the byte order of the capturing
//! host, which the header does not contain.

use crate::notes::NoteKind;
use crate::packet::Stop;
use crate::urb::{Event, Setup, Transfer, UrbEvent};

use super::decoder::{Decoder, Found};
use super::usb;
use super::view::View;

const SHORT: usize = 48;
const LONG: usize = 64;
/// The minimum for a row: everything up to the bus number.
const LEAST: usize = 14;
const SETUP: usize = 40;
const ISO_DESCRIPTOR: usize = 16;
/// "Present" in the two flags.
const PRESENT: u8 = 0;
/// Seconds since 1970 until the year 2242: in the wrong byte order hardly any are this small.
const SECONDS: std::ops::Range<i64> = 0..1 << 33;

pub(super) fn short(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    usbmon(d, v, SHORT)
}

pub(super) fn long(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    usbmon(d, v, LONG)
}

/// The header's numbers in their byte order.
#[derive(Clone, Copy)]
struct Header<'a> {
    v: View<'a>,
    big_endian: bool,
}

impl Header<'_> {
    fn u16(self, at: usize) -> Option<u16> {
        if self.big_endian {
            self.v.be16(at)
        } else {
            self.v.le16(at)
        }
    }

    fn u32(self, at: usize) -> Option<u32> {
        if self.big_endian {
            self.v.be32(at)
        } else {
            self.v.le32(at)
        }
    }

    fn i32(self, at: usize) -> Option<i32> {
        self.u32(at).map(|n| n as i32)
    }

    fn u64(self, at: usize) -> Option<u64> {
        let b = self.v.array(at)?;
        Some(if self.big_endian { u64::from_be_bytes(b) } else { u64::from_le_bytes(b) })
    }
}

/// The seconds show the byte order; if they are invalid or zero, the order of the previous record is used.
fn byte_order(d: &mut Decoder<'_>, v: View<'_>) -> bool {
    let Some(seconds) = v.array::<8>(16) else {
        return d.state.usb.big_endian;
    };
    let little = SECONDS.contains(&i64::from_le_bytes(seconds));
    let big = SECONDS.contains(&i64::from_be_bytes(seconds));
    if little != big {
        d.state.usb.big_endian = big;
    }
    d.state.usb.big_endian
}

fn usbmon(d: &mut Decoder<'_>, v: View<'_>, header_bytes: usize) -> Found {
    let h = Header { v, big_endian: byte_order(d, v) };
    let mut e = usb::begin(d);
    let (Some(id), Some([kind, transfer, endpoint, device]), Some(bus)) = (h.u64(0), v.array(8), h.u16(12)) else {
        d.note(NoteKind::UsbHeaderCut);
        return Found::Other;
    };
    debug_assert!(v.data().len() >= LEAST);
    e.id = id;
    e.event = match kind {
        b'S' => Some(Event::Submit),
        b'C' => Some(Event::Complete),
        b'E' => Some(Event::Error),
        _ => None,
    };
    e.transfer = usb::transfer(transfer);
    usb::set_endpoint(&mut e, endpoint);
    e.device = u16::from(device);
    e.bus = bus;
    e.status = h.i32(28).map(i64::from);
    let time = header_time(d, h);
    if e.time_ns.is_none() {
        e.time_ns = time;
        d.packet.time_ns = time;
    }
    let (Some(length), Some(captured)) = (h.u32(32), h.u32(36)) else {
        return usb::cut(d, e, v.lack(header_bytes));
    };
    e.length = usb::believed(d, length);
    if v.u8(14) == Some(PRESENT) && e.event == Some(Event::Submit) && e.transfer == Some(Transfer::Control) {
        e.setup = v.array(SETUP).map(Setup::parse);
    }
    if v.data().len() < header_bytes {
        return usb::cut(d, e, v.lack(header_bytes));
    }
    let mut data = v.skip(header_bytes);
    if e.transfer == Some(Transfer::Isochronous) {
        let descriptors = descriptors(d, h, &mut e, header_bytes);
        data = data.skip(descriptors);
        // In the 64-byte header the captured length counts the descriptors.
        data = data.clip((captured as usize).saturating_sub(descriptors));
    } else if v.u8(15) == Some(PRESENT) {
        data = whole_data(d, e.length, captured, data);
    } else {
        data = View::new(&[], 0);
    }
    usb::finish(d, e, data)
}

/// Nanoseconds since 1970 of the header's own timestamp; an impossible one is noted.
fn header_time(d: &mut Decoder<'_>, h: Header<'_>) -> Option<i64> {
    let seconds = h.u64(16)? as i64;
    let micros = i64::from(h.i32(24)?);
    let sane = SECONDS.contains(&seconds) && (0..1_000_000).contains(&micros);
    if !sane {
        d.note(NoteKind::UsbTimeImplausible);
    }
    sane.then(|| seconds * 1_000_000_000 + micros * 1000)
}

/// The data after the header: captured bytes and transferred bytes.
fn whole_data<'a>(d: &mut Decoder<'_>, length: Option<u32>, captured: u32, data: View<'a>) -> View<'a> {
    let captured = captured as usize;
    if captured > data.wire() {
        d.note(NoteKind::UsbLengthLies);
    }
    let kept = data.clip(captured);
    // usbmon keeps at most a fifth of its buffer per transfer.
    View::new(kept.data(), length.map_or(0, |n| n as usize))
}

/// Count the packets of an isochronous transfer; returns the length of the descriptors before the data.
fn descriptors(d: &mut Decoder<'_>, h: Header<'_>, e: &mut UrbEvent, header_bytes: usize) -> usize {
    e.iso = h.u32(44).zip(h.u32(40));
    if header_bytes < LONG {
        return 0;
    }
    let bytes = h.u32(60).map_or(0, |n| (n as usize).saturating_mul(ISO_DESCRIPTOR));
    if bytes > h.v.skip(header_bytes).wire() {
        d.note(NoteKind::UsbLengthLies);
        e.stop = Stop::LengthLies;
        e.iso = None;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, noted, packets, record, Found};
    use super::super::usb_net::tests::{bulk, sound};
    use super::super::{decode, State};
    use super::*;
    use crate::notes::Notes;

    fn events(link_type: u16, records: &[&[u8]]) -> (Vec<UrbEvent>, Notes) {
        let (mut state, mut notes, mut sink) = (State::default(), Notes::default(), Found::default());
        for (i, data) in records.iter().enumerate() {
            decode(&record(link_type, data, data.len()), i as u64 + 1, &mut state, &mut notes, &mut sink);
        }
        (sink.urbs, notes)
    }

    fn event(link_type: u16, data: &[u8]) -> UrbEvent {
        events(link_type, &[data]).0[0]
    }

    #[test]
    fn every_field() {
        let e = event(220, &bulk(true, b"abc", 3));
        assert_eq!((e.id, e.event, e.transfer), (0xffff_8800_0000_0040, Some(Event::Complete), Some(Transfer::Bulk)));
        assert_eq!((e.bus, e.device, e.endpoint, e.is_in), (1, 5, 1, true));
        assert_eq!((e.status, e.length, e.captured_bytes, e.stop), (Some(0), Some(3), 3, Stop::None));
    }

    #[test]
    fn the_short_header() {
        let mut data = bulk(false, &sound(b"abc"), 43);
        data.drain(48..64);
        assert_eq!((event(189, &data).packets, packets(189, &data)[0].outgoing), (1, Some(true)));
        cut_everywhere(189, &data);
    }

    #[test]
    fn the_byte_order_of_the_host() {
        let mut big = bulk(true, &sound(b"abc"), 43);
        for field in [0..8, 12..14, 16..24, 24..28, 28..32, 32..36, 36..40] {
            big[field].reverse();
        }
        let mut timeless = big.clone();
        timeless[16..24].fill(0);
        let (got, _) = events(220, &[&big, &timeless, &bulk(true, b"", 0)]);
        for e in &got[..2] {
            assert_eq!((e.bus, e.id, e.length, e.packets), (1, 0xffff_8800_0000_0040, Some(43), 1));
        }
        assert_eq!(got[2].bus, 1);
    }

    #[test]
    fn control_and_isochronous() {
        let mut control = bulk(false, &[], 18);
        control[9..11].copy_from_slice(&[2, 0x80]);
        control[14..16].copy_from_slice(&[0, b'<']);
        control[40..48].copy_from_slice(&[0x80, 6, 0, 1, 9, 4, 18, 0]);
        let setup = event(220, &control).setup.map(|s| (s.request_type, s.request, s.value, s.index, s.length));
        assert_eq!(setup, Some((0x80, 6, 0x100, 0x409, 18)));
        let mut iso = bulk(true, &[1; 32 + 5], 5);
        iso[9] = 0;
        iso[40..48].copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0]);
        iso[60] = 2;
        let e = event(220, &iso);
        assert_eq!((e.iso, e.captured_bytes, e.stop), (Some((2, 1)), 5, Stop::None));
        iso[60..64].fill(0xff);
        let e = event(220, &iso);
        assert_eq!((e.iso, e.captured_bytes, e.stop), (None, 0, Stop::LengthLies));
    }

    #[test]
    fn lies_and_nonsense() {
        let data = bulk(true, &sound(b"abc"), 43);
        for (at, value, kind) in [
            (32, 0xff, NoteKind::UsbLengthLies),
            (36, 0xff, NoteKind::UsbLengthLies),
            (24, 0xff, NoteKind::UsbTimeImplausible),
            (16, 0xff, NoteKind::UsbTimeImplausible),
        ] {
            let mut bad = data.clone();
            let many = if at == 16 { 8 } else { 4 };
            bad[at..at + many].fill(value);
            assert_eq!((noted(220, &bad, kind), packets(220, &bad).len()), (1, 1), "byte {at}");
        }
        for (at, value) in [(8, b'Z'), (9, 9)] {
            let mut bad = data.clone();
            bad[at] = value;
            assert_eq!((noted(220, &bad, NoteKind::UsbUnknownEvent), packets(220, &bad).len()), (1, 0));
        }
        for n in 0..64 {
            assert_eq!(noted(220, &data[..n], NoteKind::UsbHeaderCut), 1);
            assert_eq!(events(220, &[&data[..n]]).0.len(), usize::from(n >= LEAST));
        }
    }
}

//! usbmon's binary headers: 48 bytes (LINKTYPE_USB_LINUX) and 64 (LINKTYPE_USB_LINUX_MMAPPED).
//!
//! Source: Documentation/usb/usbmon.rst of Linux, struct usbmon_packet. Numbers are in the byte order of the host that
//! captured; the header does not say which.

use crate::notes::NoteKind;
use crate::packet::Stop;
use crate::urb::{Event, Setup, Transfer, UrbEvent};

use super::decoder::{Decoder, Found};
use super::usb;
use super::view::View;

const SHORT: usize = 48;
const LONG: usize = 64;
/// The least from which a row can be made: everything up to the bus number.
const LEAST: usize = 14;
const SETUP: usize = 40;
const ISO_DESCRIPTOR: usize = 16;
/// "Present" in the two flags.
const PRESENT: u8 = 0;
/// Seconds since 1970 until the year 2242: in the wrong byte order hardly any are so small.
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
        self.u32(at).map(u32::cast_signed)
    }

    fn u64(self, at: usize) -> Option<u64> {
        let b = self.v.array(at)?;
        Some(if self.big_endian { u64::from_be_bytes(b) } else { u64::from_le_bytes(b) })
    }
}

/// The seconds tell the byte order; where they are nonsense or zero, that of the record before holds.
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

/// Nanoseconds since 1970 of the header's own stamp; what cannot be a time is noted.
fn header_time(d: &mut Decoder<'_>, h: Header<'_>) -> Option<i64> {
    let seconds = h.u64(16)?.cast_signed();
    let micros = i64::from(h.i32(24)?);
    let sane = SECONDS.contains(&seconds) && (0..1_000_000).contains(&micros);
    if !sane {
        d.note(NoteKind::UsbTimeImplausible);
    }
    sane.then(|| seconds * 1_000_000_000 + micros * 1000)
}

/// The data behind the header: as many as were captured of as many as were transferred.
fn whole_data<'a>(d: &mut Decoder<'_>, length: Option<u32>, captured: u32, data: View<'a>) -> View<'a> {
    let captured = captured as usize;
    if captured > data.wire() {
        d.note(NoteKind::UsbLengthLies);
    }
    let kept = data.clip(captured);
    // usbmon keeps at most a fifth of its buffer of one transfer.
    View::new(kept.data(), length.map_or(0, |n| n as usize))
}

/// Count the packets of an isochronous transfer; how many bytes of descriptors stand before the data.
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

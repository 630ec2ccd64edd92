//! usbmon records of 64 bytes (Documentation/usb/usbmon.rst, LINKTYPE_USB_LINUX_MMAPPED).

use super::head::Head;
use super::Gather;

/// LINKTYPE_USB_LINUX_MMAPPED.
pub const LINKTYPE_USBMON: u32 = 220;
/// Of an endpoint's address: device to host.
pub const IN: u8 = 0x80;

const CONTROL: u8 = 2;
const BULK: u8 = 3;
const EINPROGRESS: i32 = -115;

/// One event of an URB.
#[derive(Debug, Clone, Copy)]
pub struct UrbRecord {
    pub id: u64,
    pub submit: bool,
    /// With its direction bit.
    pub endpoint: u8,
    pub device: u8,
    pub bus: u16,
    pub status: i32,
    /// Bytes requested or transferred.
    pub length: u32,
    /// For a control transfer's submission.
    pub setup: Option<[u8; 8]>,
    /// Bytes of data in the record: those of OUT in the submission, those of IN in the completion.
    pub data_bytes: u32,
}

/// Append a record whose data `data` appends; `stamp_ns` since 1970.
pub fn urb_record(u: &UrbRecord, stamp_ns: i64, data: impl FnOnce(&mut Gather), out: &mut Gather) {
    let control = u.endpoint & !IN == 0;
    let mut head = Head::<64>::new();
    head.put(u.id.to_le_bytes());
    head.put([if u.submit { b'S' } else { b'C' }, if control { CONTROL } else { BULK }, u.endpoint, u.device]);
    head.put(u.bus.to_le_bytes());
    let absent = if u.endpoint & IN != 0 { b'<' } else { b'>' };
    head.put([if u.setup.is_some() { 0 } else { b'-' }, if u.data_bytes > 0 { 0 } else { absent }]);
    head.put(stamp_ns.div_euclid(1_000_000_000).to_le_bytes());
    head.put(((stamp_ns.rem_euclid(1_000_000_000) / 1000) as i32).to_le_bytes());
    head.put(if u.submit { EINPROGRESS } else { u.status }.to_le_bytes());
    head.put(u.length.to_le_bytes());
    head.put(u.data_bytes.to_le_bytes());
    head.put(u.setup.unwrap_or_default());
    // Interval, start frame, transfer flags, number of isochronous descriptors: 0.
    head.skip(16);
    out.put(head.bytes());
    data(out);
}

//! usbmon records of 64 bytes (Documentation/usb/usbmon.rst, LINKTYPE_USB_LINUX_MMAPPED).

/// LINKTYPE_USB_LINUX_MMAPPED.
pub const LINKTYPE_USBMON: u32 = 220;

/// One event of an URB.
#[derive(Debug, Clone, Copy)]
pub struct UrbRecord {
    pub id: u64,
    pub submit: bool,
    /// With its direction bit, 0x80 for in.
    pub endpoint: u8,
    pub device: u8,
    pub bus: u16,
    pub status: i32,
    /// Bytes asked for or transferred.
    pub length: u32,
}

const BULK: u8 = 3;
const EINPROGRESS: i32 = -115;

/// Append a record with this data; `stamp_ns` since 1970.
pub fn urb_record(u: &UrbRecord, stamp_ns: i64, data: &[u8], out: &mut Vec<u8>) {
    out.extend(u.id.to_le_bytes());
    out.extend([if u.submit { b'S' } else { b'C' }, BULK, u.endpoint, u.device]);
    out.extend(u.bus.to_le_bytes());
    // No setup packet; data present or not.
    out.extend([
        b'-',
        if data.is_empty() {
            if u.endpoint & 0x80 != 0 {
                b'<'
            } else {
                b'>'
            }
        } else {
            0
        },
    ]);
    out.extend(stamp_ns.div_euclid(1_000_000_000).to_le_bytes());
    out.extend(((stamp_ns.rem_euclid(1_000_000_000) / 1000) as i32).to_le_bytes());
    out.extend(if u.submit { EINPROGRESS } else { u.status }.to_le_bytes());
    out.extend(u.length.to_le_bytes());
    out.extend((data.len() as u32).to_le_bytes());
    out.extend([0; 8]);
    // Interval, start frame, transfer flags, number of isochronous descriptors.
    out.extend([0; 16]);
    out.extend_from_slice(data);
}

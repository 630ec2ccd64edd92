//! One record of a USB capture: what the wire decoders fill and the URB tracker reads.

use crate::packet::Stop;

/// What a usbmon or USBPcap record tells of an URB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Event {
    Submit = 0,
    Complete = 1,
    /// The submission failed (usbmon 'E').
    Error = 2,
}

/// The transfer types of USB 2.0 section 5.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Transfer {
    Isochronous = 0,
    Interrupt = 1,
    Control = 2,
    Bulk = 3,
}

/// One submit or complete record.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UrbEvent {
    /// 1-based number of the record in its file.
    pub number: u64,
    /// The container's stamp.
    pub time_ns: Option<i64>,
    /// URB id: a kernel address (usbmon) or IRP id (USBPcap).
    pub id: u64,
    /// None: a value that the format does not know.
    pub event: Option<Event>,
    pub transfer: Option<Transfer>,
    pub bus: u16,
    pub device: u16,
    /// Endpoint number without its direction bit.
    pub endpoint: u8,
    /// Device to host.
    pub is_in: bool,
    /// 0, or a negative errno (usbmon), or a USBD_STATUS (USBPcap).
    pub status: i32,
    /// Bytes asked for (submit) or transferred (complete).
    pub length: u32,
    /// How many bytes of data the record holds.
    pub captured_bytes: u32,
    /// The record holds at least one row of `packets`.
    pub ip_packet: bool,
    /// Why decoding of the header ended early.
    pub stop: Stop,
}

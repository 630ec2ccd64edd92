//! One record of a USB capture: the decoders fill it; the URB tracker reads it.

use crate::packet::Stop;

/// The event of a usbmon or USBPcap record.
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

/// How IP packets are framed in a bulk transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Framing {
    /// One Ethernet frame per transfer: CDC-ECM, and adapters that put a trailer after it.
    Ethernet = 0,
    /// CDC-NCM transfer blocks of Ethernet frames.
    Ncm = 1,
    /// The same blocks of bare IP packets (MBIM).
    Mbim = 2,
    /// REMOTE_NDIS_PACKET_MSG.
    Rndis = 3,
    /// ASIX AX88178 and AX88772: a length and its complement before each frame.
    Asix = 4,
    /// ASIX AX88179: frames, then a table of their lengths; on the way out a header of 8 bytes.
    Ax88179 = 5,
    /// Realtek RTL8152 to RTL8156: a descriptor before each frame.
    R8152 = 6,
    /// Prism 2: a descriptor of 60 bytes with the 802.11 header.
    Prism2 = 7,
    /// Bare IP packets.
    Ip = 8,
    /// Qualcomm's multiplexing header of 4 bytes before each IP packet (QMAP).
    Qmap = 9,
    /// An IP header found by search; the framing is unknown.
    Found = 10,
}

/// The setup packet of a control transfer (USB 2.0 section 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    pub request_type: u8,
    pub request: u8,
    pub value: u16,
    pub index: u16,
    pub length: u16,
}

impl Setup {
    /// Always little-endian, as on the bus.
    pub fn parse(b: [u8; 8]) -> Setup {
        Setup {
            request_type: b[0],
            request: b[1],
            value: u16::from_le_bytes([b[2], b[3]]),
            index: u16::from_le_bytes([b[4], b[5]]),
            length: u16::from_le_bytes([b[6], b[7]]),
        }
    }

    /// The data stage goes from device to host.
    pub fn is_in(&self) -> bool {
        self.request_type & 0x80 != 0
    }
}

/// One submit or complete record.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UrbEvent {
    /// 1-based number of the record in its file.
    pub number: u64,
    /// The container's timestamp.
    pub time_ns: Option<i64>,
    /// Interface of the capture file, over the whole file.
    pub interface: u32,
    /// URB id: a kernel address (usbmon) or IRP id (USBPcap).
    pub id: u64,
    /// None: a value that the format does not define.
    pub event: Option<Event>,
    /// A stage of a control transfer that another stage follows (USBPcap).
    pub goes_on: bool,
    pub transfer: Option<Transfer>,
    pub bus: u16,
    pub device: u16,
    /// Endpoint number without its direction bit.
    pub endpoint: u8,
    /// Device to host.
    pub is_in: bool,
    /// 0, or a negative errno (usbmon), or a USBD_STATUS (USBPcap).
    pub status: Option<i64>,
    /// Bytes requested (submit) or transferred (complete); None if not in the record or impossible.
    pub length: Option<u32>,
    /// How many bytes of data the record holds.
    pub captured_bytes: u32,
    /// How many rows of `packets` the record holds.
    pub packets: u16,
    /// Their framing.
    pub framing: Option<Framing>,
    pub setup: Option<Setup>,
    /// USBPcap's URB function.
    pub function: Option<u16>,
    /// Packets of an isochronous transfer, and how many of them failed.
    pub iso: Option<(u32, u32)>,
    /// Why decoding of the header ended early.
    pub stop: Stop,
}

//! The file header of pcap, in all variants that libpcap and Wireshark read.
//!
//! Source: draft-ietf-opsawg-pcap; for the magic numbers and old versions libpcap's sf-pcap.c, for the
//! patched record headers Wireshark's wiretap.

use crate::error::{Error, ErrorKind, Result};
use crate::limits;

/// Bytes of the file header.
pub const FILE_HEADER: usize = 24;

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;
/// Alexey Kuznetzov's patch: longer record headers.
const MODIFIED: u32 = 0xa1b2_cd34;
/// Known to libpcap by name, never published.
const UNREADABLE: [(u32, &str); 5] = [
    (0xa1b2_34cd, "Fabio Mesquita's pcap"),
    (0xa12b_3c4d, "Navtel pcap"),
    (0xa1b2_c3cb, "a compiled packet filter"),
    (0x1c00_01ac, "IXIA hardware pcap"),
    (0x1c00_01ab, "IXIA software pcap"),
];

/// USBPcap and usbmon records hold whole transfers.
const LINKTYPE_USB_LINUX: u16 = 189;
const LINKTYPE_USB_LINUX_MMAPPED: u16 = 220;
const LINKTYPE_USBPCAP: u16 = 249;

/// Which of a record's two lengths comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    CapturedFirst,
    /// Before 2.3, and DG/UX's 543.0.
    WireFirst,
    /// 2.3 was written both ways: the smaller one is the captured length.
    SmallerIsCaptured,
}

/// The parts of the file header that apply to all its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    pub big_endian: bool,
    pub nano: bool,
    pub modified: bool,
    pub lengths: Lengths,
    /// As written; 0 and the largest values mean none.
    pub snaplen: u32,
    pub link_type: u16,
    pub fcs_bytes: Option<u8>,
}

/// A magic number of the pcap family at the front of `head`: (magic, big endian).
fn magic(head: &[u8]) -> Option<(u32, bool)> {
    let bytes: [u8; 4] = head.get(..4)?.try_into().ok()?;
    let known = |m: u32| matches!(m, MICRO | NANO | MODIFIED) || UNREADABLE.iter().any(|u| u.0 == m);
    let (le, be) = (u32::from_le_bytes(bytes), u32::from_be_bytes(bytes));
    if known(le) {
        Some((le, false))
    } else {
        known(be).then_some((be, true))
    }
}

/// Whether `head` begins with any magic number of the family.
pub fn is_pcap(head: &[u8]) -> bool {
    magic(head).is_some()
}

impl FileHeader {
    /// Parse a header that [`is_pcap`] recognised.
    pub fn parse(head: &[u8]) -> Result<FileHeader> {
        let Some((magic, big_endian)) = magic(head) else {
            return Err(Error::new(ErrorKind::UnknownFormat, "no pcap magic number"));
        };
        if let Some((_, name)) = UNREADABLE.iter().find(|u| u.0 == magic) {
            return Err(Error::new(ErrorKind::UnsupportedFormat, format!("{name} cannot be read"))
                .next("convert it with `editcap -F pcapng`"));
        }
        if head.len() < FILE_HEADER {
            return Err(Error::new(ErrorKind::CorruptCapture, "the pcap file ends inside its file header")
                .at(head.len() as u64));
        }
        let u16_at = |i: usize| {
            let b = [head[i], head[i + 1]];
            if big_endian {
                u16::from_be_bytes(b)
            } else {
                u16::from_le_bytes(b)
            }
        };
        let u32_at = |i: usize| {
            let b = [head[i], head[i + 1], head[i + 2], head[i + 3]];
            if big_endian {
                u32::from_be_bytes(b)
            } else {
                u32::from_le_bytes(b)
            }
        };
        let lengths = match (u16_at(4), u16_at(6)) {
            (2, 0..=2) | (543, 0) => Lengths::WireFirst,
            (2, 3) => Lengths::SmallerIsCaptured,
            (2, 4) => Lengths::CapturedFirst,
            (major, minor) => {
                return Err(Error::new(
                    ErrorKind::UnsupportedFormat,
                    format!("pcap version {major}.{minor} is not supported"),
                )
                .at(4)
                .next("supported are versions 2.0 to 2.4; if the file is one of them, its header is damaged"));
            }
        };
        let network = u32_at(20);
        // Bits 16..25 are reserved; libpcap treats them as part of the link type.
        if network & 0x03ff_0000 != 0 {
            return Err(Error::new(
                ErrorKind::UnsupportedLinkType,
                format!("link type {} is not supported", network & 0x03ff_ffff),
            )
            .at(20)
            .next("see `wlanlens list formats` for the supported ones"));
        }
        Ok(FileHeader {
            big_endian,
            nano: magic == NANO,
            modified: magic == MODIFIED,
            lengths,
            snaplen: u32_at(16),
            link_type: (network & 0xffff) as u16,
            fcs_bytes: fcs_bytes(network),
        })
    }

    /// Largest captured length that is accepted.
    pub fn record_cap(&self) -> u32 {
        record_cap(self.link_type)
    }
}

/// Largest captured length accepted for a link type.
pub fn record_cap(link_type: u16) -> u32 {
    match link_type {
        LINKTYPE_USB_LINUX | LINKTYPE_USB_LINUX_MMAPPED | LINKTYPE_USBPCAP => limits::USB_RECORD_BYTES as u32,
        _ => limits::RECORD_BYTES as u32,
    }
}

/// The length of the frame check sequence, in the top four bits when bit 26 is set.
///
/// The unit is 16 bits. No link has a check sequence of 8 bytes, so a 4 is from a writer that counted bytes.
fn fcs_bytes(network: u32) -> Option<u8> {
    if network & 0x0400_0000 == 0 {
        return None;
    }
    match network >> 28 {
        0 => Some(0),
        1 => Some(2),
        2 | 4 => Some(4),
        _ => None,
    }
}

//! The start of a DOS Sniffer capture: the magic text, a version record, records about the capture.
//!
//! Source: the Expert Sniffer Network Analyzer Operations manual, release 5.50, as far as it goes; for the rest the
//! facts that Wireshark's wiretap collected from captures.

use crate::container::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;

pub const MAGIC: &[u8] = b"TRSNIFF data    \x1a";

/// Type, length, two reserved bytes.
pub const RECORD_HEADER: usize = 6;

const VERSION_RECORD: usize = 18;
/// Bytes of the magic text and the version record.
pub const FILE_HEADER: usize = MAGIC.len() + RECORD_HEADER + VERSION_RECORD;

/// Offsets of the fields.
mod at {
    pub const RECORD_TYPE: usize = 17;
    pub const RECORD_LENGTH: usize = 19;
    pub const MAJOR: usize = 23;
    pub const DATE: usize = 29;
    pub const NETWORK: usize = 32;
    pub const FORMAT: usize = 33;
    pub const TIME_UNIT: usize = 34;
    pub const RESERVED: usize = 37;
}

/// Offset of the date, for its notes.
pub const DATE_AT: u64 = at::DATE as u64;

/// Record types (those without a packet are known by number only).
pub mod record_type {
    pub const VERSION: u16 = 1;
    pub const END: u16 = 3;
    pub const FRAME_2: u16 = 4;
    pub const HEADER_1: u16 = 6;
    /// In captures of serial lines: the protocol.
    pub const HEADER_2: u16 = 7;
    /// ATM frames; in version 2 and before, a description of the capture.
    pub const FRAME_4: u16 = 8;
    pub const FRAME_6: u16 = 12;
    pub const HEADER_3: u16 = 13;
    pub const HEADER_7: u16 = 17;
}

const SYNCHRONOUS: u8 = 7;
const ASYNCHRONOUS: u8 = 8;

const LINKTYPE_ETHERNET: u16 = 1;
const LINKTYPE_PPP: u16 = 9;

/// Picoseconds of a tick, by the file's time unit.
const TICK_PS: [u32; 7] = [15_000_000, 838_096, 15_000_000, 500_000, 2_000_000, 1_000_000, 100_000];

/// The type of a record's frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The same for all records.
    Of(u16),
    /// A serial line whose protocol only the frame itself shows.
    Serial,
}

/// The parts of the file header that apply to all its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    pub link: Link,
    /// A serial line, whose frame status contains the direction.
    pub wan: bool,
    /// The part after the header records is compressed.
    pub compressed: bool,
    /// Days from 1970 to the day of the capture, in local time; None for an invalid date.
    pub day: Option<i64>,
    pub tick_ps: u32,
    major: u16,
    network: u8,
}

pub fn is_sniffer(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

fn refused(kind: ErrorKind, at: usize, what: impl Into<String>) -> Error {
    Error::new(kind, what).at(at as u64)
}

fn no_decoder(at: usize, named: &str) -> Error {
    refused(ErrorKind::UnsupportedLinkType, at, format!("Sniffer captures of {named} are not supported"))
        .next("see `wlanlens list formats` for the supported link types")
}

impl FileHeader {
    /// Parse the version record of a file that [`is_sniffer`] recognised.
    pub fn parse(head: &[u8]) -> Result<FileHeader> {
        let Some(head): Option<&[u8; FILE_HEADER]> = head.first_chunk() else {
            return Err(refused(
                ErrorKind::CorruptCapture,
                head.len(),
                "the Sniffer file ends inside its version record",
            ));
        };
        let u16_at = |i: usize| u16::from_le_bytes([head[i], head[i + 1]]);
        if u16_at(at::RECORD_TYPE) != record_type::VERSION || usize::from(u16_at(at::RECORD_LENGTH)) < VERSION_RECORD {
            let what = "the Sniffer file does not begin with a version record";
            return Err(refused(ErrorKind::CorruptCapture, at::RECORD_TYPE, what).next("its header is damaged"));
        }
        let (major, network, unit) = (u16_at(at::MAJOR), head[at::NETWORK], head[at::TIME_UNIT]);
        let Some(tick_ps) = TICK_PS.get(usize::from(unit)).copied() else {
            let what = format!("unknown time unit {unit} in a Sniffer capture");
            return Err(refused(ErrorKind::UnsupportedFormat, at::TIME_UNIT, what)
                .next("its times are unknown: export it as libpcap from the Sniffer that wrote it"));
        };
        let link = match network {
            1 => Link::Of(LINKTYPE_ETHERNET),
            SYNCHRONOUS | ASYNCHRONOUS if major == 1 && matches!(u16_at(at::RESERVED), 1 | 2) => {
                return Err(no_decoder(at::RESERVED, "ISDN"));
            }
            SYNCHRONOUS | ASYNCHRONOUS => Link::Serial,
            0 => return Err(no_decoder(at::NETWORK, "Token Ring")),
            2 => return Err(no_decoder(at::NETWORK, "ARCNET")),
            9 => return Err(no_decoder(at::NETWORK, "FDDI")),
            10 => return Err(no_decoder(at::NETWORK, "ATM")),
            other => return Err(no_decoder(at::NETWORK, &format!("network {other}"))),
        };
        Ok(FileHeader {
            link,
            wan: link == Link::Serial,
            compressed: head[at::FORMAT] != 1,
            day: day(u16_at(at::DATE)),
            tick_ps,
            major,
            network,
        })
    }

    /// Read the magic text, the version record and the records about the capture after it; the packets follow.
    pub fn read(bytes: &mut Bytes) -> Result<FileHeader> {
        bytes.fill(FILE_HEADER);
        let mut file = FileHeader::parse(bytes.data())?;
        let version =
            usize::from(u16::from_le_bytes([bytes.data()[at::RECORD_LENGTH], bytes.data()[at::RECORD_LENGTH + 1]]));
        bytes.skip((at::MAJOR + version) as u64);
        for _ in 0..limits::HEADER_RECORDS {
            if !bytes.fill(RECORD_HEADER) {
                break;
            }
            let b = bytes.data();
            let (kind, length) = (u16::from_le_bytes([b[0], b[1]]), usize::from(u16::from_le_bytes([b[2], b[3]])));
            let about = match kind {
                record_type::HEADER_1 | record_type::HEADER_2 => true,
                record_type::HEADER_3..=record_type::HEADER_7 => true,
                // A compressed block may be as short, too, but no such file is known.
                record_type::FRAME_4 => file.major <= 2,
                _ => false,
            };
            if !about {
                break;
            }
            bytes.fill(RECORD_HEADER + length);
            let begin = bytes.offset() as usize;
            let whole = &bytes.data()[..bytes.available().min(RECORD_HEADER + length)];
            if kind == record_type::HEADER_2 && file.wan {
                file.link = file.serial(&whole[RECORD_HEADER..], begin + RECORD_HEADER)?;
            }
            bytes.consume(RECORD_HEADER + length);
        }
        if file.wan && file.link == Link::Serial && file.major == 3 {
            return Err(no_decoder(at::NETWORK, "Frame Relay"));
        }
        Ok(file)
    }

    /// The protocol of a serial line by its record, which is `about` at offset `begin`.
    fn serial(&self, about: &[u8], begin: usize) -> Result<Link> {
        match (self.major, about.get(4)) {
            (1 | 4 | 5, Some(0)) => Err(no_decoder(begin + 4, "SDLC")),
            (1 | 4 | 5, Some(2)) => Err(no_decoder(begin + 4, "Frame Relay")),
            (4, Some(3)) if about[1] == 0xfa => Err(no_decoder(begin + 1, "ISDN")),
            (5, Some(3)) if about.get(6) == Some(&1) => Err(no_decoder(begin + 6, "ISDN")),
            (1 | 4 | 5, Some(4)) => Ok(Link::Of(LINKTYPE_PPP)),
            (2, _) if about.starts_with(b"HDLC\nX.25\n") => Err(no_decoder(begin, "X.25")),
            _ => Ok(Link::Serial),
        }
    }
}

/// Days from 1970 to a DOS date: years since 1980 in 7 bits, month in 4, day in 5.
fn day(date: u16) -> Option<i64> {
    let (year, month, day) = (1980 + i64::from(date >> 9), i64::from(date >> 5 & 0xf), i64::from(date & 0x1f));
    if !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    // Years that begin in March end with the leap day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    const MARCH_1_OF_YEAR_0: i64 = 719_468;
    Some(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - MARCH_1_OF_YEAR_0)
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn days_of_dos_dates() {
        let date = |year: u16, month: u16, day: u16| (year - 1980) << 9 | month << 5 | day;
        assert_eq!(day(date(1980, 1, 1)), Some(3652));
        assert_eq!(day(date(2000, 2, 29)), Some(11_016));
        assert_eq!(day(date(2000, 3, 1)), Some(11_017));
        assert_eq!(day(date(2008, 1, 30)), Some(13_908));
        assert_eq!(day(date(2107, 12, 31)), Some(50_402));
        assert_eq!((day(0), day(date(2000, 13, 1)), day(date(2000, 1, 0))), (None, None, None));
    }
}

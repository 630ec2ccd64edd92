//! The record header of pcap, and what follows from it alone.

use super::header::{FileHeader, Lengths};
use crate::container::resync::Framing;
use crate::limits;

/// Bytes of the standard record header.
pub const STANDARD: usize = 16;
/// Kuznetzov's: interface index, protocol, packet type and a pad follow.
pub const MODIFIED: usize = 24;
/// The same patch of 1999-09-15, with two processor numbers and a longer pad.
pub const MODIFIED_SMP: usize = 28;
/// Nokia's: four bytes follow.
pub const NOKIA: usize = 20;

/// Packet type "sent by this host" in a modified header (Linux PACKET_OUTGOING).
const PACKET_OUTGOING: u8 = 4;

/// The four numbers of a record header.
#[derive(Debug, Clone, Copy)]
pub struct RecordHeader {
    pub seconds: u32,
    /// Microseconds or nanoseconds.
    pub fraction: u32,
    pub captured: u32,
    pub wire: u32,
}

/// The layout of the records of one file.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub big_endian: bool,
    pub lengths: Lengths,
    /// Bytes of a record header.
    pub header: usize,
    /// First fraction that is a whole second.
    pub fraction_limit: u32,
    /// Nanoseconds of one unit of the fraction.
    pub fraction_ns: u32,
    /// Largest captured length accepted.
    pub cap: u32,
}

impl Layout {
    pub fn of(file: &FileHeader) -> Layout {
        Layout {
            big_endian: file.big_endian,
            lengths: file.lengths,
            header: if file.modified { MODIFIED } else { STANDARD },
            fraction_limit: if file.nano { 1_000_000_000 } else { 1_000_000 },
            fraction_ns: if file.nano { 1 } else { 1000 },
            cap: file.record_cap(),
        }
    }

    /// Parse the first 16 bytes of a record header.
    #[inline]
    pub fn parse(&self, b: &[u8; STANDARD]) -> RecordHeader {
        let word = |i: usize| {
            let w = [b[i], b[i + 1], b[i + 2], b[i + 3]];
            if self.big_endian {
                u32::from_be_bytes(w)
            } else {
                u32::from_le_bytes(w)
            }
        };
        let (first, second) = (word(8), word(12));
        let swap = match self.lengths {
            Lengths::CapturedFirst => false,
            Lengths::WireFirst => true,
            Lengths::SmallerIsCaptured => first > second,
        };
        let (captured, wire) = if swap { (second, first) } else { (first, second) };
        RecordHeader { seconds: word(0), fraction: word(4), captured, wire }
    }

    /// Nanoseconds since 1970; None for a fraction of two seconds or more.
    ///
    /// A fraction between one and two seconds is a carry that the writer left out (aireplay-ng does).
    #[inline]
    pub fn time_ns(&self, h: &RecordHeader) -> Option<i64> {
        (h.fraction < 2 * self.fraction_limit)
            .then(|| i64::from(h.seconds) * 1_000_000_000 + i64::from(h.fraction) * i64::from(self.fraction_ns))
    }

    /// Whether a modified header says that this host sent the packet.
    ///
    /// "Received" is type 0, which is also the default of other writers: it gives no direction.
    pub fn outgoing(&self, header: &[u8]) -> Option<bool> {
        let modified = self.header == MODIFIED || self.header == MODIFIED_SMP;
        (modified && header.get(22) == Some(&PACKET_OUTGOING)).then_some(true)
    }
}

impl Framing for Layout {
    type Header = RecordHeader;

    fn header_bytes(&self) -> usize {
        self.header
    }

    fn parse_at(&self, data: &[u8], at: usize) -> Option<RecordHeader> {
        let bytes = data.get(at..at.checked_add(self.header)?)?;
        Some(self.parse(bytes.first_chunk()?))
    }

    fn next(&self, at: usize, header: &RecordHeader) -> usize {
        at.saturating_add(self.header).saturating_add(header.captured as usize)
    }

    fn clock(&self, header: &RecordHeader) -> i64 {
        i64::from(header.seconds)
    }

    fn plausible(&self, h: &RecordHeader, near: Option<i64>) -> bool {
        h.captured > 0
            && h.captured <= self.cap.min(limits::RECORD_BYTES as u32)
            && h.captured <= h.wire
            && h.wire <= limits::WIRE_BYTES
            && h.fraction < self.fraction_limit
            && near.is_none_or(|s| s.abs_diff(i64::from(h.seconds)) <= limits::NEAR_SECONDS)
    }
}

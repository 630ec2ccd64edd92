//! The records of DOS Sniffer captures.

use super::header::{record_type, FileHeader, Link, RECORD_HEADER};
use crate::container::resync::Framing;
use crate::limits;

const US_OF_DAY: i64 = 86_400_000_000;
/// Bytes between the record header and the frame.
const FRAME_2: usize = 14;
const FRAME_6: usize = 34;

/// A record header, with the fields after it in a frame record.
#[derive(Debug, Clone, Copy)]
pub struct RecordHeader {
    pub kind: u16,
    /// Bytes after the record header.
    pub length: u16,
    /// Bytes of them before the frame; 0 in a record without one.
    pub before: usize,
    /// Ticks since midnight or since the start, 40 bits.
    ticks: u64,
    days: u8,
    pub captured: u16,
    /// 0: as captured.
    wire: u16,
    /// Frame status.
    status: u8,
}

impl RecordHeader {
    pub fn wire(&self) -> u16 {
        if self.wire == 0 {
            self.captured
        } else {
            self.wire
        }
    }

    /// On a serial line: sent by the terminal (DTE).
    pub fn sent_by_terminal(&self) -> bool {
        self.status & 0x80 != 0
    }

    /// Bytes of the record that can be the frame.
    pub fn room(&self) -> usize {
        usize::from(self.length).saturating_sub(self.before)
    }

    pub fn is_frame(&self) -> bool {
        self.before > 0
    }
}

/// The clock of one file.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    tick_ps: u32,
    start_ns: i64,
}

impl Layout {
    pub fn of(file: &FileHeader) -> Layout {
        Layout { tick_ps: file.tick_ps, start_ns: file.day.unwrap_or(0) * US_OF_DAY * 1000 }
    }

    /// Nanoseconds since 1970, truncated like the ticks (2^40 ticks of 15 us are half a year).
    pub fn time_ns(&self, h: &RecordHeader) -> i64 {
        let ns = h.ticks * u64::from(self.tick_ps) / 1000;
        self.start_ns + i64::from(h.days) * US_OF_DAY * 1000 + ns as i64
    }

    /// Whether two records are too far apart in time to be neighbours.
    pub fn far(&self, h: &RecordHeader, clock: i64) -> bool {
        self.clock(h).abs_diff(clock) > limits::NEAR_SECONDS * 1_000_000
    }
}

/// LINKTYPE_ of a record; of a serial line's by the first bytes of the frame.
pub fn link_type(link: Link, frame: &[u8]) -> u16 {
    const PPP: u16 = 9;
    const C_HDLC: u16 = 104;
    const LAPB_WITH_DIR: u16 = 207;
    match (link, frame) {
        (Link::Of(link_type), _) => link_type,
        // RFC 1662 section 3.1: the all-stations address.
        (Link::Serial, [0xff, ..] | []) => PPP,
        (Link::Serial, [0x0f | 0x8f, 0, ..]) => C_HDLC,
        (Link::Serial, _) => LAPB_WITH_DIR,
    }
}

impl Framing for Layout {
    type Header = RecordHeader;

    fn header_bytes(&self) -> usize {
        RECORD_HEADER
    }

    /// A frame record that is cut in its fixed fields is invalid.
    fn parse_at(&self, data: &[u8], at: usize) -> Option<RecordHeader> {
        let b = data.get(at..)?;
        let h: &[u8; RECORD_HEADER] = b.first_chunk()?;
        let (kind, length) = (u16::from_le_bytes([h[0], h[1]]), u16::from_le_bytes([h[2], h[3]]));
        let before = match kind {
            record_type::FRAME_2 => FRAME_2,
            record_type::FRAME_6 => FRAME_6,
            _ => 0,
        };
        let mut header = RecordHeader { kind, length, before, ticks: 0, days: 0, captured: 0, wire: 0, status: 0 };
        if before > 0 && usize::from(length) >= before {
            let f: &[u8; 12] = b.get(RECORD_HEADER..)?.first_chunk()?;
            header.ticks = u64::from_le_bytes([f[0], f[1], f[2], f[3], f[4], 0, 0, 0]);
            header.days = f[5];
            header.captured = u16::from_le_bytes([f[6], f[7]]);
            header.status = f[8];
            header.wire = u16::from_le_bytes([f[10], f[11]]);
        }
        Some(header)
    }

    fn next(&self, at: usize, header: &RecordHeader) -> usize {
        at.saturating_add(RECORD_HEADER).saturating_add(usize::from(header.length))
    }

    /// Microseconds since the day of the capture began.
    fn clock(&self, h: &RecordHeader) -> i64 {
        i64::from(h.days) * US_OF_DAY + (h.ticks * u64::from(self.tick_ps) / 1_000_000) as i64
    }

    fn plausible(&self, h: &RecordHeader, near: Option<i64>) -> bool {
        if h.kind == record_type::END {
            return h.length == 0;
        }
        h.is_frame()
            && h.captured > 0
            && usize::from(h.captured) <= h.room()
            && h.captured <= h.wire()
            && !self.far(h, near.unwrap_or(0))
    }
}

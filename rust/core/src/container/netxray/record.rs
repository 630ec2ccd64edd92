//! The record headers of NetXRay and Windows Sniffer captures.

use super::header::{FileHeader, Generation};
use crate::container::resync::Framing;
use crate::limits;

/// The common part of the record headers.
#[derive(Debug, Clone, Copy)]
pub struct RecordHeader {
    pub ticks: u64,
    pub wire: u16,
    pub captured: u16,
}

/// The layout of the records of one file, and their clock.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    header: usize,
    one_length: bool,
    start_s: u32,
    start_ticks: u64,
    ticks_per_s: u32,
}

impl Layout {
    pub fn of(file: &FileHeader) -> Layout {
        Layout {
            header: match file.generation {
                Generation::Old => 16,
                Generation::One => 28,
                Generation::Two => 40,
            },
            one_length: file.generation == Generation::Old,
            start_s: file.start_s,
            start_ticks: file.start_ticks,
            ticks_per_s: file.ticks_per_s,
        }
    }

    /// Nanoseconds since 1970, rounded; None where i64 cannot hold them.
    pub fn time_ns(&self, h: &RecordHeader) -> Option<i64> {
        const NS: i64 = 1_000_000_000;
        let per_second = i64::from(self.ticks_per_s);
        // Both counters have 64 bits and an unknown origin: only their difference is meaningful.
        let since = h.ticks.wrapping_sub(self.start_ticks) as i64;
        let fraction = (since.rem_euclid(per_second) * NS + per_second / 2) / per_second;
        since
            .div_euclid(per_second)
            .checked_add(i64::from(self.start_s))
            .and_then(|s| s.checked_mul(NS))
            .and_then(|ns| ns.checked_add(fraction))
    }

    /// Whether two records are too far apart in time to be neighbours.
    pub fn far(&self, h: &RecordHeader, clock: i64) -> bool {
        self.clock(h).abs_diff(clock) > limits::NEAR_SECONDS * u64::from(self.ticks_per_s)
    }
}

impl Framing for Layout {
    type Header = RecordHeader;

    fn header_bytes(&self) -> usize {
        self.header
    }

    #[inline]
    fn parse_at(&self, data: &[u8], at: usize) -> Option<RecordHeader> {
        let b: &[u8; 12] = data.get(at..at.checked_add(self.header)?)?.first_chunk()?;
        let wire = u16::from_le_bytes([b[8], b[9]]);
        Some(RecordHeader {
            ticks: u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            wire,
            captured: if self.one_length { wire } else { u16::from_le_bytes([b[10], b[11]]) },
        })
    }

    fn next(&self, at: usize, header: &RecordHeader) -> usize {
        at.saturating_add(self.header).saturating_add(usize::from(header.captured))
    }

    fn clock(&self, header: &RecordHeader) -> i64 {
        header.ticks.wrapping_sub(self.start_ticks) as i64
    }

    fn plausible(&self, h: &RecordHeader, near: Option<i64>) -> bool {
        // Without a neighbour, a record must be near the start of the capture.
        h.captured > 0 && h.captured <= h.wire && !self.far(h, near.unwrap_or(0))
    }
}

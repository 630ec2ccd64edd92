//! pcap: a file header, then records of a header and the captured bytes.
//!
//! Source: draft-ietf-opsawg-pcap.

use super::bytes::Bytes;
use super::framed::{Framed, Verdict};
use super::resync::{self, Framing};
use crate::container::record::{Interface, Record, RecordSource, Sniffed};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::notes::{NoteKind, Notes};

mod header;
mod record;

use header::FileHeader;
pub use header::{is_pcap, record_cap, FILE_HEADER};
use record::{Layout, RecordHeader, MODIFIED, MODIFIED_SMP, NOKIA, STANDARD};

/// Reads the records of one or several concatenated pcap files.
pub struct PcapSource {
    framed: Framed<Layout>,
    file: FileHeader,
    /// Records longer than this contradict the file header.
    snaplen: u32,
    compression: &'static str,
    interfaces: Vec<Interface>,
    /// Of the current file header, counted over all of them.
    interface: u32,
    /// Seconds of the previous record, and how often they ran over.
    seconds: Option<u32>,
    wraps: i64,
}

/// The seconds ran over if they were this near to their end, and are this near to 0 now: a day, far below any clock step.
const WRAP_SECONDS: u32 = 86_400;

impl PcapSource {
    /// `bytes` begins with a pcap magic number.
    pub fn open(mut bytes: Bytes, compression: &'static str) -> Result<Self> {
        bytes.fill(FILE_HEADER);
        let file = FileHeader::parse(bytes.data())?;
        let mut source = PcapSource {
            framed: Framed::new(bytes, Layout::of(&file)),
            file,
            snaplen: u32::MAX,
            compression,
            interfaces: Vec::new(),
            interface: 0,
            seconds: None,
            wraps: 0,
        };
        source.start_file(file);
        Ok(source)
    }

    /// Take the file header at the front of the bytes.
    fn start_file(&mut self, file: FileHeader) {
        self.framed.bytes.consume(FILE_HEADER);
        self.file = file;
        self.framed.framing = Layout::of(&file);
        self.framed.framing.header = self.header_bytes();
        self.snaplen = if file.snaplen == 0 { u32::MAX } else { file.snaplen };
        self.framed.forget_clock();
        (self.seconds, self.wraps) = (None, 0);
        if self.interfaces.len() < limits::INTERFACES_SHOWN {
            self.interfaces.push(Interface {
                link_type: file.link_type,
                snaplen: file.snaplen,
                ..Interface::default()
            });
        }
    }

    /// Length of the record headers. Patched programs kept the magic number and wrote longer ones, so
    /// another length is tried when the first records are implausible and become plausible with it.
    fn header_bytes(&mut self) -> usize {
        let (first, others): (usize, &[usize]) =
            if self.file.modified { (MODIFIED, &[MODIFIED_SMP, STANDARD]) } else { (STANDARD, &[MODIFIED, NOKIA]) };
        let with = |header| Layout { header, ..self.framed.framing };
        if !self.framed.bytes.fill(first) {
            return first;
        }
        let layout = with(first);
        let one = layout.parse_at(self.framed.bytes.data(), 0);
        if let Some(h) = one.filter(|h| layout.plausible(h, None)) {
            let next = layout.next(0, &h);
            if !self.framed.bytes.fill(next + first) {
                return first;
            }
            if layout
                .parse_at(self.framed.bytes.data(), next)
                .is_some_and(|n| layout.plausible(&n, Some(layout.clock(&h))))
            {
                return first;
            }
        }
        let whole = !self.framed.bytes.fill(limits::PATCH_BYTES);
        let fits = |header: &&usize| resync::chain(self.framed.bytes.data(), 0, &with(**header), None, whole);
        if fits(&&first) {
            return first;
        }
        others.iter().find(fits).copied().unwrap_or(first)
    }

    /// Handle an unusual header; `notes` records the anomaly.
    fn examine(&mut self, h: &RecordHeader, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.framed.records + 1, self.framed.bytes.offset());
        if h.captured == 0 {
            match self.nothing_captured(h, notes) {
                Verdict::Keep => {}
                other => return other,
            }
        }
        let next = self.framed.framing.next(0, h);
        if h.captured > self.framed.framing.cap {
            let believed = h.captured as usize <= limits::OVERSIZED_RECORD_BYTES
                && h.fraction < self.framed.framing.fraction_limit
                && h.captured <= h.wire
                && self.record_follows(next);
            if believed {
                notes.add(NoteKind::OversizedRecord, packet, offset);
                return Verdict::Cut;
            }
            return self.framed.damaged(notes);
        }
        let contradiction =
            h.captured > h.wire || h.wire > limits::WIRE_BYTES || h.fraction >= self.framed.framing.fraction_limit;
        if contradiction && !self.record_follows(next) {
            return self.framed.damaged(notes);
        }
        if h.captured > h.wire {
            notes.add(NoteKind::CaptureOverWire, packet, offset);
        }
        if h.fraction >= self.framed.framing.fraction_limit {
            let kind = match self.framed.framing.time_ns(h) {
                Some(_) => NoteKind::FractionOverSecond,
                None => NoteKind::TimeNotRepresentable,
            };
            notes.add(kind, packet, offset);
        }
        if h.wire > limits::WIRE_BYTES {
            notes.add(NoteKind::WireLengthImplausible, packet, offset);
        }
        if h.captured > self.snaplen {
            notes.add(NoteKind::OverSnaplen, packet, offset);
        }
        Verdict::Keep
    }

    /// A header without captured bytes: another file's header, zeros, or an empty record.
    fn nothing_captured(&mut self, h: &RecordHeader, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.framed.records + 1, self.framed.bytes.offset());
        if is_pcap(self.framed.bytes.data()) && self.framed.bytes.fill(FILE_HEADER) {
            if let Ok(file) = FileHeader::parse(self.framed.bytes.data()) {
                notes.add(NoteKind::SecondHeader, packet, offset);
                self.interface += 1;
                self.start_file(file);
                return Verdict::Again;
            }
        }
        if h.seconds == 0 && h.fraction == 0 && h.wire == 0 {
            return self.framed.skip_zeros(notes);
        }
        self.framed.empty(notes)
    }

    /// The time of a record; seconds have 32 bits, which run over in February 2106.
    #[inline]
    fn time_ns(&mut self, h: &RecordHeader, notes: &mut Notes) -> Option<i64> {
        let time_ns = self.framed.framing.time_ns(h)?;
        if let Some(last) = self.seconds.replace(h.seconds) {
            if last.abs_diff(h.seconds) > u32::MAX - 2 * WRAP_SECONDS {
                if last > h.seconds {
                    notes.add(NoteKind::TimeWrapped, self.framed.records + 1, self.framed.bytes.offset());
                    self.wraps += 1;
                } else if self.wraps > 0 {
                    // Out of order.
                    self.wraps -= 1;
                }
            }
        }
        time_ns.checked_add(self.wraps.checked_mul(1_000_000_000 << 32)?)
    }

    /// Whether there is a header with a plausible length, or exactly the end, `at` bytes further.
    fn record_follows(&mut self, at: usize) -> bool {
        if !self.framed.bytes.fill(at.saturating_add(self.framed.framing.header)) {
            return self.framed.bytes.available() == at;
        }
        let next = self.framed.framing.parse_at(self.framed.bytes.data(), at);
        next.is_some_and(|h| h.captured <= self.framed.framing.cap)
    }
}

impl RecordSource for PcapSource {
    fn next_record<'a>(&'a mut self, notes: &mut Notes) -> Result<Option<Record<'a>>> {
        loop {
            let header_bytes = self.framed.framing.header;
            if self.framed.done {
                return Ok(None);
            }
            if !self.framed.bytes.fill(header_bytes) {
                if self.framed.bytes.available() > 0 {
                    notes.add(NoteKind::CutFile, self.framed.records + 1, self.framed.bytes.offset());
                }
                self.framed.end(notes)?;
                return Ok(None);
            }
            let Some(first) = self.framed.bytes.data().first_chunk() else {
                return Err(Error::new(ErrorKind::CorruptCapture, "a record header is shorter than 16 bytes"));
            };
            let h = self.framed.framing.parse(first);
            let mut take = h.captured as usize;
            let odd = h.captured == 0
                || h.captured > self.framed.framing.cap.min(self.snaplen)
                || h.captured > h.wire
                || h.wire > limits::WIRE_BYTES
                || h.fraction >= self.framed.framing.fraction_limit;
            if odd {
                match self.examine(&h, notes) {
                    Verdict::Keep => {}
                    Verdict::Cut => take = self.framed.framing.cap as usize,
                    Verdict::Again => continue,
                    Verdict::End => {
                        self.framed.end(notes)?;
                        return Ok(None);
                    }
                }
            }
            let total = header_bytes + h.captured as usize;
            if !self.framed.bytes.fill(total) {
                match self.framed.cut(notes) {
                    Verdict::Again => continue,
                    _ => {
                        self.framed.end(notes)?;
                        return Ok(None);
                    }
                }
            }
            let time_ns = self.time_ns(&h, notes);
            self.framed.took(time_ns.map(|_| i64::from(h.seconds)), h.captured as usize);
            let offset = self.framed.bytes.offset();
            let outgoing = self.framed.framing.outgoing(self.framed.bytes.data());
            let whole = self.framed.bytes.advance(total);
            return Ok(Some(Record {
                time_ns,
                wire_bytes: h.wire,
                data: &whole[header_bytes..header_bytes + take],
                link_type: self.file.link_type,
                interface: self.interface,
                fcs_bytes: self.file.fcs_bytes,
                outgoing,
                offset,
                radio: None,
            }));
        }
    }

    fn sniffed(&self) -> Sniffed {
        Sniffed { format: "pcap".into(), compression: self.compression }
    }

    fn interfaces(&self) -> Vec<Interface> {
        self.interfaces.clone()
    }

    fn texts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;

//! pcap: a file header, then records of a header and the captured bytes.
//!
//! Source: draft-ietf-opsawg-pcap.

use super::bytes::Bytes;
use super::{Interface, Record, RecordSource, Sniffed};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::notes::{NoteKind, Notes};

mod header;
mod record;
mod resync;

use header::FileHeader;
pub use header::{is_pcap, is_readable, record_cap, FILE_HEADER};
use record::{Layout, RecordHeader, MODIFIED, MODIFIED_SMP, NOKIA, STANDARD};

/// Reads the records of one or several concatenated pcap files.
pub struct PcapSource {
    bytes: Bytes,
    layout: Layout,
    file: FileHeader,
    /// Records longer than this contradict the file header.
    snaplen: u32,
    compression: &'static str,
    interfaces: Vec<Interface>,
    /// Of the file header in force, counted over all of them.
    interface: u32,
    records: u64,
    /// Records without a byte in a row.
    empty_run: u64,
    /// Seconds of the last record, and of the one before it: only that one is known to be sound,
    /// because a header followed it.
    last: Option<u32>,
    near: Option<u32>,
    resyncs: u32,
    done: bool,
}

/// What to do with a header that is not an everyday one.
enum Verdict {
    /// Give this record out.
    Keep,
    /// Give out the first bytes of it.
    Cut,
    /// Something else was done about it; look again.
    Again,
    End,
}

impl PcapSource {
    /// `bytes` begins with a pcap magic number.
    pub fn open(mut bytes: Bytes, compression: &'static str) -> Result<Self> {
        bytes.fill(FILE_HEADER);
        let file = FileHeader::parse(bytes.data())?;
        let mut source = PcapSource {
            layout: Layout::of(&file),
            bytes,
            file,
            snaplen: u32::MAX,
            compression,
            interfaces: Vec::new(),
            interface: 0,
            records: 0,
            empty_run: 0,
            last: None,
            near: None,
            resyncs: 0,
            done: false,
        };
        source.start_file(file);
        Ok(source)
    }

    /// Take the file header at the front of the bytes.
    fn start_file(&mut self, file: FileHeader) {
        self.bytes.consume(FILE_HEADER);
        self.file = file;
        self.layout = Layout::of(&file);
        self.layout.header = self.header_bytes();
        self.snaplen = if file.snaplen == 0 { u32::MAX } else { file.snaplen };
        self.last = None;
        self.near = None;
        if self.interfaces.len() < limits::INTERFACES_SHOWN {
            self.interfaces.push(Interface {
                link_type: file.link_type,
                snaplen: file.snaplen,
                ..Interface::default()
            });
        }
    }

    /// Length of the record headers. Patched programs kept the magic number and wrote longer ones, so
    /// another length is tried when the first records make no sense and do with that one.
    fn header_bytes(&mut self) -> usize {
        let (first, others): (usize, &[usize]) =
            if self.file.modified { (MODIFIED, &[MODIFIED_SMP, STANDARD]) } else { (STANDARD, &[MODIFIED, NOKIA]) };
        let with = |header| Layout { header, ..self.layout };
        if !self.bytes.fill(first) {
            return first;
        }
        let layout = with(first);
        let one = layout.parse_at(self.bytes.data(), 0);
        if let Some(h) = one.filter(|h| layout.plausible(h, None)) {
            let next = layout.next(0, &h);
            if !self.bytes.fill(next + first) {
                return first;
            }
            if layout.parse_at(self.bytes.data(), next).is_some_and(|n| layout.plausible(&n, Some(h.seconds))) {
                return first;
            }
        }
        let whole = !self.bytes.fill(limits::PATCH_BYTES);
        let fits = |header: &&usize| resync::chain(self.bytes.data(), 0, &with(**header), None, whole);
        if fits(&&first) {
            return first;
        }
        others.iter().find(fits).copied().unwrap_or(first)
    }

    /// Judge a header that is odd in some way, with `notes` for what is.
    fn examine(&mut self, h: &RecordHeader, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.records + 1, self.bytes.offset());
        if h.captured == 0 {
            match self.nothing_captured(h, notes) {
                Verdict::Keep => {}
                other => return other,
            }
        }
        let next = self.layout.next(0, h);
        if h.captured > self.layout.cap {
            let believed = h.captured as usize <= limits::OVERSIZED_RECORD_BYTES
                && h.fraction < self.layout.fraction_limit
                && h.captured <= h.wire
                && self.record_follows(next);
            if believed {
                notes.add(NoteKind::OversizedRecord, packet, offset);
                return Verdict::Cut;
            }
            return self.damaged(notes);
        }
        let contradiction =
            h.captured > h.wire || h.wire > limits::WIRE_BYTES || h.fraction >= self.layout.fraction_limit;
        if contradiction && !self.record_follows(next) {
            return self.damaged(notes);
        }
        if h.captured > h.wire {
            notes.add(NoteKind::CaptureOverWire, packet, offset);
        }
        if h.fraction >= self.layout.fraction_limit {
            let kind = match self.layout.time_ns(h) {
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

    /// A header that claims no captured byte: another file's header, zeros, or indeed an empty record.
    fn nothing_captured(&mut self, h: &RecordHeader, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.records + 1, self.bytes.offset());
        if is_pcap(self.bytes.data()) && self.bytes.fill(FILE_HEADER) {
            if let Ok(file) = FileHeader::parse(self.bytes.data()) {
                notes.add(NoteKind::SecondHeader, packet, offset);
                self.interface += 1;
                self.start_file(file);
                return Verdict::Again;
            }
        }
        if h.seconds == 0 && h.fraction == 0 && h.wire == 0 {
            return self.skip_zeros(notes);
        }
        notes.add(NoteKind::EmptyRecords, packet, offset);
        self.empty_run += 1;
        if self.empty_run > limits::EMPTY_RUN {
            notes.add(NoteKind::EmptyRun, packet, offset);
            return Verdict::End;
        }
        Verdict::Keep
    }

    /// Zeros where a record should be: skip them and look for a record behind.
    fn skip_zeros(&mut self, notes: &mut Notes) -> Verdict {
        let (packet, begin) = (self.records + 1, self.bytes.offset());
        let more = self.past_zeros(begin);
        let verdict = if more { self.search(notes, begin) } else { Verdict::End };
        notes.add_many(NoteKind::ZeroRun, self.bytes.offset() - begin, packet, begin);
        verdict
    }

    /// Go on to the last bytes before something else; false at the end or when there are too many.
    fn past_zeros(&mut self, begin: u64) -> bool {
        while self.bytes.fill(STANDARD) {
            // The first bytes of the record behind may be zeros themselves.
            match self.bytes.data().iter().position(|b| *b != 0) {
                Some(at) => {
                    self.bytes.consume(at.saturating_sub(STANDARD - 1));
                    return true;
                }
                None => self.bytes.consume(self.bytes.available() - (STANDARD - 1)),
            }
            if self.bytes.offset() - begin > limits::ZERO_BYTES {
                return false;
            }
        }
        self.bytes.consume(self.bytes.available());
        false
    }

    /// The framing is lost at this offset: look for the next record.
    fn damaged(&mut self, notes: &mut Notes) -> Verdict {
        let (packet, begin) = (self.records + 1, self.bytes.offset());
        self.bytes.consume(1);
        let verdict = self.search(notes, begin);
        notes.add_many(NoteKind::BytesSkipped, self.bytes.offset() - begin, packet, begin);
        verdict
    }

    fn search(&mut self, notes: &mut Notes, begin: u64) -> Verdict {
        self.resyncs += 1;
        if self.resyncs <= limits::RESYNC_TIMES && resync::resync(&mut self.bytes, &self.layout, self.near) {
            return Verdict::Again;
        }
        notes.add(NoteKind::RestUnreadable, self.records + 1, begin);
        Verdict::End
    }

    /// Whether, `at` bytes further, there is a header with a credible length or exactly the end.
    fn record_follows(&mut self, at: usize) -> bool {
        if !self.bytes.fill(at.saturating_add(self.layout.header)) {
            return self.bytes.available() == at;
        }
        let next = self.layout.parse_at(self.bytes.data(), at);
        next.is_some_and(|h| h.captured <= self.layout.cap)
    }

    /// The stream ended inside the record at the front.
    fn cut(&mut self, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.records + 1, self.bytes.offset());
        match resync::records_to_the_end(self.bytes.data(), &self.layout, self.near) {
            Some(from) => {
                notes.add_many(NoteKind::BytesSkipped, from as u64, packet, offset);
                self.bytes.consume(from);
                Verdict::Again
            }
            None => {
                notes.add(NoteKind::CutFile, packet, offset);
                Verdict::End
            }
        }
    }

    /// Say once what is known only at the end.
    fn end(&mut self, notes: &mut Notes) -> Result<()> {
        if self.done {
            return Ok(());
        }
        self.done = true;
        if self.records == 0 {
            if let Some(e) = self.bytes.take_failure() {
                return Err(Error::from(e));
            }
            notes.add(NoteKind::NoPackets, 0, self.bytes.offset());
        }
        self.bytes.report(notes);
        Ok(())
    }
}

impl RecordSource for PcapSource {
    fn next_record<'a>(&'a mut self, notes: &mut Notes) -> Result<Option<Record<'a>>> {
        loop {
            let header_bytes = self.layout.header;
            if self.done {
                return Ok(None);
            }
            if !self.bytes.fill(header_bytes) {
                if self.bytes.available() > 0 {
                    notes.add(NoteKind::CutFile, self.records + 1, self.bytes.offset());
                }
                self.end(notes)?;
                return Ok(None);
            }
            let Some(first) = self.bytes.data().first_chunk() else {
                return Err(Error::new(ErrorKind::CorruptCapture, "a record header shorter than 16 bytes"));
            };
            let h = self.layout.parse(first);
            let mut take = h.captured as usize;
            let odd = h.captured == 0
                || h.captured > self.layout.cap.min(self.snaplen)
                || h.captured > h.wire
                || h.wire > limits::WIRE_BYTES
                || h.fraction >= self.layout.fraction_limit;
            if odd {
                match self.examine(&h, notes) {
                    Verdict::Keep => {}
                    Verdict::Cut => take = self.layout.cap as usize,
                    Verdict::Again => continue,
                    Verdict::End => {
                        self.end(notes)?;
                        return Ok(None);
                    }
                }
            }
            let total = header_bytes + h.captured as usize;
            if !self.bytes.fill(total) {
                match self.cut(notes) {
                    Verdict::Again => continue,
                    _ => {
                        self.end(notes)?;
                        return Ok(None);
                    }
                }
            }
            if h.captured > 0 {
                self.empty_run = 0;
            }
            self.records += 1;
            let time_ns = self.layout.time_ns(&h);
            if time_ns.is_some() {
                self.near = self.last.replace(h.seconds);
            }
            let offset = self.bytes.offset();
            let whole = self.bytes.advance(total);
            return Ok(Some(Record {
                time_ns,
                wire_bytes: h.wire,
                data: &whole[header_bytes..header_bytes + take],
                link_type: self.file.link_type,
                interface: self.interface,
                fcs_bytes: self.file.fcs_bytes,
                outgoing: self.layout.outgoing(&whole[..header_bytes]),
                offset,
            }));
        }
    }

    fn sniffed(&self) -> Sniffed {
        Sniffed { format: "pcap", compression: self.compression, readable: true }
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

//! DOS Sniffer (`.enc`, `.trc`, `.syc`): records of a type and a length, in later versions compressed.
//!
//! Sources as in `header`.

use super::bytes::Bytes;
use super::framed::{Framed, Verdict};
use super::resync::Framing;
use crate::container::record::{Interface, Record, RecordSource, Sniffed};
use crate::error::Result;
use crate::notes::{NoteKind, Notes};

mod blocks;
mod header;
mod record;

use blocks::Blocks;
pub use header::is_sniffer;
use header::{record_type, FileHeader, DATE_AT, RECORD_HEADER};
use record::{link_type, Layout, RecordHeader};

/// Reads the records of one file.
pub struct SnifferSource {
    framed: Framed<Layout>,
    file: FileHeader,
    compression: &'static str,
}

impl SnifferSource {
    /// `bytes` begins with the magic text.
    pub fn open(mut bytes: Bytes, compression: &'static str) -> Result<Self> {
        let file = FileHeader::read(&mut bytes)?;
        let begin = bytes.offset();
        let bytes = if file.compressed { Bytes::going_on(Box::new(Blocks::new(bytes)), begin) } else { bytes };
        Ok(SnifferSource { framed: Framed::new(bytes, Layout::of(&file)), file, compression })
    }

    fn end(&mut self, notes: &mut Notes) -> Result<()> {
        notes.add(if self.file.day.is_some() { NoteKind::LocalTime } else { NoteKind::NoDate }, 0, DATE_AT);
        self.framed.end(notes)
    }

    /// The record that ends the capture.
    fn end_record(&mut self, h: &RecordHeader, notes: &mut Notes) -> Result<()> {
        self.framed.bytes.skip((RECORD_HEADER + usize::from(h.length)) as u64);
        if self.framed.bytes.fill(1) {
            notes.add(NoteKind::TrailingBytes, self.framed.records + 1, self.framed.bytes.offset());
        }
        self.end(notes)
    }

    /// A record without a frame.
    fn no_frame(&mut self, h: &RecordHeader, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.framed.records + 1, self.framed.bytes.offset());
        if h.kind == 0 && h.length == 0 {
            return self.framed.skip_zeros(notes);
        }
        if !self.record_follows(h) {
            return self.framed.damaged(notes);
        }
        notes.add(NoteKind::BlockSkipped, packet, offset);
        self.framed.bytes.consume(RECORD_HEADER + usize::from(h.length));
        self.framed.skipped(notes)
    }

    /// Handle an unusual frame record.
    fn examine(&mut self, h: &RecordHeader, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.framed.records + 1, self.framed.bytes.offset());
        let far = self.framed.last().is_some_and(|last| self.framed.framing.far(h, last));
        let over = usize::from(h.captured) > h.room();
        if (far || over || h.captured > h.wire() || usize::from(h.length) < h.before) && !self.record_follows(h) {
            return self.framed.damaged(notes);
        }
        if usize::from(h.length) < h.before {
            notes.add(NoteKind::BlockShort, packet, offset);
            self.framed.bytes.consume(RECORD_HEADER + usize::from(h.length));
            return self.framed.skipped(notes);
        }
        if over {
            notes.add(NoteKind::PacketOverBlock, packet, offset);
        }
        if h.captured > h.wire() {
            notes.add(NoteKind::CaptureOverWire, packet, offset);
        }
        if h.captured == 0 {
            return self.framed.empty(notes);
        }
        Verdict::Keep
    }

    /// Whether a plausible header or exactly the end follows the record at the front.
    fn record_follows(&mut self, h: &RecordHeader) -> bool {
        let (layout, last) = (self.framed.framing, self.framed.last());
        let at = layout.next(0, h);
        if !self.framed.bytes.fill(at.saturating_add(RECORD_HEADER)) {
            return self.framed.bytes.available() == at;
        }
        self.framed.bytes.fill(at.saturating_add(RECORD_HEADER + 12));
        layout.parse_at(self.framed.bytes.data(), at).is_some_and(|next| {
            matches!(next.kind, record_type::HEADER_1..=record_type::HEADER_7 if !next.is_frame())
                || layout.plausible(&next, last)
                || h.is_frame() && layout.plausible(&next, Some(layout.clock(h)))
        })
    }
}

impl RecordSource for SnifferSource {
    fn next_record<'a>(&'a mut self, notes: &mut Notes) -> Result<Option<Record<'a>>> {
        loop {
            let layout = self.framed.framing;
            if self.framed.done {
                return Ok(None);
            }
            if !self.framed.bytes.fill(RECORD_HEADER) {
                // A capture may end without an end record.
                if self.framed.bytes.available() > 0 {
                    notes.add(NoteKind::CutFile, self.framed.records + 1, self.framed.bytes.offset());
                }
                self.end(notes)?;
                return Ok(None);
            }
            let length = u16::from_le_bytes([self.framed.bytes.data()[2], self.framed.bytes.data()[3]]);
            let total = RECORD_HEADER + usize::from(length);
            let whole = self.framed.bytes.fill(total);
            let header = layout.parse_at(self.framed.bytes.data(), 0);
            let verdict = match header {
                Some(h) if h.kind == record_type::END => {
                    self.end_record(&h, notes)?;
                    return Ok(None);
                }
                _ if !whole => self.framed.cut(notes),
                Some(h) if !h.is_frame() => match self.no_frame(&h, notes) {
                    Verdict::End => Verdict::End,
                    _ => Verdict::Again,
                },
                Some(h) if layout.plausible(&h, self.framed.last().or(Some(layout.clock(&h)))) => Verdict::Keep,
                Some(h) => self.examine(&h, notes),
                None => self.framed.damaged(notes),
            };
            let h = match (verdict, header) {
                (Verdict::Keep | Verdict::Cut, Some(h)) => h,
                (Verdict::Again, _) => continue,
                _ => {
                    self.end(notes)?;
                    return Ok(None);
                }
            };
            let take = usize::from(h.captured).min(h.room());
            self.framed.took(Some(layout.clock(&h)), take);
            let offset = self.framed.bytes.offset();
            let record = self.framed.bytes.advance(total);
            let data = &record[RECORD_HEADER + h.before..][..take];
            return Ok(Some(Record {
                time_ns: Some(layout.time_ns(&h)),
                wire_bytes: h.wire().into(),
                data,
                link_type: link_type(self.file.link, data),
                interface: 0,
                fcs_bytes: None,
                outgoing: self.file.wan.then(|| h.sent_by_terminal()),
                offset,
                radio: None,
            }));
        }
    }

    fn sniffed(&self) -> Sniffed {
        Sniffed { format: "sniffer".into(), compression: self.compression }
    }

    fn interfaces(&self) -> Vec<Interface> {
        vec![Interface { link_type: link_type(self.file.link, &[]), ..Interface::default() }]
    }

    fn texts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;

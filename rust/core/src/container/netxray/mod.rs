//! NetXRay and Windows Sniffer (`.cap`): a header of 128 bytes, then records of a header and the captured bytes.
//!
//! The format was never published; the facts are those that Wireshark's wiretap collected from captures.

use super::bytes::Bytes;
use super::framed::{Framed, Verdict};
use super::resync::Framing;
use crate::container::record::{Interface, Record, RecordSource, Sniffed};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::notes::{NoteKind, Notes};
use crate::phy::Radio;

mod header;
mod radio;
mod record;
mod ring;

pub use header::is_netxray;
use header::{FileHeader, Generation, FILE_HEADER, LINKTYPE_IEEE802_11};
use record::{Layout, RecordHeader};
use ring::Ring;

/// Bytes after the frame in records that have them: its FCS, or random bytes of that size.
const TRAILER: u16 = 4;

/// Reads the records of one file.
pub struct NetXRaySource {
    framed: Framed<Layout>,
    file: FileHeader,
    compression: &'static str,
    /// The radio parameters of the last 802.11 record.
    radio: Radio,
}

impl NetXRaySource {
    /// `bytes` begins with a NetXRay magic number.
    pub fn open(mut bytes: Bytes, compression: &'static str) -> Result<Self> {
        bytes.fill(FILE_HEADER);
        let file = FileHeader::parse(bytes.data())?;
        bytes.consume(FILE_HEADER);
        let bytes = if file.wrapped() { unwrap_ring(bytes, &file)? } else { bytes };
        let framed = Framed::new(bytes, Layout::of(&file));
        Ok(NetXRaySource { framed, file, compression, radio: Radio::default() })
    }

    /// Whether the last record, according to the file header, was read.
    fn at_end(&self) -> bool {
        !self.file.wrapped() && self.framed.bytes.offset() == self.file.end
    }

    fn end(&mut self, notes: &mut Notes) -> Result<()> {
        let (packet, offset) = (self.framed.records + 1, self.framed.bytes.offset());
        if self.at_end() && self.framed.bytes.fill(1) {
            notes.add(NoteKind::TrailingBytes, packet, offset);
        }
        let lost = [NoteKind::CutFile, NoteKind::BytesSkipped, NoteKind::ZeroRun, NoteKind::RestUnreadable];
        let missing = u64::from(self.file.frames).saturating_sub(self.framed.records);
        if missing > 0 && lost.iter().all(|kind| notes.get(*kind).count == 0) {
            notes.add_many(NoteKind::RecordsMissing, missing, packet, offset);
        }
        self.framed.end(notes)
    }

    /// Handle an unusual header.
    fn examine(&mut self, h: &RecordHeader, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.framed.records + 1, self.framed.bytes.offset());
        let layout = self.framed.framing;
        if h.captured == 0 {
            let header = self.framed.bytes.data().get(..layout.header_bytes()).unwrap_or_default();
            if header.iter().all(|b| *b == 0) {
                return self.framed.skip_zeros(notes);
            }
        }
        let far = self.framed.last().is_some_and(|last| layout.far(h, last));
        if (h.captured > h.wire || far) && !self.record_follows(h) {
            return self.framed.damaged(notes);
        }
        if h.captured > h.wire {
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
        if !self.framed.bytes.fill(at.saturating_add(layout.header_bytes())) {
            return self.framed.bytes.available() == at;
        }
        // One of the two clocks is damaged, or the capture really paused.
        layout
            .parse_at(self.framed.bytes.data(), at)
            .is_some_and(|next| layout.plausible(&next, last) || layout.plausible(&next, Some(layout.clock(h))))
    }
}

/// Put a ring in order: bytes before the oldest record are kept until those after it were read.
fn unwrap_ring(mut bytes: Bytes, file: &FileHeader) -> Result<Bytes> {
    let front = file.first - FILE_HEADER as u64;
    if front > limits::RING_BYTES as u64 {
        let what =
            format!("the Sniffer ring cannot be put in order: its oldest record is {front} bytes after its header");
        return Err(Error::new(ErrorKind::UnsupportedFormat, what)
            .at(file.first)
            .next("convert it with `editcap -F pcapng IN OUT`"));
    }
    bytes.fill(front as usize);
    let newest = (file.end - FILE_HEADER as u64) as usize;
    let kept = bytes.data().get(..newest).unwrap_or(bytes.data()).to_vec();
    bytes.consume(front as usize);
    let oldest = bytes.offset();
    Ok(Bytes::going_on(Box::new(Ring::new(bytes, kept)), oldest))
}

impl RecordSource for NetXRaySource {
    fn next_record<'a>(&'a mut self, notes: &mut Notes) -> Result<Option<Record<'a>>> {
        loop {
            let layout = self.framed.framing;
            let header_bytes = layout.header_bytes();
            if self.framed.done {
                return Ok(None);
            }
            let before = self.file.first.saturating_sub(self.framed.bytes.offset());
            if before > 0 && self.framed.records == 0 && self.framed.bytes.skip(before) < before {
                notes.add(NoteKind::CutFile, 1, self.framed.bytes.offset());
            }
            let last = self.at_end();
            if last || !self.framed.bytes.fill(header_bytes) {
                let offset = self.framed.bytes.offset();
                if !last && (self.framed.bytes.available() > 0 || offset < self.file.end) {
                    notes.add(NoteKind::CutFile, self.framed.records + 1, offset);
                }
                self.end(notes)?;
                return Ok(None);
            }
            let Some(h) = layout.parse_at(self.framed.bytes.data(), 0) else {
                return Err(Error::new(ErrorKind::CorruptCapture, "a record header is shorter than 16 bytes"));
            };
            let odd =
                h.captured == 0 || h.captured > h.wire || self.framed.last().is_some_and(|last| layout.far(&h, last));
            if odd {
                match self.examine(&h, notes) {
                    Verdict::Keep | Verdict::Cut => {}
                    Verdict::Again => continue,
                    Verdict::End => {
                        self.end(notes)?;
                        return Ok(None);
                    }
                }
            }
            let total = header_bytes + usize::from(h.captured);
            if !self.framed.bytes.fill(total) {
                match self.framed.cut(notes) {
                    Verdict::Again => continue,
                    _ => {
                        self.end(notes)?;
                        return Ok(None);
                    }
                }
            }
            let offset = self.framed.bytes.offset();
            let time_ns = layout.time_ns(&h);
            if time_ns.is_none() {
                notes.add(NoteKind::TimeNotRepresentable, self.framed.records + 1, offset);
            }
            self.framed.took(Some(layout.clock(&h)), h.captured.into());
            let whole = self.framed.bytes.advance(total);
            let (header, data) = whole.split_at(header_bytes);
            let two = self.file.generation == Generation::Two;
            let wireless = two && self.file.link_type == LINKTYPE_IEEE802_11;
            let trailer = two && !self.file.wan && header[14..16] == [0xff; 2];
            let junk = if trailer && !self.file.fcs { TRAILER } else { 0 };
            if wireless {
                self.radio = radio::radio(header);
            }
            return Ok(Some(Record {
                time_ns,
                wire_bytes: h.wire.saturating_sub(junk).into(),
                data: &data[..data.len().saturating_sub(junk.into())],
                link_type: self.file.link_type,
                interface: 0,
                fcs_bytes: match self.file.generation {
                    Generation::Old => None,
                    _ if trailer && self.file.fcs => Some(TRAILER as u8),
                    _ => Some(0),
                },
                outgoing: self.file.wan.then(|| header[24] & 1 != 0),
                offset,
                radio: wireless.then_some(&self.radio),
            }));
        }
    }

    fn sniffed(&self) -> Sniffed {
        Sniffed { format: "netxray".into(), compression: self.compression }
    }

    fn interfaces(&self) -> Vec<Interface> {
        vec![Interface { link_type: self.file.link_type, ..Interface::default() }]
    }

    fn texts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;

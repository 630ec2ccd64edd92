//! The common part of reading records: damage, zeros, cuts and the end.

use super::bytes::Bytes;
use super::resync::{self, Framing};
use crate::error::{Error, Result};
use crate::limits;
use crate::notes::{NoteKind, Notes};

/// What to do with an unusual header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Return this record.
    Keep,
    /// Return its first bytes.
    Cut,
    /// It was handled otherwise; read the next header.
    Again,
    End,
}

/// The bytes of a capture and the read position.
pub struct Framed<F> {
    pub bytes: Bytes,
    pub framing: F,
    pub records: u64,
    pub done: bool,
    /// Consecutive records without a byte.
    empty_run: u64,
    /// Clock of the last record, and of the one before it: only that one is verified,
    /// because a header followed it.
    last: Option<i64>,
    near: Option<i64>,
    resyncs: u32,
}

impl<F: Framing> Framed<F> {
    pub fn new(bytes: Bytes, framing: F) -> Self {
        Framed { bytes, framing, records: 0, done: false, empty_run: 0, last: None, near: None, resyncs: 0 }
    }

    /// Another file begins: its clock is independent of the previous one.
    pub fn forget_clock(&mut self) {
        (self.last, self.near) = (None, None);
    }

    /// Clock of the last record.
    pub fn last(&self) -> Option<i64> {
        self.last
    }

    /// A record was returned.
    #[inline]
    pub fn took(&mut self, clock: Option<i64>, captured: usize) {
        if captured > 0 {
            self.empty_run = 0;
        }
        self.records += 1;
        if clock.is_some() {
            self.near = std::mem::replace(&mut self.last, clock);
        }
    }

    /// A record without a captured byte.
    pub fn empty(&mut self, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.records + 1, self.bytes.offset());
        notes.add(NoteKind::EmptyRecords, packet, offset);
        self.empty_run += 1;
        if self.empty_run > limits::EMPTY_RUN {
            notes.add(NoteKind::EmptyRun, packet, offset);
            return Verdict::End;
        }
        Verdict::Keep
    }

    /// A record without a packet was skipped.
    pub fn skipped(&mut self, notes: &mut Notes) -> Verdict {
        self.empty_run += 1;
        if self.empty_run > limits::EMPTY_RUN {
            notes.add(NoteKind::EmptyRun, self.records + 1, self.bytes.offset());
            return Verdict::End;
        }
        Verdict::Again
    }

    /// Zeros in place of a record: skip them and search for a record after them.
    pub fn skip_zeros(&mut self, notes: &mut Notes) -> Verdict {
        let (packet, begin) = (self.records + 1, self.bytes.offset());
        let more = self.past_zeros(begin);
        let verdict = if more { self.search(notes, begin) } else { Verdict::End };
        notes.add_many(NoteKind::ZeroRun, self.bytes.offset() - begin, packet, begin);
        verdict
    }

    /// Skip to the last bytes before something else; false at the end or when there are too many.
    fn past_zeros(&mut self, begin: u64) -> bool {
        // The first bytes of the next record may be zeros themselves.
        let keep = self.framing.header_bytes() - 1;
        while self.bytes.fill(keep + 1) {
            match self.bytes.data().iter().position(|b| *b != 0) {
                Some(at) => {
                    self.bytes.consume(at.saturating_sub(keep));
                    return true;
                }
                None => self.bytes.consume(self.bytes.available() - keep),
            }
            if self.bytes.offset() - begin > limits::ZERO_BYTES {
                return false;
            }
        }
        self.bytes.consume(self.bytes.available());
        false
    }

    /// The framing is lost at this offset: search for the next record.
    pub fn damaged(&mut self, notes: &mut Notes) -> Verdict {
        let (packet, begin) = (self.records + 1, self.bytes.offset());
        self.bytes.consume(1);
        let verdict = self.search(notes, begin);
        notes.add_many(NoteKind::BytesSkipped, self.bytes.offset() - begin, packet, begin);
        verdict
    }

    fn search(&mut self, notes: &mut Notes, begin: u64) -> Verdict {
        self.resyncs += 1;
        if self.resyncs <= limits::RESYNC_TIMES && resync::resync(&mut self.bytes, &self.framing, self.near) {
            return Verdict::Again;
        }
        notes.add(NoteKind::RestUnreadable, self.records + 1, begin);
        Verdict::End
    }

    /// The stream ended inside the record at the front.
    pub fn cut(&mut self, notes: &mut Notes) -> Verdict {
        let (packet, offset) = (self.records + 1, self.bytes.offset());
        match resync::records_to_the_end(self.bytes.data(), &self.framing, self.near) {
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

    /// Add the notes that need the end of the file, once.
    pub fn end(&mut self, notes: &mut Notes) -> Result<()> {
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

//! One block buffer over a stream: the bytes for the parser, refilled in large reads, without seeking.

use std::io::{self, Read};

use crate::limits;
use crate::notes::{NoteKind, Notes};

/// A stream of bytes that can report its own damage.
pub trait ByteStream: Send {
    /// As [`Read::read`].
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;

    /// Move the anomalies since the last call, with their offsets in the stream, to `out`.
    fn take_oddities(&mut self, _out: &mut Vec<Oddity>) {}
}

/// With less space than this the tail is moved first: a read of a few bytes costs as much as a large one.
const SMALL_READ: usize = 64 << 10;

/// An anomaly of the decompressor, at a byte of its output.
pub type Oddity = (NoteKind, u64);

/// An uncompressed input.
pub struct Plain(pub Box<dyn Read + Send>);

impl ByteStream for Plain {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// The bytes between the consumed ones and the end of what was read.
///
/// Bytes at the end of the buffer are moved to its front before the next read, so that a
/// record is always one slice and only tails are copied.
pub struct Bytes {
    stream: Box<dyn ByteStream>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the stream of `buffer[start]`.
    offset: u64,
    ended: bool,
    failure: Option<io::Error>,
    oddities: Vec<Oddity>,
}

impl Bytes {
    pub fn new(stream: Box<dyn ByteStream>) -> Self {
        Bytes::going_on(stream, 0)
    }

    /// A stream whose first byte has the offset `offset`.
    pub fn going_on(stream: Box<dyn ByteStream>, offset: u64) -> Self {
        Bytes {
            stream,
            buffer: vec![0; limits::BLOCK_BYTES],
            start: 0,
            end: 0,
            offset,
            ended: false,
            failure: None,
            oddities: Vec::new(),
        }
    }

    /// The bytes in memory, from the first one not consumed.
    #[inline]
    pub fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// How many bytes are in memory.
    #[inline]
    pub fn available(&self) -> usize {
        self.end - self.start
    }

    /// Offset in the stream of the first byte of [`Bytes::data`].
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Consume `n` bytes that are in memory.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.available());
        self.start += n;
        self.offset += n as u64;
    }

    /// Consume `n` bytes and return them.
    #[inline]
    pub fn advance(&mut self, n: usize) -> &[u8] {
        let from = self.start;
        self.consume(n);
        &self.buffer[from..self.start]
    }

    /// Read until `n` bytes are in memory; false if the stream ends before.
    #[inline]
    pub fn fill(&mut self, n: usize) -> bool {
        self.available() >= n || self.refill(n)
    }

    /// The slow part of [`Bytes::fill`]. The buffer grows with the bytes read, not with `n`.
    #[cold]
    fn refill(&mut self, n: usize) -> bool {
        while self.available() < n && !self.ended {
            let room = self.buffer.len() - self.end;
            if room == 0 || (self.start > 0 && room < SMALL_READ) {
                self.make_room();
            }
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.failure = Some(e);
                    self.ended = true;
                }
            }
            self.stream.take_oddities(&mut self.oddities);
        }
        self.available() >= n
    }

    /// Move the tail to the front; a buffer full of one record doubles.
    fn make_room(&mut self) {
        if self.start == 0 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        } else {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
    }

    /// Skip up to `n` bytes without keeping them; returns how many there were.
    pub fn skip(&mut self, mut n: u64) -> u64 {
        let before = self.offset;
        while n > 0 && self.fill(1) {
            let step = n.min(self.available() as u64) as usize;
            self.consume(step);
            n -= step as u64;
        }
        self.offset - before
    }

    /// The error of the operating system that ended the stream, once.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Move the stream's anomalies to `out`.
    pub fn take_oddities(&mut self, out: &mut Vec<Oddity>) {
        out.append(&mut self.oddities);
    }

    /// Whether the stream reported damage or failed.
    pub fn oddities(&self) -> &[Oddity] {
        &self.oddities
    }

    /// Add the stream's anomalies to the notes, and a read error as a note.
    pub fn report(&mut self, notes: &mut Notes) {
        for (kind, offset) in self.oddities.drain(..) {
            notes.add(kind, 0, offset);
        }
        if self.failure.take().is_some() {
            notes.add(NoteKind::ReadFailed, 0, self.offset + self.available() as u64);
        }
    }
}

impl Read for Bytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() || !self.fill(1) {
            return Ok(0);
        }
        let n = into.len().min(self.available());
        into[..n].copy_from_slice(self.advance(n));
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns its bytes in pieces of `step`, with an EINTR before each.
    struct Dribble {
        bytes: Vec<u8>,
        at: usize,
        step: usize,
        interrupt: bool,
    }

    impl Read for Dribble {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.interrupt = !self.interrupt;
            if self.interrupt {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let n = self.step.min(into.len()).min(self.bytes.len() - self.at);
            into[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
            self.at += n;
            Ok(n)
        }
    }

    #[test]
    fn pieces_and_interrupts_make_one_stream() {
        let bytes: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
        let dribble = Dribble { bytes: bytes.clone(), at: 0, step: 997, interrupt: false };
        let mut b = Bytes::new(Box::new(Plain(Box::new(dribble))));
        let mut back = Vec::new();
        while b.fill(1) {
            assert_eq!(b.offset(), back.len() as u64);
            let n = b.available().min(7001);
            if b.fill(n) {
                back.extend_from_slice(b.advance(n));
            }
        }
        assert_eq!(back, bytes);
    }

    /// A stream of bytes in memory.
    fn of(bytes: Vec<u8>) -> Bytes {
        Bytes::new(Box::new(Plain(Box::new(io::Cursor::new(bytes)))))
    }

    #[test]
    fn a_large_fill_grows_by_the_bytes_read() {
        let mut b = of(vec![7; 100]);
        assert!(!b.fill(usize::MAX));
        assert_eq!((b.available(), b.buffer.len()), (100, limits::BLOCK_BYTES));
        let mut b = of(vec![7; 3 * limits::BLOCK_BYTES]);
        assert!(b.fill(2 * limits::BLOCK_BYTES + 5));
        assert_eq!(b.skip(u64::MAX), 3 * limits::BLOCK_BYTES as u64);
        assert!(!b.fill(1));
    }
}

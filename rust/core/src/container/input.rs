//! An opened file before it is known what it holds: decompressed, its first bytes in memory.

use std::io::Read;

use super::bytes::{Bytes, Plain};
use super::compress::{self, Compression, Decompressed};
use super::{pcap, pcapng};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::notes::Notes;

/// The content of a file, from its first byte.
pub struct Input {
    bytes: Bytes,
    compression: &'static str,
}

impl Input {
    /// Errors: `UnknownFormat` and `UnsupportedFormat` by the compression, `CorruptCapture` for one that is damaged
    /// before its first byte of content, `Io` when nothing can be read.
    pub fn open(stream: Box<dyn Read + Send>) -> Result<Self> {
        let mut bytes = Bytes::new(Box::new(Plain(stream)));
        peek(&mut bytes)?;
        let Some(compression) = Compression::sniff(bytes.data()) else {
            return Ok(Input { bytes, compression: "" });
        };
        if let Some((what, next)) = compress::zstd_refusal(bytes.data()) {
            return Err(Error::new(ErrorKind::UnsupportedFormat, what).at(0).next(next));
        }
        let name = compression.name();
        let mut inner = Bytes::new(Box::new(Decompressed::start(compression, bytes)?));
        peek(&mut inner)?;
        if inner.available() == 0 {
            return Err(match inner.oddities().first() {
                Some(_) => Error::new(ErrorKind::CorruptCapture, format!("the {name} data is damaged at its start")),
                None => Error::new(ErrorKind::UnknownFormat, format!("the {name} file is empty")),
            });
        }
        Ok(Input { bytes: inner, compression: name })
    }

    /// The first bytes: at least `SNIFF_BYTES` of an unknown format unless the file is shorter.
    pub fn head(&self) -> &[u8] {
        let data = self.bytes.data();
        &data[..data.len().min(limits::HEAD_BYTES)]
    }

    /// "gzip", "zstd", "lz4", or "" for none.
    pub fn compression(&self) -> &'static str {
        self.compression
    }

    /// Offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.bytes.offset()
    }

    /// The next `n` bytes; fewer at the end.
    pub fn read(&mut self, n: usize) -> &[u8] {
        self.bytes.fill(n);
        self.bytes.advance(n)
    }

    /// Whether the next `n` bytes are in memory.
    pub fn has(&self, n: usize) -> bool {
        self.bytes.available() >= n
    }

    /// The next bytes up to and with a line feed; at most `n`, fewer at the end.
    pub fn read_line(&mut self, n: usize) -> &[u8] {
        let mut seen = 0;
        loop {
            if let Some(length) = self.line_from(seen, n) {
                return self.bytes.advance(length);
            }
            seen = self.bytes.available();
            if !self.bytes.fill(seen + 1) {
                return self.bytes.advance(seen);
            }
        }
    }

    /// Whether what [`Input::read_line`] reads is in memory.
    pub fn has_line(&self, n: usize) -> bool {
        self.line_from(0, n).is_some()
    }

    /// Length of the line at the front, which does not end in its first `seen` bytes; None: more bytes are needed.
    fn line_from(&self, seen: usize, n: usize) -> Option<usize> {
        let data = self.bytes.data();
        let reach = data.len().min(n);
        let end = data[seen.min(reach)..reach].iter().position(|b| *b == b'\n').map(|at| seen + at + 1);
        end.or_else(|| (reach == n).then_some(n))
    }

    /// At the end: what was odd in the stream. An error of the operating system is raised if nothing was read before it.
    pub fn report(&mut self, records: u64, notes: &mut Notes) -> Result<()> {
        if records == 0 {
            if let Some(e) = self.bytes.take_failure() {
                return Err(Error::from(e));
            }
        }
        self.bytes.report(notes);
        Ok(())
    }

    /// For a reader of records.
    pub(super) fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

/// Read enough bytes to recognise the format, or all there are.
fn peek(bytes: &mut Bytes) -> Result<()> {
    // Do not wait longer for a slow pipe than the most common formats need.
    bytes.fill(pcap::FILE_HEADER);
    let head = bytes.data();
    if !pcap::is_pcap(head) && !pcapng::is_section_header(head) {
        bytes.fill(limits::SNIFF_BYTES);
    }
    if bytes.available() > 0 {
        // A failure after the first bytes is reported by the reader of the records.
        return Ok(());
    }
    bytes.take_failure().map_or(Ok(()), |e| Err(Error::from(e)))
}

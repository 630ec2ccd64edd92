//! One layer of compression, recognised by content and undone in a thread of its own.

use super::bytes::Bytes;
use crate::notes::NoteKind;

mod gzip;
mod lz4;
mod thread;
mod zstd;

pub use thread::Decompressed;
pub use zstd::refusal as zstd_refusal;

/// A compression that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstd,
    Lz4,
}

impl Compression {
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Lz4 => "lz4",
        }
    }

    /// By the first bytes (RFC 1952 2.3.1, RFC 8878 3.1.1, LZ4 frame format 1.6).
    ///
    /// Skippable frames are common to zstd and lz4; those at the start are walked over.
    pub fn sniff(head: &[u8]) -> Option<Compression> {
        let mut at = 0_usize;
        loop {
            let rest = head.get(at..)?;
            match rest {
                [0x1f, 0x8b, ..] if at == 0 => return Some(Compression::Gzip),
                [0x28, 0xb5, 0x2f, 0xfd, ..] => return Some(Compression::Zstd),
                [0x04, 0x22, 0x4d, 0x18, ..] => return Some(Compression::Lz4),
                _ => at = at.checked_add(skippable(rest)?)?,
            }
        }
    }

    /// Undo the compression of `input`, into `out`, until either ends.
    pub fn run(self, input: &mut Bytes, out: &mut dyn Sink) {
        // A sink that takes no more is the ordinary end of a reader that was dropped.
        let _gone = match self {
            Compression::Gzip => gzip::gunzip(input, out),
            Compression::Zstd => zstd::unzstd(input, out),
            Compression::Lz4 => lz4::unlz4(input, out),
        };
    }

    /// The first bytes that come out of `head`, which may be cut anywhere.
    pub fn peek(self, head: &[u8], limit: usize) -> Vec<u8> {
        let mut out = Peek { bytes: vec![0; limit], filled: 0 };
        self.run(&mut Bytes::of(head.to_vec()), &mut out);
        out.bytes.truncate(out.filled);
        out.bytes
    }
}

/// The whole length of a skippable frame (RFC 8878 3.1.2).
fn skippable(head: &[u8]) -> Option<usize> {
    match *head {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]) as usize).checked_add(8),
        _ => None,
    }
}

/// Skip a skippable frame at the front of `input`; true when there was one.
fn skip_skippable(input: &mut Bytes) -> bool {
    input.fill(8);
    match skippable(input.data()) {
        Some(n) => {
            input.skip(n as u64);
            true
        }
        None => false,
    }
}

/// Nobody takes the output any more.
pub struct Gone;

/// Where decompressed bytes go.
pub trait Sink {
    /// Room for more bytes; never empty.
    fn room(&mut self) -> &mut [u8];

    /// `n` bytes of [`Sink::room`] were filled.
    fn filled(&mut self, n: usize) -> Result<(), Gone>;

    /// The compressed data is odd at this point of the output.
    fn odd(&mut self, kind: NoteKind) -> Result<(), Gone>;

    /// Whether output is still wanted, for input that yields none.
    fn wanted(&self) -> Result<(), Gone>;
}

/// Keeps the first bytes only.
struct Peek {
    bytes: Vec<u8>,
    filled: usize,
}

impl Sink for Peek {
    fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    fn filled(&mut self, n: usize) -> Result<(), Gone> {
        self.filled += n;
        self.wanted()
    }

    fn odd(&mut self, _kind: NoteKind) -> Result<(), Gone> {
        Ok(())
    }

    fn wanted(&self) -> Result<(), Gone> {
        if self.filled < self.bytes.len() {
            Ok(())
        } else {
            Err(Gone)
        }
    }
}

//! The compressions: recognised by their first bytes, undone by their own module.

use super::sink::Sink;
use super::skippable::length;
use super::{gzip, lz4, zstd};
use crate::container::bytes::Bytes;

/// A supported compression.
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
    /// Skippable frames are common to zstd and lz4; those at the start are skipped.
    pub fn sniff(head: &[u8]) -> Option<Compression> {
        let mut at = 0_usize;
        loop {
            let rest = head.get(at..)?;
            match rest {
                [0x1f, 0x8b, ..] if at == 0 => return Some(Compression::Gzip),
                [0x28, 0xb5, 0x2f, 0xfd, ..] => return Some(Compression::Zstd),
                [0x04, 0x22, 0x4d, 0x18, ..] => return Some(Compression::Lz4),
                _ => at = at.checked_add(length(rest)?)?,
            }
        }
    }

    /// Decompress `input` into `out`, until either ends.
    pub fn run(self, input: &mut Bytes, out: &mut dyn Sink) {
        // A sink that accepts no more is the normal end of a reader that was dropped.
        let _gone = match self {
            Compression::Gzip => gzip::gunzip(input, out),
            Compression::Zstd => zstd::unzstd(input, out),
            Compression::Lz4 => lz4::unlz4(input, out),
        };
    }
}

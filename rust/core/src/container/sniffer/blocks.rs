//! The compression of DOS Sniffer captures: blocks of up to 32 KiB, each with its length before it.
//!
//! A negative length means literal bytes. Else words of 16 flags come between the items, the highest bit
//! first: 0 for a byte, 1 for a code whose upper half is
//!
//! | 0 | the next byte, lower half + 3 times |
//! | 1 | lower half + 16 x next byte + 19 times the byte after that |
//! | 2 | lower half + 16 x next byte + 3 bytes back, as many bytes as the byte after that says, + 16 |
//! | 3 to 15 | as far back, that number of bytes |

use std::io;

use crate::container::bytes::{ByteStream, Bytes, Oddity};
use crate::limits;
use crate::notes::NoteKind;

/// Most bytes of one block.
const OUTPUT: usize = 64 << 10;

/// The decompressed bytes of the blocks.
pub struct Blocks {
    input: Bytes,
    out: Vec<u8>,
    at: usize,
    /// Offset of the first decompressed byte.
    base: u64,
    given: u64,
    /// Consecutive empty blocks.
    empty_run: u64,
    ended: bool,
    odd: Vec<Oddity>,
}

impl Blocks {
    pub fn new(input: Bytes) -> Self {
        let base = input.offset();
        let out = Vec::with_capacity(OUTPUT);
        Blocks { input, out, at: 0, base, given: 0, empty_run: 0, ended: false, odd: Vec::new() }
    }

    fn odd(&mut self, kind: NoteKind) {
        self.odd.push((kind, self.base + self.given));
    }

    /// Decompress the next block; the last one ends the stream.
    fn next_block(&mut self) {
        (self.at, self.ended) = (0, true);
        self.out.clear();
        if !self.input.fill(2) {
            if self.input.available() > 0 {
                self.odd(NoteKind::CompressedCut);
            }
            return;
        }
        let length = i16::from_le_bytes([self.input.data()[0], self.input.data()[1]]);
        let bytes = usize::from(length.unsigned_abs());
        self.ended = !self.input.fill(2 + bytes);
        let block = &self.input.data()[2..self.input.available().min(2 + bytes)];
        let sound = if length < 0 {
            self.out.extend_from_slice(block);
            true
        } else {
            expand(block, &mut self.out).is_some()
        };
        self.input.consume(2 + bytes);
        if self.ended {
            self.odd(NoteKind::CompressedCut);
        } else if !sound {
            // Its length gives the position of the next one.
            self.odd(NoteKind::CompressedDamaged);
        }
        self.empty_run = if self.out.is_empty() { self.empty_run + 1 } else { 0 };
        if self.empty_run > limits::EMPTY_RUN {
            self.odd(NoteKind::EmptyRun);
            self.ended = true;
        }
    }
}

impl ByteStream for Blocks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.out.len() {
            if self.ended {
                return self.input.take_failure().map_or(Ok(0), Err);
            }
            self.next_block();
        }
        let rest = &self.out[self.at..];
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        self.given += n as u64;
        Ok(n)
    }

    fn take_oddities(&mut self, out: &mut Vec<Oddity>) {
        self.input.take_oddities(out);
        out.append(&mut self.odd);
    }
}

/// Decompress one block; None if it is damaged, with the bytes before the damage in `out`.
pub fn expand(block: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut bytes = block.iter().copied();
    let mut flags = 0_u16;
    let mut left = 0;
    while bytes.len() > 0 {
        if left == 0 {
            flags = u16::from_le_bytes([bytes.next()?, bytes.next()?]);
            left = 16;
        }
        let coded = flags & 0x8000 != 0;
        flags <<= 1;
        left -= 1;
        let first = bytes.next()?;
        if !coded {
            repeat(out, first, 1)?;
            continue;
        }
        let low = usize::from(first & 0xf);
        match first >> 4 {
            0 => repeat(out, bytes.next()?, low + 3)?,
            1 => {
                let count = low + (usize::from(bytes.next()?) << 4) + 19;
                repeat(out, bytes.next()?, count)?;
            }
            kind => {
                let back = low + (usize::from(bytes.next()?) << 4) + 3;
                let count = if kind == 2 { usize::from(bytes.next()?) + 16 } else { usize::from(kind) };
                copy(out, back, count)?;
            }
        }
    }
    Some(())
}

fn repeat(out: &mut Vec<u8>, byte: u8, count: usize) -> Option<()> {
    let length = out.len() + count;
    (length <= OUTPUT).then(|| out.resize(length, byte))
}

/// Copy `count` bytes from `back` bytes before the end; all of them must exist.
fn copy(out: &mut Vec<u8>, back: usize, count: usize) -> Option<()> {
    let from = out.len().checked_sub(back).filter(|_| count <= back && out.len() + count <= OUTPUT)?;
    out.extend_from_within(from..from + count);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::expand;

    fn expanded(block: &[u8]) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let sound = expand(block, &mut out).is_some();
        (out, sound)
    }

    #[test]
    fn every_code() {
        assert_eq!(expanded(b""), (vec![], true));
        assert_eq!(expanded(b"\0\0abc"), (b"abc".to_vec(), true));
        // Flags 1: three copies of x, and one more a nibble higher.
        assert_eq!(expanded(b"\0\xc0\x00x\x01y"), (b"xxxyyyy".to_vec(), true));
        assert_eq!(expanded(b"\0\x80\x12\x01z"), (vec![b'z'; 2 + 16 + 19], true));
        // Eight bytes, then five from eight before (3 + 5), then sixteen from far enough.
        assert_eq!(expanded(b"\x80\0abcdefgh\x55\0"), (b"abcdefghabcde".to_vec(), true));
        let long = [&b"\0\xc0\x1d\0q\x2d\0\0"[..]].concat();
        assert_eq!(expanded(&long), (vec![b'q'; 13 + 19 + 16], true));
    }

    #[test]
    fn seventeen_items_need_more_flags() {
        let block = [&b"\0\0"[..], &[b'a'; 16], b"\0\0bb"].concat();
        assert_eq!(expanded(&block), ([&[b'a'; 16][..], b"bb"].concat(), true));
    }

    #[test]
    fn damaged_blocks() {
        // Cut in the flags and in each code; back before the beginning; onto itself; over the end.
        for block in
            [&b"\0"[..], b"\0\0", b"\0\x80\0", b"\0\x80\x10\0", b"\0\x80\x30", b"\0\x40a\x30\0", b"\0\x10abc\x40\0"]
        {
            let (out, sound) = expanded(block);
            assert!(out.len() <= 4 && !sound, "{block:?}");
        }
        let bomb = b"\xff\xff".iter().chain(b"\x1f\xffa".repeat(16).iter()).copied().collect::<Vec<u8>>();
        let (out, sound) = expanded(&bomb);
        assert!(out.len() <= 64 << 10 && !sound);
    }
}

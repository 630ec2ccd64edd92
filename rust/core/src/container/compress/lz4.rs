//! lz4 frames (LZ4 frame format 1.6), one after another, skippable ones between them.

use std::io::Read;

use lz4_flex::frame::{Error as Lz4Error, FrameDecoder};

use super::sink::{Gone, Sink};
use super::skippable;
use crate::container::bytes::Bytes;
use crate::notes::NoteKind;

pub const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Records whether the decoder wanted more bytes than there were: the decoder itself treats a cut
/// between two blocks as the end of the frame.
struct Watched<'a> {
    input: &'a mut Bytes,
    ran_dry: bool,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.input.read(into)?;
        self.ran_dry |= n == 0 && !into.is_empty();
        Ok(n)
    }
}

pub fn unlz4(input: &mut Bytes, out: &mut dyn Sink) -> Result<(), Gone> {
    loop {
        out.wanted()?;
        if skippable::skip(input) {
            continue;
        }
        let whole = input.fill(4);
        if input.available() == 0 {
            return Ok(());
        }
        if !input.data().starts_with(&MAGIC) {
            return out.odd(if whole { NoteKind::TrailingBytes } else { NoteKind::CompressedCut });
        }
        let mut decoder = FrameDecoder::new(Watched { input: &mut *input, ran_dry: false });
        loop {
            match decoder.read(out.room()) {
                Ok(0) if decoder.get_ref().ran_dry => return out.odd(NoteKind::CompressedCut),
                Ok(0) => break,
                Ok(n) => out.filled(n)?,
                Err(e) => match (lz4_error(&e), decoder.get_ref().ran_dry) {
                    // Found after the last block: the frame is whole, the next one may follow.
                    (Some(Lz4Error::ContentChecksumError), _) => {
                        out.odd(NoteKind::ChecksumWrong)?;
                        break;
                    }
                    (_, true) => return out.odd(NoteKind::CompressedCut),
                    (_, false) => return out.odd(NoteKind::CompressedDamaged),
                },
            }
        }
    }
}

fn lz4_error(e: &std::io::Error) -> Option<&Lz4Error> {
    e.get_ref()?.downcast_ref()
}

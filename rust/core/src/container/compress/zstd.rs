//! zstd (RFC 8878): frames one after another, skippable ones between them.

use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::sink::{Gone, Sink};
use super::skippable;
use crate::container::bytes::Bytes;
use crate::limits;
use crate::notes::NoteKind;

pub const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// An empty last raw block and a checksum: makes the decoder release its window after damage.
const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

pub fn unzstd(input: &mut Bytes, out: &mut dyn Sink) -> Result<(), Gone> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(limits::ZSTD_WINDOW_BYTES);
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
        if let Err(kind) = frame(&mut decoder, input, out)? {
            return out.odd(kind);
        }
    }
}

/// Decode one frame; output before damage is returned too.
fn frame(decoder: &mut FrameDecoder, input: &mut Bytes, out: &mut dyn Sink) -> Result<Result<(), NoteKind>, Gone> {
    let damage = |input: &mut Bytes| {
        if input.fill(1) {
            NoteKind::CompressedDamaged
        } else {
            NoteKind::CompressedCut
        }
    };
    if decoder.reset(&mut *input).is_err() {
        return Ok(Err(damage(input)));
    }
    while !decoder.is_finished() {
        if decoder.decode_blocks(&mut *input, BlockDecodingStrategy::UptoBytes(limits::CHUNK_BYTES)).is_err() {
            let kind = damage(input);
            // The appended block always decodes; otherwise the window's bytes would be lost, as noted.
            let _ended = decoder.decode_blocks(&LAST_BLOCK[..], BlockDecodingStrategy::All);
            drain(decoder, out)?;
            return Ok(Err(kind));
        }
        drain(decoder, out)?;
    }
    drain(decoder, out)?;
    match decoder.get_checksum_from_data() {
        Some(sum) if decoder.get_calculated_checksum() != Some(sum) => out.odd(NoteKind::ChecksumWrong)?,
        _ => {}
    }
    Ok(Ok(()))
}

/// Return what the decoder no longer needs as window.
fn drain(decoder: &mut FrameDecoder, out: &mut dyn Sink) -> Result<(), Gone> {
    out.wanted()?;
    while decoder.can_collect() > 0 {
        match decoder.read(out.room()) {
            Ok(n) if n > 0 => out.filled(n)?,
            _ => break,
        }
    }
    Ok(())
}

/// Why the frame at the start of `head` must not be decoded: a sentence and a hint.
pub fn refusal(head: &[u8]) -> Option<(String, &'static str)> {
    let descriptor = *head.strip_prefix(&MAGIC)?.first()?;
    let single_segment = descriptor & 0x20 != 0;
    let dictionary_bytes = [0_usize, 1, 2, 4][usize::from(descriptor & 3)];
    let after = head.get(5 + usize::from(!single_segment)..)?;
    if after.get(..dictionary_bytes)?.iter().any(|b| *b != 0) {
        return Some(("the zstd data needs a dictionary".into(), "unpack it with `zstd -d -D DICTIONARY`"));
    }
    let window = if single_segment {
        let size = after.get(dictionary_bytes..)?;
        let bytes = [1_usize, 2, 4, 8][usize::from(descriptor >> 6)];
        let size = size.get(..bytes)?;
        size.iter().rev().fold(0_u64, |n, b| n << 8 | u64::from(*b))
    } else {
        // RFC 8878 3.1.1.1.2: exponent in the upper five bits, eighths in the lower three.
        let byte = head[5];
        let base = 1_u64 << (10 + u32::from(byte >> 3));
        base + base / 8 * u64::from(byte & 7)
    };
    (window > limits::ZSTD_WINDOW_BYTES).then(|| {
        (
            format!("the zstd data needs a window of {} MiB, more than the limit", window >> 20),
            "unpack it with `zstd -d --long=31` if you trust it",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_dictionaries_are_refused_before_decoding() {
        let head = |rest: &[u8]| [&MAGIC[..], rest].concat();
        assert!(refusal(&head(&[0, 0x68])).is_none());
        assert!(refusal(&head(&[0, 0xff])).is_some_and(|r| r.0.contains("3932160 MiB")));
        assert!(refusal(&head(&[1, 0x68, 9])).is_some_and(|r| r.0.contains("dictionary")));
        assert!(refusal(&head(&[0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10])).is_some());
        assert!(refusal(&head(&[0x20, 200])).is_none());
        for n in 0..6 {
            let _any = refusal(&head(&[0xe3; 6])[..n]);
        }
    }
}

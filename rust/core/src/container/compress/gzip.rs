//! gzip (RFC 1952): members one after another, each with its own header, checksum and length.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::sink::{Gone, Sink};
use crate::container::bytes::Bytes;
use crate::limits;
use crate::notes::NoteKind;

const FHCRC: u8 = 2;
const FEXTRA: u8 = 4;
const FNAME: u8 = 8;
const FCOMMENT: u8 = 16;

/// What is at the position of a member.
enum Next {
    Member(u8),
    End,
    Cut,
    Trailing,
}

pub fn gunzip(input: &mut Bytes, out: &mut dyn Sink) -> Result<(), Gone> {
    let mut inflate = Decompress::new(false);
    loop {
        out.wanted()?;
        let flags = match next_member(input) {
            Next::Member(flags) => flags,
            Next::End => return Ok(()),
            Next::Cut => return out.odd(NoteKind::CompressedCut),
            Next::Trailing => return out.odd(NoteKind::TrailingBytes),
        };
        match skip_header(input, flags) {
            Ok(()) => {}
            Err(kind) => return out.odd(kind),
        }
        inflate.reset(false);
        let mut crc = Crc::new();
        if let Err(kind) = member(input, out, &mut inflate, &mut crc)? {
            return out.odd(kind);
        }
        if !input.fill(8) {
            return out.odd(NoteKind::CompressedCut);
        }
        let trailer = input.advance(8);
        let sum = u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]);
        let len = u32::from_le_bytes([trailer[4], trailer[5], trailer[6], trailer[7]]);
        if sum != crc.sum() || len != crc.amount() {
            out.odd(NoteKind::ChecksumWrong)?;
        }
    }
}

/// Read the next member's fixed header; padding zeros (tapes, block devices) are an end.
fn next_member(input: &mut Bytes) -> Next {
    if !input.fill(1) {
        return Next::End;
    }
    while input.data().first() == Some(&0) {
        input.consume(1);
        if !input.fill(1) {
            return Next::End;
        }
    }
    let whole = input.fill(10);
    match *input.data() {
        [0x1f, 0x8b, 8, flags, ..] if whole => Next::Member(flags),
        [0x1f, 0x8b, 8, ..] | [0x1f, 0x8b] | [0x1f] if !whole => Next::Cut,
        _ => Next::Trailing,
    }
}

/// Skip the header with its optional fields (RFC 1952 2.3).
fn skip_header(input: &mut Bytes, flags: u8) -> Result<(), NoteKind> {
    input.consume(10);
    if flags & FEXTRA != 0 {
        if !input.fill(2) {
            return Err(NoteKind::CompressedCut);
        }
        let len = input.advance(2);
        let len = u16::from_le_bytes([len[0], len[1]]);
        if input.skip(u64::from(len)) < u64::from(len) {
            return Err(NoteKind::CompressedCut);
        }
    }
    for text in [FNAME, FCOMMENT] {
        if flags & text != 0 {
            skip_text(input)?;
        }
    }
    if flags & FHCRC != 0 && input.skip(2) < 2 {
        return Err(NoteKind::CompressedCut);
    }
    Ok(())
}

/// Skip a text that ends in a zero byte.
fn skip_text(input: &mut Bytes) -> Result<(), NoteKind> {
    for _ in 0..limits::GZIP_HEADER_BYTES {
        if !input.fill(1) {
            return Err(NoteKind::CompressedCut);
        }
        if input.advance(1) == [0] {
            return Ok(());
        }
    }
    Err(NoteKind::CompressedDamaged)
}

/// Inflate one member.
fn member(
    input: &mut Bytes,
    out: &mut dyn Sink,
    inflate: &mut Decompress,
    crc: &mut Crc,
) -> Result<Result<(), NoteKind>, Gone> {
    loop {
        let more = input.fill(1);
        let (in_before, out_before) = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(input.data(), out.room(), FlushDecompress::None);
        let (used, made) = (inflate.total_in() - in_before, inflate.total_out() - out_before);
        crc.update(&out.room()[..made as usize]);
        input.consume(used as usize);
        if made > 0 {
            out.filled(made as usize)?;
        } else {
            out.wanted()?;
        }
        match status {
            Ok(Status::StreamEnd) => return Ok(Ok(())),
            Ok(_) if used == 0 && made == 0 => {
                return Ok(Err(if more { NoteKind::CompressedDamaged } else { NoteKind::CompressedCut }));
            }
            Ok(_) => {}
            Err(_) => return Ok(Err(NoteKind::CompressedDamaged)),
        }
    }
}

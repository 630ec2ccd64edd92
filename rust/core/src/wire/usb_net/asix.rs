//! ASIX adapters. Source: Linux, drivers/net/usb/asix_common.c and ax88179_178a.c.

use super::super::view::View;
use super::piece::{add, Kind, Piece};

const LENGTH: u32 = 0x7ff;
const HEADER: usize = 4;
const ETHERNET: usize = 14;
/// A header without a frame fills up a transfer.
const PADDING: u32 = 0xffff_0000;

/// AX88178 and AX88772: before each frame its length and its complement; frames begin at even offsets and may continue
/// in the next transfer.
pub(super) fn ax88772(v: View<'_>, carry: usize, pieces: &mut Vec<Piece>) -> Option<usize> {
    let mut at = carry;
    while at + HEADER <= v.wire() {
        let Some(header) = v.le32(at) else {
            return Some(0);
        };
        at += HEADER;
        if header == PADDING {
            continue;
        }
        let length = header & LENGTH;
        if length != !(header >> 16) & LENGTH || (length as usize) < ETHERNET {
            return None;
        }
        if !add(pieces, Kind::Ethernet, at, length as usize) {
            return Some(0);
        }
        at += (length as usize).next_multiple_of(2);
    }
    let carry = at.saturating_sub(v.wire());
    // The last frame's byte of padding is not always sent.
    let odd = pieces.last().is_some_and(|p| p.at + p.bytes == v.wire());
    Some(if odd { 0 } else { carry })
}

/// AX88179, received: frames, each after two bytes and aligned to 8, then a word of length and flags for each, then
/// their number and the offset of these words.
pub(super) fn ax88179_in(v: View<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
    const DAMAGED: u32 = 1 << 29;
    const DROPPED: u32 = 1 << 31;
    const ALIGNMENT: usize = 2;
    if !v.whole() {
        return None;
    }
    let end = v.wire().checked_sub(4)?;
    let trailer = v.le32(end)?;
    let (count, table) = ((trailer & 0xffff) as usize, (trailer >> 16) as usize);
    if count == 0 || table.checked_add(count.checked_mul(4)?)? > end {
        return None;
    }
    let mut at = 0;
    for i in 0..count {
        let word = v.le32(table + 4 * i)?;
        let length = (word >> 16 & 0x1fff) as usize;
        // A word without a frame fills the table.
        if length == 0 {
            continue;
        }
        if length < ALIGNMENT + ETHERNET || at + length > table {
            return None;
        }
        if word & (DAMAGED | DROPPED) == 0 && !add(pieces, Kind::Ethernet, at + ALIGNMENT, length - ALIGNMENT) {
            return Some(());
        }
        at += length.next_multiple_of(8);
    }
    Some(())
}

/// AX88179, sent: the length, the segment size, the frame.
pub(super) fn ax88179_out(v: View<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
    const HEADER: usize = 8;
    /// Padding and alignment flags are in the second word with the segment size.
    const SEGMENT_SIZE: u32 = 0x8000_bfff;
    let (length, second) = (v.le32(0)? as usize, v.le32(4)?);
    if length < ETHERNET || length.checked_add(HEADER)? != v.wire() || second & !SEGMENT_SIZE != 0 {
        return None;
    }
    add(pieces, Kind::Ethernet, HEADER, length).then_some(())
}

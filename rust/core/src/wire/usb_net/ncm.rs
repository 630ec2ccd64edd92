//! CDC-NCM transfer blocks (USB CDC NCM 1.0 section 3), of 16 and 32 bits, and MBIM's (USB CDC MBIM 1.0 section 7).

use super::super::view::View;
use super::piece::{add, Kind, Piece};
use crate::limits;

/// Shapes of the 16- and the 32-bit structures.
struct Shape {
    header: usize,
    /// Signatures of pointer blocks with Ethernet frames and with IP packets, without their last byte.
    ethernet: [u8; 3],
    ip: [u8; 3],
    /// Offset of the first entry of a pointer block.
    entries: usize,
    wide: bool,
}

const SHORT: Shape = Shape { header: 12, ethernet: *b"NCM", ip: *b"IPS", entries: 8, wide: false };
const LONG: Shape = Shape { header: 16, ethernet: *b"ncm", ip: *b"ips", entries: 16, wide: true };
const CRC: usize = 4;
/// The least pointer block is its header and the entry that ends it.
const LEAST_DATAGRAM: usize = 14;

impl Shape {
    fn number(&self, v: View<'_>, at: usize) -> Option<usize> {
        if self.wide {
            v.le32(at).map(|n| n as usize)
        } else {
            v.le16(at).map(usize::from)
        }
    }

    fn bytes(&self) -> usize {
        if self.wide {
            4
        } else {
            2
        }
    }
}

pub(super) fn blocks(v: View<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
    let shape = match v.array::<4>(0)? {
        [b'N', b'C', b'M', b'H'] => &SHORT,
        [b'n', b'c', b'm', b'h'] => &LONG,
        _ => return None,
    };
    if usize::from(v.le16(4)?) != shape.header {
        return None;
    }
    // 0: as long as the transfer.
    let length = match shape.number(v, 8)? {
        0 => v.wire(),
        n => n,
    };
    if length > v.wire() {
        return None;
    }
    let v = v.clip(length);
    let mut at = shape.number(v, 8 + shape.bytes())?;
    for _ in 0..limits::NCM_POINTERS {
        at = pointers(shape, v, at, pieces)?;
        if at == 0 {
            return Some(());
        }
    }
    None
}

/// One block of pointers; where the next one is, 0 for none.
fn pointers(shape: &Shape, v: View<'_>, at: usize, pieces: &mut Vec<Piece>) -> Option<usize> {
    let block = v.skip(at);
    if at < shape.header || at % 4 != 0 {
        return None;
    }
    let [a, b, c, last] = block.array(0)?;
    let length = usize::from(block.le16(4)?);
    let next = shape.number(block, if shape.wide { 8 } else { 6 })?;
    let (kind, crc) = match ([a, b, c], last) {
        (s, b'0') if s == shape.ethernet => (Some(Kind::Ethernet), 0),
        (s, b'1') if s == shape.ethernet => (Some(Kind::Ethernet), CRC),
        (s, _) if s == shape.ip => (Some(Kind::Ip), 0),
        // A device service stream of MBIM.
        (s, _) if s.eq_ignore_ascii_case(b"DSS") => (None, 0),
        _ => return None,
    };
    if length < shape.entries + 2 * shape.bytes() || length > block.wire() {
        return None;
    }
    let mut entry = shape.entries;
    while entry + 2 * shape.bytes() <= length {
        let (Some(index), Some(bytes)) = (shape.number(block, entry), shape.number(block, entry + shape.bytes()))
        else {
            break;
        };
        if index == 0 || bytes == 0 {
            break;
        }
        if bytes < LEAST_DATAGRAM + crc || index.checked_add(bytes)? > v.wire() {
            return None;
        }
        if kind.is_some_and(|kind| !add(pieces, kind, index, bytes - crc)) {
            return Some(0);
        }
        entry += 2 * shape.bytes();
    }
    Some(next)
}

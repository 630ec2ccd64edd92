//! REMOTE_NDIS_PACKET_MSG (MS-RNDIS section 2.2.14), one after the other.

use super::super::view::View;
use super::piece::{add, Kind, Piece};

const PACKET: u32 = 1;
const HEADER: usize = 44;
/// DataOffset counts from its own place.
const FROM: usize = 8;
const ETHERNET: usize = 14;

pub(super) fn messages(v: View<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
    let mut at = 0;
    while at < v.wire() {
        let m = v.skip(at);
        let (Some(kind), Some(length), Some(offset), Some(bytes)) = (m.le32(0), m.le32(4), m.le32(8), m.le32(12))
        else {
            // A byte or two that keep a transfer from being a multiple of the packet size, or the snap length.
            break;
        };
        if kind == 0 && at > 0 {
            break;
        }
        let (length, bytes) = (length as usize, bytes as usize);
        let begin = (offset as usize).checked_add(FROM)?;
        let fits = kind == PACKET
            && begin >= HEADER
            && bytes >= ETHERNET
            && begin.checked_add(bytes)? <= length
            && length <= m.wire();
        if !fits {
            return None;
        }
        if !add(pieces, Kind::Ethernet, at + begin, bytes) {
            break;
        }
        at += length;
    }
    (!pieces.is_empty()).then_some(())
}

//! Realtek RTL8152 to RTL8156. Source: Linux, drivers/net/usb/r8152.c. (RTL8150 puts a trailer after a bare frame.)

use super::super::view::View;
use super::piece::{add, Kind, Piece};

const ETHERNET: usize = 14;

/// Received: a descriptor of 24 bytes, the frame with its check sequence, on multiples of 8.
pub(super) fn received(v: View<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
    const DESCRIPTOR: usize = 24;
    const LENGTH: u32 = 0x7fff;
    const FCS: usize = 4;
    let mut at = 0;
    while at + DESCRIPTOR < v.wire() {
        let Some(word) = v.le32(at) else {
            break;
        };
        let length = (word & LENGTH) as usize;
        if length < ETHERNET + FCS || at + DESCRIPTOR + length > v.wire() {
            return None;
        }
        if !add(pieces, Kind::Ethernet, at + DESCRIPTOR, length - FCS) {
            break;
        }
        at = (at + DESCRIPTOR + length).next_multiple_of(8);
    }
    Some(())
}

/// Sent: a descriptor of 8 bytes with the marks of first and last segment, the frame, on multiples of 4.
pub(super) fn sent(v: View<'_>, pieces: &mut Vec<Piece>) -> Option<()> {
    const DESCRIPTOR: usize = 8;
    const FIRST_AND_LAST: u32 = 3 << 30;
    const LENGTH: u32 = 0x3_ffff;
    let mut at = 0;
    while at + DESCRIPTOR < v.wire() {
        let Some(word) = v.le32(at) else {
            break;
        };
        let length = (word & LENGTH) as usize;
        let whole = word & FIRST_AND_LAST == FIRST_AND_LAST;
        if !whole || length < ETHERNET || at + DESCRIPTOR + length > v.wire() {
            return None;
        }
        if !add(pieces, Kind::Ethernet, at + DESCRIPTOR, length) {
            break;
        }
        at = (at + DESCRIPTOR + length).next_multiple_of(4);
    }
    Some(())
}

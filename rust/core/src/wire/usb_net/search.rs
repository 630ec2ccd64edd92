//! IP headers in a transfer whose framing is not known.

use super::super::view::View;
use super::piece::{add, Kind, Piece};
use super::proof;
use crate::limits;

/// The EtherTypes of IP, before a header that they confirm.
const ETHERTYPE_IPV4: [u8; 2] = [8, 0];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];

/// Find an IP packet near the start, then one near the end of each packet found.
pub(super) fn search(v: View<'_>, pieces: &mut Vec<Piece>) {
    let mut from = 0;
    while let Some((at, bytes)) = next(v, from) {
        if !add(pieces, Kind::Ip, at, bytes) {
            return;
        }
        from = at + bytes;
    }
}

/// The next packet that begins within reach: its place and length.
fn next(v: View<'_>, from: usize) -> Option<(usize, usize)> {
    let data = v.data();
    let near = data.get(from..)?;
    near.iter().take(limits::USB_SEARCH_BYTES).enumerate().find_map(|(i, first)| {
        let at = from + i;
        let rest = match first {
            0x45..=0x4f | 0x60..=0x6f => v.skip(at),
            _ => return None,
        };
        let before: Option<[u8; 2]> = at.checked_sub(2).and_then(|i| v.array(i));
        let bytes = if first >> 4 == 4 {
            proof::ipv4(rest).filter(|n| before == Some(ETHERTYPE_IPV4) || proof::transport_fits(rest, *n))
        } else {
            proof::ipv6(rest).filter(|_| before == Some(ETHERTYPE_IPV6))
        };
        bytes.filter(|n| *n <= rest.wire()).map(|n| (at, n))
    })
}

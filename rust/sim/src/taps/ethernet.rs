//! Ethernet frames around IP packets.

use crate::packet::Mac;

/// Append an Ethernet II header for IPv4.
pub fn ethernet(dst: Mac, src: Mac, out: &mut Vec<u8>) {
    out.extend_from_slice(&dst);
    out.extend_from_slice(&src);
    out.extend_from_slice(&[0x08, 0x00]);
}

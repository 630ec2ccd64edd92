//! Ethernet frames around IP packets.

use crate::packet::Mac;

/// Append an Ethernet II header for IPv4.
pub fn ethernet(dst: Mac, src: Mac, out: &mut Vec<u8>) {
    out.extend(dst);
    out.extend(src);
    out.extend([0x08, 0x00]);
}

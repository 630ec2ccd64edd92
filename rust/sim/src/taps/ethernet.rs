//! Ethernet frames around IP packets.

use super::Gather;
use crate::packet::Mac;

/// Append an Ethernet II header for IPv4.
pub fn ethernet(dst: Mac, src: Mac, out: &mut Gather) {
    out.put(&dst);
    out.put(&src);
    out.put(&[0x08, 0x00]);
}

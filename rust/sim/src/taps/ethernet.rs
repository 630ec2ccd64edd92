//! Ethernet frames around IP packets.

use super::head::Head;
use super::Gather;
use crate::packet::Mac;

/// Append an Ethernet II header for IPv4.
pub fn ethernet(dst: Mac, src: Mac, out: &mut Gather) {
    let mut head = Head::<14>::new();
    head.put(dst);
    head.put(src);
    head.put([0x08, 0x00]);
    out.put(head.bytes());
}

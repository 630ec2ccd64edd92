//! BSD loopback: an address family in the capturing host's byte order, or the network's (LINKTYPE_NULL, LINKTYPE_LOOP).

use crate::packet::Layer;

use super::decoder::{Decoder, Found};
use super::view::View;
use super::{ipv4, ipv6};

const HEADER: usize = 4;

pub(super) fn null(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let Some(family) = v.be32(0) else {
        return d.damaged(v.lack(HEADER), Layer::Link);
    };
    // Families are small numbers: a large one is in the other byte order.
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    match family {
        2 => ipv4::ipv4(d, v.skip(HEADER)),
        // AF_INET6 of Linux, NetBSD, FreeBSD and macOS.
        10 | 24 | 28 | 30 => ipv6::ipv6(d, v.skip(HEADER)),
        _ => Found::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ipv4, ipv6, one, packets, tcp};

    #[test]
    fn both_byte_orders() {
        for order in [u32::to_be_bytes, u32::to_le_bytes] {
            let v4 = [&order(2)[..], &ipv4(6, &tcp(&[], b"x"))].concat();
            assert_eq!(one(0, &v4).payload_bytes, Some(1));
            assert_eq!(one(108, &v4).ip_version, 4);
            cut_everywhere(0, &v4);
            for family in [10, 24, 28, 30] {
                assert_eq!(one(0, &[&order(family)[..], &ipv6(6, &tcp(&[], &[]))].concat()).ip_version, 6);
            }
            assert!(packets(0, &order(7)).is_empty());
        }
    }
}

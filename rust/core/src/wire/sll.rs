//! Linux "cooked" captures (LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2).

use crate::packet::Layer;

use super::decoder::{Decoder, Found};
use super::view::View;
use super::{dot11, ethernet, llc, prism, radiotap};

const SLL: usize = 16;
const SLL2: usize = 20;
/// Packet types of <linux/if_packet.h>: PACKET_HOST, PACKET_BROADCAST and PACKET_MULTICAST, then (3) the traffic of
/// others, then PACKET_OUTGOING.
const MULTICAST: u16 = 2;
const OUTGOING: u16 = 4;
/// ARPHRD_NETLINK: the protocol field is a netlink family.
const NETLINK: u16 = 824;
/// ARPHRD_IEEE80211 and similar: a monitor interface captured through "any".
const DOT11: u16 = 801;
const DOT11_PRISM: u16 = 802;
const DOT11_RADIOTAP: u16 = 803;
/// ETH_P_802_2: a frame with an LLC header.
const LLC: u16 = 0x0004;

pub(super) fn sll(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(direction), Some(hardware), Some(protocol)) = (v.be16(0), v.be16(2), v.be16(14)) else {
        return d.damaged(v.lack(SLL), Layer::Link);
    };
    cooked(d, direction, hardware, protocol, v.skip(SLL))
}

pub(super) fn sll2(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(protocol), Some(hardware), Some(direction), Some(_)) = (v.be16(0), v.be16(8), v.u8(10), v.u8(SLL2 - 1))
    else {
        return d.damaged(v.lack(SLL2), Layer::Link);
    };
    cooked(d, u16::from(direction), hardware, protocol, v.skip(SLL2))
}

fn cooked(d: &mut Decoder<'_>, direction: u16, hardware: u16, protocol: u16, v: View<'_>) -> Found {
    match direction {
        0..=MULTICAST => d.packet.outgoing = Some(false),
        OUTGOING => d.packet.outgoing = Some(true),
        _ => {}
    }
    match (hardware, protocol) {
        (NETLINK, _) => Found::Other,
        (DOT11, _) => dot11::dot11(d, v),
        (DOT11_PRISM, _) => prism::prism(d, v),
        (DOT11_RADIOTAP, _) => radiotap::radiotap(d, v),
        (_, LLC) => llc::llc(d, v),
        _ => ethernet::ethertype(d, protocol, v),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ipv4, one, packets, tcp};

    #[test]
    fn direction_and_ip() {
        for (direction, outgoing) in [(0, Some(false)), (2, Some(false)), (3, None), (4, Some(true))] {
            let head = [0, direction, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
            let p = one(113, &[&head[..], &ipv4(6, &tcp(&[], b"x"))].concat());
            assert_eq!((p.outgoing, p.payload_bytes), (outgoing, Some(1)));
            let head = [8, 0, 0, 0, 0, 0, 0, 2, 0, 1, direction, 6, 2, 0, 0, 0, 0, 1, 0, 0];
            let frame = [&head[..], &ipv4(6, &tcp(&[], b"x"))].concat();
            let p = one(276, &frame);
            assert_eq!((p.outgoing, p.payload_bytes), (outgoing, Some(1)));
            cut_everywhere(276, &frame);
        }
    }

    #[test]
    fn netlink_is_no_row() {
        assert!(packets(113, &[0, 4, 3, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0]).is_empty());
    }
}

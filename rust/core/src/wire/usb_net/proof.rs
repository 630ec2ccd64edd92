//! Evidence that bytes are an IP packet: a checksum, consistent lengths, possible fields.

use super::super::ipv4::checksum_holds;
use super::super::protocol;
use super::super::view::View;
use super::piece::Kind;

const ETHERNET: usize = 14;
const VLAN: usize = 4;
const SNAP: usize = 8;
const IPV4: usize = 20;
const IPV6: usize = 40;

/// Whether the frame certainly holds an IP packet.
pub(super) fn proves(kind: Kind, v: View<'_>) -> bool {
    packet_at(kind, v).is_some_and(|at| packet_bytes(v.skip(at)).is_some_and(|bytes| bytes <= v.skip(at).wire()))
}

/// Length of the frame by its IP header, if that is certain; it may be longer than the transfer.
pub(super) fn frame_bytes(kind: Kind, v: View<'_>) -> Option<usize> {
    let at = packet_at(kind, v)?;
    Some(at + packet_bytes(v.skip(at))?)
}

/// Where the IP header of a frame begins.
fn packet_at(kind: Kind, v: View<'_>) -> Option<usize> {
    let is_ip = |kind: u16, at: usize| matches!((kind, v.u8(at)? >> 4), (0x0800, 4) | (0x86dd, 6)).then_some(at);
    match kind {
        Kind::Ip => Some(0),
        Kind::Ethernet => match v.be16(12)? {
            0x8100 | 0x88a8 => is_ip(v.be16(16)?, ETHERNET + VLAN),
            kind => is_ip(kind, ETHERNET),
        },
        Kind::Llc => (v.array(0)? == [0xaa, 0xaa, 3, 0, 0, 0]).then_some(()).and_then(|()| is_ip(v.be16(6)?, SNAP)),
    }
}

/// Total length of a valid IP packet.
pub(super) fn packet_bytes(v: View<'_>) -> Option<usize> {
    match v.u8(0)? >> 4 {
        4 => ipv4(v),
        6 => ipv6(v),
        _ => None,
    }
}

/// By its checksum; zero and multicast are no source addresses, zero is no time to live.
pub(super) fn ipv4(v: View<'_>) -> Option<usize> {
    let h = v.array::<IPV4>(0)?;
    let header = usize::from(h[0] & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([h[2], h[3]]));
    let sane = header >= IPV4 && total >= header && h[8] != 0 && h[9] != 0 && h[12] < 224;
    (sane && v.data().get(..header).is_some_and(checksum_holds)).then_some(total)
}

/// It has no checksum: a known protocol follows, and the other fields have plausible values.
pub(super) fn ipv6(v: View<'_>) -> Option<usize> {
    use protocol as p;
    let h = v.array::<IPV6>(0)?;
    let payload = usize::from(u16::from_be_bytes([h[4], h[5]]));
    let known = matches!(
        h[6],
        p::TCP
            | p::UDP
            | p::ICMPV6
            | p::HOP_BY_HOP
            | p::FRAGMENT
            | p::ROUTING
            | p::DESTINATION_OPTIONS
            | p::AUTHENTICATION
    );
    // Unspecified, global, unique local and link-local unicast addresses (RFC 4291 section 2.4).
    let source = matches!(h[8], 0 | 0x20..=0x3f | 0xfc..=0xfe);
    (h[0] >> 4 == 6 && payload > 0 && known && h[7] != 0 && source).then_some(IPV6 + payload)
}

/// Whether the transport header fits into the IPv4 packet: further evidence without a framing.
pub(super) fn transport_fits(v: View<'_>, total: usize) -> bool {
    let Some(header) = v.u8(0).map(|b| usize::from(b & 0xf) * 4) else {
        return false;
    };
    let payload = total.saturating_sub(header);
    if v.be16(6).is_none_or(|f| f & 0x1fff != 0) {
        return false;
    }
    match v.u8(9) {
        Some(protocol::TCP) => v.u8(header + 12).is_some_and(|b| (20..=payload).contains(&(usize::from(b >> 4) * 4))),
        Some(protocol::UDP) => {
            v.be16(header + 4).is_some_and(|n| usize::from(n) == payload || v.be16(6).is_some_and(|f| f & 0x2000 != 0))
        }
        Some(protocol::ICMP) => payload >= 8,
        _ => false,
    }
}

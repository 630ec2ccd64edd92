//! The common part of IPv4 and IPv6: the version, and the protocol that follows.

use crate::packet::{Layer, Stop};

use super::decoder::{Decoder, Found};
use super::digest::digest;
use super::view::{bytes, View};
use super::{gre, icmp, ipv4, ipv6, protocol, tcp, udp};

/// IP of either version, by its first nibble.
pub(super) fn ip(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    match v.u8(0).map(|b| b >> 4) {
        Some(4) => ipv4::ipv4(d, v),
        Some(6) => ipv6::ipv6(d, v),
        Some(_) => d.damaged(Stop::BadHeader, Layer::Ip),
        None => d.damaged(v.lack(1), Layer::Ip),
    }
}

/// The payload of an IP packet or of its first fragment; `v` has the length of the IP header.
#[inline]
pub(super) fn transport(d: &mut Decoder<'_>, protocol: u8, v: View<'_>) -> Found {
    d.packet.protocol = Some(protocol);
    d.packet.payload_bytes = Some(bytes(v.wire()));
    d.packet.payload_digest = None;
    match protocol {
        protocol::TCP => tcp::tcp(d, v),
        protocol::UDP | protocol::UDP_LITE => udp::udp(d, v),
        protocol::ICMP | protocol::ICMPV6 => icmp::icmp(d, v),
        protocol::AUTHENTICATION => authentication(d, v),
        protocol::IPV4 | protocol::IPV6 | protocol::GRE => tunnel(d, protocol, v),
        protocol::NO_NEXT => Found::Row,
        _ => {
            d.packet.payload_digest = digest(v);
            d.damaged(Stop::UnknownType, Layer::Transport)
        }
    }
}

/// An IP packet inside this one becomes the row instead.
fn tunnel(d: &mut Decoder<'_>, protocol: u8, v: View<'_>) -> Found {
    if d.packet.ip_fragment {
        // The inner packet continues in another fragment: its lengths cannot be checked here.
        return d.damaged(Stop::Fragment, Layer::Transport);
    }
    if d.too_deep() {
        return d.damaged(Stop::TooDeep, Layer::Ip);
    }
    match protocol {
        protocol::IPV4 => ipv4::ipv4(d, v),
        protocol::IPV6 => ipv6::ipv6(d, v),
        _ => gre::gre(d, v),
    }
}

/// IPsec authentication header: the payload after it is not encrypted (RFC 4302 section 2).
fn authentication(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(next), Some(words)) = (v.u8(0), v.u8(1)) else {
        return d.damaged(v.lack(2), Layer::IpOptions);
    };
    let length = (usize::from(words) + 2) * 4;
    if length > v.wire() {
        return d.damaged(Stop::LengthLies, Layer::IpOptions);
    }
    if d.too_deep() {
        return d.damaged(Stop::TooDeep, Layer::IpOptions);
    }
    transport(d, next, v.skip(length))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ipv4, ipv6, noted, one, tcp};
    use crate::notes::NoteKind;
    use crate::packet::{Layer, Stop};

    #[test]
    fn a_version_that_is_none() {
        for nibble in [0u8, 1, 5, 7, 15] {
            let p = one(101, &[nibble << 4; 40]);
            assert_eq!((p.stop, p.stop_layer, p.ip_version), (Stop::BadHeader, Layer::Ip, 0));
        }
        assert_eq!(one(228, &ipv6(6, &tcp(&[], &[]))).stop, Stop::BadHeader);
        assert_eq!(one(229, &ipv4(6, &tcp(&[], &[]))).stop, Stop::BadHeader);
    }

    #[test]
    fn the_innermost_packet_is_the_row() {
        for outer in [ipv4(41, &ipv6(6, &tcp(&[], b"x"))), ipv6(4, &ipv4(6, &tcp(&[], b"x")))] {
            let p = one(101, &outer);
            assert_eq!((p.src_port, p.payload_bytes, p.stop), (Some(40000), Some(1), Stop::None));
            assert_eq!(p.ip_id.is_some(), p.ip_version == 4);
            assert_eq!(noted(101, &outer, NoteKind::Tunnel), 1);
        }
        let mut nested = ipv4(6, &tcp(&[], &[]));
        for _ in 0..100 {
            nested = ipv4(4, &nested);
        }
        assert_eq!(one(101, &nested).stop, Stop::TooDeep);
    }

    #[test]
    fn authentication_header_and_unknown_protocols() {
        let ah = [&[6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1][..], &[0; 12], &tcp(&[], b"x")].concat();
        let frame = ipv4(51, &ah);
        let p = one(101, &frame);
        assert_eq!((p.protocol, p.payload_bytes, p.src_port), (Some(6), Some(1), Some(40000)));
        let p = one(101, &ipv4(89, &[0; 44]));
        assert_eq!((p.protocol, p.payload_bytes, p.stop), (Some(89), Some(44), Stop::UnknownType));
        assert_eq!(one(101, &ipv4(51, &[6, 200, 0, 0])).stop, Stop::LengthLies);
        cut_everywhere(101, &ipv4(89, &[0; 44]));
    }
}

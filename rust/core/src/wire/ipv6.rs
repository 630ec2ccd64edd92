//! IPv6 and its extension headers (RFC 8200), jumbograms and BIG TCP (RFC 2675).

use crate::limits;
use crate::packet::{Addr, Layer, Stop};

use super::decoder::{Decoder, Found};
use super::digest::digest;
use super::view::{bytes, View};
use super::{ip, protocol};

const HEADER: usize = 40;

#[inline]
pub(super) fn ipv6(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let Some(h) = v.array::<HEADER>(0) else {
        return d.damaged(v.lack(HEADER), Layer::Ip);
    };
    if h[0] >> 4 != 6 {
        return d.damaged(Stop::BadHeader, Layer::Ip);
    }
    let mut src = [0; 16];
    let mut dst = [0; 16];
    src.copy_from_slice(&h[8..24]);
    dst.copy_from_slice(&h[24..40]);
    let class = (h[0] << 4) | (h[1] >> 4);
    d.ip_headers += 1;
    d.final_addresses = h[6] == protocol::TCP;
    let p = &mut d.packet;
    p.ip_version = 6;
    p.src = Addr::v6(src);
    p.dst = Addr::v6(dst);
    p.ip_id = None;
    p.ip_ttl = Some(h[7]);
    p.ip_dscp = Some(class >> 2);
    p.ip_ecn = Some(class & 3);
    p.ip_fragment = false;
    p.protocol = Some(h[6]);
    p.payload_bytes = None;
    p.payload_digest = None;

    let body = v.skip(HEADER);
    let length = match usize::from(u16::from_be_bytes([h[4], h[5]])) {
        0 if h[6] == protocol::NO_NEXT => 0,
        // Longer than 16 bits: the length is in the jumbo option, or with offload only in the frame's length.
        0 => jumbo_length(h[6], body).unwrap_or(body.wire()),
        n => n,
    };
    if length > body.wire() {
        d.stop(Stop::LengthLies, Layer::Ip);
    }
    extensions(d, h[6], body.clip(length))
}

/// The jumbo payload option of a leading hop-by-hop header (RFC 2675 section 2), where Linux puts it first.
fn jumbo_length(next: u8, v: View<'_>) -> Option<usize> {
    const JUMBO: [u8; 2] = [0xc2, 4];
    if next != protocol::HOP_BY_HOP || v.array(2)? != JUMBO {
        return None;
    }
    usize::try_from(v.be32(4)?).ok().filter(|n| *n > 0xffff)
}

/// Skip the extension headers up to the transport header.
fn extensions(d: &mut Decoder<'_>, mut next: u8, mut v: View<'_>) -> Found {
    for _ in 0..limits::IPV6_EXTENSIONS {
        let length = match next {
            protocol::HOP_BY_HOP | protocol::DESTINATION_OPTIONS | protocol::ROUTING => {
                v.u8(1).map(|n| (usize::from(n) + 1) * 8)
            }
            protocol::AUTHENTICATION => v.u8(1).map(|n| (usize::from(n) + 2) * 4),
            protocol::FRAGMENT => Some(8),
            _ => return ip::transport(d, next, v),
        };
        d.packet.protocol = Some(next);
        let (Some(length), Some(following)) = (length, v.u8(0)) else {
            return d.damaged(v.lack(8), Layer::IpOptions);
        };
        if length > v.wire() {
            return d.damaged(Stop::LengthLies, Layer::IpOptions);
        }
        if next == protocol::FRAGMENT {
            let (Some(offset), Some(id)) = (v.be16(2), v.be32(4)) else {
                return d.damaged(v.lack(8), Layer::IpOptions);
            };
            d.packet.ip_id = Some(id);
            d.packet.ip_fragment = offset & 0xfff9 != 0;
            if offset & 0xfff8 != 0 {
                d.packet.protocol = Some(following);
                d.packet.payload_bytes = Some(bytes(v.skip(8).wire()));
                d.packet.payload_digest = digest(v.skip(8));
                return d.damaged(Stop::Fragment, Layer::Transport);
            }
        }
        if v.data().len() < length {
            return d.damaged(v.lack(length), Layer::IpOptions);
        }
        next = following;
        v = v.skip(length);
    }
    d.packet.protocol = Some(next);
    d.damaged(Stop::TooDeep, Layer::IpOptions)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, decode, ipv6, one, record, tcp};
    use crate::packet::{Layer, Stop};

    /// Extension headers in sequence, each (its number, its bytes but the first), then TCP.
    fn chain(headers: &[(u8, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for (i, (_, rest)) in headers.iter().enumerate() {
            body.push(headers.get(i + 1).map_or(6, |h| h.0));
            body.extend(*rest);
        }
        body.extend(tcp(&[], b"data"));
        ipv6(headers.first().map_or(6, |h| h.0), &body)
    }

    #[test]
    fn every_field() {
        let p = one(229, &chain(&[]));
        assert_eq!((p.src.to_string().as_str(), p.dst.to_string().as_str()), ("2001:db8::1", "2001:db8::2"));
        assert_eq!((p.ip_id, p.ip_ttl, p.ip_dscp, p.ip_ecn), (None, Some(64), Some(10), Some(2)));
        assert_eq!((p.protocol, p.payload_bytes), (Some(6), Some(4)));
        cut_everywhere(229, &chain(&[]));
    }

    #[test]
    fn extension_headers() {
        let options: (u8, &[u8]) = (60, &[0, 1, 4, 0, 0, 0, 0]);
        let routing: (u8, &[u8]) = (43, &[1; 15]);
        let authentication: (u8, &[u8]) = (51, &[4; 23]);
        let atomic: (u8, &[u8]) = (44, &[0, 0, 0, 0, 0, 0, 7]);
        let packet = chain(&[options, routing, atomic, authentication, options]);
        let p = one(229, &packet);
        assert_eq!((p.protocol, p.payload_bytes, p.src_port, p.ip_id), (Some(6), Some(4), Some(40000), Some(7)));
        assert!(!p.ip_fragment);
        cut_everywhere(229, &packet);
        let p = one(229, &chain(&[options; 200]));
        assert_eq!((p.stop, p.stop_layer), (Stop::TooDeep, Layer::IpOptions));
        let p = one(229, &chain(&[(60, &[255, 0, 0, 0, 0, 0, 0])]));
        assert_eq!((p.stop, p.stop_layer), (Stop::LengthLies, Layer::IpOptions));
    }

    #[test]
    fn fragments() {
        let p = one(229, &chain(&[(44, &[0, 0, 1, 0, 0, 0, 7])]));
        assert_eq!((p.ip_fragment, p.src_port, p.stop), (true, Some(40000), Stop::None));
        let p = one(229, &chain(&[(44, &[0, 1, 0, 0, 0, 0, 7])]));
        assert_eq!((p.ip_fragment, p.ip_id, p.protocol, p.payload_bytes), (true, Some(7), Some(6), Some(24)));
        assert_eq!((p.stop, p.stop_layer), (Stop::Fragment, Layer::Transport));
    }

    #[test]
    fn jumbo_lengths() {
        let mut packet = chain(&[(0, &[0, 0xc2, 4, 0, 1, 0x38, 0x80])]);
        packet[4..6].fill(0);
        let p = decode(&record(229, &packet, 40 + 80_000)).0[0];
        assert_eq!((p.payload_bytes, p.stop), (Some(80_000 - 8 - 20), Stop::None));
        let p = one(229, &packet);
        assert_eq!((p.payload_bytes, p.stop, p.stop_layer), (Some(4), Stop::LengthLies, Layer::Ip));
        // Without the option, the frame's length.
        let mut packet = chain(&[]);
        packet[4..6].fill(0);
        let p = decode(&record(229, &packet, 40 + 80_000)).0[0];
        assert_eq!((p.payload_bytes, p.stop), (Some(79_980), Stop::None));
    }

    #[test]
    fn no_next_header() {
        let mut packet = ipv6(59, &[]);
        packet.resize(60, 0);
        assert_eq!((one(229, &packet).payload_bytes, one(229, &packet).stop), (Some(0), Stop::None));
    }
}

//! PPP (RFC 1661), bare, in HDLC-like framing (RFC 1662), over Ethernet (RFC 2516), and Cisco HDLC.

use crate::packet::{Layer, Stop};

use super::decoder::{Decoder, Found};
use super::view::View;
use super::{ethernet, ipv4, ipv6, mpls};

/// All-stations address and unnumbered information (RFC 1662 section 3.1).
const HDLC: [u8; 2] = [0xff, 0x03];
/// Cisco HDLC, unicast and multicast: an EtherType follows.
const CISCO: [[u8; 2]; 2] = [[0x0f, 0], [0x8f, 0]];

/// PPP that may have an HDLC address and control field, or Cisco's.
pub(super) fn hdlc(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    match v.array::<2>(0) {
        Some(HDLC) => ppp(d, v.skip(2)),
        Some(head) if CISCO.contains(&head) => match v.be16(2) {
            Some(kind) => ethernet::ethertype(d, kind, v.skip(4)),
            None => d.damaged(v.lack(4), Layer::Link),
        },
        _ => ppp(d, v),
    }
}

/// LINKTYPE_PPP_WITH_DIR: a byte before it, 0 for received.
pub(super) fn with_direction(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let Some(direction) = v.u8(0) else {
        return d.damaged(v.lack(1), Layer::Link);
    };
    d.packet.outgoing = Some(direction != 0);
    hdlc(d, v.skip(1))
}

/// A PPPoE session: version and type, code, session, length, then PPP (RFC 2516 section 4).
pub(super) fn pppoe(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    const HEADER: usize = 6;
    let (Some(version_type), Some(code), Some(length)) = (v.u8(0), v.u8(1), v.be16(4)) else {
        return d.damaged(v.lack(HEADER), Layer::Link);
    };
    if version_type != 0x11 {
        return d.damaged(Stop::BadHeader, Layer::Link);
    }
    if code != 0 {
        // Discovery packets carry no data.
        return Found::Other;
    }
    let length = usize::from(length);
    let v = v.skip(HEADER);
    if length > v.wire() {
        d.stop(Stop::LengthLies, Layer::Link);
    }
    ppp(d, v.clip(length))
}

/// The protocol field, one byte if compressed (RFC 1661 section 6.5), and its payload.
fn ppp(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (protocol, v) = match (v.u8(0), v.be16(0)) {
        (Some(first), _) if first & 1 != 0 => (u16::from(first), v.skip(1)),
        (_, Some(protocol)) => (protocol, v.skip(2)),
        _ => return d.damaged(v.lack(2), Layer::Link),
    };
    match protocol {
        0x0021 => ipv4::ipv4(d, v),
        0x0057 => ipv6::ipv6(d, v),
        0x0281 | 0x0283 => mpls::mpls(d, v),
        _ => Found::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ethernet, ipv4, ipv6, one, packets, tcp};
    use crate::packet::Stop;

    #[test]
    fn every_framing() {
        let v4 = ipv4(6, &tcp(&[], b"x"));
        for head in [&[0xff, 3, 0, 0x21][..], &[0, 0x21], &[0x21], &[0xff, 3, 0x21], &[0x0f, 0, 8, 0]] {
            let frame = [head, &v4].concat();
            for link_type in [9, 50, 104] {
                assert_eq!(one(link_type, &frame).payload_bytes, Some(1));
            }
            cut_everywhere(50, &frame);
        }
        let frame = [&[0, 0x57][..], &ipv6(6, &tcp(&[], &[]))].concat();
        assert_eq!(one(9, &frame).ip_version, 6);
        assert!(packets(9, &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4]).is_empty());
    }

    #[test]
    fn direction_byte() {
        let frame = [&[1, 0xff, 3, 0, 0x21][..], &ipv4(6, &tcp(&[], b"x"))].concat();
        assert_eq!((one(204, &frame).outgoing, one(204, &frame).src_port), (Some(true), Some(40000)));
    }

    #[test]
    fn over_ethernet() {
        let v4 = ipv4(6, &tcp(&[], b"x"));
        let length = (v4.len() + 2) as u8;
        let session = [&[0x11, 0, 0, 1, 0, length, 0, 0x21][..], &v4].concat();
        let frame = ethernet(0x8864, &session);
        assert_eq!((one(1, &frame).payload_bytes, one(51, &session).payload_bytes), (Some(1), Some(1)));
        cut_everywhere(1, &frame);
        assert!(packets(1, &ethernet(0x8863, &session)).is_empty());
        assert!(packets(51, &[0x11, 9, 0, 0, 0, 0]).is_empty());
        assert_eq!(one(51, &[0x21, 0, 0, 0, 0, 0]).stop, Stop::BadHeader);
    }
}

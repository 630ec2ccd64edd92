//! GRE (RFC 2784, RFC 2890) and the version that PPTP uses (RFC 2637), to the IP packet inside.

use crate::packet::{Layer, Stop};

use super::decoder::{Decoder, Found};
use super::ethernet;
use super::view::View;

/// Protocol types that are not EtherTypes.
pub(super) const PPP: u16 = 0x880b;
pub(super) const ETHERNET: u16 = 0x6558;

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Only in version 1.
const ACKNOWLEDGMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

pub(super) fn gre(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(flags), Some(protocol)) = (v.be16(0), v.be16(2)) else {
        return d.damaged(v.lack(4), Layer::Transport);
    };
    if flags & ROUTING != 0 || flags & VERSION > 1 {
        // Source routes of RFC 1701 are obsolete.
        return d.damaged(Stop::UnknownType, Layer::Transport);
    }
    let ack = if flags & VERSION == 1 { ACKNOWLEDGMENT } else { 0 };
    let words = (flags & (CHECKSUM | KEY | SEQUENCE | ack)).count_ones() as usize;
    match ethernet::ethertype(d, protocol, v.skip(words.saturating_mul(4).saturating_add(4))) {
        Found::Row => Found::Row,
        Found::Other => d.damaged(Stop::UnknownType, Layer::Transport),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ethernet, ipv4, one, tcp};
    use crate::packet::Stop;

    #[test]
    fn every_optional_field() {
        let inner = ipv4(6, &tcp(&[], b"x"));
        for (flags, words) in [(0x0000u16, 0), (0x8000, 1), (0x2000, 1), (0xb000, 3)] {
            let head = [&flags.to_be_bytes()[..], &[8, 0], &vec![0; words * 4]].concat();
            assert_eq!(one(101, &ipv4(47, &[&head[..], &inner].concat())).payload_bytes, Some(1));
        }
        let pptp = [&[0x30, 0x81, 0x88, 0x0b][..], &[0; 12], &[0xff, 3, 0, 0x21], &inner].concat();
        assert_eq!(one(101, &ipv4(47, &pptp)).src_port, Some(40000));
        let bridged = [&[0, 0, 0x65, 0x58][..], &ethernet(0x0800, &inner)].concat();
        assert_eq!(one(101, &ipv4(47, &bridged)).src_port, Some(40000));
    }

    #[test]
    fn another_protocol_leaves_the_outer_packet() {
        let p = one(101, &ipv4(47, &[0, 0, 0x12, 0x34, 1, 2, 3]));
        assert_eq!((p.protocol, p.payload_bytes, p.stop), (Some(47), Some(7), Stop::UnknownType));
        let p = one(101, &ipv4(47, &[0x40, 0, 8, 0, 1, 2, 3]));
        assert_eq!(p.stop, Stop::UnknownType);
        let mut notes = crate::notes::Notes::default();
        for n in 0..30 {
            let data = &ipv4(47, &[0xb0, 0, 8, 0, 1, 2, 3])[..n.min(27)];
            super::super::decode(
                &super::super::testing::record(101, data, 27),
                1,
                &mut Default::default(),
                &mut notes,
                &mut |_: &crate::packet::Packet| {},
            );
        }
        cut_everywhere(101, &ipv4(47, &[0xb0, 0, 0x12, 0x34, 1, 2, 3]));
    }
}

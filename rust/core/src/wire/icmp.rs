//! ICMP and ICMPv6 (RFC 792, RFC 4443). The packet quoted by an error is not part of the capture.

use crate::packet::Layer;

use super::decoder::{Decoder, Found};
use super::digest::digest;
use super::view::{bytes, View};

const HEADER: usize = 8;

pub(super) fn icmp(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    // The header distinguishes requests from replies, and one request from the next.
    d.packet.payload_digest = digest(v);
    d.packet.payload_bytes = v.wire().checked_sub(HEADER).map(bytes);
    if v.data().len() < HEADER {
        return d.damaged(v.lack(HEADER), Layer::Transport);
    }
    Found::Row
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ipv4, one, tcp};
    use crate::packet::Stop;

    #[test]
    fn a_quoted_packet_has_no_row() {
        let quote = ipv4(6, &tcp(&[], &[]));
        let packet = ipv4(1, &[&[3, 1, 0, 0, 0, 0, 0, 0][..], &quote[..28]].concat());
        let p = one(101, &packet);
        assert_eq!((p.protocol, p.src_port, p.payload_bytes), (Some(1), None, Some(28)));
        assert!(p.tcp.is_none() && p.stop == Stop::None);
        cut_everywhere(101, &packet);
        assert_eq!(one(101, &ipv4(1, &[3, 1])).stop, Stop::LengthLies);
    }
}

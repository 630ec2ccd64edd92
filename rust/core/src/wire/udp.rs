//! UDP (RFC 768) and UDP-Lite (RFC 3828).

use crate::packet::{Layer, Stop};

use super::decoder::{Decoder, Found};
use super::digest::digest;
use super::protocol;
use super::view::{bytes, View};

const HEADER: usize = 8;

pub(super) fn udp(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    d.packet.payload_bytes = None;
    let (Some(src), Some(dst)) = (v.be16(0), v.be16(2)) else {
        return d.damaged(v.lack(HEADER), Layer::Transport);
    };
    d.packet.src_port = Some(src);
    d.packet.dst_port = Some(dst);
    if v.wire() < HEADER {
        return d.damaged(Stop::LengthLies, Layer::Transport);
    }
    d.packet.payload_bytes = Some(bytes(v.wire() - HEADER));
    let Some(length) = v.be16(4) else {
        return d.damaged(Stop::SnaplenCut, Layer::Transport);
    };
    // 0 is a jumbogram (RFC 2675 section 4); UDP-Lite has a checksum coverage here; a fragment is shorter than its datagram.
    let length = usize::from(length);
    let known = length != 0 && d.packet.protocol == Some(protocol::UDP) && !d.packet.ip_fragment;
    if known && !(HEADER..=v.wire()).contains(&length) {
        return d.damaged(Stop::LengthLies, Layer::Transport);
    }
    if known {
        d.packet.payload_bytes = Some(bytes(length - HEADER));
    }
    d.packet.payload_digest = digest(if known { v.clip(length) } else { v }.skip(HEADER));
    if v.data().len() < HEADER {
        return d.damaged(Stop::SnaplenCut, Layer::Transport);
    }
    Found::Row
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ipv4, one};
    use crate::packet::{Layer, Stop};

    fn udp(length: u8, payload: &[u8]) -> Vec<u8> {
        ipv4(17, &[&[0x9c, 0x40, 0x13, 0x89, 0, length, 0, 0][..], payload].concat())
    }

    #[test]
    fn ports_and_length() {
        let p = one(101, &udp(12, b"data"));
        assert_eq!((p.src_port, p.dst_port, p.payload_bytes), (Some(40000), Some(5001), Some(4)));
        // Options after the datagram (RFC 9868), or a length left to the IP header.
        assert_eq!(one(101, &udp(10, b"data")).payload_bytes, Some(2));
        assert_eq!(one(101, &udp(0, b"data")).payload_bytes, Some(4));
        cut_everywhere(101, &udp(12, b"data"));
    }

    #[test]
    fn lengths_that_lie() {
        for length in [7, 13, 255] {
            let p = one(101, &udp(length, b"data"));
            assert_eq!((p.stop, p.stop_layer, p.src_port), (Stop::LengthLies, Layer::Transport, Some(40000)));
        }
    }
}

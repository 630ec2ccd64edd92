//! IPv4 (RFC 791).

use crate::packet::{Addr, Layer, Stop};

use super::decoder::{Decoder, Found};
use super::digest::digest;
use super::ip;
use super::view::{bytes, View};

const HEADER: usize = 20;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;
/// The largest datagram that fragments can make.
const LARGEST: usize = 65_535;

#[inline]
pub(super) fn ipv4(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let Some(h) = v.array::<HEADER>(0) else {
        return d.damaged(v.lack(HEADER), Layer::Ip);
    };
    if h[0] >> 4 != 4 {
        return d.damaged(Stop::BadHeader, Layer::Ip);
    }
    let header = usize::from(h[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([h[2], h[3]]));
    let fragment = u16::from_be_bytes([h[6], h[7]]);
    let offset = usize::from(fragment & OFFSET) * 8;
    d.ip_headers += 1;
    d.final_addresses = header == HEADER;
    let p = &mut d.packet;
    p.ip_version = 4;
    p.src = Addr::v4([h[12], h[13], h[14], h[15]]);
    p.dst = Addr::v4([h[16], h[17], h[18], h[19]]);
    p.ip_id = Some(u32::from(u16::from_be_bytes([h[4], h[5]])));
    p.ip_ttl = Some(h[8]);
    p.ip_dscp = Some(h[1] >> 2);
    p.ip_ecn = Some(h[1] & 3);
    p.ip_fragment = fragment & (OFFSET | MORE_FRAGMENTS) != 0;
    p.protocol = Some(h[9]);
    p.payload_bytes = None;
    p.payload_digest = None;

    // Segmentation offload sets the total length to 0 if 16 bits are too few: the frame is the packet.
    let total = if total == 0 { v.wire() } else { total };
    if header < HEADER || header > total || header > v.wire() {
        return d.damaged(Stop::LengthLies, Layer::Ip);
    }
    if d.unproven && !v.data().get(..header).is_some_and(checksum_holds) {
        return d.damaged(Stop::BadFcs, Layer::Ip);
    }
    d.unproven = false;
    if total > v.wire() {
        d.stop(Stop::LengthLies, Layer::Ip);
    }
    let payload = v.clip(total).skip(header);
    if offset > 0 {
        d.packet.payload_bytes = Some(bytes(payload.wire()));
        d.packet.payload_digest = digest(payload);
        if offset + payload.wire() > LARGEST {
            d.stop(Stop::LengthLies, Layer::Ip);
        }
        return d.damaged(Stop::Fragment, Layer::Transport);
    }
    if v.data().len() < header {
        d.packet.payload_bytes = None;
        return d.damaged(v.lack(header), Layer::IpOptions);
    }
    ip::transport(d, h[9], payload)
}

/// Whether the header's checksum is right (RFC 1071); its length is a multiple of four.
pub(super) fn checksum_holds(header: &[u8]) -> bool {
    let sum: u32 = header.chunks_exact(2).map(|b| u32::from(u16::from_be_bytes([b[0], b[1]]))).sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    (folded >> 16) + (folded & 0xffff) == 0xffff
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, decode, ipv4, one, record, tcp, TIMESTAMPS};
    use crate::packet::{Addr, Layer, Stop};

    fn with(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut packet = ipv4(6, &tcp(&TIMESTAMPS, b"data"));
        change(&mut packet);
        packet
    }

    #[test]
    fn every_field() {
        let p = one(101, &with(|_| {}));
        assert_eq!((p.ip_version, p.src, p.dst), (4, Addr::v4([10, 0, 0, 1]), Addr::v4([10, 0, 0, 2])));
        assert_eq!((p.ip_id, p.ip_ttl, p.ip_dscp, p.ip_ecn), (Some(0x1234), Some(64), Some(10), Some(2)));
        assert_eq!((p.ip_fragment, p.protocol, p.payload_bytes), (false, Some(6), Some(4)));
        cut_everywhere(101, &with(|_| {}));
    }

    #[test]
    fn options_are_passed_over() {
        let mut packet = with(|p| {
            p.splice(20..20, [1; 8]);
            p[0] = 0x47;
        });
        packet[3] += 8;
        assert_eq!((one(101, &packet).payload_bytes, one(101, &packet).src_port), (Some(4), Some(40000)));
        cut_everywhere(101, &packet);
        let p = decode(&record(101, &packet[..24], packet.len())).0[0];
        assert_eq!((p.stop, p.stop_layer), (Stop::SnaplenCut, Layer::IpOptions));
    }

    #[test]
    fn header_lengths_that_lie() {
        for ihl in [0, 1, 4, 15] {
            let mut packet = ipv4(6, &tcp(&[], &[]));
            packet[0] = 0x40 | ihl;
            let p = one(101, &packet);
            assert_eq!((p.stop, p.stop_layer, p.src_port), (Stop::LengthLies, Layer::Ip, None));
            assert_eq!(p.src, Addr::v4([10, 0, 0, 1]));
        }
    }

    #[test]
    fn total_lengths_that_lie() {
        let total = |n: u16| with(|p| p[2..4].copy_from_slice(&n.to_be_bytes()));
        let p = one(101, &total(19));
        assert_eq!((p.stop, p.stop_layer, p.tcp.is_none()), (Stop::LengthLies, Layer::Ip, true));
        let p = one(101, &total(65535));
        assert_eq!((p.stop, p.stop_layer), (Stop::LengthLies, Layer::Ip));
        assert_eq!((p.tcp.map(|t| t.seq), p.payload_bytes), (Some(1000), Some(4)));
    }

    #[test]
    fn offload_leaves_the_total_length_to_the_frame() {
        let packet = with(|p| p[2..4].fill(0));
        let p = decode(&record(101, &packet, 150_052)).0[0];
        assert_eq!((p.payload_bytes, p.stop), (Some(150_000), Stop::None));
    }

    #[test]
    fn fragments() {
        let first = with(|p| p[6] = 0x20);
        let p = one(101, &first);
        assert_eq!((p.ip_fragment, p.src_port, p.stop), (true, Some(40000), Stop::None));
        let later = with(|p| p[7] = 100);
        let p = one(101, &later);
        assert_eq!((p.ip_fragment, p.src_port, p.payload_bytes), (true, None, Some(36)));
        assert_eq!((p.stop, p.stop_layer), (Stop::Fragment, Layer::Transport));
        let mut tiny = ipv4(6, &tcp(&[], &[])[..8]);
        tiny[6] = 0x20;
        let p = one(101, &tiny);
        assert_eq!((p.src_port, p.stop), (Some(40000), Stop::Fragment));
        assert_eq!(one(101, &with(|p| p[6..8].fill(0x1f))).stop, Stop::Fragment);
        assert_eq!(one(101, &with(|p| p[6..8].copy_from_slice(&[0x1f, 0xff]))).stop, Stop::LengthLies);
        cut_everywhere(101, &first);
        cut_everywhere(101, &later);
    }
}

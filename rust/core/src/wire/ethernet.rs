//! Ethernet II, 802.3 and VLAN tags (IEEE 802.3 clause 3.2, 802.1Q clause 9), and the protocols of EtherTypes.

use crate::packet::{Layer, Stop};

use super::decoder::{Decoder, Found, LinkDecoder};
use super::view::View;
use super::{gre, ipv4, ipv6, llc, mpls, ppp};

const HEADER: usize = 14;
/// Smaller values of the type field are the length of an 802.3 frame.
const LEAST_ETHERTYPE: u16 = 0x600;

#[inline]
pub(super) fn ethernet(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    match v.be16(12) {
        Some(kind) => ethertype_or_length(d, kind, v.skip(HEADER)),
        None => d.damaged(v.lack(HEADER), Layer::Link),
    }
}

/// The field after the addresses: an EtherType, or the length of an LLC frame.
fn ethertype_or_length(d: &mut Decoder<'_>, kind: u16, v: View<'_>) -> Found {
    if kind >= LEAST_ETHERTYPE {
        return ethertype(d, kind, v);
    }
    let length = usize::from(kind);
    if length > v.wire() {
        d.stop(Stop::LengthLies, Layer::Link);
    }
    llc::llc(d, v.clip(length))
}

/// The payload of an EtherType, in any header.
#[inline]
pub(super) fn ethertype(d: &mut Decoder<'_>, kind: u16, v: View<'_>) -> Found {
    match kind {
        0x0800 => ipv4::ipv4(d, v),
        0x86dd => ipv6::ipv6(d, v),
        // 802.1Q, 802.1ad, and two numbers that QinQ equipment used before 802.1ad.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => vlan(d, v),
        0x8847 | 0x8848 => mpls::mpls(d, v),
        0x8864 => ppp::pppoe(d, v),
        // PPP and transparent Ethernet bridging (RFC 1701), inside GRE.
        gre::PPP => nested(d, v, ppp::hdlc),
        gre::ETHERNET => nested(d, v, ethernet),
        _ => Found::Other,
    }
}

fn nested(d: &mut Decoder<'_>, v: View<'_>, inner: LinkDecoder) -> Found {
    if d.too_deep() {
        return d.damaged(Stop::TooDeep, Layer::Link);
    }
    inner(d, v)
}

fn vlan(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(tag), Some(kind)) = (v.be16(0), v.be16(2)) else {
        return d.damaged(v.lack(4), Layer::Link);
    };
    if d.packet.vlan.is_none() {
        d.packet.vlan = Some(tag & 0x0fff);
    }
    if d.too_deep() {
        return d.damaged(Stop::TooDeep, Layer::Link);
    }
    ethertype_or_length(d, kind, v.skip(4))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ethernet, ipv4, noted, one, packets, record, tcp, Found, TIMESTAMPS};
    use super::super::{decode, State};
    use crate::notes::{NoteKind, Notes};
    use crate::packet::{Layer, Stop};

    fn tagged(tags: &[u16]) -> Vec<u8> {
        let mut inner = 0x0800u16.to_be_bytes().to_vec();
        inner.extend(ipv4(6, &tcp(&TIMESTAMPS, b"data")));
        for tag in tags.iter().rev() {
            inner = [&[0x81, 0][..], &tag.to_be_bytes(), &inner].concat();
        }
        ethernet(u16::from_be_bytes([inner[0], inner[1]]), &inner[2..])
    }

    #[test]
    fn plain() {
        let frame = tagged(&[]);
        let p = one(1, &frame);
        assert_eq!((p.src_port, p.payload_bytes, p.vlan, p.stop), (Some(40000), Some(4), None, Stop::None));
        cut_everywhere(1, &frame);
    }

    #[test]
    fn the_outer_vlan_of_two() {
        let frame = tagged(&[0x6064, 200]);
        assert_eq!(one(1, &frame).vlan, Some(0x064));
        cut_everywhere(1, &frame);
    }

    #[test]
    fn vlan_tags_without_end() {
        let p = one(1, &tagged(&[7; 300]));
        assert_eq!((p.stop, p.stop_layer, p.vlan), (Stop::TooDeep, Layer::Link, Some(7)));
        assert_eq!(noted(1, &tagged(&[7; 300]), NoteKind::TooDeep), 1);
    }

    #[test]
    fn a_runt_is_a_row_and_another_protocol_is_none() {
        let p = one(1, &[1, 2, 3, 4, 5]);
        assert_eq!((p.stop, p.stop_layer, p.ip_version), (Stop::LengthLies, Layer::Link, 0));
        assert!(packets(1, &ethernet(0x0806, &[0; 28])).is_empty());
        assert!(packets(1, &ethernet(0x1234, &[])).is_empty());
    }

    /// The stops of frames of one interface that end with a check sequence of four bytes, and the count of wrong ones.
    fn stops(frames: &[&[u8]], wire: usize) -> (Vec<Stop>, u64) {
        let (mut state, mut notes, mut found) = (State::default(), Notes::default(), Found::default());
        for data in frames {
            let mut r = record(1, data, data.len().max(wire));
            r.fcs_bytes = Some(4);
            decode(&r, 1, &mut state, &mut notes, &mut found);
        }
        (found.packets.iter().map(|p| p.stop).collect(), notes.get(NoteKind::BadFcs).count)
    }

    #[test]
    fn an_announced_check_sequence_shows_damage_once_one_was_right() {
        let frame = ethernet(0x0800, &ipv4(6, &tcp(&[], b"data")));
        let right = [&frame[..], &crc32fast::hash(&frame).to_le_bytes()].concat();
        let wrong = [&frame[..], &[0; 4]].concat();
        assert_eq!(stops(&[&wrong, &wrong], 0), (vec![Stop::None; 2], 0));
        // The IPv4 header of these frames has no checksum, so that nothing in a damaged frame is verified.
        assert_eq!(stops(&[&right, &wrong, &right], 0), (vec![Stop::None; 2], 1));
        let mut verified = wrong.clone();
        verified[24..26].copy_from_slice(&checksum(&wrong[14..34]).to_be_bytes());
        assert_eq!(stops(&[&right, &verified], 0), (vec![Stop::None, Stop::BadFcs], 1));
        // A snap length cut the check sequence off.
        assert_eq!(stops(&[&right, &frame], right.len()), (vec![Stop::None; 2], 0));
    }

    /// The checksum of an IPv4 header.
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum: u32 = words.sum();
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn padding_is_no_payload() {
        let mut frame = ethernet(0x0800, &ipv4(6, &tcp(&[], &[])));
        frame.resize(60, 0xaa);
        assert_eq!(one(1, &frame).payload_bytes, Some(0));
    }
}

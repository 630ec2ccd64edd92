//! 802.2 LLC and SNAP (IEEE 802.2 clause 5, RFC 1042).

use crate::packet::Layer;

use super::decoder::{Decoder, Found};
use super::ethernet;
use super::ipv4;
use super::view::View;

/// The first bytes of a SNAP header.
pub(super) const SNAP_HEADER: [u8; 3] = [SNAP, SNAP, UNNUMBERED_INFORMATION];
const UNNUMBERED_INFORMATION: u8 = 0x03;
const SNAP: u8 = 0xaa;
/// IP directly over LLC (RFC 948), rarely used.
const SAP_IP: u8 = 0x06;

pub(super) fn llc(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let Some([dsap, ssap, control]) = v.array(0) else {
        return d.damaged(v.lack(3), Layer::Link);
    };
    match (dsap, ssap, control) {
        (SNAP, SNAP, UNNUMBERED_INFORMATION) => snap(d, v.skip(3)),
        (SAP_IP, SAP_IP, UNNUMBERED_INFORMATION) => ipv4::ipv4(d, v.skip(3)),
        _ => Found::Other,
    }
}

fn snap(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(oui), Some(kind)) = (v.array::<3>(0), v.be16(3)) else {
        return d.damaged(v.lack(5), Layer::Link);
    };
    match oui {
        // RFC 1042, and the bridge-tunnel encapsulation of 802.1H.
        [0, 0, 0] | [0, 0, 0xf8] => ethernet::ethertype(d, kind, v.skip(5)),
        _ => Found::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ethernet, ipv4, one, packets, tcp};
    use crate::packet::{Layer, Stop};

    fn snap(oui: [u8; 3], length_error: i32) -> Vec<u8> {
        let body = [&[0xaa, 0xaa, 3][..], &oui, &[8, 0], &ipv4(6, &tcp(&[], b"x"))].concat();
        ethernet((body.len() as i32 + length_error) as u16, &body)
    }

    #[test]
    fn snap_to_ip() {
        for oui in [[0; 3], [0, 0, 0xf8]] {
            let p = one(1, &snap(oui, 0));
            assert_eq!((p.dst_port, p.payload_bytes, p.stop), (Some(5001), Some(1), Stop::None));
        }
        assert!(packets(1, &snap([0, 0, 0xc], 0)).is_empty());
        cut_everywhere(1, &snap([0; 3], 0));
    }

    #[test]
    fn a_length_that_lies_keeps_what_is_good() {
        let p = one(1, &snap([0; 3], 1000));
        assert_eq!((p.dst_port, p.stop, p.stop_layer), (Some(5001), Stop::LengthLies, Layer::Link));
        let p = one(1, &ethernet(3, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]));
        assert_eq!((p.stop, p.stop_layer), (Stop::LengthLies, Layer::Link));
    }

    #[test]
    fn spanning_tree_is_no_row() {
        assert!(packets(1, &ethernet(38, &[0x42; 60])).is_empty());
    }
}

//! Prism header (LINKTYPE_IEEE802_11_PRISM) in the capturing host's byte order, of which only the length matters here.

use crate::packet::{Layer, Stop};

use super::avs;
use super::decoder::{Decoder, Found};
use super::dot11;
use super::view::View;

/// Message code, message length, device name.
const LEAST: usize = 24;
/// Message codes of linux-wlan-ng (rx_sniff) and of the drivers that copied it.
const CODES: [u32; 2] = [0x44, 0x41];

pub(super) fn prism(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(code), Some(length)) = (v.be32(0), v.be32(4)) else {
        return d.damaged(v.lack(LEAST), Layer::Link);
    };
    if avs::is_avs(code) {
        return avs::avs(d, v);
    }
    let length = if CODES.contains(&code) {
        length
    } else if CODES.contains(&code.swap_bytes()) {
        length.swap_bytes()
    } else {
        return d.damaged(Stop::BadHeader, Layer::Link);
    };
    dot11::behind(d, v, length, LEAST)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, dot11, ipv4, one, snap, tcp};
    use crate::packet::Stop;

    #[test]
    fn both_byte_orders_and_lies() {
        let air = dot11(0x0108, &[], &snap(&ipv4(6, &tcp(&[], b"x"))));
        for order in [u32::to_be_bytes, u32::to_le_bytes] {
            let data = |length: u32| [&order(0x44)[..], &order(length), &[0; 136], &air].concat();
            assert_eq!(one(119, &data(144)).payload_bytes, Some(1));
            cut_everywhere(119, &data(144));
            for length in [0, u32::MAX] {
                assert_eq!(one(119, &data(length)).stop, Stop::LengthLies);
            }
        }
        assert_eq!(one(119, &[7; 200]).stop, Stop::BadHeader);
    }
}

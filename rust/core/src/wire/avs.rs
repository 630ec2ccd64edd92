//! AVS wireless capture header (LINKTYPE_IEEE802_11_AVS), versions 1 and 2, of which only the length matters here.

use crate::packet::{Layer, Stop};

use super::decoder::{Decoder, Found};
use super::dot11;
use super::view::View;

/// The top 28 bits of the first word; the version is in the rest.
const MAGIC: u32 = 0x8021_1000;
/// Version and length.
const LEAST: usize = 8;

/// Whether a header with this first word is one.
pub(super) fn is_avs(first: u32) -> bool {
    first & !0xf == MAGIC
}

pub(super) fn avs(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(first), Some(length)) = (v.be32(0), v.be32(4)) else {
        return d.damaged(v.lack(LEAST), Layer::Link);
    };
    if !is_avs(first) {
        return d.damaged(Stop::BadHeader, Layer::Link);
    }
    dot11::behind(d, v, length, LEAST)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, dot11, ipv4, one, snap, tcp};
    use crate::packet::Stop;

    #[test]
    fn under_both_link_types() {
        let air = dot11(0x0108, &[], &snap(&ipv4(6, &tcp(&[], b"x"))));
        for version in [1, 2] {
            let mut data = [&[0x80, 0x21, 0x10, version, 0, 0, 0, 64][..], &[0; 56], &air].concat();
            assert_eq!(one(163, &data).payload_bytes, Some(1));
            assert_eq!(one(119, &data).payload_bytes, Some(1));
            cut_everywhere(163, &data);
            data[4] = 1;
            assert_eq!(one(163, &data).stop, Stop::LengthLies);
            data[0] = 0;
            assert_eq!(one(163, &data).stop, Stop::BadHeader);
        }
    }
}

//! MPLS label stacks (RFC 3032), as far as IP directly below them.

use crate::packet::{Layer, Stop};

use super::decoder::{Decoder, Found};
use super::ip;
use super::view::View;

const BOTTOM: u32 = 0x100;

pub(super) fn mpls(d: &mut Decoder<'_>, mut v: View<'_>) -> Found {
    loop {
        let Some(label) = v.be32(0) else {
            return d.damaged(v.lack(4), Layer::Link);
        };
        v = v.skip(4);
        if label & BOTTOM != 0 {
            break;
        }
        if d.too_deep() {
            return d.damaged(Stop::TooDeep, Layer::Link);
        }
    }
    // The label does not give the payload's type: RFC 4928 has routers look at the first nibble, too.
    match v.u8(0).map(|b| b >> 4) {
        Some(4 | 6) => ip::ip(d, v),
        Some(_) => Found::Other,
        None => d.damaged(v.lack(1), Layer::Link),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ethernet, ipv4, one, packets, tcp};
    use crate::packet::Stop;

    #[test]
    fn two_labels_to_ip() {
        let frame = ethernet(0x8847, &[&[0, 1, 0x10, 64, 0, 1, 0x11, 64][..], &ipv4(6, &tcp(&[], &[]))].concat());
        assert_eq!(one(1, &frame).src_port, Some(40000));
        cut_everywhere(1, &frame);
    }

    #[test]
    fn a_stack_without_bottom_and_a_pseudowire() {
        assert_eq!(one(1, &ethernet(0x8847, &[0; 400])).stop, Stop::TooDeep);
        assert!(packets(1, &ethernet(0x8847, &[0, 1, 0x11, 64, 0, 0, 0, 0])).is_empty());
    }
}

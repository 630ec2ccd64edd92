//! FDDI (ANSI X3.139): frame control, two addresses, then LLC (RFC 1390).

use crate::packet::Layer;

use super::decoder::{Decoder, Found};
use super::llc;
use super::view::View;

const HEADER: usize = 13;
/// Frame control: the address length (48 bits) and "01", an LLC frame; apart from class and priority.
const FORMAT: u8 = 0x70;
const LLC: u8 = 0x50;

pub(super) fn fddi(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    match v.u8(0) {
        // Tokens, MAC and station-management frames carry no packets.
        Some(control) if control & FORMAT != LLC => Found::Other,
        Some(_) if v.data().len() >= HEADER => llc::llc(d, v.skip(HEADER)),
        _ => d.damaged(v.lack(HEADER), Layer::Link),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, ipv4, one, packets, snap, tcp};

    const FDDI: u16 = 10;

    fn frame(control: u8) -> Vec<u8> {
        [&[control][..], &[2; 6], &[4; 6], &snap(&ipv4(6, &tcp(&[], b"x")))].concat()
    }

    #[test]
    fn llc_of_every_priority() {
        for control in [0x50, 0x54, 0x57, 0xd0] {
            let p = one(FDDI, &frame(control));
            assert_eq!((p.src_port, p.payload_bytes), (Some(40000), Some(1)), "{control:#x}");
        }
        cut_everywhere(FDDI, &frame(0x50));
    }

    #[test]
    fn other_frames_are_no_rows() {
        for control in [0x40, 0x41, 0x4f, 0x80, 0xc0, 0xc2, 0x70] {
            assert!(packets(FDDI, &frame(control)).is_empty(), "{control:#x}");
        }
    }
}

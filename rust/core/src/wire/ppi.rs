//! Per-Packet Information (LINKTYPE_PPI): typed fields, then a frame of another link type.

use crate::limits;
use crate::notes::NoteKind;
use crate::packet::{Layer, Stop};

use super::decoder::{Decoder, Found};
use super::dot11::{self, Fcs, Heard};
use super::view::View;
use super::{link, link_type};

/// Version, flags, length, link type.
const HEADER: usize = 8;
const ALIGNED: u8 = 0x01;
/// The field 802.11-Common: TSF timer, then flags.
const COMMON: u16 = 2;
const COMMON_FLAGS: usize = 8;
const FCS_PRESENT: u16 = 0x0001;
const FCS_FAILED: u16 = 0x0004;

pub(super) fn ppi(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(version), Some(flags), Some(length), Some(inner)) = (v.u8(0), v.u8(1), v.le16(2), v.le32(4)) else {
        return d.damaged(v.lack(HEADER), Layer::Link);
    };
    let length = usize::from(length);
    if version != 0 {
        return d.damaged(Stop::BadHeader, Layer::Link);
    }
    if length < HEADER || length > v.wire() {
        return d.damaged(Stop::LengthLies, Layer::Link);
    }
    if v.data().len() < length {
        return d.damaged(Stop::SnaplenCut, Layer::Link);
    }
    if d.too_deep() {
        return d.damaged(Stop::TooDeep, Layer::Link);
    }
    let fields = v.clip(length).skip(HEADER);
    let frame = v.skip(length);
    match u16::try_from(inner) {
        Ok(link_type::IEEE802_11) => {
            let fcs = fcs(d, fields, flags & ALIGNED != 0);
            dot11::frame(d, frame, &Heard { fcs, ..Heard::default() })
        }
        Ok(inner) => link(d, inner, frame),
        Err(_) => d.damaged(Stop::UnknownType, Layer::Link),
    }
}

/// What the 802.11-Common field, if there is one, says of the FCS.
fn fcs(d: &mut Decoder<'_>, mut v: View<'_>, aligned: bool) -> Fcs {
    for _ in 0..limits::PPI_FIELDS {
        let (Some(kind), Some(length)) = (v.le16(0), v.le16(2)) else {
            break;
        };
        let length = usize::from(length);
        let field = v.skip(4);
        if length > field.wire() {
            d.note(NoteKind::PpiMalformed);
            break;
        }
        if kind == COMMON {
            let flags = field.clip(length).le16(COMMON_FLAGS);
            return flags.map_or(Fcs::default(), |flags| Fcs {
                at_end: Some(flags & FCS_PRESENT != 0),
                failed: flags & FCS_FAILED != 0,
            });
        }
        v = field.skip(if aligned { length.next_multiple_of(4) } else { length });
    }
    Fcs::default()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, dot11, ethernet, ipv4, noted, one, packets, snap, tcp};
    use crate::notes::NoteKind;
    use crate::packet::Stop;

    const PPI: u16 = 192;

    fn ppi(inner: u8, fields: &[u8], frame: &[u8]) -> Vec<u8> {
        [&[0, 0, 8 + fields.len() as u8, 0, inner, 0, 0, 0][..], fields, frame].concat()
    }

    fn common(flags: u8) -> Vec<u8> {
        [&[9, 0, 1, 0, 77, 2, 0, 20, 0][..], &[0; 8], &[flags, 0], &[0; 10]].concat()
    }

    #[test]
    fn to_the_frame_inside() {
        let air = dot11(0x0108, &[], &snap(&ipv4(6, &tcp(&[], b"x"))));
        assert_eq!(one(PPI, &ppi(105, &common(0), &air)).payload_bytes, Some(1));
        assert_eq!(one(PPI, &ppi(1, &[], &ethernet(0x0800, &ipv4(6, &tcp(&[], b"x"))))).payload_bytes, Some(1));
        cut_everywhere(PPI, &ppi(105, &common(0), &air));
        for flags in [4, 5, 1] {
            assert!(packets(PPI, &ppi(105, &common(flags), &air)).is_empty());
        }
    }

    #[test]
    fn lies() {
        let air = dot11(0x0108, &[], &snap(&ipv4(6, &tcp(&[], b"x"))));
        let liar = ppi(105, &[2, 0, 0xff, 0xff], &air);
        assert_eq!((one(PPI, &liar).src_port, noted(PPI, &liar, NoteKind::PpiMalformed)), (Some(40000), 1));
        for length in [[0, 0], [7, 0], [0xff, 0xff]] {
            let mut data = ppi(105, &[], &air);
            data[2..4].copy_from_slice(&length);
            assert_eq!(one(PPI, &data).stop, Stop::LengthLies);
        }
        assert_eq!(one(PPI, &ppi(250, &[], &air)).stop, Stop::UnknownType);
        let nested = ppi(192, &[], &[]).repeat(100);
        assert_eq!(one(PPI, &nested).stop, Stop::TooDeep);
    }
}

//! Per-Packet Information (LINKTYPE_PPI): typed fields, then a frame of another link type.

use crate::limits;
use crate::notes::NoteKind;
use crate::packet::{Layer, Stop};
use crate::phy::{rates, Phy, Radio};

use super::decoder::{Decoder, Found};
use super::dot11;
use super::radio_header::{legacy, Fcs, RadioHeader};
use super::view::View;
use super::{link, link_type};

/// Version, flags, length, link type.
const HEADER: usize = 8;
const ALIGNED: u8 = 0x01;
/// Field types.
const COMMON: u16 = 2;
const MAC: u16 = 3;
const MAC_PHY: u16 = 4;

pub(super) fn ppi(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(version), Some(flags), Some(length), Some(inner)) = (v.u8(0), v.u8(1), v.le16(2), v.le32(4)) else {
        return d.damaged(v.lack(HEADER), Layer::Link);
    };
    let length = usize::from(length);
    if version != 0 {
        return d.damaged(Stop::BadHeader, Layer::Link);
    }
    let lost = |d: &mut Decoder<'_>, stop| match u16::try_from(inner) {
        Ok(link_type::IEEE802_11) => dot11::lost(d, stop),
        _ => d.damaged(stop, Layer::Link),
    };
    if length < HEADER || length > v.wire() {
        return lost(d, Stop::LengthLies);
    }
    if v.data().len() < length {
        return lost(d, Stop::SnaplenCut);
    }
    if d.too_deep() {
        return d.damaged(Stop::TooDeep, Layer::Link);
    }
    let fields = v.clip(length).skip(HEADER);
    let frame = v.skip(length);
    match u16::try_from(inner) {
        Ok(link_type::IEEE802_11) => {
            let mut radio_header = radio_header(d, fields, flags & ALIGNED != 0);
            dot11::frame(d, frame, &mut radio_header)
        }
        Ok(inner) => link(d, inner, frame),
        Err(_) => d.damaged(Stop::UnknownType, Layer::Link),
    }
}

/// The 802.11 fields (PPI specification 1.0.10, sections 4.1.2 to 4.1.4).
fn radio_header(d: &mut Decoder<'_>, mut v: View<'_>, aligned: bool) -> RadioHeader {
    let mut radio_header = RadioHeader::default();
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
        match kind {
            COMMON => common(&mut radio_header, field.clip(length)),
            MAC => mac(&mut radio_header.frame.radio, field.clip(length)),
            MAC_PHY => mac_phy(&mut radio_header.frame.radio, field.clip(length)),
            _ => {}
        }
        v = field.skip(if aligned { length.next_multiple_of(4) } else { length });
    }
    if radio_header.frame.radio.ppdu.phy.is_none() {
        legacy(&mut radio_header.frame.radio.ppdu);
    } else {
        radio_header.frame.radio.ppdu.short_preamble = None;
    }
    radio_header
}

/// 802.11-Common: TSF timer, flags, rate, channel and its flags, hopping, signal and noise.
fn common(radio_header: &mut RadioHeader, v: View<'_>) {
    const FCS_PRESENT: u16 = 0x0001;
    const TSF_IN_MS: u16 = 0x0002;
    const FCS_FAILED: u16 = 0x0004;
    let (Some(tsf), Some(flags)) = (v.array(0).map(u64::from_le_bytes), v.le16(8)) else { return };
    radio_header.fcs = Fcs { at_end: Some(flags & FCS_PRESENT != 0), failed: flags & FCS_FAILED != 0 };
    let us = if flags & TSF_IN_MS != 0 { tsf.checked_mul(1000) } else { Some(tsf) };
    radio_header.frame.radio.tsf_us = us.filter(|&t| t != 0).and_then(|us| radio_header.tsf(us));
    let ppdu = &mut radio_header.frame.radio.ppdu;
    if ppdu.phy.is_none() {
        ppdu.rate_mbps = v.le16(10).filter(|&r| r != 0).map(|r| f64::from(r) / 2.0);
    }
    ppdu.channel_mhz = v.le16(12).filter(|&f| f != 0);
    // Both are -128 if not measured.
    let power = |at: usize| v.u8(at).map(|b| b as i8).filter(|&p| p != i8::MIN).map(i32::from);
    radio_header.frame.radio.signal_dbm = power(18).and_then(|p| radio_header.dbm(p));
    radio_header.frame.radio.noise_dbm = power(19).and_then(|p| radio_header.dbm(p));
}

/// 802.11n MAC Extensions: flags, A-MPDU id.
fn mac(radio: &mut Radio, v: View<'_>) {
    const GREENFIELD: u32 = 0x01;
    const HT40: u32 = 0x02;
    const SHORT_GUARD: u32 = 0x04;
    const AGGREGATE: u32 = 0x10;
    const MORE_AGGREGATES: u32 = 0x20;
    let (Some(flags), Some(ampdu)) = (v.le32(0), v.le32(4)) else { return };
    let ppdu = &mut radio.ppdu;
    ppdu.greenfield = Some(flags & GREENFIELD != 0);
    ppdu.width_mhz = Some(if flags & HT40 != 0 { 40 } else { 20 });
    ppdu.guard_ns = Some(if flags & SHORT_GUARD != 0 { 400 } else { 800 });
    if flags & AGGREGATE != 0 {
        radio.ampdu = Some(ampdu);
        radio.ampdu_last = Some(flags & MORE_AGGREGATES == 0);
    }
}

/// 802.11n MAC+PHY Extensions: as above, then MCS and streams.
fn mac_phy(radio: &mut Radio, v: View<'_>) {
    mac(radio, v);
    let ppdu = &mut radio.ppdu;
    ppdu.mcs = v.u8(9);
    ppdu.streams = ppdu.mcs.and_then(rates::ht_streams);
    ppdu.phy = Some(Phy::N);
    ppdu.rate_mbps = match (ppdu.mcs, ppdu.width_mhz, ppdu.guard_ns) {
        (Some(mcs), Some(width), Some(guard)) => rates::ht(mcs, width, guard),
        _ => None,
    };
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        cut_everywhere, dot11, ethernet, found_where_fcs_is_computed, frame, ipv4, noted, one, packets, record, snap,
        tcp,
    };
    use crate::notes::NoteKind;
    use crate::packet::Stop;
    use crate::phy::Phy;

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
        for flags in [4, 5] {
            assert!(packets(PPI, &ppi(105, &common(flags), &air)).is_empty());
        }
        let wrong = ppi(105, &common(1), &air);
        assert!(found_where_fcs_is_computed(&record(PPI, &wrong, wrong.len())).0.packets.is_empty());
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

    const ACK: [u8; 10] = [0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 1];

    /// 802.11-Common: clock, flags, rate in 500 kbit/s, channel, signal and noise.
    fn air_common(tsf: u64, flags: u16, rate: u16, mhz: u16, signal: i8, noise: i8) -> Vec<u8> {
        let mut field = vec![2, 0, 20, 0];
        field.extend(tsf.to_le_bytes());
        for word in [flags, rate, mhz, 0, 0] {
            field.extend(word.to_le_bytes());
        }
        field.extend([signal as u8, noise as u8]);
        field
    }

    #[test]
    fn what_the_radio_says() {
        let fields = air_common(1234, 0, 4, 2412, -61, -95);
        let r = frame(PPI, &ppi(105, &fields, &ACK)).0.radio;
        assert_eq!((r.tsf_us, r.signal_dbm, r.noise_dbm), (Some(1234), Some(-61), Some(-95)));
        assert_eq!((r.ppdu.phy, r.ppdu.rate_mbps, r.ppdu.channel_mhz), (Some(Phy::B), Some(2.0), Some(2412)));
        let r = frame(PPI, &ppi(105, &air_common(1234, 2, 12, 5180, -128, -128), &ACK)).0.radio;
        assert_eq!((r.tsf_us, r.signal_dbm, r.noise_dbm), (Some(1_234_000), None, None));
        assert_eq!(r.ppdu.phy, Some(Phy::A));
        cut_everywhere(PPI, &ppi(105, &fields, &ACK));
    }

    #[test]
    fn aggregates_of_802_11n() {
        // Flags: 40 MHz, short guard interval, in an A-MPDU; id 77; MCS 15.
        let mut mac_phy = vec![4, 0, 48, 0, 0x16, 0, 0, 0, 77, 0, 0, 0, 3, 15];
        mac_phy.resize(52, 0);
        for fields in [
            [air_common(1, 0, 600, 2412, -61, -95), mac_phy.clone()].concat(),
            [mac_phy, air_common(1, 0, 600, 2412, -61, -95)].concat(),
        ] {
            let r = frame(PPI, &ppi(105, &fields, &ACK)).0.radio;
            assert_eq!((r.ampdu, r.ampdu_last), (Some(77), Some(true)));
            let p = r.ppdu;
            assert_eq!((p.phy, p.mcs, p.streams, p.width_mhz), (Some(Phy::N), Some(15), Some(2), Some(40)));
            assert_eq!((p.rate_mbps.map(f64::round), p.guard_ns, p.greenfield), (Some(300.0), Some(400), Some(false)));
            cut_everywhere(PPI, &ppi(105, &fields, &ACK));
        }
        let r = frame(PPI, &ppi(105, &[3, 0, 12, 0, 0, 0, 0, 0, 77, 0, 0, 0, 3, 0, 0, 0], &ACK)).0.radio;
        assert_eq!(r.ampdu, None);
    }
}

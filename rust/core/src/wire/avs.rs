//! AVS wireless capture header (LINKTYPE_IEEE802_11_AVS), versions 1 and 2 (linux-wlan-ng, doc/capturefrm.txt).

use crate::packet::Stop;

use super::decoder::{Decoder, Found};
use super::dot11;
use super::radio_header::{channel_mhz, legacy, RadioHeader};
use super::view::View;

/// The top 28 bits of the first word; the version is in the rest.
const MAGIC: u32 = 0x8021_1000;
/// Version and length.
const LEAST: usize = 8;

/// Whether this first word begins such a header.
pub(super) fn is_avs(first: u32) -> bool {
    first & !0xf == MAGIC
}

pub(super) fn avs(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(first), Some(length)) = (v.be32(0), v.be32(4)) else {
        return dot11::lost(d, v.lack(LEAST));
    };
    if !is_avs(first) {
        return dot11::lost(d, Stop::BadHeader);
    }
    let header = v.clip(usize::try_from(length).unwrap_or(usize::MAX));
    dot11::behind(d, v, length, LEAST, &mut radio_header(header))
}

/// The header's fields, all in network byte order; fields beyond its length are unknown.
fn radio_header(header: View<'_>) -> RadioHeader {
    const INFRARED_OR_HOPPING: [u32; 2] = [1, 3];
    const DBM: u32 = 2;
    const NO_NOISE: u32 = u32::MAX;
    let field = |at: usize| header.be32(at);
    let mut radio_header = RadioHeader::default();
    radio_header.frame.radio.tsf_us =
        header.array(8).map(u64::from_be_bytes).filter(|&t| t != 0).and_then(|t| radio_header.tsf(t));
    radio_header.frame.radio.antenna = field(36).filter(|&a| a != 0).and_then(|a| u8::try_from(a).ok());
    if field(44) == Some(DBM) {
        radio_header.frame.radio.signal_dbm = field(48).and_then(|p| radio_header.dbm(p as i32));
        radio_header.frame.radio.noise_dbm =
            field(52).filter(|&n| n != NO_NOISE).and_then(|p| radio_header.dbm(p as i32));
    }
    let ppdu = &mut radio_header.frame.radio.ppdu;
    if field(24).is_some_and(|phy| INFRARED_OR_HOPPING.contains(&phy)) {
        return radio_header;
    }
    ppdu.channel_mhz = field(28).and_then(|frequency| match frequency {
        0..=255 => channel_mhz(frequency),
        256..=9_999 => u16::try_from(frequency).ok(),
        _ => u16::try_from(frequency / 1000).ok(),
    });
    ppdu.rate_mbps = field(32).filter(|&r| r != 0 && r <= MAX_RATE).map(|r| f64::from(r) / 10.0);
    ppdu.short_preamble = field(56).and_then(|preamble| match preamble {
        1 => Some(true),
        2 => Some(false),
        _ => None,
    });
    legacy(ppdu);
    radio_header
}

/// The header has no PHY beyond OFDM: 54 Mbit/s, and 108 of vendors that doubled it, in 100 kbit/s.
const MAX_RATE: u32 = 1080;

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, dot11, frame, ipv4, one, snap, tcp};
    use crate::packet::Stop;
    use crate::phy::{Phy, Radio};

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

    /// A header of version 1 with these fields from offset 8 on.
    fn header(clock: u64, fields: [i32; 10]) -> Vec<u8> {
        let mut data = vec![0x80, 0x21, 0x10, 1, 0, 0, 0, 64];
        data.extend(clock.to_be_bytes());
        data.extend([0; 8]);
        for field in fields {
            data.extend(field.to_be_bytes());
        }
        data.extend(dot11(0x00d4, &[], &[])[..10].to_vec());
        data
    }

    #[test]
    fn what_the_radio_says() {
        // PHY, frequency, rate, antenna, priority, SSI type, signal, noise, preamble, encoding.
        let data = header(5_000_000, [4, 6, 55, 2, 0, 2, -61, -95, 1, 1]);
        let r = frame(163, &data).0.radio;
        assert_eq!((r.tsf_us, r.antenna, r.signal_dbm, r.noise_dbm), (Some(5_000_000), Some(2), Some(-61), Some(-95)));
        let p = r.ppdu;
        assert_eq!((p.phy, p.rate_mbps, p.channel_mhz, p.width_mhz), (Some(Phy::B), Some(5.5), Some(2437), Some(22)));
        assert_eq!(p.short_preamble, Some(true));
        cut_everywhere(163, &data);
        // A frequency, OFDM, no noise; then in kHz.
        let r = frame(163, &header(0, [8, 5180, 540, 0, 0, 2, -61, -1, 0, 3])).0.radio;
        assert_eq!((r.tsf_us, r.antenna, r.noise_dbm, r.ppdu.phy), (None, None, None, Some(Phy::A)));
        assert_eq!((r.ppdu.channel_mhz, r.ppdu.short_preamble), (Some(5180), None));
        let r = frame(163, &header(0, [0, 2_412_000, 60, 0, 0, 0, -61, -90, 0, 3])).0.radio;
        assert_eq!((r.ppdu.phy, r.ppdu.channel_mhz, r.signal_dbm), (Some(Phy::G), Some(2412), None));
    }

    #[test]
    fn what_cannot_be() {
        let r = frame(163, &header(u64::MAX, [3, 6, 55, 300, 0, 2, -1000, 1000, 7, 0])).0.radio;
        assert_eq!(r, Radio::default());
        let r = frame(163, &header(0, [0, -1, -1, -1, 0, 9, 0, 0, 0, 0])).0.radio;
        assert_eq!((r.ppdu.rate_mbps, r.ppdu.phy, r.antenna, r.signal_dbm), (None, None, None, None));
    }
}

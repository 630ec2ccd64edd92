//! Radiotap (radiotap.org): a list of fields, given by the bits of its present words.

mod eht;
mod he;
mod ht;
mod walk;

use crate::notes::NoteKind;
use crate::packet::Stop;
use crate::phy::{Phy, Ppdu, StampAt};

use super::decoder::{Decoder, Found};
use super::dot11;
use super::radio_header::{self, Fcs, RadioHeader};
use super::view::View;

/// Bits of the flags field.
mod flag {
    pub const SHORT_PREAMBLE: u8 = 0x02;
    pub const FCS_AT_END: u8 = 0x10;
    pub const DATA_PAD: u8 = 0x20;
    pub const BAD_FCS: u8 = 0x40;
}

pub(super) fn radiotap(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(version), Some(length)) = (v.u8(0), v.le16(2)) else {
        return dot11::lost(d, v.lack(walk::LEAST));
    };
    let length = usize::from(length);
    if version != 0 {
        return dot11::lost(d, Stop::BadHeader);
    }
    if length < walk::LEAST || length > v.wire() {
        return dot11::lost(d, Stop::LengthLies);
    }
    if v.data().len() < length {
        return dot11::lost(d, Stop::SnaplenCut);
    }
    let mut fields = Fields::default();
    if walk::walk(v.clip(length), |kind, value| fields.take(kind, value)).is_none() {
        d.note(NoteKind::RadiotapMalformed);
    }
    if fields.s1g {
        d.note(NoteKind::S1g);
    }
    fields.settle();
    dot11::frame(d, v.skip(length), &mut fields.radio_header)
}

/// The fields read so far.
#[derive(Default)]
struct Fields {
    radio_header: RadioHeader,
    /// Fields read, one bit each: of a repeated field (per antenna, per user) the first counts.
    seen: u64,
    s1g: bool,
}

impl Fields {
    /// One field by its bit or type.
    #[inline]
    fn take(&mut self, kind: usize, v: View<'_>) {
        // Types above 63 are undefined.
        let bit = 1 << (kind as u64 & 63);
        if self.seen & bit != 0 || kind > 63 {
            return;
        }
        self.seen |= bit;
        let radio_header = &mut self.radio_header;
        match kind {
            0 => radio_header.frame.radio.tsf_us = v.array(0).and_then(|t| radio_header.tsf(u64::from_le_bytes(t))),
            1 => flags(radio_header, v.u8(0).unwrap_or(0)),
            5 => radio_header.frame.radio.signal_dbm = v.u8(0).and_then(|b| radio_header.dbm(i32::from(b as i8))),
            6 => radio_header.frame.radio.noise_dbm = v.u8(0).and_then(|b| radio_header.dbm(i32::from(b as i8))),
            19 => ht::mcs(radio_header, v),
            21 => ht::vht(radio_header, v),
            22 => timestamp(radio_header, v),
            23 => he::he(radio_header, v),
            _ => self.plain(kind, v),
        }
    }

    /// Fields without impossible values.
    #[inline]
    fn plain(&mut self, kind: usize, v: View<'_>) {
        const S1G: usize = 32;
        const U_SIG: usize = 33;
        const EHT: usize = 34;
        let radio = &mut self.radio_header.frame.radio;
        let ppdu = &mut radio.ppdu;
        match kind {
            2 => ppdu.rate_mbps = v.u8(0).filter(|&r| r != 0).map(|r| f64::from(r) / 2.0),
            3 => channel(ppdu, v.le16(0), v.le16(2)),
            11 => radio.antenna = v.u8(0),
            15 => radio.transmitted = true,
            18 => channel(ppdu, v.le16(4), v.le16(0)),
            20 => ht::ampdu(radio, v),
            24 => he::he_mu(ppdu, v),
            26 => self.radio_header.empty = true,
            27 => ppdu.l_sig_bytes = l_sig_bytes(v),
            S1G => {
                self.s1g = true;
                ht::s1g(ppdu, v);
            }
            U_SIG => eht::u_sig(ppdu, v),
            EHT => eht::eht(ppdu, v),
            _ => {}
        }
    }

    /// Values that depend on several fields.
    fn settle(&mut self) {
        let ppdu = &mut self.radio_header.frame.radio.ppdu;
        match ppdu.phy {
            None if self.s1g => {}
            None => radio_header::legacy(ppdu),
            Some(Phy::Ax) => he::settle(ppdu),
            Some(Phy::Be) => eht::settle(ppdu),
            Some(_) => {}
        }
        if ppdu.phy != Some(Phy::B) {
            ppdu.short_preamble = None;
        }
    }
}

fn flags(radio_header: &mut RadioHeader, flags: u8) {
    radio_header.fcs = Fcs { at_end: Some(flags & flag::FCS_AT_END != 0), failed: flags & flag::BAD_FCS != 0 };
    radio_header.padded = flags & flag::DATA_PAD != 0;
    radio_header.frame.radio.ppdu.short_preamble = Some(flags & flag::SHORT_PREAMBLE != 0);
}

/// Channel and XChannel, whose low 16 flags are the same.
fn channel(ppdu: &mut Ppdu, mhz: Option<u16>, flags: Option<u16>) {
    const HALF: u16 = 0x4000;
    const QUARTER: u16 = 0x8000;
    let (Some(mhz), Some(flags)) = (mhz, flags) else { return };
    ppdu.channel_mhz = Some(mhz).filter(|&f| f != 0);
    ppdu.width_mhz = match (flags & HALF != 0, flags & QUARTER != 0) {
        (true, _) => Some(10),
        (_, true) => Some(5),
        _ => None,
    };
}

/// radiotap.org/fields/timestamp: the radio's clock, often another than the TSFT's, and the instant that it marks.
fn timestamp(radio_header: &mut RadioHeader, v: View<'_>) {
    let (Some(stamp), Some([unit, flags])) = (v.array(0).map(u64::from_le_bytes), v.array(10)) else { return };
    let stamp = if flags & 0x01 != 0 { stamp & 0xffff_ffff } else { stamp };
    let stamp_ns = match unit & 0x0f {
        0 => stamp.checked_mul(1_000_000),
        1 => stamp.checked_mul(1000),
        // radiotap.org numbers nanoseconds 2, Linux's header 3.
        2 | 3 => Some(stamp),
        _ => None,
    };
    let at = match unit >> 4 {
        0 => Some(StampAt::MpduStart),
        1 => Some(StampAt::PpduStart),
        2 => Some(StampAt::PpduEnd),
        _ => None,
    };
    radio_header.frame.radio.stamp_ns = stamp_ns;
    radio_header.frame.radio.stamp_at = at.filter(|_| stamp_ns.is_some());
    if radio_header.frame.radio.tsf_us.is_none() {
        // Without a TSFT it is the only clock.
        radio_header.frame.radio.tsf_us = stamp_ns.and_then(|t| radio_header.tsf(t / 1000));
    }
}

/// radiotap.org/fields/L-SIG.
fn l_sig_bytes(v: View<'_>) -> Option<u16> {
    const LENGTH_KNOWN: u16 = 0x0002;
    v.le16(0).filter(|known| known & LENGTH_KNOWN != 0)?;
    v.le16(2).map(|data| data >> 4)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        cut_everywhere, dot11, found_where_fcs_is_computed, ipv4, noted, one, packets, record, snap, tcp,
    };
    use crate::notes::NoteKind;
    use crate::packet::Stop;
    use crate::phy::{Format, Phy, Radio, StampAt};

    const RADIOTAP: u16 = 127;

    /// A header of these present words and fields, then a data frame.
    fn frame(present: &[u32], fields: &[u8]) -> Vec<u8> {
        let length = (4 + 4 * present.len() + fields.len()) as u8;
        let words: Vec<u8> = present.iter().flat_map(|w| w.to_le_bytes()).collect();
        let body = snap(&ipv4(6, &tcp(&[], b"x")));
        [&[0, 0, length, 0][..], &words, fields, &dot11(0x0188, &[0, 0], &body)].concat()
    }

    #[test]
    fn flags_decide_on_the_frame() {
        let plain = frame(&[2], &[0]);
        assert_eq!(one(RADIOTAP, &plain).payload_bytes, Some(1));
        cut_everywhere(RADIOTAP, &plain);
        assert!(packets(RADIOTAP, &frame(&[2], &[0x50])).is_empty());
        assert_eq!(noted(RADIOTAP, &frame(&[2], &[0x40]), NoteKind::BadFcs), 1);
        // A wrong FCS that the driver did not flag.
        let wrong = frame(&[2], &[0x10]);
        assert!(found_where_fcs_is_computed(&record(RADIOTAP, &wrong, wrong.len())).0.packets.is_empty());
        assert_eq!(packets(RADIOTAP, &wrong).len(), 1);
        assert_eq!(noted(RADIOTAP, &wrong, NoteKind::FcsUnverified), 1);
        // 26 bytes of header, padded to 28.
        let mut padded = frame(&[2], &[0x20]);
        padded.splice(9 + 26..9 + 26, [0, 0]);
        assert_eq!(one(RADIOTAP, &padded).payload_bytes, Some(1));
    }

    #[test]
    fn lengths_and_versions_that_lie() {
        for (at, value, stop) in
            [(2, 0, Stop::LengthLies), (2, 7, Stop::LengthLies), (3, 255, Stop::LengthLies), (0, 1, Stop::BadHeader)]
        {
            let mut data = frame(&[2], &[0]);
            data[at] = value;
            assert_eq!((one(RADIOTAP, &data).stop, one(RADIOTAP, &data).ip_version), (stop, 0));
        }
    }

    /// The radio header of the following ACK.
    fn radio(present: &[u32], fields: &[u8]) -> Radio {
        let data = frame(present, fields);
        cut_everywhere(RADIOTAP, &data);
        super::super::testing::frame(RADIOTAP, &data).0.radio
    }

    fn words(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    #[test]
    fn plain_fields() {
        // TSFT, flags (short preamble), rate, channel, signal, noise, antenna.
        let fields = [&77u64.to_le_bytes()[..], &[2, 22], &words(&[2437, 0xa0]), &[200, 160, 3]].concat();
        let r = radio(&[0x86f], &fields);
        assert_eq!((r.tsf_us, r.signal_dbm, r.noise_dbm, r.antenna), (Some(77), Some(-56), Some(-96), Some(3)));
        let p = r.ppdu;
        assert_eq!((p.phy, p.rate_mbps, p.channel_mhz, p.width_mhz), (Some(Phy::B), Some(11.0), Some(2437), Some(22)));
        assert_eq!((p.short_preamble, r.stamp_at, r.transmitted), (Some(true), None, false));
        // Half-rate OFDM at 5.9 GHz, sent by this host.
        let p = radio(&[0x800c], &[&[6, 0][..], &words(&[5860, 0x4140, 0])].concat());
        assert_eq!((p.ppdu.phy, p.ppdu.width_mhz, p.transmitted), (Some(Phy::A), Some(10), true));
        // A rate that no PHY without an MCS has, and no rate.
        assert_eq!(radio(&[4], &[130]).ppdu.phy, None);
        assert_eq!(radio(&[4], &[0]).ppdu.rate_mbps, None);
        assert_eq!(radio(&[1], &[0xff; 8]).tsf_us, None);
        // Part of an A-MPDU, its last.
        let r = radio(&[1 << 20], &[9, 0, 0, 0, 0x0c, 0, 0, 0]);
        assert_eq!((r.ampdu, r.ampdu_last), (Some(9), Some(true)));
    }

    #[test]
    fn the_stamp_and_where_it_was_taken() {
        let stamp = |us: u64, unit: u8, flags: u8| [&us.to_le_bytes()[..], &[0, 0, unit, flags]].concat();
        let of = |unit, flags| {
            let r = radio(&[1 << 22], &stamp(0x1_0000_1000, unit, flags));
            (r.tsf_us, r.stamp_at)
        };
        assert_eq!(of(0x01, 0), (Some(0x1_0000_1000), Some(StampAt::MpduStart)));
        assert_eq!(of(0x11, 1), (Some(0x1000), Some(StampAt::PpduStart)));
        assert_eq!(of(0x20, 1), (Some(0x1000 * 1000), Some(StampAt::PpduEnd)));
        assert_eq!(of(0xf2, 1), (Some(4), None));
        assert_eq!(of(0x2f, 0), (None, None));
        // With a TSFT it is a separate clock.
        let both = [&5u64.to_le_bytes()[..], &stamp(9, 0x21, 0)].concat();
        let r = radio(&[1 | 1 << 22], &both);
        assert_eq!((r.tsf_us, r.stamp_ns, r.stamp_at), (Some(5), Some(9000), Some(StampAt::PpduEnd)));
    }

    #[test]
    fn high_efficiency() {
        // SU, MCS 11, LDPC, 80 MHz, 1.6 us, 2x LTF, 2 of them, 2 streams; L-SIG of 100 bytes.
        let he = [0x40f0, 0x0006, 0x2b00, 0, 0x0192, 2];
        let p = radio(&[1 << 23 | 1 << 27], &words(&[&he[..], &[2, 100 << 4]].concat())).ppdu;
        assert_eq!((p.phy, p.format, p.mcs, p.streams), (Some(Phy::Ax), Some(Format::Su), Some(11), Some(2)));
        assert_eq!((p.width_mhz, p.guard_ns, p.ltf_size, p.ltf_symbols), (Some(80), Some(1600), Some(2), Some(2)));
        assert_eq!((p.ldpc, p.dcm, p.l_sig_bytes, p.ru_tones), (Some(true), Some(false), Some(100), None));
        // MU on a 106-tone RU of 40 MHz with 4 SIG-B symbols.
        let mu = [&[0x4022, 0, 0, 0, 6, 1][..], &[0xc000, 0x35, 0, 0, 0, 0]].concat();
        let p = radio(&[3 << 23], &words(&mu)).ppdu;
        assert_eq!(
            (p.format, p.width_mhz, p.ru_tones, p.sig_symbols),
            (Some(Format::Mu), Some(40), Some(106), Some(4))
        );
        assert_eq!((p.guard_ns, p.rate_mbps), (None, None));
    }

    #[test]
    fn extremely_high_throughput() {
        let dwords = |w: &[u32]| -> Vec<u8> { w.iter().flat_map(|w| w.to_le_bytes()).collect() };
        // Type 33: version 0, 320 MHz, downlink, single user, 3 EHT-SIG symbols; type 34: 0.8 us, 4x LTF, 4 of them.
        let u_sig = [33 | 12 << 16, 7 | 4 << 15, 1 << 6 | 2 << 17, 0x003e_00c0];
        let mut eht = vec![34 | 44 << 16, 0x14, 3 << 9 | 2 << 11];
        eht.extend([0; 8]);
        eht.push(0x96 | 1 << 19 | 12 << 20 | 1 << 24);
        let p = radio(&[1 << 28], &[dwords(&u_sig), dwords(&eht)].concat()).ppdu;
        assert_eq!((p.phy, p.format, p.mcs, p.streams), (Some(Phy::Be), Some(Format::Su), Some(12), Some(2)));
        assert_eq!((p.width_mhz, p.guard_ns, p.ltf_size, p.ltf_symbols), (Some(320), Some(800), Some(4), Some(4)));
        assert_eq!((p.sig_symbols, p.ldpc), (Some(3), Some(true)));
        // 3920 subcarriers of 9 bits, two streams, 13.6 us.
        assert_eq!(p.rate_mbps.map(f64::round), Some(5188.0));
    }

    #[test]
    fn a_ppdu_without_a_frame() {
        let data = [&[0, 0, 9, 0, 0, 0, 0, 4][..], &[0]].concat();
        let (f, body) = super::super::testing::frame(RADIOTAP, &data);
        assert_eq!((f.control, f.mpdu_bytes, f.stop, body.len()), (None, 0, Stop::None, 0));
        assert_eq!((noted(RADIOTAP, &data, NoteKind::NoFrame), packets(RADIOTAP, &data).len()), (1, 0));
    }

    #[test]
    fn a_header_that_lies_is_a_frame_with_a_reason() {
        let mut data = frame(&[2], &[0]);
        data[3] = 255;
        let (f, _) = super::super::testing::frame(RADIOTAP, &data);
        assert_eq!((f.stop, f.control, f.ip_packet), (Stop::LengthLies, None, true));
    }
}

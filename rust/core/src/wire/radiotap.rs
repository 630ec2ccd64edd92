//! Radiotap (radiotap.org): a table of fields, walked by the bits of its present words.

mod eht;
mod he;
mod ht;
mod walk;

use crate::notes::NoteKind;
use crate::packet::{Layer, Stop};
use crate::phy::{Phy, Ppdu, Radio, StampAt};

use super::decoder::{Decoder, Found};
use super::dot11;
use super::heard::{self, Fcs, Heard};
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
        return d.damaged(v.lack(walk::LEAST), Layer::Link);
    };
    let length = usize::from(length);
    if version != 0 {
        return d.damaged(Stop::BadHeader, Layer::Link);
    }
    if length < walk::LEAST || length > v.wire() {
        return d.damaged(Stop::LengthLies, Layer::Link);
    }
    if v.data().len() < length {
        return d.damaged(Stop::SnaplenCut, Layer::Link);
    }
    let mut fields = Fields::default();
    if walk::walk(v.clip(length), |kind, value| fields.take(kind, value)).is_none() {
        d.note(NoteKind::RadiotapMalformed);
    }
    if fields.s1g {
        d.note(NoteKind::S1g);
    }
    fields.settle();
    dot11::frame(d, v.skip(length), &fields.heard)
}

/// What the fields read so far say.
#[derive(Default)]
struct Fields {
    heard: Heard,
    /// Fields seen, a bit each: of one that comes again (once an antenna, once a user) the first counts.
    seen: u64,
    s1g: bool,
}

impl Fields {
    /// One field by its bit or type.
    #[inline]
    fn take(&mut self, kind: usize, v: View<'_>) {
        const S1G: usize = 32;
        const U_SIG: usize = 33;
        const EHT: usize = 34;
        let bit = 1u64.checked_shl(kind as u32).unwrap_or(0);
        if self.seen & bit != 0 {
            return;
        }
        self.seen |= bit;
        let heard = &mut self.heard;
        let radio = &mut heard.radio;
        let ppdu = &mut radio.ppdu;
        match kind {
            0 => radio.tsf_us = v.array(0).map(u64::from_le_bytes).and_then(heard::plausible_tsf),
            1 => flags(heard, v.u8(0).unwrap_or(0)),
            2 => ppdu.rate_mbps = v.u8(0).filter(|&r| r != 0).map(|r| f64::from(r) / 2.0),
            3 => channel(ppdu, v.le16(0), v.le16(2)),
            5 => radio.signal_dbm = v.u8(0).map(|b| b as i8),
            6 => radio.noise_dbm = v.u8(0).map(|b| b as i8),
            11 => radio.antenna = v.u8(0),
            15 => radio.transmitted = true,
            18 => channel(ppdu, v.le16(4), v.le16(0)),
            19 => ht::mcs(ppdu, v),
            20 => ht::ampdu(radio, v),
            21 => ht::vht(ppdu, v),
            22 => timestamp(radio, v),
            23 => he::he(ppdu, v),
            24 => he::he_mu(ppdu, v),
            26 => heard.empty = true,
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

    /// What follows from several fields together.
    fn settle(&mut self) {
        let ppdu = &mut self.heard.radio.ppdu;
        match ppdu.phy {
            None if self.s1g => {}
            None => heard::legacy(ppdu),
            Some(Phy::Ax) => he::settle(ppdu),
            Some(Phy::Be) => eht::settle(ppdu),
            Some(_) => {}
        }
        if ppdu.phy != Some(Phy::B) {
            ppdu.short_preamble = None;
        }
    }
}

fn flags(heard: &mut Heard, flags: u8) {
    heard.fcs = Fcs { at_end: Some(flags & flag::FCS_AT_END != 0), failed: flags & flag::BAD_FCS != 0 };
    heard.padded = flags & flag::DATA_PAD != 0;
    heard.radio.ppdu.short_preamble = Some(flags & flag::SHORT_PREAMBLE != 0);
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

/// radiotap.org/fields/timestamp: the radio's clock, often another than the TSFT's, with the instant that it names.
fn timestamp(radio: &mut Radio, v: View<'_>) {
    let (Some(stamp), Some([unit, flags])) = (v.array(0).map(u64::from_le_bytes), v.array(10)) else { return };
    let stamp = if flags & 0x01 != 0 { stamp & 0xffff_ffff } else { stamp };
    radio.stamp_ns = match unit & 0x0f {
        0 => stamp.checked_mul(1_000_000),
        1 => stamp.checked_mul(1000),
        // radiotap.org numbers nanoseconds 2, Linux's header 3.
        2 | 3 => Some(stamp),
        _ => None,
    };
    radio.stamp_at = match unit >> 4 {
        0 => Some(StampAt::MpduStart),
        1 => Some(StampAt::PpduStart),
        2 => Some(StampAt::PpduEnd),
        _ => None,
    }
    .filter(|_| radio.stamp_ns.is_some());
    // Without a TSFT it is the only clock.
    radio.tsf_us = radio.tsf_us.or(radio.stamp_ns.map(|t| t / 1000)).and_then(heard::plausible_tsf);
}

/// radiotap.org/fields/L-SIG.
fn l_sig_bytes(v: View<'_>) -> Option<u16> {
    const LENGTH_KNOWN: u16 = 0x0002;
    v.le16(0).filter(|known| known & LENGTH_KNOWN != 0)?;
    v.le16(2).map(|data| data >> 4)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, dot11, ipv4, noted, one, packets, snap, tcp};
    use crate::notes::NoteKind;
    use crate::packet::Stop;

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
        assert!(packets(RADIOTAP, &frame(&[2], &[0x10])).is_empty());
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
}

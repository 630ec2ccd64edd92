//! Radiotap (radiotap.org): a table of fields, walked by the bits of its present words.

use crate::notes::NoteKind;
use crate::packet::{Layer, Stop};
use crate::phy::{rates, Phy, Ppdu, Radio};

use super::decoder::{Decoder, Found};
use super::dot11::{self, Fcs, Heard};
use super::view::View;

/// Version, pad, length, first present word.
const LEAST: usize = 8;
const PRESENT: usize = 4;

/// Alignment and size of each field of the radiotap namespace, by its bit.
const FIELDS: [(usize, usize); 28] = [
    (8, 8),  // 0 TSFT
    (1, 1),  // 1 flags
    (1, 1),  // 2 rate
    (2, 4),  // 3 channel
    (2, 2),  // 4 FHSS
    (1, 1),  // 5 antenna signal, dBm
    (1, 1),  // 6 antenna noise, dBm
    (2, 2),  // 7 lock quality
    (2, 2),  // 8 TX attenuation
    (2, 2),  // 9 TX attenuation, dB
    (1, 1),  // 10 TX power, dBm
    (1, 1),  // 11 antenna
    (1, 1),  // 12 antenna signal, dB
    (1, 1),  // 13 antenna noise, dB
    (2, 2),  // 14 RX flags
    (2, 2),  // 15 TX flags
    (1, 1),  // 16 RTS retries
    (1, 1),  // 17 data retries
    (4, 8),  // 18 XChannel
    (1, 3),  // 19 MCS
    (4, 8),  // 20 A-MPDU status
    (2, 12), // 21 VHT
    (8, 12), // 22 timestamp
    (2, 12), // 23 HE
    (2, 12), // 24 HE-MU
    (2, 6),  // 25 HE-MU other user
    (1, 1),  // 26 0-length PSDU
    (2, 4),  // 27 L-SIG
];
const FLAGS: usize = 1;
/// Bits of every present word, whatever its namespace.
const RADIOTAP_NAMESPACE: u32 = 1 << 29;
const VENDOR_NAMESPACE: u32 = 1 << 30;
const ANOTHER_WORD: u32 = 1 << 31;
/// The bits that stand for fields.
const FIELD_BITS: u32 = RADIOTAP_NAMESPACE - 1;

/// Bits of the flags field.
mod flag {
    pub const SHORT_PREAMBLE: u8 = 0x02;
    pub const FCS_AT_END: u8 = 0x10;
    pub const DATA_PAD: u8 = 0x20;
    pub const BAD_FCS: u8 = 0x40;
}

/// Bits of the channel field's flags.
mod channel_flag {
    pub const HALF: u16 = 0x4000;
    pub const QUARTER: u16 = 0x8000;
}

pub(super) fn radiotap(d: &mut Decoder<'_>, v: View<'_>) -> Found {
    let (Some(version), Some(length)) = (v.u8(0), v.le16(2)) else {
        return d.damaged(v.lack(LEAST), Layer::Link);
    };
    let length = usize::from(length);
    if version != 0 {
        return d.damaged(Stop::BadHeader, Layer::Link);
    }
    if length < LEAST || length > v.wire() {
        return d.damaged(Stop::LengthLies, Layer::Link);
    }
    if v.data().len() < length {
        return d.damaged(Stop::SnaplenCut, Layer::Link);
    }
    let header = v.clip(length);
    let mut heard = Heard::default();
    let whole = walk(header, |bit, at| {
        take(&mut heard, bit, header.skip(at));
        true
    });
    if whole.is_none() {
        d.note(NoteKind::RadiotapMalformed);
    }
    settle(&mut heard.radio.ppdu);
    dot11::frame(d, v.skip(length), &heard)
}

/// One field, `v` beginning with it. Of fields that come again, once an antenna, the first counts.
fn take(heard: &mut Heard, bit: usize, v: View<'_>) {
    let radio = &mut heard.radio;
    let ppdu = &mut radio.ppdu;
    let signed = || v.u8(0).map(|b| b as i8);
    match bit {
        0 => radio.tsf_us = radio.tsf_us.or(v.array(0).map(u64::from_le_bytes)),
        FLAGS => {
            let Some(flags) = v.u8(0) else { return };
            heard.fcs = Fcs { at_end: Some(flags & flag::FCS_AT_END != 0), failed: flags & flag::BAD_FCS != 0 };
            heard.padded = flags & flag::DATA_PAD != 0;
            ppdu.short_preamble = Some(flags & flag::SHORT_PREAMBLE != 0);
        }
        2 => ppdu.rate_mbps = v.u8(0).filter(|&r| r != 0).map(|r| f64::from(r) / 2.0),
        3 => channel(ppdu, v),
        5 => radio.signal_dbm = radio.signal_dbm.or(signed()),
        6 => radio.noise_dbm = radio.noise_dbm.or(signed()),
        11 => radio.antenna = radio.antenna.or(v.u8(0)),
        15 => radio.transmitted = true,
        19 => ht(ppdu, v),
        20 => ampdu(radio, v),
        21 => vht(ppdu, v),
        _ => {}
    }
}

fn channel(ppdu: &mut Ppdu, v: View<'_>) {
    let (Some(mhz), Some(flags)) = (v.le16(0), v.le16(2)) else { return };
    ppdu.channel_mhz = Some(mhz).filter(|&f| f != 0);
    if flags & channel_flag::HALF != 0 {
        ppdu.width_mhz = Some(10);
    } else if flags & channel_flag::QUARTER != 0 {
        ppdu.width_mhz = Some(5);
    }
}

/// radiotap.org/fields/MCS.
fn ht(ppdu: &mut Ppdu, v: View<'_>) {
    let Some([known, flags, mcs]) = v.array(0) else { return };
    ppdu.phy = Some(Phy::N);
    let knows = |bit: u8| known & bit != 0;
    ppdu.width_mhz = knows(0x01).then_some(if flags & 3 == 1 { 40 } else { 20 });
    ppdu.mcs = knows(0x02).then_some(mcs);
    ppdu.streams = ppdu.mcs.and_then(rates::ht_streams);
    ppdu.guard_ns = knows(0x04).then_some(if flags & 0x04 != 0 { 400 } else { 800 });
    ppdu.greenfield = knows(0x08).then_some(flags & 0x08 != 0);
    ppdu.ldpc = knows(0x10).then_some(flags & 0x10 != 0);
    ppdu.stbc = knows(0x20).then_some(flags >> 5 & 3);
    ppdu.extension_streams = knows(0x40).then_some((known >> 6 & 2) | flags >> 7);
    ppdu.rate_mbps = match (ppdu.mcs, ppdu.width_mhz, ppdu.guard_ns) {
        (Some(mcs), Some(width), Some(guard)) => rates::ht(mcs, width, guard),
        _ => None,
    };
}

/// radiotap.org/fields/A-MPDU status.
fn ampdu(radio: &mut Radio, v: View<'_>) {
    radio.ampdu = v.le32(0);
    radio.ampdu_last = v.le16(4).filter(|f| f & 0x0004 != 0).map(|f| f & 0x0008 != 0);
}

/// radiotap.org/fields/VHT.
fn vht(ppdu: &mut Ppdu, v: View<'_>) {
    let (Some(known), Some([flags, bandwidth, first])) = (v.le16(0), v.array(2)) else { return };
    ppdu.phy = Some(Phy::Ac);
    let knows = |bit: u16| known & bit != 0;
    ppdu.stbc = knows(0x0001).then_some(flags & 1);
    ppdu.guard_ns = knows(0x0004).then_some(if flags & 0x04 != 0 { 400 } else { 800 });
    ppdu.width_mhz = match bandwidth & 0x1f {
        _ if !knows(0x0040) => None,
        0 | 2 | 3 | 7..=10 | 18..=25 => Some(20),
        1 | 5 | 6 | 14..=17 => Some(40),
        4 | 12 | 13 => Some(80),
        11 => Some(160),
        _ => None,
    };
    ppdu.streams = Some(first & 0xf).filter(|&n| n != 0);
    ppdu.mcs = ppdu.streams.map(|_| first >> 4);
    ppdu.ldpc = v.u8(8).filter(|_| ppdu.streams.is_some()).map(|c| c & 1 != 0);
    ppdu.rate_mbps = match (ppdu.mcs, ppdu.streams, ppdu.width_mhz, ppdu.guard_ns) {
        (Some(mcs), Some(streams), Some(width), Some(guard)) => rates::vht(mcs, streams, width, guard),
        _ => None,
    };
}

/// The PHY of a frame without an MCS, by its rate and band.
fn settle(ppdu: &mut Ppdu) {
    if ppdu.phy.is_some() {
        return;
    }
    let five = ppdu.channel_mhz.map(|f| f > 4000);
    ppdu.phy = match ppdu.rate_mbps {
        Some(1.0 | 2.0 | 5.5 | 11.0) => Some(Phy::B),
        Some(_) => five.map(|five| if five { Phy::A } else { Phy::G }),
        None => None,
    };
}

/// Call `field` with the bit and offset of each field until it returns false; None when the fields do not fit.
///
/// Fields of vendors are passed over by the length they state. A field newer than the table ends the walk, since its
/// size is not known.
fn walk(header: View<'_>, mut field: impl FnMut(usize, usize) -> bool) -> Option<()> {
    let mut words = 1;
    while header.le32(PRESENT + 4 * (words - 1))? & ANOTHER_WORD != 0 {
        words += 1;
    }
    let mut at = PRESENT + 4 * words;
    let mut ours = true;
    let mut continued = false;
    for word in 0..words {
        let word = header.le32(PRESENT + 4 * word)?;
        let mut bits = if ours { word & FIELD_BITS } else { 0 };
        if continued && bits != 0 {
            return Some(());
        }
        while bits != 0 {
            let bit = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let Some(&(align, size)) = FIELDS.get(bit) else {
                return Some(());
            };
            at = at.next_multiple_of(align);
            if at + size > header.data().len() {
                return None;
            }
            if !field(bit, at) {
                return Some(());
            }
            at += size;
        }
        continued = true;
        if word & RADIOTAP_NAMESPACE != 0 {
            (ours, continued) = (true, false);
        } else if word & VENDOR_NAMESPACE != 0 {
            // OUI, sub-namespace, and the length of what follows (radiotap.org/fields/Vendor Namespace).
            at = at.next_multiple_of(2);
            at += 6 + usize::from(header.le16(at + 4)?);
            ours = false;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cut_everywhere, dot11, ipv4, noted, one, packets, snap, tcp};
    use super::*;
    use crate::packet::Stop;

    const RADIOTAP: u16 = 127;

    /// A header of these present words and fields, then a data frame.
    fn frame(present: &[u32], fields: &[u8]) -> Vec<u8> {
        let length = (4 + 4 * present.len() + fields.len()) as u8;
        let words: Vec<u8> = present.iter().flat_map(|w| w.to_le_bytes()).collect();
        let body = snap(&ipv4(6, &tcp(&[], b"x")));
        [&[0, 0, length, 0][..], &words, fields, &dot11(0x0188, &[0, 0], &body)].concat()
    }

    fn seen(present: &[u32], fields: &[u8]) -> (Vec<(usize, usize)>, bool) {
        let data = frame(present, fields);
        let mut got = Vec::new();
        let whole = walk(View::new(&data, data.len()).clip(usize::from(data[2])), |bit, at| {
            got.push((bit, at));
            true
        });
        (got, whole.is_some())
    }

    #[test]
    fn fields_are_aligned_from_the_start_of_the_header() {
        // Flags, channel, antenna.
        assert_eq!(seen(&[0x0000_080a], &[0; 7]), (vec![(1, 8), (3, 10), (11, 14)], true));
        // Two words: the TSFT is at 16 since 12 is no multiple of 8.
        assert_eq!(seen(&[0xa000_0001, 0x20], &[0; 13]), (vec![(0, 16), (5, 24)], true));
        assert_eq!(seen(&[1], &[0; 7]), (vec![], false));
    }

    #[test]
    fn vendor_namespaces_are_passed_over() {
        // The vendor's word stands for 3 bytes of its own; then radiotap's fields again.
        let fields = [7, 0, 1, 2, 3, 0, 3, 0, 9, 9, 9, 5];
        assert_eq!(seen(&[0xc000_0002, 0xa000_ffff, 0x20], &fields), (vec![(1, 16), (5, 27)], true));
        let liar = [7, 0, 1, 2, 3, 0, 0xff, 0xff];
        assert_eq!(seen(&[0xc000_0002, 0xa000_0000, 0x20], &liar), (vec![(1, 16)], false));
    }

    #[test]
    fn unknown_fields_and_endless_words() {
        assert_eq!(seen(&[0x1000_0002], &[0; 9]), (vec![(1, 8)], true));
        assert_eq!(seen(&[0x8000_0002, 2], &[0; 9]), (vec![(1, 12)], true));
        let endless = frame(&[0xffff_ffff; 10], &[]);
        assert_eq!(noted(RADIOTAP, &endless, NoteKind::RadiotapMalformed), 1);
        assert_eq!(one(RADIOTAP, &endless).src_port, Some(40000));
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

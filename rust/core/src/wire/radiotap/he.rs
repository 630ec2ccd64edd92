//! Radiotap's fields of HE PPDUs.

use crate::phy::{rates, Format, Phy, Ppdu};

use super::super::radio_header::RadioHeader;
use super::super::view::View;

/// LTF symbols by the code of "number of LTF symbols" (HE and EHT).
pub(super) fn ltf_symbols(code: u8) -> Option<u8> {
    [1, 2, 4, 6, 8].get(usize::from(code)).copied()
}

/// LTF size by its code, 0 being unknown (HE and EHT).
pub(super) fn ltf_size(code: u8) -> Option<u8> {
    [None, Some(1), Some(2), Some(4)][usize::from(code & 3)]
}

/// Guard interval by its code (HE and EHT).
pub(super) fn guard_ns(code: u8) -> Option<u16> {
    [Some(800), Some(1600), Some(3200), None][usize::from(code & 3)]
}

/// radiotap.org/fields/HE.
pub(super) fn he(radio_header: &mut RadioHeader, v: View<'_>) {
    const LAST_MCS: u8 = 11;
    const MOST_STREAMS: u8 = 8;
    let word = |i: usize| v.le16(2 * i).unwrap_or(0);
    let [data1, data2, data3, data5, data6] = [word(0), word(1), word(2), word(4), word(5)];
    let knows1 = |bit: u16| data1 & bit != 0;
    let knows2 = |bit: u16| data2 & bit != 0;
    let mcs = (data3 >> 8 & 0xf) as u8;
    let mcs = if knows1(0x0020) { radio_header.plausible(mcs, mcs <= LAST_MCS) } else { None };
    let space_time = (data6 & 0xf) as u8;
    let space_time = radio_header.plausible(space_time, space_time <= MOST_STREAMS).unwrap_or(0);
    let ppdu = &mut radio_header.frame.radio.ppdu;
    ppdu.phy = Some(Phy::Ax);
    ppdu.format = Some([Format::Su, Format::ErSu, Format::Mu, Format::Tb][usize::from(data1 & 3)]);
    ppdu.mcs = mcs;
    ppdu.dcm = knows1(0x0040).then_some(data3 & 0x1000 != 0);
    ppdu.ldpc = knows1(0x0080).then_some(data3 & 0x2000 != 0);
    ppdu.stbc = knows1(0x0200).then_some((data3 >> 15) as u8);
    ppdu.streams = Some(if ppdu.stbc == Some(1) { space_time / 2 } else { space_time }).filter(|&n| n != 0);
    if knows1(0x4000) {
        let (width, tones) = resource_unit(data5 & 0xf);
        ppdu.width_mhz = width;
        ppdu.ru_tones = match ppdu.format {
            Some(Format::Su) => tones,
            _ => tones.or(width.and_then(rates::full_tones)),
        };
    }
    ppdu.guard_ns = if knows2(0x0002) { guard_ns((data5 >> 4) as u8) } else { None };
    ppdu.ltf_size = if knows2(0x0002) { ltf_size((data5 >> 6) as u8) } else { None };
    ppdu.ltf_symbols = if knows2(0x0004) { ltf_symbols((data5 >> 8 & 7) as u8) } else { None };
    ppdu.pe_disambiguity = knows2(0x0020).then_some(data5 & 0x8000 != 0);
    ppdu.midamble_symbols = match (knows1(0x8000), data6 & 0x0010 != 0, knows2(0x0080)) {
        (true, false, _) => Some(0),
        (true, true, true) => Some(if data6 & 0x8000 != 0 { 20 } else { 10 }),
        _ => None,
    };
}

/// Width of the PPDU and tones of the user's resource unit, by the code of "data bandwidth/RU allocation".
fn resource_unit(code: u16) -> (Option<u16>, Option<u16>) {
    match code {
        0 => (Some(20), None),
        1 => (Some(40), None),
        2 => (Some(80), None),
        3 => (Some(160), None),
        4..=9 => (None, Some([26, 52, 106, 242, 484, 996][usize::from(code) - 4])),
        10 => (Some(160), Some(2 * 996)),
        _ => (None, None),
    }
}

/// radiotap.org/fields/HE-MU: the PPDU of the user's data.
pub(super) fn he_mu(ppdu: &mut Ppdu, v: View<'_>) {
    let (Some(flags1), Some(flags2)) = (v.le16(0), v.le16(2)) else { return };
    if flags2 & 0x0004 != 0 {
        ppdu.width_mhz = Some(20 << (flags2 & 3));
    }
    // Without SIG-B compression the count is in symbols, and its last code means 16 or more (Table 27-20); with it, in
    // users.
    let compression = (flags1 & 0x4000 != 0).then_some(flags2 & 0x0008 != 0);
    let count = (flags2 >> 4 & 0xf) as u8;
    match compression {
        Some(false) if flags1 & 0x8000 != 0 && count < 15 => ppdu.sig_symbols = Some(count + 1),
        Some(true) if flags1 & 0x8000 != 0 => {
            ppdu.users = Some(count + 1);
            let mcs = (flags1 & 0x0010 != 0).then_some(flags1 & 0x000f);
            let dcm = (flags1 & 0x0040 != 0).then_some(flags1 & 0x0020 != 0);
            ppdu.sig_symbols =
                mcs.zip(dcm).and_then(|(mcs, dcm)| compressed_sig_b(count + 1, mcs, dcm, ppdu.width_mhz?));
        }
        _ => {}
    }
}

/// Symbols of a compressed HE-SIG-B, which has no common field: 21 bits per user, and 10 of CRC and tail for every two
/// (clause 27.3.11.8.3). From 40 MHz on two content channels share the users.
fn compressed_sig_b(users: u8, mcs: u16, dcm: bool, width_mhz: u16) -> Option<u8> {
    const BITS: [u32; 6] = [26, 52, 78, 104, 156, 208];
    let bits = *BITS.get(usize::from(mcs))? / if dcm { 2 } else { 1 };
    let users = u32::from(users).div_ceil(if width_mhz > 20 { 2 } else { 1 });
    u8::try_from((21 * users + 10 * users.div_ceil(2)).div_ceil(bits)).ok()
}

/// The rate, once every field has been read.
pub(super) fn settle(ppdu: &mut Ppdu) {
    if ppdu.format == Some(Format::ErSu) {
        // It fills 20 MHz, with 242 tones or with 106 (clause 27.3.4).
        ppdu.width_mhz = Some(20);
    }
    let full = ppdu.width_mhz.filter(|_| ppdu.format == Some(Format::Su)).and_then(rates::full_tones);
    let tones = ppdu.ru_tones.or(full);
    ppdu.rate_mbps = match (ppdu.mcs, ppdu.streams, tones, ppdu.guard_ns) {
        (Some(mcs), Some(streams), Some(tones), Some(guard)) => {
            rates::he(mcs, streams, tones, guard, ppdu.dcm == Some(true))
        }
        _ => None,
    };
}

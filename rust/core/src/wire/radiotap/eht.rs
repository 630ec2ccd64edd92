//! Radiotap's fields of EHT PPDUs.

use crate::phy::{rates, Format, Phy, Ppdu};

use super::super::view::View;
use super::he;

/// radiotap.org/fields/U-SIG. Its second part has this meaning only in version 0 of the PHY, EHT.
pub(super) fn u_sig(ppdu: &mut Ppdu, v: View<'_>) {
    const BANDWIDTHS_MHZ: [Option<u16>; 8] =
        [Some(20), Some(40), Some(80), Some(160), Some(320), Some(320), None, None];
    let word = |i: usize| v.le32(4 * i).unwrap_or(0);
    let [common, value, mask] = [word(0), word(1), word(2)];
    let knows = |bit: u32| common & bit != 0;
    if knows(0x0001) && common >> 12 & 7 != 0 {
        return;
    }
    ppdu.phy = Some(Phy::Be);
    if knows(0x0002) {
        ppdu.width_mhz = BANDWIDTHS_MHZ[(common >> 15 & 7) as usize];
    }
    let uplink = knows(0x0004).then_some(common & 0x0004_0000 != 0);
    let compression = (mask & 0x00c0 == 0x00c0).then_some(value >> 6 & 3);
    ppdu.format = match (uplink, compression) {
        (Some(true), Some(0)) => Some(Format::Tb),
        (_, Some(1)) => Some(Format::Su),
        (Some(false), Some(0 | 2)) => Some(Format::Mu),
        _ => ppdu.format,
    };
    // A punctured PPDU is described by its RU/MRU size alone.
    ppdu.format = ppdu.format.filter(|&f| f == Format::Tb || mask & value & 0x3e00 == 0 || f != Format::Su);
    const SYMBOLS: u32 = 0x003e_0000;
    if mask & SYMBOLS == SYMBOLS && ppdu.format.is_some_and(|f| f != Format::Tb) {
        ppdu.sig_symbols = Some((value >> 17 & 0x1f) as u8 + 1);
    }
}

/// radiotap.org/fields/EHT.
pub(super) fn eht(ppdu: &mut Ppdu, v: View<'_>) {
    const USERS: usize = 10;
    let word = |i: usize| v.le32(4 * i);
    let [known, data0, data1] = [word(0), word(1), word(2)].map(|w| w.unwrap_or(0));
    let knows = |bit: u32| known & bit != 0;
    ppdu.phy = Some(Phy::Be);
    if knows(0x0000_0004) {
        ppdu.guard_ns = he::guard_ns((data0 >> 7) as u8);
        ppdu.ltf_size = he::ltf_size((data0 >> 9) as u8);
    }
    if knows(0x0000_0010) {
        ppdu.ltf_symbols = he::ltf_symbols((data0 >> 11 & 7) as u8);
    }
    ppdu.pe_disambiguity = knows(0x0000_0080).then_some(data0 & 0x0002_0000 != 0);
    if knows(0x0040_0000) {
        ppdu.ru_tones = tones(data1 & 0x1f);
    }
    let users = v.data().len() / 4;
    let captured = (USERS..users).filter_map(word).find(|u| u & 0x80 != 0);
    // A single user is the user.
    if let Some(user) = captured.or_else(|| word(USERS).filter(|_| users == USERS + 1)) {
        let knows = |bit: u32| user & bit != 0;
        ppdu.mcs = knows(0x02).then_some((user >> 20 & 0xf) as u8);
        ppdu.ldpc = knows(0x04).then_some(user & 0x0008_0000 != 0);
        ppdu.streams = knows(0x10).then_some((user >> 24 & 0xf) as u8 + 1);
    }
}

/// Tones by the code of "RU/MRU size".
fn tones(code: u32) -> Option<u16> {
    const TONES: [u16; 16] = [
        26,
        52,
        106,
        242,
        484,
        996,
        2 * 996,
        4 * 996,
        52 + 26,
        106 + 26,
        484 + 242,
        996 + 484,
        996 + 484 + 242,
        2 * 996 + 484,
        3 * 996,
        3 * 996 + 484,
    ];
    TONES.get(code as usize).copied()
}

/// The rate, once every field has been read.
pub(super) fn settle(ppdu: &mut Ppdu) {
    let full = ppdu.width_mhz.filter(|_| ppdu.format == Some(Format::Su)).and_then(rates::full_tones);
    let tones = ppdu.ru_tones.or(full);
    ppdu.rate_mbps = match (ppdu.mcs, ppdu.streams, tones, ppdu.guard_ns) {
        (Some(mcs), Some(streams), Some(tones), Some(guard)) => rates::eht(mcs, streams, tones, guard),
        _ => None,
    };
}

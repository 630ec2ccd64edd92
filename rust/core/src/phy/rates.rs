//! Data rates of every PHY from its parameters.

/// Data bits of an HT symbol at 20 MHz by MCS 0..=76 (IEEE 802.11-2020 clause 19.5); of MCS 32, 40 MHz alone.
const HT_BITS: [u16; 77] = [
    26, 52, 78, 104, 156, 208, 234, 260, // 1 stream
    52, 104, 156, 208, 312, 416, 468, 520, // 2
    78, 156, 234, 312, 468, 624, 702, 780, // 3
    104, 208, 312, 416, 624, 832, 936, 1040, // 4
    24,   // HT duplicate
    156, 208, 260, 234, 312, 390, // unequal modulation on 2 streams
    208, 260, 260, 312, 364, 364, 416, 312, 390, 390, 468, 546, 546, 624, // on 3
    260, 312, 364, 312, 364, 416, 468, 416, 468, 520, 520, 572, // on 4
    390, 468, 546, 468, 546, 624, 702, 624, 702, 780, 780, 858,
];
const HT_DUPLICATE: u8 = 32;

/// Coded bits a subcarrier times the coding rate, in twelfths, by MCS of VHT (to 9), HE (to 11) and EHT (to 13):
/// BPSK 1/2 to 4096-QAM 5/6 (clauses 21.5, 27.5, 36.5).
const TWELFTHS: [u32; 14] = [6, 12, 18, 24, 36, 48, 54, 60, 72, 80, 90, 100, 108, 120];

/// Spatial streams of an HT MCS (clause 19.5).
pub fn ht_streams(mcs: u8) -> Option<u8> {
    match mcs {
        0..=31 => Some(mcs / 8 + 1),
        HT_DUPLICATE => Some(1),
        33..=38 => Some(2),
        39..=52 => Some(3),
        53..=76 => Some(4),
        _ => None,
    }
}

/// HT data rate in Mbit/s (clause 19.5).
pub fn ht(mcs: u8, width_mhz: u16, guard_ns: u16) -> Option<f64> {
    let bits = f64::from(*HT_BITS.get(usize::from(mcs))?);
    let bits = match (mcs, width_mhz) {
        (HT_DUPLICATE, _) | (_, 20) => bits,
        (_, 40) => bits * 108.0 / 52.0,
        _ => return None,
    };
    Some(bits * 1e3 / f64::from(3200 + guard_ns))
}

/// VHT data rate in Mbit/s (clause 21.5).
pub fn vht(mcs: u8, streams: u8, width_mhz: u16, guard_ns: u16) -> Option<f64> {
    let subcarriers = match width_mhz {
        20 => 52,
        40 => 108,
        80 => 234,
        160 => 468,
        _ => return None,
    };
    let bits = subcarriers * u32::from(streams) * TWELFTHS[..10].get(usize::from(mcs))?;
    Some(f64::from(bits) / 12.0 * 1e3 / f64::from(3200 + guard_ns))
}

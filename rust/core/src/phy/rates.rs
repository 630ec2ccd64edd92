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

/// Coded bits per subcarrier times the coding rate, in twelfths, by MCS of VHT (to 9), HE (to 11) and EHT (to 13):
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

/// Tones of the resource unit that fills a width (IEEE 802.11ax-2021 Table 27-8, 802.11be Table 36-6).
pub fn full_tones(width_mhz: u16) -> Option<u16> {
    Some(match width_mhz {
        20 => 242,
        40 => 484,
        80 => 996,
        160 => 2 * 996,
        320 => 4 * 996,
        _ => return None,
    })
}

/// Data subcarriers of a resource unit, or of several used as one, by its tones.
fn data_subcarriers(tones: u16) -> Option<u32> {
    const UNITS: [(u16, u32); 16] = [
        (26, 24),
        (52, 48),
        (52 + 26, 72),
        (106, 102),
        (106 + 26, 126),
        (242, 234),
        (484, 468),
        (484 + 242, 702),
        (996, 980),
        (996 + 484, 1448),
        (996 + 484 + 242, 1682),
        (2 * 996, 1960),
        (2 * 996 + 484, 2428),
        (3 * 996, 2940),
        (3 * 996 + 484, 3408),
        (4 * 996, 3920),
    ];
    UNITS.iter().find(|u| u.0 == tones).map(|u| u.1)
}

/// HE data rate in Mbit/s of one user on `tones` (IEEE 802.11ax-2021 clause 27.5): whole bits per symbol of 12.8 us and
/// its guard interval. `dcm`: every bit is sent on two subcarriers.
pub fn he(mcs: u8, streams: u8, tones: u16, guard_ns: u16, dcm: bool) -> Option<f64> {
    let twelfths = *TWELFTHS[..12].get(usize::from(mcs))?;
    let subcarriers = data_subcarriers(tones)? / if dcm { 2 } else { 1 };
    Some(per_symbol(subcarriers * u32::from(streams) * twelfths / 12, guard_ns))
}

/// EHT data rate in Mbit/s of one user on `tones` (IEEE 802.11be clause 36.5).
pub fn eht(mcs: u8, streams: u8, tones: u16, guard_ns: u16) -> Option<f64> {
    /// BPSK 1/2 with DCM, sent twice over the width (clause 36.3.13.10).
    const DUPLICATE: u8 = 14;
    const DCM: u8 = 15;
    let bits = match (mcs, tones) {
        (DUPLICATE, 996) => 117,
        (DUPLICATE, 1992) => 245,
        (DUPLICATE, 3984) => 490,
        (DCM, _) => data_subcarriers(tones)? / 4,
        _ => data_subcarriers(tones)? * u32::from(streams) * TWELFTHS.get(usize::from(mcs))? / 12,
    };
    Some(per_symbol(bits, guard_ns))
}

fn per_symbol(bits: u32, guard_ns: u16) -> f64 {
    f64::from(bits) * 1e3 / f64::from(12_800 + u32::from(guard_ns))
}

/// Whether clause 17 (OFDM) has this rate at 20, 10 or 5 MHz.
pub fn is_ofdm(rate_mbps: f64, width_mhz: u16) -> bool {
    let full = rate_mbps * 20.0 / f64::from(width_mhz.max(1));
    [6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0].contains(&full)
}

/// Whether clause 15 or 16 (DSSS, HR/DSSS) has this rate.
pub fn is_dsss(rate_mbps: f64) -> bool {
    [1.0, 2.0, 5.5, 11.0].contains(&rate_mbps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(got: Option<f64>, want: f64) {
        assert!(got.is_some_and(|g| (g - want).abs() < 0.051), "{got:?}, not {want}");
    }

    #[test]
    fn as_the_standard_tabulates_them() {
        // Clause 19.5: Tables 19-27, 19-30, 19-38 (HT duplicate), 19-39.
        near(ht(7, 20, 800), 65.0);
        near(ht(15, 40, 400), 300.0);
        near(ht(32, 40, 800), 6.0);
        near(ht(33, 20, 800), 39.0);
        near(ht(76, 40, 400), 495.0);
        // Clause 21.5: Tables 21-30, 21-38, 21-46, 21-54.
        near(vht(8, 1, 20, 800), 78.0);
        near(vht(9, 1, 40, 400), 200.0);
        near(vht(9, 2, 80, 400), 866.7);
        near(vht(9, 8, 160, 400), 6933.3);
        // Clause 27.5: Tables 27-55 (26-tone), 27-71 (242), 27-95 (996), 27-103 (2x996).
        near(he(0, 1, 26, 800, false), 0.9);
        near(he(0, 1, 26, 3200, true), 0.4);
        near(he(11, 1, 242, 800, false), 143.4);
        near(he(11, 2, 996, 800, false), 1201.0);
        near(he(11, 8, 1992, 800, false), 9607.8);
        // Clause 36.5.
        near(eht(13, 1, 242, 800), 172.1);
        near(eht(13, 2, 3984, 800), 5764.7);
        near(eht(14, 1, 996, 800), 8.6);
        near(eht(15, 1, 242, 800), 4.3);
        near(eht(11, 1, 726, 1600), 406.2);
    }

    #[test]
    fn what_no_table_holds() {
        assert_eq!((ht(77, 20, 800), ht(7, 80, 800), ht_streams(77)), (None, None, None));
        assert_eq!((vht(10, 1, 20, 800), vht(0, 1, 320, 800)), (None, None));
        assert_eq!((he(12, 1, 242, 800, false), he(0, 1, 100, 800, false)), (None, None));
        assert_eq!((eht(16, 1, 242, 800), eht(14, 1, 242, 800)), (None, None));
        assert!(is_ofdm(27.0, 10) && is_ofdm(1.5, 5) && !is_ofdm(54.0, 10) && !is_ofdm(65.0, 20) && !is_ofdm(6.0, 0));
    }

    #[test]
    fn streams_of_unequal_modulation() {
        let of = |mcs| ht_streams(mcs).unwrap();
        assert_eq!([0, 7, 8, 31, 32, 33, 38, 39, 52, 53, 76].map(of), [1, 1, 2, 4, 1, 2, 2, 3, 3, 4, 4]);
    }
}

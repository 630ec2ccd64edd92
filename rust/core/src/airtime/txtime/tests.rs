//! Hand-computed vectors of each PHY, with the arithmetic.

use proptest::prelude::*;

use super::*;
use crate::phy::{Format, Phy, Ppdu};

fn us(p: Ppdu, psdu_bytes: u32) -> Option<f64> {
    txtime_ns(&p, psdu_bytes).map(|ns| f64::from(ns) / 1e3)
}

fn dsss(rate: f64, short: Option<bool>) -> Ppdu {
    Ppdu { phy: Some(Phy::B), rate_mbps: Some(rate), short_preamble: short, channel_mhz: Some(2412), ..Ppdu::default() }
}

fn ofdm(phy: Phy, rate: f64, channel: u16) -> Ppdu {
    Ppdu { phy: Some(phy), rate_mbps: Some(rate), channel_mhz: Some(channel), ..Ppdu::default() }
}

fn ht(mcs: u8, width: u16, guard: u16) -> Ppdu {
    Ppdu {
        phy: Some(Phy::N),
        mcs: Some(mcs),
        width_mhz: Some(width),
        guard_ns: Some(guard),
        channel_mhz: Some(5180),
        ..Ppdu::default()
    }
}

fn vht(mcs: u8, streams: u8, width: u16, guard: u16) -> Ppdu {
    Ppdu { phy: Some(Phy::Ac), streams: Some(streams), ..ht(mcs, width, guard) }
}

fn he(format: Format, mcs: u8, streams: u8, width: u16, guard: u16, ltf_size: u8) -> Ppdu {
    Ppdu { phy: Some(Phy::Ax), format: Some(format), ltf_size: Some(ltf_size), ..vht(mcs, streams, width, guard) }
}

#[test]
fn dsss_rounds_up_to_whole_microseconds() {
    // 192 + 8 * 14 / 1.
    assert_eq!(us(dsss(1.0, Some(false)), 14), Some(304.0));
    // 192 + 112 / 2; 96 + 112 / 2.
    assert_eq!(us(dsss(2.0, Some(false)), 14), Some(248.0));
    assert_eq!(us(dsss(2.0, Some(true)), 14), Some(152.0));
    // 112 / 5.5 = 20.36, up to 21.
    assert_eq!(us(dsss(5.5, Some(false)), 14), Some(213.0));
    assert_eq!(us(dsss(5.5, Some(true)), 14), Some(117.0));
    // 12 288 / 11 = 1117.09, up to 1118.
    assert_eq!(us(dsss(11.0, Some(false)), 1536), Some(1310.0));
    assert_eq!(us(dsss(11.0, Some(true)), 1536), Some(1214.0));
    // 8800 / 11 = 800: nothing to round.
    assert_eq!(us(dsss(11.0, Some(false)), 1100), Some(992.0));
}

#[test]
fn dsss_preamble_that_was_not_told() {
    assert_eq!(us(dsss(1.0, None), 14), Some(304.0));
    // A receiver that flags a short preamble at 1 Mb/s is wrong: it does not exist.
    assert_eq!(us(dsss(1.0, Some(true)), 14), Some(304.0));
    assert_eq!(us(dsss(11.0, None), 14), None);
    assert_eq!(us(dsss(22.0, Some(false)), 14), None);
    assert_eq!(us(dsss(1.0, Some(false)), 4096), None);
}

#[test]
fn ofdm_and_its_signal_extension() {
    // 16 + 12 240 + 6 = 12 262 bits; / 216 = 56.8, so 57 symbols: 20 + 228, and 6 us at 2.4 GHz.
    assert_eq!(us(ofdm(Phy::A, 54.0, 5180), 1530), Some(248.0));
    assert_eq!(us(ofdm(Phy::G, 54.0, 2412), 1530), Some(254.0));
    // ACK: 134 bits / 96 = 1.4, 2 symbols.
    assert_eq!(us(ofdm(Phy::A, 24.0, 5180), 14), Some(28.0));
    assert_eq!(us(ofdm(Phy::G, 24.0, 2412), 14), Some(34.0));
    // 134 / 24 = 5.6, 6 symbols.
    assert_eq!(us(ofdm(Phy::A, 6.0, 5180), 14), Some(44.0));
    // ERP is 2.4 GHz by definition, OFDM without a band is clause 17's.
    assert_eq!(us(Ppdu { channel_mhz: None, ..ofdm(Phy::G, 24.0, 0) }, 14), Some(34.0));
    assert_eq!(us(Ppdu { channel_mhz: None, ..ofdm(Phy::A, 24.0, 0) }, 14), Some(28.0));
    assert_eq!(us(ofdm(Phy::A, 7.0, 5180), 14), None);
    // A duplicate in 80 MHz is as long as in 20.
    assert_eq!(us(Ppdu { width_mhz: Some(80), ..ofdm(Phy::A, 24.0, 5180) }, 14), Some(28.0));
}

#[test]
fn ofdm_at_half_and_quarter_clock() {
    let narrow = |rate, width| Ppdu { width_mhz: Some(width), ..ofdm(Phy::A, rate, 5890) };
    // 6 Mb/s in 10 MHz is 48 bits per symbol of 8 us: 134 / 48 = 2.8, 3 symbols; 40 + 24.
    assert_eq!(us(narrow(6.0, 10), 14), Some(64.0));
    assert_eq!(us(narrow(27.0, 10), 14), Some(48.0));
    // 1.5 Mb/s in 5 MHz: 24 bits per symbol of 16 us: 6 symbols; 80 + 96.
    assert_eq!(us(narrow(1.5, 5), 14), Some(176.0));
    // 2.25 Mb/s as steps of 0.5 say it: 36 bits, 4 symbols.
    assert_eq!(us(narrow(2.5, 5), 14), Some(144.0));
    assert_eq!(us(narrow(2.0, 5), 14), Some(144.0));
    assert_eq!(us(Ppdu { channel_mhz: Some(2437), ..narrow(1.5, 5) }, 14), None);
}

#[test]
fn ht_mixed_and_greenfield() {
    // 12 016 + 6 bits / 260 = 46.2, 47 symbols: 36 + 188.
    assert_eq!(us(ht(7, 20, 800), 1500), Some(224.0));
    // 47 * 3.6 = 169.2, up to the 4 us grid: 36 + 172.
    assert_eq!(us(ht(7, 20, 400), 1500), Some(208.0));
    assert_eq!(us(Ppdu { channel_mhz: Some(2412), ..ht(7, 20, 400) }, 1500), Some(214.0));
    // Greenfield: 8 + 8 + 8, no rounding: 24 + 169.2.
    assert_eq!(us(Ppdu { greenfield: Some(true), ..ht(7, 20, 400) }, 1500), Some(193.2));
    // 12 310 bits / 1080 = 11.4, 12 symbols of 3.6: 43.2, up to 44; 2 LTFs: 40.
    assert_eq!(us(ht(15, 40, 400), 1536), Some(84.0));
    // 1458 bits per symbol are 364.5 Mb/s, two encoders: 12 000 + 16 + 12 = 12 028 / 1458, 9 symbols; 4 LTFs for 3 streams.
    assert_eq!(us(ht(22, 40, 800), 1500), Some(84.0));
    // MCS 32, 24 bits: 134 / 24, 6 symbols: 36 + 24.
    assert_eq!(us(ht(32, 40, 800), 14), Some(60.0));
    assert_eq!(us(ht(32, 20, 800), 14), None);
    // MCS 38, 64-QAM and 16-QAM at 3/4: 390 bits (97.5 Mb/s): 12 022 / 390 = 30.8, 31 symbols; 40 + 124.
    assert_eq!(us(ht(38, 20, 800), 1500), Some(164.0));
    // MCS 76: 858 bits: 12 022 / 858 = 14.01, 15 symbols; 48 + 60.
    assert_eq!(us(ht(76, 20, 800), 1500), Some(108.0));
    assert_eq!(us(ht(77, 20, 800), 1500), None);
    assert_eq!(us(Ppdu { channel_mhz: None, ..ht(7, 20, 800) }, 1500), None);
    assert_eq!(us(ht(7, 20, 800), 65_536), None);
}

#[test]
fn ht_rates_of_unequal_modulation() {
    // Clause 19.5, 20 MHz and 800 ns, as rates: MCS 33 39, 39 52, 53 65, 64 143, 65 97.5, 76 214.5 Mb/s.
    for (mcs, mbps) in
        [(33, 39.0), (38, 97.5), (39, 52.0), (52, 156.0), (53, 65.0), (64, 143.0), (65, 97.5), (76, 214.5)]
    {
        // 60 000 bytes are enough symbols to show the rate to a symbol.
        let symbols = (8.0_f64 * 60_000.0 + 22.0) / (mbps * 4.0);
        let preamble = f64::from(times(&ht(mcs, 20, 800), 60_000).expect("within the PHY").preamble_ns) / 1e3;
        assert_eq!(us(ht(mcs, 20, 800), 60_000), Some(preamble + 4.0 * symbols.ceil()), "MCS {mcs}");
    }
}

#[test]
fn ht_options() {
    let stbc = Ppdu { stbc: Some(1), ..ht(3, 20, 800) };
    // 822 bits / (2 * 104) = 3.95: 4 pairs of symbols; 2 space-time streams, 2 LTFs: 40 + 32.
    assert_eq!(us(stbc, 100), Some(72.0));
    assert_eq!(us(Ppdu { extension_streams: Some(1), ..stbc }, 100), Some(76.0));
    // Three extension streams take 4 LTFs.
    assert_eq!(us(Ppdu { extension_streams: Some(3), ..stbc }, 100), Some(88.0));
    // LDPC, 26 of 52 bits: 128 / 26 = 4.9, 5 symbols, 260 bits of one word of 648: 196 shortened, 192 punctured. More
    // than 0.1 * 324 are punctured and 196 < 1.2 * 192: one symbol more. 36 + 24.
    assert_eq!(us(Ppdu { ldpc: Some(true), ..ht(0, 20, 800) }, 14), Some(60.0));
    // 816 / 26 = 31.4, 32 symbols, 1664 bits of one word of 1944: 156 shortened, 124 punctured, and 156 > 1.2 * 124.
    assert_eq!(us(Ppdu { ldpc: Some(true), ..ht(0, 20, 800) }, 100), Some(164.0));
    assert_eq!(us(Ppdu { stbc: Some(3), ..ht(16, 20, 800) }, 100), None);
    assert_eq!(us(Ppdu { stbc: Some(255), extension_streams: Some(255), ..ht(31, 40, 400) }, 100), None);
}

#[test]
fn vht_preambles() {
    // 16 + 4 + 8 + 4 + 4 * LTFs + 4, LTFs 1 2 4 4 6 6 8 8.
    let preambles = (1..=8).map(|n| times(&vht(0, n, 20, 800), 0).expect("1 to 8 streams").preamble_ns / 1000);
    assert!(preambles.eq([40, 44, 52, 52, 60, 60, 68, 68]));
    assert_eq!(us(vht(0, 9, 20, 800), 100), None);
    assert_eq!(us(vht(0, 0, 20, 800), 100), None);
}

#[test]
fn vht_data() {
    // 822 bits / 52 = 15.8, 16 symbols: 40 + 64.
    assert_eq!(us(vht(1, 1, 20, 800), 100), Some(104.0));
    // 3120 bits per symbol, 2 encoders: 80 028 / 3120 = 25.7, 26 symbols of 3.6: 93.6, up to 96; 44 + 96.
    assert_eq!(us(vht(9, 2, 80, 400), 10_000), Some(140.0));
    // STBC: 2 LTFs, pairs: 822 / 104 = 7.9, 8 pairs: 44 + 64.
    assert_eq!(us(Ppdu { stbc: Some(1), ..vht(1, 1, 20, 800) }, 100), Some(108.0));
    // LDPC: 816 / 52 = 15.7, 16 symbols: 832 of 1664 bits, one word of 1944: 140 shortened, 140 punctured: above 97.2, and
    // 140 < 168: 17 symbols.
    assert_eq!(us(Ppdu { ldpc: Some(true), ..vht(1, 1, 20, 800) }, 100), Some(108.0));
    // Clause 21.5 leaves MCS 9 out at 20 MHz with one stream; three have it.
    assert_eq!(us(vht(9, 1, 20, 800), 100), None);
    assert!(us(vht(9, 3, 20, 800), 100).is_some());
    assert_eq!(us(vht(10, 1, 80, 800), 100), None);
    assert_eq!(us(Ppdu { channel_mhz: Some(2412), ..vht(1, 1, 20, 800) }, 100), None);
    // Several users: only the L-SIG has the length. 141 bytes: 48 symbols of 4 us after the first 20 us.
    let mu = Ppdu { format: Some(Format::Mu), users: Some(2), ..vht(1, 1, 20, 800) };
    assert_eq!(us(mu, 100), None);
    assert_eq!(us(Ppdu { l_sig_bytes: Some(141), ..mu }, 100), Some(212.0));
}

#[test]
fn vht_encoders_where_the_rule_of_600_megabits_is_not_enough() {
    // Clause 21.5: (width, streams, MCS) and N_ES; one encoder more would show in a PSDU that just fits.
    for (width, streams, mcs, encoders) in [
        (80, 7, 2, 3),
        (80, 7, 7, 6),
        (80, 7, 8, 6),
        (80, 8, 7, 6),
        (160, 4, 7, 6),
        (160, 5, 8, 8),
        (160, 6, 7, 8),
        (160, 7, 3, 4),
        (160, 7, 4, 6),
        (160, 7, 5, 7),
        (160, 7, 7, 9),
        (160, 7, 8, 12),
        (160, 7, 9, 12),
        (80, 1, 9, 1),
    ] {
        let p = vht(mcs, streams, width, 800);
        let preamble = times(&p, 0).expect("allowed").preamble_ns;
        let symbols = |bytes| (txtime_ns(&p, bytes).expect("allowed") - preamble) / 4000;
        // The largest PSDU of 8 symbols; its bits are a multiple of 8 short of a whole number by less than a byte.
        let largest = (1..200_000).find(|&b| symbols(b + 1) > 8).expect("symbols grow");
        let (bits, rate) = coding::scheme(mcs).expect("allowed");
        let subcarriers = if width == 80 { 234 } else { 468 };
        let data = subcarriers * bits * u64::from(streams) * rate.num / rate.den;
        assert_eq!(u64::from(largest), (8 * data - 16 - 6 * encoders) / 8, "{width} MHz, {streams} streams, MCS {mcs}");
    }
}

#[test]
fn he_single_user() {
    // 980 * 20 * 5/6 = 16 333 bits per symbol hold 12 048: one symbol. 16 + 4 + 4 + 8 + 4 + 2 * (6.4 + 0.8) + 13.6.
    let wide = he(Format::Su, 11, 2, 80, 800, 2);
    assert_eq!(us(wide, 1504), Some(64.0));
    assert_eq!(us(Ppdu { channel_mhz: Some(2437), ..wide }, 1504), Some(70.0));
    assert_eq!(us(Ppdu { packet_extension_us: Some(16), ..wide }, 1504), Some(80.0));
    // BCC at 20 MHz, MCS 0, GI 3.2: 117 bits: 822 / 117 = 7.03, 8 symbols of 16; 36 + 16 + 128.
    let narrow = he(Format::Su, 0, 1, 20, 3200, 4);
    assert_eq!(us(narrow, 100), Some(180.0));
    assert_eq!(us(Ppdu { ltf_size: None, ..narrow }, 100), Some(180.0));
    // DCM: 58 bits: 822 / 58 = 14.2, 15 symbols.
    assert_eq!(us(Ppdu { dcm: Some(true), ..narrow }, 100), Some(292.0));
    // Range extension repeats HE-SIG-A: 8 us more.
    assert_eq!(us(he(Format::ErSu, 0, 1, 20, 3200, 4), 100), Some(188.0));
    // The upper 106 tones: 51 bits: 822 / 51 = 16.1, 17 symbols: 60 + 272.
    assert_eq!(us(Ppdu { ru_tones: Some(106), ..he(Format::ErSu, 0, 1, 20, 3200, 4) }, 100), Some(332.0));
    // 0.8 us goes with three sizes of the LTF.
    assert_eq!(us(Ppdu { ltf_size: None, ..wide }, 1504), None);
    // Doppler, a midamble each 10 symbols: 63 symbols, ceil(62 / 10) - 1 = 6 midambles of one LTF of 16:
    // 36 + 16 + 63 * 16 + 6 * 16. (8 * 918 + 22 = 7366 bits / 117 = 62.96.)
    assert_eq!(us(Ppdu { midamble_symbols: Some(10), ..narrow }, 918), Some(1156.0));
}

#[test]
fn he_ldpc_extra_segment() {
    // 20 MHz, MCS 0, one stream: 117 data and 234 coded bits, a quarter 30 and 60. 14 bytes: 128 bits, 2 symbols, 11 bits
    // in the last: one quarter. Encoded 147, available 294, one word of 648: no symbol more since a quarter is free.
    let p = Ppdu { ldpc: Some(true), ..he(Format::Su, 0, 1, 20, 800, 2) };
    // 36 + 7.2 + 2 * 13.6.
    assert_eq!(us(p, 14), Some(70.4));
    // 27 bytes: 232 bits fill 2 symbols (234): encoded 234, available 468, one word of 648 (468 < 234 + 456): 90
    // shortened, 90 punctured: above 32.4, and 90 < 108: a third symbol. 36 + 7.2 + 3 * 13.6.
    assert_eq!(us(p, 27), Some(84.0));
}

#[test]
fn he_by_its_l_sig() {
    // 64 us and 8 us of packet extension: 52 us after the L-SIG, 13 * 3 - 3 - 2 = 34 bytes (LENGTH modulo 3 is 1: SU).
    let told = Ppdu { l_sig_bytes: Some(34), pe_disambiguity: Some(false), ..he(Format::Su, 11, 2, 80, 800, 2) };
    assert_eq!(us(told, 1504), Some(72.0));
    assert!(!extension_unknown(&told));
    // One symbol less would leave 20 us of extension, more than there is.
    assert_eq!(us(Ppdu { pe_disambiguity: None, ..told }, 1504), Some(72.0));
    assert!(extension_unknown(&Ppdu { l_sig_bytes: None, ..told }));
    // An MU PPDU's length modulo 3 is 2 (m = 1). SIG-B of 3 symbols; 16 + 4 + 4 + 8 + 12 + 4 + 7.2 = 55.2, 10 symbols of
    // 13.6 and 4 us of extension are 195.2: 175.2 after the L-SIG, 44 * 3 - 3 - 1 = 128 bytes.
    let mu = Ppdu { sig_symbols: Some(3), ltf_symbols: Some(1), ..he(Format::Mu, 5, 1, 80, 800, 2) };
    assert_eq!(us(mu, 1000), None);
    let told = Ppdu { l_sig_bytes: Some(128), pe_disambiguity: Some(false), ..mu };
    assert_eq!(us(told, 1000), Some(195.2));
    // Triggered: STF of 8 us, no SIG-B, 2 LTFs of 12.8 + 3.2: 40 + 32 = 72; 5 symbols of 16 and no extension: 152; 132
    // after the L-SIG, 33 * 3 - 3 - 2 = 94 bytes.
    let tb = Ppdu { ltf_symbols: Some(2), ru_tones: Some(26), ..he(Format::Tb, 0, 1, 80, 3200, 4) };
    assert_eq!(us(tb, 50), None);
    assert_eq!(us(Ppdu { l_sig_bytes: Some(94), pe_disambiguity: Some(false), ..tb }, 50), Some(152.0));
}

#[test]
fn he_to_one_user_in_an_mu_ppdu() {
    // 16 + 4 + 4 + 8 + 2 * 4 + 4 + 7.2 = 51.2; 980 * 6 * 2/3 = 3920 bits: 12 048 / 3920 = 3.07, 4 symbols: 54.4.
    let mu = Ppdu { users: Some(1), sig_symbols: Some(2), ltf_symbols: Some(1), ..he(Format::Mu, 5, 1, 80, 800, 2) };
    assert_eq!(us(mu, 1504), Some(105.6));
    assert_eq!(us(Ppdu { sig_symbols: None, ..mu }, 1504), None);
}

#[test]
fn eht() {
    // 3920 * 12 * 5/6 = 39 200 bits hold 12 048. 16 + 4 + 4 + 8 + 2 * 4 + 4 + 7.2 + 13.6.
    let wide = Ppdu {
        phy: Some(Phy::Be),
        users: Some(1),
        sig_symbols: Some(2),
        ltf_symbols: Some(1),
        channel_mhz: Some(6115),
        ..he(Format::Mu, 13, 1, 320, 800, 2)
    };
    assert_eq!(us(wide, 1504), Some(64.8));
    // Multiple resource units: 484 + 242 tones, 702 * 12 * 5/6 = 7020 bits: 2 symbols.
    assert_eq!(us(Ppdu { ru_tones: Some(726), ..wide }, 1504), Some(78.4));
    // MCS 15: half of 3920 subcarriers, 980 bits: 12 048 / 980 = 12.3, 13 symbols: 51.2 + 176.8. MCS 14 sends that twice:
    // 490 bits, 25 symbols: 51.2 + 340.
    assert_eq!(us(Ppdu { mcs: Some(15), ..wide }, 1504), Some(228.0));
    assert_eq!(us(Ppdu { mcs: Some(14), ..wide }, 1504), Some(391.2));
    // Its extension may be 20 us, and LENGTH is a multiple of 3: 44.8 + 20 after the L-SIG, 17 * 3 - 3 = 48 bytes. A second
    // symbol would fit into these 64.8 us, so PE Disambiguity is set.
    let told = Ppdu { l_sig_bytes: Some(48), pe_disambiguity: Some(true), ..wide };
    assert_eq!(us(told, 1504), Some(84.8));
    // Triggered: 40 + 7.2.
    let tb = Ppdu { format: Some(Format::Tb), sig_symbols: None, l_sig_bytes: Some(48), ..wide };
    assert_eq!(us(tb, 100), None);
    // 68 us after the L-SIG, 40.8 of them after the preamble: 3 symbols.
    assert_eq!(us(Ppdu { pe_disambiguity: Some(false), ..tb }, 100), Some(88.0));
    assert_eq!(us(Ppdu { format: Some(Format::ErSu), ..wide }, 100), None);
}

fn any_ppdu() -> impl Strategy<Value = Ppdu> {
    let phy = prop::sample::select(vec![Phy::B, Phy::G, Phy::A, Phy::N, Phy::Ac, Phy::Ax, Phy::Be]);
    let format = prop::sample::select(vec![Format::Su, Format::ErSu, Format::Mu, Format::Tb]);
    let rate = prop_oneof![
        prop::sample::select(vec![1.0, 2.0, 5.5, 11.0, 6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0]),
        any::<f64>()
    ];
    let width = prop_oneof![prop::sample::select(vec![5u16, 10, 20, 40, 80, 160, 320]), any::<u16>()];
    let guard = prop_oneof![prop::sample::select(vec![400u16, 800, 1600, 3200]), any::<u16>()];
    let channel = prop_oneof![prop::sample::select(vec![2412u16, 5180, 6115]), any::<u16>()];
    let tones = prop_oneof![prop::sample::select(vec![26u16, 52, 78, 106, 242, 484, 996, 1992]), any::<u16>()];
    let small = || prop::option::weighted(0.8, prop_oneof![8 => 0u8..16, 1 => any::<u8>()]);
    (
        (prop::option::weighted(0.98, phy), prop::option::weighted(0.9, format), prop::option::of(rate)),
        (
            prop::option::weighted(0.95, width),
            prop::option::weighted(0.95, guard),
            prop::option::weighted(0.95, channel),
        ),
        (small(), small(), small(), small(), small(), small(), small(), small(), small()),
        (
            any::<Option<bool>>(),
            any::<Option<bool>>(),
            any::<Option<bool>>(),
            any::<Option<bool>>(),
            any::<Option<bool>>(),
        ),
        (prop::option::of(tones), prop::option::of(any::<u16>()), small()),
    )
        .prop_map(|(a, b, c, d, e)| Ppdu {
            phy: a.0,
            format: a.1,
            rate_mbps: a.2,
            width_mhz: b.0,
            guard_ns: b.1,
            channel_mhz: b.2,
            mcs: c.0,
            streams: c.1,
            stbc: c.2,
            extension_streams: c.3,
            ltf_symbols: c.4,
            ltf_size: c.5,
            sig_symbols: c.6,
            users: c.7,
            packet_extension_us: c.8,
            short_preamble: d.0,
            greenfield: d.1,
            ldpc: d.2,
            dcm: d.3,
            pe_disambiguity: d.4,
            ru_tones: e.0,
            l_sig_bytes: e.1,
            midamble_symbols: e.2,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 4_000 } else { 100_000 }))]

    #[test]
    fn times_are_in_order_for_any_header(p in any_ppdu(), a in any::<u32>(), b in 0u32..20_000) {
        let _ = (assumes(&p), extension_unknown(&p), times(&p, a));
        let (short, long) = (b, b + a % 3_000);
        let (first, second) = (times(&p, short), times(&p, long));
        if let (Some(first), Some(second)) = (first, second) {
            prop_assert!(first.header_ns <= first.preamble_ns && first.preamble_ns <= first.total_ns);
            prop_assert_eq!((first.header_ns, first.preamble_ns), (second.header_ns, second.preamble_ns));
            prop_assert!(first.total_ns <= second.total_ns, "a longer PSDU takes at least as long");
        }
        // Only a length beyond the PHY's largest makes a time unknown.
        prop_assert!(first.is_some() || second.is_none());
    }
}

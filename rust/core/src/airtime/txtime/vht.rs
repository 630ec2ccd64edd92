//! VHT (clause 21.4.3).

use super::coding::{ldpc_extra, scheme, SERVICE, TAIL};
use super::parts::{at_2_4_ghz, single_user, sum, Times};
use crate::phy::Ppdu;

/// APEP_LENGTH of 2^20 - 1 (Table 21-1).
const PSDU_BYTES: u32 = 1_048_575;

pub(super) fn times(p: &Ppdu, psdu_bytes: u32) -> Option<Times> {
    // VHT is defined below 6 GHz without 2.4 GHz; it is undefined whether vendors' 2.4 GHz VHT has a signal extension.
    if psdu_bytes > PSDU_BYTES || at_2_4_ghz(p)? {
        return None;
    }
    let (mcs, streams, width) = (p.mcs?, p.streams?, p.width_mhz?);
    let short = match p.guard_ns? {
        400 => true,
        800 => false,
        _ => return None,
    };
    let subcarriers = match width {
        20 => 52,
        40 => 108,
        80 => 234,
        160 => 468,
        _ => return None,
    };
    if excluded(mcs, streams, width) {
        return None;
    }
    let (bits, rate) = scheme(mcs).filter(|_| mcs <= 9)?;
    let stbc = p.stbc.unwrap_or(0) > 0;
    let space_time = if stbc { streams.checked_mul(2)? } else { streams };
    // L-STF and L-LTF 16, L-SIG 4, VHT-SIG-A 8, VHT-STF 4, VHT-LTFs, VHT-SIG-B 4.
    let training = long_training_fields(space_time)?;
    let preamble = 36_000 + 4_000 * training;

    if !single_user(p) {
        // The longest user's symbols count, and only the L-SIG contains them (Equation 21-24).
        let total = 20_000 + 4_000 * (u32::from(p.l_sig_bytes?) + 3).div_ceil(3);
        return sum(28_000, preamble, u64::from(total.checked_sub(preamble)?), 0);
    }
    let coded = subcarriers * bits * u64::from(streams);
    let data = coded * rate.num / rate.den;
    let group = if stbc { 2 } else { 1 };
    let payload = 8 * u64::from(psdu_bytes) + SERVICE;
    let symbols = if psdu_bytes == 0 {
        0
    } else if p.ldpc == Some(true) {
        let symbols = payload.div_ceil(group * data) * group;
        symbols + if ldpc_extra(symbols * data, symbols * coded, rate) { group } else { 0 }
    } else {
        (payload + TAIL * encoders(coded, data, rate.den)?).div_ceil(group * data) * group
    };
    let symbol_ns = if short { 3_600 } else { 4_000 };
    sum(28_000, preamble, (symbols * symbol_ns).next_multiple_of(4_000), 0)
}

/// N_VHT-LTF (Table 21-13), HE's and EHT's too (Table 27-13).
pub(super) fn long_training_fields(space_time_streams: u8) -> Option<u32> {
    match space_time_streams {
        n @ (1 | 2) => Some(u32::from(n)),
        n @ 3..=8 => Some(u32::from(n.next_multiple_of(2))),
        _ => None,
    }
}

/// Combinations that clause 21.5 leaves out, since the bits cannot be divided among encoders.
fn excluded(mcs: u8, streams: u8, width: u16) -> bool {
    matches!((width, mcs, streams), (20, 9, 1 | 2 | 4 | 5 | 7 | 8) | (80, 6, 3 | 7) | (80, 9, 6) | (160, 9, 3))
}

/// N_ES of the tables of clause 21.5: one encoder each 600 Mb/s (short guard interval), and as many more as it takes for
/// every encoder to fill whole puncturing blocks in each symbol.
fn encoders(coded: u64, data: u64, block: u64) -> Option<u64> {
    (data.div_ceil(2_160)..=12).find(|n| coded % (n * block) == 0)
}

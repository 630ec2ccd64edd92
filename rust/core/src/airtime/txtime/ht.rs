//! HT (clause 19.4.3).

use super::coding::{ldpc_extra, scheme, Rate, SERVICE, TAIL};
use super::parts::{signal_extension_ns, sum, Times};
use crate::phy::Ppdu;

/// aPSDUMaxLength (Table 19-25).
const PSDU_BYTES: u32 = 65_535;
const DUPLICATE: u8 = 32;
/// Coded bits per subcarrier of all streams together under unequal modulation, MCS 33..=76: two, three and four streams,
/// each at rate 1/2 and then at 3/4 (clause 19.5, Tables 19-36 to 19-41).
const UNEQUAL: [&[u64]; 3] =
    [&[6, 8, 10], &[8, 10, 10, 12, 14, 14, 16], &[10, 12, 14, 12, 14, 16, 18, 16, 18, 20, 20, 22]];

/// Spatial streams, coded bits per subcarrier of all streams, coding rate.
fn modulation(mcs: u8) -> Option<(u8, u64, Rate)> {
    if mcs < DUPLICATE {
        let streams = mcs / 8 + 1;
        let (bits, rate) = scheme(mcs % 8)?;
        return Some((streams, bits * u64::from(streams), rate));
    }
    let mut at = usize::from(mcs.checked_sub(DUPLICATE + 1)?);
    for (streams, bits) in (2..).zip(UNEQUAL) {
        if at < 2 * bits.len() {
            let rate = if at < bits.len() { Rate { num: 1, den: 2 } } else { Rate { num: 3, den: 4 } };
            return Some((streams, bits[at % bits.len()], rate));
        }
        at -= 2 * bits.len();
    }
    None
}

pub(super) fn times(p: &Ppdu, psdu_bytes: u32) -> Option<Times> {
    if psdu_bytes > PSDU_BYTES {
        return None;
    }
    let mcs = p.mcs?;
    let extension = signal_extension_ns(p)?;
    let short = match p.guard_ns? {
        400 => true,
        800 => false,
        _ => return None,
    };
    let (streams, coded, rate) = match (mcs, p.width_mhz?) {
        (DUPLICATE, 40) => (1, 48, Rate { num: 1, den: 2 }),
        (DUPLICATE, _) => return None,
        (_, 20) => modulation(mcs).map(|(s, bits, r)| (s, bits * 52, r))?,
        (_, 40) => modulation(mcs).map(|(s, bits, r)| (s, bits * 108, r))?,
        _ => return None,
    };

    let stbc = p.stbc.unwrap_or(0);
    let group = if stbc > 0 { 2 } else { 1 };
    let data = coded * rate.num / rate.den;
    let payload = 8 * u64::from(psdu_bytes) + SERVICE;
    let symbols = if psdu_bytes == 0 {
        0
    } else if p.ldpc == Some(true) {
        let symbols = payload.div_ceil(group * data) * group;
        symbols + if ldpc_extra(payload, symbols * coded, rate) { group } else { 0 }
    } else {
        // Above 300 Mb/s with the long guard interval two encoders share the work (clause 19.5).
        let encoders = if data > 1_200 { 2 } else { 1 };
        (payload + TAIL * encoders).div_ceil(group * data) * group
    };

    // Table 19-12 (data LTFs) and Table 19-13 (extension LTFs).
    let training = match streams.checked_add(stbc)? {
        n @ (1 | 2) => u32::from(n),
        3 | 4 => 4,
        _ => return None,
    };
    let training = training
        + match p.extension_streams.unwrap_or(0) {
            n @ 0..=2 => u32::from(n),
            3 => 4,
            _ => return None,
        };
    let symbol_ns = if short { 3_600 } else { 4_000 };
    if p.greenfield == Some(true) {
        // HT-GF-STF 8, HT-LTF1 8, HT-SIG 8, further LTFs; short symbols are not rounded.
        return sum(24_000, 20_000 + 4_000 * training, symbols * symbol_ns, extension);
    }
    // L-STF and L-LTF 16, L-SIG 4, HT-SIG 8, HT-STF 4, LTFs; the end falls on the 4 us grid of the L-SIG.
    let data_ns = (symbols * symbol_ns).next_multiple_of(4_000);
    sum(28_000, 32_000 + 4_000 * training, data_ns, extension)
}

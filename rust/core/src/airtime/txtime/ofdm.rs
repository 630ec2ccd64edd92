//! OFDM (clause 17.4.3) and ERP-OFDM (clause 18.5.3.2).

use super::parts::{at_2_4_ghz, signal_extension_ns, sum, Times};
use crate::phy::{Phy, Ppdu};

/// N_DBPS of the eight rates (Table 17-4).
const BITS: [u32; 8] = [24, 36, 48, 72, 96, 144, 192, 216];
/// LENGTH of the SIGNAL field has 12 bits.
const PSDU_BYTES: u32 = 4_095;

pub(super) fn times(p: &Ppdu, psdu_bytes: u32) -> Option<Times> {
    if psdu_bytes > PSDU_BYTES {
        return None;
    }
    // All times grow as the clock is halved or quartered; a non-HT duplicate in wider channels lasts as long as in 20 MHz.
    let clock = match p.width_mhz {
        Some(5) => 4,
        Some(10) => 2,
        _ => 1,
    };
    // Outside ERP's band an A frame has no extension, and ERP frames are never outside it. Half-clocked 2.4 GHz is in
    // no clause.
    let extension = match (p.phy?, at_2_4_ghz(p)) {
        (_, Some(true)) if clock > 1 => return None,
        (Phy::G, None) => 6_000,
        (_, None) => 0,
        _ => signal_extension_ns(p)?,
    };
    let bits = bits_a_symbol(p.rate_mbps?, clock)?;
    let symbols = (16 + 8 * psdu_bytes + 6).div_ceil(bits);
    let symbol_ns = 4_000 * clock;
    let preamble = 5 * symbol_ns;
    sum(preamble, preamble, u64::from(symbols) * u64::from(symbol_ns), extension)
}

fn bits_a_symbol(rate_mbps: f64, clock: u32) -> Option<u32> {
    // 2.25 Mb/s of 5 MHz channels does not fit steps of 0.5 Mb/s: captures have the step below or above.
    let rate = if clock == 4 && (rate_mbps == 2.0 || rate_mbps == 2.5) { 2.25 } else { rate_mbps };
    let bits = rate * f64::from(4 * clock);
    BITS.into_iter().find(|&b| f64::from(b) == bits)
}

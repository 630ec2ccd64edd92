//! DSSS and HR/DSSS (clauses 15.3.4 and 16.3.4).

use super::parts::{sum, Times};
use crate::phy::Ppdu;

/// PLCP preamble and header at 1 Mb/s: 144 + 48 us; the short ones: 72 us at 1 Mb/s and 24 us at 2 Mb/s.
const LONG_NS: u32 = 192_000;
const SHORT_NS: u32 = 96_000;
/// aPSDUMaxLength (Table 16-4).
const PSDU_BYTES: u32 = 4_095;

pub(super) fn times(p: &Ppdu, psdu_bytes: u32) -> Option<Times> {
    if psdu_bytes > PSDU_BYTES {
        return None;
    }
    // In steps of 0.5 Mb/s; times round up to whole us.
    let half_mbps = [2, 4, 11, 22].into_iter().find(|&r| p.rate_mbps == Some(f64::from(r) / 2.0))?;
    let preamble = match (half_mbps, p.short_preamble) {
        // The short preamble has no 1 Mb/s (clause 16.2.2.3).
        (2, _) | (_, Some(false)) => LONG_NS,
        (_, Some(true)) => SHORT_NS,
        (_, None) => return None,
    };
    let data_us = (16 * psdu_bytes).div_ceil(half_mbps);
    sum(preamble, preamble, u64::from(data_us) * 1000, 0)
}

//! Seconds of a description as nanoseconds.

use crate::engine::Ns;
use crate::limits::NEVER;

/// Rounded to the nearest nanosecond, from 0 to `NEVER`.
pub fn seconds(s: f64) -> Ns {
    let exact = s * 1e9;
    let whole = (exact as Ns).min(NEVER);
    (whole + Ns::from(exact - whole as f64 >= 0.5)).min(NEVER)
}

/// (from, for) in seconds as (from, until).
pub fn spans(list: &[(f64, f64)]) -> Vec<(Ns, Ns)> {
    list.iter().map(|(start, lasts)| (seconds(*start), seconds(start + lasts))).collect()
}

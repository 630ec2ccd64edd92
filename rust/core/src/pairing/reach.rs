//! The rows of the second capture that can match a row of the first: by row numbers, which do not depend on clocks.

use super::sample::Common;
use crate::limits;

/// Samples of a knot: its lowest and highest row of the second capture bound the rows near it.
const KNOT: usize = 32;
/// Margin in rows on both sides: packets overtaken by more are not found.
const SPARE: u64 = 4096;

/// Row windows over the second capture.
#[derive(Debug)]
pub struct Reach {
    /// (First row of a, lowest row of b, highest row of b); empty: everything can hold everything.
    knots: Vec<(u64, u64, u64)>,
    spare: u64,
    rows_b: u64,
}

impl Reach {
    pub fn new(common: &[Common], rows_a: u64, rows_b: u64) -> Reach {
        let small = limits::PAIR_ROWS as u64;
        if common.len() < 4 * KNOT || (rows_a <= small && rows_b <= small) {
            return Reach { knots: Vec::new(), spare: 0, rows_b };
        }
        let gap = (rows_a.max(rows_b) / common.len() as u64).saturating_mul(KNOT as u64);
        let knots = common
            .chunks(KNOT)
            .map(|knot| {
                let mut rows: Vec<u64> = knot.iter().map(|c| c.b).collect();
                rows.sort_unstable();
                let middle = rows[rows.len() / 2];
                // A pair far from all its neighbours is two different packets with the same bytes.
                let near = |row: u64| row.abs_diff(middle) <= limits::PAIR_WINDOW_ROWS as u64 / 4;
                let low = rows.iter().copied().find(|r| near(*r)).unwrap_or(middle);
                let high = rows.iter().rev().copied().find(|r| near(*r)).unwrap_or(middle);
                (knot[0].a, low, high)
            })
            .collect();
        Reach { knots, spare: SPARE.max(gap), rows_b }
    }

    /// Rows of b, from and to, that can hold the rows `from..to` of a.
    pub fn of(&self, from: u64, to: u64) -> (u64, u64) {
        if self.knots.is_empty() {
            return (0, self.rows_b);
        }
        let first = self.knots.partition_point(|k| k.0 <= from).saturating_sub(2);
        let last = (self.knots.partition_point(|k| k.0 < to) + 1).min(self.knots.len());
        let near = &self.knots[first..last.max(first + 1)];
        let low = near.iter().map(|k| k.1).min().unwrap_or(0);
        let high = near.iter().map(|k| k.2).max().unwrap_or(self.rows_b);
        (low.saturating_sub(self.spare), high.saturating_add(self.spare + 1).min(self.rows_b))
    }
}

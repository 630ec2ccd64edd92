//! Matching copies of a packet that only their order distinguishes.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::row::Row;
use super::window::Place;

/// A candidate this many rows outside its neighbours' rows is another copy: packets are overtaken by few others.
const OVERTAKEN_ROWS: u64 = 64;

/// The unambiguous pairs of some paths, by which the place and the delay of others are judged.
pub struct Neighbours {
    /// By path: (row of a, row of b, time difference), in the order of a.
    paths: FxHashMap<u64, Vec<(u64, u64, i64)>>,
}

impl Neighbours {
    pub fn new(wanted: BTreeSet<u64>, a: &[Row], b: &[Row], sure: impl Iterator<Item = (u64, u64)>) -> Neighbours {
        let mut paths: FxHashMap<u64, Vec<(u64, u64, i64)>> = wanted.into_iter().map(|w| (w, Vec::new())).collect();
        let (Some(first_a), Some(first_b)) = (a.first().map(|r| r.row), b.first().map(|r| r.row)) else {
            return Neighbours { paths };
        };
        for (row_a, row_b) in sure {
            let (x, y) = (&a[(row_a - first_a) as usize], &b[(row_b - first_b) as usize]);
            if let Some(path) = paths.get_mut(&x.path) {
                path.push((row_a, row_b, y.t.saturating_sub(x.t)));
            }
        }
        for path in paths.values_mut() {
            path.sort_unstable();
        }
        Neighbours { paths }
    }

    /// How far a pair deviates from the unambiguous pairs next to it: (rows out of order, ns of delay difference); None: too far.
    pub fn distance(&self, x: &Row, y: &Row) -> Option<(u64, u64)> {
        let path = self.paths.get(&x.path)?;
        let next = path.partition_point(|p| p.0 < x.row);
        let before = next.checked_sub(1).and_then(|i| path.get(i));
        let after = path.get(next);
        let early = before.map_or(0, |p| p.1.saturating_sub(y.row));
        let late = after.map_or(0, |p| y.row.saturating_sub(p.1));
        let rows = early.max(late);
        if rows > OVERTAKEN_ROWS {
            return None;
        }
        let d = y.t.saturating_sub(x.t);
        let off = before.into_iter().chain(after).map(|p| d.abs_diff(p.2)).min().unwrap_or(0);
        Some((rows, off))
    }
}

/// The cost of a matching: unmatched first, then rows out of order, then time.
type Cost = (u32, u64, u64);

/// Match copies in order: as many as possible, with the smallest deviation.
pub fn choose(a: &[Place], b: &[Place], distance: impl Fn(Place, Place) -> Option<(u64, u64)>) -> Vec<(Place, Place)> {
    if let ([a], [b]) = (a, b) {
        return distance(*a, *b).map(|_| (*a, *b)).into_iter().collect();
    }
    // Minimum cost of the first i of a and j of b, and whether it ends with their pair, or drops one of a or of b.
    let width = b.len() + 1;
    let mut table: Vec<(Cost, u8)> = vec![((0, 0, 0), 0); (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            let at = |i: usize, j: usize| table[i * width + j].0;
            let mut best: Option<(Cost, u8)> = (i == 0 && j == 0).then_some(((0, 0, 0), 0));
            let mut offer = |cost: Cost, how: u8| {
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, how));
                }
            };
            if i > 0 {
                let c = at(i - 1, j);
                offer((c.0 + 1, c.1, c.2), 1);
            }
            if j > 0 {
                let c = at(i, j - 1);
                offer((c.0 + 1, c.1, c.2), 2);
            }
            if let (Some(i1), Some(j1)) = (i.checked_sub(1), j.checked_sub(1)) {
                if let Some((rows, ns)) = distance(a[i1], b[j1]) {
                    let c = at(i1, j1);
                    offer((c.0, c.1.saturating_add(rows), c.2.saturating_add(ns)), 3);
                }
            }
            if let Some(best) = best {
                table[i * width + j] = best;
            }
        }
    }
    let (mut i, mut j) = (a.len(), b.len());
    let mut out = Vec::new();
    while i > 0 || j > 0 {
        match table[i * width + j].1 {
            3 => {
                (i, j) = (i - 1, j - 1);
                out.push((a[i], b[j]));
            }
            2 => j -= 1,
            _ => i -= 1,
        }
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_copy_stays_unmatched() {
        // Times of three copies at a; two arrived, 10 later each.
        let (ta, tb) = ([0u64, 200, 600], [10u64, 610]);
        let off = |a: Place, b: Place| Some((0, (tb[b as usize] - ta[a as usize].min(tb[b as usize])).abs_diff(10)));
        assert_eq!(choose(&[0, 1, 2], &[0, 1], off), [(0, 0), (2, 1)]);
        assert_eq!(choose(&[0, 1], &[0, 1], |_, _| None), []);
        assert_eq!(choose(&[], &[0], off), []);
    }

    #[test]
    fn order_comes_before_time() {
        let cost = |a: Place, b: Place| Some((u64::from(a != b), 0));
        assert_eq!(choose(&[0, 1, 2], &[0, 1, 2], cost), [(0, 0), (1, 1), (2, 2)]);
    }
}

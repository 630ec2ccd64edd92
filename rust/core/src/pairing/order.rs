//! Packets whose bytes cannot be read, matched by their lengths and order: frames of an encrypted network, transfers of an
//! adapter with unknown framing.
//!
//! Runs of different lengths that each capture contains once are the same packets; all lengths of a capture are the
//! other's plus a constant (headers). Between two such runs, equal numbers of packets with the same lengths are the same packets;
//! if one capture has more, only lengths that both contain once there. The rest stays unmatched.

use rustc_hash::FxHashMap;

use super::hash::mix;
use crate::limits;

/// Lengths of a run, and how many of its steps must not be 0: two runs of 8 out of ten common lengths agree by chance once in
/// ten million.
const RUN: usize = 8;
const STEPS: usize = 4;

/// The result of matching by length and order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Ordered {
    /// Places of the same packet in both, rising in both.
    pub pairs: Vec<(u32, u32)>,
    /// How much longer the packets of b are.
    pub offset: i64,
}

/// Where each run begins that a capture contains once.
fn runs(lengths: &[u32]) -> FxHashMap<u64, Option<u32>> {
    let mut out = FxHashMap::default();
    for (i, run) in lengths.windows(RUN).enumerate() {
        let steps = run.windows(2).map(|w| i64::from(w[1]) - i64::from(w[0]));
        if steps.clone().filter(|s| *s != 0).count() >= STEPS {
            let hash = steps.fold(1, |h, s| mix(h, s as u64));
            out.entry(hash).and_modify(|at| *at = None).or_insert(Some(i as u32));
        }
    }
    out
}

/// Match two sequences of lengths, of one direction of one host.
pub fn matched(a: &[u32], b: &[u32]) -> Ordered {
    let (a, b) = (&a[..a.len().min(limits::PAIR_ORDERED)], &b[..b.len().min(limits::PAIR_ORDERED)]);
    let in_b = runs(b);
    let mut found: Vec<(u32, u32)> =
        runs(a).into_iter().filter_map(|(hash, i)| Some((i?, (*in_b.get(&hash)?)?))).collect();
    found.sort_unstable();
    let Some(offset) = usual(found.iter().map(|(i, j)| i64::from(b[*j as usize]) - i64::from(a[*i as usize]))) else {
        return Ordered::default();
    };
    let fits = |i: u32, j: u32| i64::from(a[i as usize]) + offset == i64::from(b[j as usize]);
    found.retain(|(i, j)| fits(*i, *j));
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for (i, j) in rising(&found) {
        let (from_a, from_b) = pairs.last().map_or((0, 0), |p| (p.0 + 1, p.1 + 1));
        let (low, high) = sure(a, b, i, j);
        // Runs overlap: the part of this one that is after the one before.
        let low = low.max(from_a.saturating_sub(i)).max(from_b.saturating_sub(j));
        if low >= high {
            continue;
        }
        if !pairs.is_empty() {
            between((from_a, i + low), (from_b, j + low), a, b, offset, &mut pairs);
        }
        pairs.extend((low..high).map(|n| (i + n, j + n)));
    }
    Ordered { pairs, offset }
}

/// The part of a run that a lost packet next to it cannot shift: at its ends no length equals that of its outer neighbour.
fn sure(a: &[u32], b: &[u32], i: u32, j: u32) -> (u32, u32) {
    let again = |x: &[u32], at: u32| at > 0 && (at as usize) < x.len() && x[at as usize - 1] == x[at as usize];
    let (mut low, mut high) = (0, RUN as u32);
    while low < high && (again(a, i + low) || again(b, j + low)) {
        low += 1;
    }
    while low < high && (again(a, i + high) || again(b, j + high)) {
        high -= 1;
    }
    (low, high)
}

/// Match the packets between two runs.
fn between(
    (from_a, to_a): (u32, u32),
    (from_b, to_b): (u32, u32),
    a: &[u32],
    b: &[u32],
    offset: i64,
    pairs: &mut Vec<(u32, u32)>,
) {
    let equal = |i: u32, j: u32| i64::from(a[i as usize]) + offset == i64::from(b[j as usize]);
    if to_a - from_a == to_b - from_b {
        if (0..to_a - from_a).all(|n| equal(from_a + n, from_b + n)) {
            pairs.extend((0..to_a - from_a).map(|n| (from_a + n, from_b + n)));
        }
        return;
    }
    let mut seen: FxHashMap<i64, (Option<u32>, Option<u32>, bool)> = FxHashMap::default();
    for i in from_a..to_a {
        let entry = seen.entry(i64::from(a[i as usize]) + offset).or_default();
        entry.2 |= entry.0.is_some();
        entry.0 = Some(i);
    }
    for j in from_b..to_b {
        let entry = seen.entry(i64::from(b[j as usize])).or_default();
        entry.2 |= entry.1.is_some();
        entry.1 = Some(j);
    }
    let mut once: Vec<(u32, u32)> =
        seen.into_values().filter_map(|(i, j, again)| if again { None } else { Some((i?, j?)) }).collect();
    once.sort_unstable();
    // A length that both contain once may still be two packets, each lost in one: only pairs whose order agrees are kept.
    if once.windows(2).all(|w| w[0].1 < w[1].1) {
        pairs.append(&mut once);
    }
}

/// The most common value, if more than half have it.
fn usual(values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    let middle = *values.get(values.len() / 2)?;
    let count = values.iter().filter(|v| **v == middle).count();
    (2 * count > values.len()).then_some(middle)
}

/// The longest part of some pairs that rises in both.
fn rising(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    // For each length of an increasing part, the last pair of the one that ends lowest.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    for (n, pair) in pairs.iter().enumerate() {
        let at = ends.partition_point(|e| pairs[*e].1 < pair.1);
        before[n] = at.checked_sub(1).map(|k| ends[k]);
        if at == ends.len() {
            ends.push(n);
        } else {
            ends[at] = n;
        }
    }
    let mut out = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(n) = next {
        out.push(pairs[n]);
        next = before[n];
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rng(u64);

    impl Rng {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = mix(self.0, 1);
            self.0 % n
        }
    }

    /// Lengths of an interactive host, with runs of full packets between them.
    fn talk(rng: &mut Rng, count: usize) -> Vec<u32> {
        let mut out = Vec::new();
        while out.len() < count {
            if rng.below(10) == 0 {
                out.extend(std::iter::repeat_n(1500, rng.below(60) as usize));
            }
            out.push(52 + rng.below(1000) as u32);
        }
        out
    }

    /// Lengths sent, and those that a sniffer captured with the place of each: it misses one in `missed`, and one in 40 is
    /// overtaken by the next.
    fn heard(seed: u64, missed: u64) -> (Vec<u32>, Vec<(usize, u32)>) {
        let mut rng = Rng(seed);
        let sent = talk(&mut rng, 3000);
        let mut heard: Vec<(usize, u32)> =
            sent.iter().enumerate().filter(|_| rng.below(missed) != 0).map(|(n, l)| (n, l + 54)).collect();
        for k in 1..heard.len() {
            if rng.below(40) == 0 {
                heard.swap(k - 1, k);
            }
        }
        (sent, heard)
    }

    #[test]
    fn no_wrong_pair_with_losses() {
        for (missed, least) in [(12, 6), (100, 2), (1000, 1)] {
            for seed in 1..40 {
                let (sent, heard) = heard(seed, missed);
                let lengths: Vec<u32> = heard.iter().map(|h| h.1).collect();
                let got = matched(&sent, &lengths);
                assert_eq!(got.offset, 54);
                // Two packets of one length that changed places cannot be distinguished.
                let place = |j: u32| heard[j as usize].0;
                let wrong = got.pairs.iter().filter(|(i, j)| place(*j) != *i as usize);
                let worse =
                    wrong.filter(|(i, j)| place(*j).abs_diff(*i as usize) > 3 || sent[place(*j)] != sent[*i as usize]);
                assert_eq!(worse.count(), 0, "seed {seed}");
                assert!(got.pairs.len() > sent.len() / (least + 1), "{missed}: {} of {}", got.pairs.len(), sent.len());
                assert!(got.pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
            }
        }
    }

    #[test]
    fn full_packets_alone_give_no_pairs() {
        assert_eq!(matched(&[1500; 5000], &[1554; 4000]).pairs, []);
        assert_eq!(matched(&[], &[]).pairs, []);
        assert_eq!(matched(&[1, 2, 3], &[1, 2, 3]).pairs, []);
    }

    #[test]
    fn unrelated_captures_do_not_match() {
        let (mut one, mut other) = (Rng(1), Rng(2));
        assert_eq!(matched(&talk(&mut one, 5000), &talk(&mut other, 5000)).pairs, []);
    }
}

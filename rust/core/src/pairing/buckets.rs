//! Sorting in two passes what is spread evenly.

/// Keys with their places, in order. Keys are hashes up to `most`: their upper bits spread them evenly.
pub fn ordered(keys: &[(u64, u32)], most: u64) -> Vec<(u64, u32)> {
    let bits = keys.len().max(2).ilog2();
    let shift = (u64::BITS - most.leading_zeros()).saturating_sub(bits);
    let (mut out, ends) = spread(keys, (most >> shift) as usize + 1, |k| (k.0 >> shift) as usize);
    let mut from = 0;
    for to in ends {
        if to > from + 1 {
            out[from..to].sort_unstable();
        }
        from = to;
    }
    out
}

/// Values by their buckets, in the order in which they came in each; and where each bucket ends.
pub fn spread<T: Copy + Default>(values: &[T], buckets: usize, of: impl Fn(&T) -> usize) -> (Vec<T>, Vec<usize>) {
    let mut next = vec![0; buckets + 1];
    values.iter().for_each(|v| next[of(v) + 1] += 1);
    for bucket in 1..buckets {
        next[bucket] += next[bucket - 1];
    }
    let mut out = vec![T::default(); values.len()];
    for v in values {
        let at = &mut next[of(v)];
        out[*at] = *v;
        *at += 1;
    }
    next.truncate(buckets);
    (out, next)
}

#[cfg(test)]
mod tests {
    use super::super::hash::mix;
    use super::*;

    #[test]
    fn as_sorted() {
        for most in [0, 1, 1000, 1 << 40, u64::MAX] {
            for count in [0, 1, 2, 3, 1000] {
                let key = |n| if n % 7 == 0 { most } else { mix(3, u64::from(n / 2)) & (most >> 1) };
                let keys: Vec<_> = (0..count).rev().map(|n| (key(n), n)).collect();
                let mut sorted = keys.clone();
                sorted.sort_unstable();
                assert_eq!(ordered(&keys, most), sorted);
            }
        }
    }
}

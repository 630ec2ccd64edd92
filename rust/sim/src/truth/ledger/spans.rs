//! Sets of time: disjoint spans in order.

use crate::engine::Ns;

/// Disjoint spans in order of time; none is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Spans(pub Vec<(Ns, Ns)>);

impl Spans {
    /// From any spans: those that overlap or touch are joined.
    pub fn of(mut spans: Vec<(Ns, Ns)>) -> Self {
        spans.retain(|s| s.0 < s.1);
        // A stable sort is fast for runs in order.
        spans.sort_by_key(|s| s.0);
        let mut out: Vec<(Ns, Ns)> = Vec::with_capacity(spans.len());
        for (a, b) in spans {
            match out.last_mut() {
                Some(last) if a <= last.1 => last.1 = last.1.max(b),
                _ => out.push((a, b)),
            }
        }
        Spans(out)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first span that ends after a time.
    fn after(&self, t: Ns) -> usize {
        self.0.partition_point(|s| s.1 <= t)
    }

    /// The time in both.
    pub fn and(&self, other: &Spans) -> Spans {
        let mut out = Vec::new();
        let mut k = self.0.first().map_or(0, |s| other.after(s.0));
        for &(a, b) in &self.0 {
            if other.0.get(k).is_some_and(|o| o.1 <= a) {
                k += other.0[k..].partition_point(|o| o.1 <= a);
            }
            let mut i = k;
            while let Some(&(c, d)) = other.0.get(i).filter(|o| o.0 < b) {
                out.push((a.max(c), b.min(d)));
                i += 1;
            }
        }
        Spans(out)
    }

    /// The time in this and not in the other.
    pub fn without(&self, other: &Spans) -> Spans {
        let mut out = Vec::new();
        let mut k = self.0.first().map_or(0, |s| other.after(s.0));
        for &(a, b) in &self.0 {
            if other.0.get(k).is_some_and(|o| o.1 <= a) {
                k += other.0[k..].partition_point(|o| o.1 <= a);
            }
            let (mut from, mut i) = (a, k);
            while let Some(&(c, d)) = other.0.get(i).filter(|o| o.0 < b) {
                if from < c {
                    out.push((from, c));
                }
                from = from.max(d);
                i += 1;
            }
            if from < b {
                out.push((from, b));
            }
        }
        Spans(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_time() {
        let a = Spans::of(vec![(5, 9), (0, 2), (8, 12), (20, 20), (30, 40)]);
        assert_eq!(a.0, [(0, 2), (5, 12), (30, 40)]);
        let b = Spans::of(vec![(1, 6), (10, 11), (35, 36), (38, 50)]);
        assert_eq!(a.and(&b).0, [(1, 2), (5, 6), (10, 11), (35, 36), (38, 40)]);
        assert_eq!(a.without(&b).0, [(0, 1), (6, 10), (11, 12), (30, 35), (36, 38)]);
        assert!(Spans::default().and(&a).is_empty() && a.without(&a).is_empty());
    }
}

//! Count, minimum, maximum, mean and standard deviation of times, in one pass.

/// Time from `from` to `to`; 0 if the capture's clock ran backwards.
pub fn elapsed_ns(from: i64, to: i64) -> i64 {
    to.saturating_sub(from).max(0)
}

/// Statistics of times in nanoseconds.
#[derive(Debug, Default, Clone)]
pub struct DurationStats {
    count: u64,
    min_ns: i64,
    max_ns: i64,
    /// The first value: sums of differences from it keep their precision.
    base_ns: i64,
    sum: f64,
    sum_of_squares: f64,
}

impl DurationStats {
    pub fn add(&mut self, ns: i64) {
        if self.count == 0 {
            (self.min_ns, self.max_ns, self.base_ns) = (ns, ns, ns);
        }
        self.count += 1;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        let d = ns.saturating_sub(self.base_ns) as f64;
        self.sum += d;
        self.sum_of_squares += d * d;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn min_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.min_ns)
    }

    pub fn max_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.max_ns)
    }

    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.base_ns as f64 + self.sum / self.count as f64)
    }

    /// Sample standard deviation; `None` with fewer than three values, as in tcptrace.
    pub fn sd_ns(&self) -> Option<f64> {
        let n = self.count as f64;
        (self.count > 2).then(|| ((self.sum_of_squares - self.sum * self.sum / n).max(0.0) / (n - 1.0)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_three_values() {
        let mut m = DurationStats::default();
        assert_eq!((m.mean_ns(), m.sd_ns()), (None, None));
        for ns in [10_000_000_002, 10_000_000_004, 10_000_000_006] {
            m.add(ns);
        }
        assert_eq!((m.min_ns(), m.max_ns()), (Some(10_000_000_002), Some(10_000_000_006)));
        assert_eq!((m.mean_ns(), m.sd_ns()), (Some(10_000_000_004.0), Some(2.0)));
    }
}

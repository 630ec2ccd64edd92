//! The feasible region: all lines of clock offset and drift that agree with the pairs.

/// A bound of the clock offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Time, s.
    pub x: f64,
    /// The offset is at most this (`side` 1), or at least this (`side` -1), ns.
    pub limit: f64,
    pub side: f64,
}

/// A line: its offset at the region's origin, ns, and its slope, ns per second.
type Line = (f64, f64);

/// All lines that agree with the limits so far: a polygon.
#[derive(Debug, Clone)]
pub struct Region {
    origin: f64,
    corners: Vec<Line>,
    over: Vec<f64>,
    kept: Vec<Line>,
}

impl Region {
    /// Lines that differ from the offset `middle` at `origin` by at most `wide`, with slopes up to `steep`.
    pub fn new(origin: f64, middle: f64, wide: f64, steep: f64) -> Region {
        let corners =
            vec![(middle - wide, -steep), (middle + wide, -steep), (middle + wide, steep), (middle - wide, steep)];
        Region { origin, corners, over: Vec::new(), kept: Vec::new() }
    }

    /// The lines at its corners, in order around it.
    pub fn corners(&self) -> &[Line] {
        &self.corners
    }

    /// Distance of the best line from a limit, on the wrong side; negative: some line agrees with the limit.
    pub fn excess(&self, limit: Limit) -> f64 {
        self.corners.iter().map(|line| over(*line, limit, self.origin)).fold(f64::INFINITY, f64::min)
    }

    /// Keep the lines on the right side of a limit; false, without a change, when there is none.
    pub fn clip(&mut self, limit: Limit) -> bool {
        self.over.clear();
        self.over.extend(self.corners.iter().map(|line| over(*line, limit, self.origin)));
        if self.over.iter().all(|v| *v <= 0.0) {
            return true;
        }
        if self.over.iter().all(|v| *v > 0.0) {
            return false;
        }
        self.kept.clear();
        let last = self.corners.len() - 1;
        let (mut before, mut was) = (self.corners[last], self.over[last]);
        for (corner, value) in self.corners.iter().copied().zip(self.over.iter().copied()) {
            if (value > 0.0) != (was > 0.0) {
                let share = was / (was - value);
                self.kept.push((before.0 + share * (corner.0 - before.0), before.1 + share * (corner.1 - before.1)));
            }
            if value <= 0.0 {
                self.kept.push(corner);
            }
            (before, was) = (corner, value);
        }
        // A corner on the limit itself occurs twice.
        self.corners.clear();
        let mut before = self.kept[self.kept.len() - 1];
        for corner in &self.kept {
            if *corner != before {
                self.corners.push(*corner);
            }
            before = *corner;
        }
        if self.corners.is_empty() {
            self.corners.push(self.kept[0]);
        }
        true
    }

    /// Clip by limits in turn up to the first that contradicts the region: how many agreed.
    pub fn clip_while(&mut self, limits: impl Iterator<Item = Limit>) -> usize {
        limits.take_while(|limit| self.clip(*limit)).count()
    }

    /// Clip by all limits in turn; the number of those that contradict the region.
    pub fn clip_all(&mut self, limits: impl Iterator<Item = Limit>) -> usize {
        limits.filter(|limit| !self.clip(*limit)).count()
    }
}

/// How far a line is on the wrong side of a limit.
fn over((offset, slope): Line, limit: Limit, origin: f64) -> f64 {
    limit.side * (offset + slope * (limit.x - origin) - limit.limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, limit: f64, side: f64) -> Limit {
        Limit { x, limit, side }
    }

    #[test]
    fn limits_of_both_sides_leave_the_lines_between() {
        let mut region = Region::new(0.0, 0.0, 1e11, 5e5);
        let limits = [at(0.0, 10.0, 1.0), at(0.0, -10.0, -1.0), at(1.0, 20.0, 1.0), at(1.0, -20.0, -1.0)];
        assert_eq!(region.clip_while(limits.into_iter()), 4);
        assert!(region.corners().iter().all(|(offset, slope)| offset.abs() <= 10.0 && slope.abs() <= 30.001));
        let before = region.corners().to_vec();
        // No line is above 100 at 0; the region stays as it was.
        assert!(!region.clip(at(0.0, 100.0, -1.0)));
        assert!(region.clip(at(0.0, 100.0, 1.0)));
        assert_eq!(region.corners(), before);
        assert_eq!(region.excess(at(0.0, 100.0, -1.0)), 90.0);
        let contradicting = [at(0.0, 11.0, -1.0), at(0.5, 0.0, 1.0), at(0.0, 50.0, -1.0)];
        assert_eq!(region.clone().clip_all(contradicting.into_iter()), 2);
        assert_eq!(region.clip_while(contradicting.into_iter()), 0);
    }

    #[test]
    fn corners_on_a_limit_are_kept_once() {
        let mut region = Region::new(0.0, 0.0, 1e11, 5e5);
        for _ in 0..3 {
            assert!(region.clip(at(0.0, 0.0, 1.0)));
            assert!(region.clip(at(0.0, 0.0, -1.0)));
        }
        assert!(region.corners().len() <= 4, "{:?}", region.corners());
    }
}

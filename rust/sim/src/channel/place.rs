//! Positions and movement of stations, and path loss.

use crate::engine::Ns;

/// A position, and a constant velocity.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Place {
    pub at_m: (f64, f64),
    pub walks_m_per_s: (f64, f64),
}

impl Place {
    fn then(&self, now: Ns) -> (f64, f64) {
        let t = now as f64 / 1e9;
        (self.at_m.0 + self.walks_m_per_s.0 * t, self.at_m.1 + self.walks_m_per_s.1 * t)
    }

    pub fn distance_m(&self, other: &Place, now: Ns) -> f64 {
        let (a, b) = (self.then(now), other.then(now));
        (a.0 - b.0).hypot(a.1 - b.1)
    }
}

/// Path loss that grows with the logarithm of the distance (Rappaport, Wireless Communications, section 4.9).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathLoss {
    pub sent_dbm: f64,
    /// Loss over the first metre: 40 dB at 2.4 GHz.
    pub first_metre_db: f64,
    /// 2 in free space, 3 to 4 within buildings.
    pub exponent: f64,
}

impl PathLoss {
    /// The received signal.
    pub fn signal_dbm(&self, distance_m: f64) -> f64 {
        self.sent_dbm - self.first_metre_db - 10.0 * self.exponent * distance_m.max(1.0).log10()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::S;

    #[test]
    fn ten_times_the_distance_costs_ten_times_the_exponent() {
        let loss = PathLoss { sent_dbm: 15.0, first_metre_db: 40.0, exponent: 3.0 };
        assert_eq!([1.0, 10.0, 100.0].map(|d| loss.signal_dbm(d)), [-25.0, -55.0, -85.0]);
        assert_eq!(loss.signal_dbm(0.0), -25.0);
    }

    #[test]
    fn a_walking_station_moves_away() {
        let walker = Place { at_m: (3.0, 4.0), walks_m_per_s: (0.0, 1.0) };
        let origin = Place::default();
        assert_eq!([0, 8 * S].map(|t| origin.distance_m(&walker, t)), [5.0, 12.369_316_876_852_98]);
    }
}

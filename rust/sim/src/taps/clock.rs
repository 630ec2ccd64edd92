//! A tap's clock, and the packets that it misses.

use serde::Deserialize;

use crate::engine::Ns;
use crate::rng::Rng;

/// The clock error of one tap, and the packets that it misses.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct TapConfig {
    /// Ahead of true time at the start.
    pub offset_ns: i64,
    /// Drift: 1 ppm is 1 us per second.
    pub drift_ppm: f64,
    /// A step at this true time (s), backwards if negative.
    pub step_at_s: f64,
    pub step_ns: i64,
    /// Resolution of the timestamps.
    pub tick_ns: u64,
    /// Share of packets that it misses.
    pub missed_share: f64,
    /// Bytes kept of each.
    pub snaplen_bytes: u32,
}

impl Default for TapConfig {
    fn default() -> Self {
        TapConfig {
            offset_ns: 0,
            drift_ppm: 0.0,
            step_at_s: 0.0,
            step_ns: 0,
            tick_ns: 1_000,
            missed_share: 0.0,
            snaplen_bytes: 262_144,
        }
    }
}

/// The timestamps of a tap.
#[derive(Debug)]
pub struct TapClock {
    pub config: TapConfig,
    epoch_ns: i64,
    rng: Rng,
}

impl TapClock {
    /// `epoch_ns`: nanoseconds since 1970 at the simulation's start.
    pub fn new(config: TapConfig, epoch_ns: i64, rng: Rng) -> Self {
        TapClock { config, epoch_ns, rng }
    }

    /// The tap's clock at a true time, ns since 1970.
    pub fn stamp(&self, now: Ns) -> i64 {
        let c = &self.config;
        let gained = if c.drift_ppm == 0.0 { 0 } else { (now as f64 * c.drift_ppm * 1e-6).round() as i64 };
        let set = if c.step_ns != 0 && now as f64 >= c.step_at_s * 1e9 { c.step_ns } else { 0 };
        let shown = self.epoch_ns + c.offset_ns + now as i64 + gained + set;
        // Division by a constant, the usual case, takes a tenth of the time.
        let past = match c.tick_ns {
            1_000 => shown.rem_euclid(1_000),
            tick => shown.rem_euclid(tick.max(1) as i64),
        };
        shown - past
    }

    /// Whether it misses the next packet.
    pub fn misses(&mut self) -> bool {
        let share = self.config.missed_share;
        self.rng.chance(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::S;

    #[test]
    fn offset_drift_and_tick() {
        let config = TapConfig { offset_ns: -5, drift_ppm: 100.0, tick_ns: 1000, ..TapConfig::default() };
        let clock = TapClock::new(config, 1_000_000_000, Rng::stream(1, "tap", 0));
        assert_eq!(clock.stamp(0), 999_999_000);
        // 100 us per second.
        assert_eq!(clock.stamp(10 * S), 11_000_999_000);
    }

    #[test]
    fn one_step() {
        let config = TapConfig { step_at_s: 2.0, step_ns: -1_500_000_000, ..TapConfig::default() };
        let clock = TapClock::new(config, 0, Rng::stream(1, "tap", 0));
        assert_eq!(clock.stamp(2 * S - 1), 1_999_999_000);
        assert_eq!(clock.stamp(2 * S), 500_000_000);
        assert_eq!(clock.stamp(3 * S), 1_500_000_000);
    }
}

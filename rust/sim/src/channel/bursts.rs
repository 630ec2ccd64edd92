//! Errors in bursts: Gilbert's channel of two states, and one of three, on a clock of frames or of time.

use crate::engine::Ns;
use crate::rng::Rng;

/// What advances the state of a burst channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Frames: the state does not change without frames.
    Frames,
    /// Time; mean lengths are then in nanoseconds.
    Time,
}

/// Bursts of errors: gaps without errors, short bursts, and sometimes a long one. With `long_share` 0 it is Gilbert's channel of
/// two states. All lengths are geometric (frames) or exponential (time).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstConfig {
    pub clock: Clock,
    pub mean_gap: f64,
    pub mean_short: f64,
    pub mean_long: f64,
    /// Share of bursts that are long.
    pub long_share: f64,
    /// Frame error rate within a burst.
    pub error_rate: f64,
}

impl BurstConfig {
    /// Gilbert's channel with this frame error rate and mean burst, in frames: p_GB = FER / (L (1 - FER)), p_BG = 1 / L.
    pub fn gilbert(frame_error_rate: f64, mean_burst: f64) -> Self {
        let fer = frame_error_rate.clamp(1e-9, 1.0 - 1e-9);
        BurstConfig {
            clock: Clock::Frames,
            mean_gap: mean_burst * (1.0 - fer) / fer,
            mean_short: mean_burst,
            mean_long: mean_burst,
            long_share: 0.0,
            error_rate: 1.0,
        }
    }
}

#[derive(Debug)]
pub(super) struct Bursts {
    config: BurstConfig,
    rng: Rng,
    bad: bool,
    /// Frames left in this state, or when it ends.
    left: f64,
    begun: bool,
}

impl Bursts {
    pub(super) fn new(config: BurstConfig, rng: Rng) -> Self {
        // The channel begins error-free, at a random point of a gap.
        Bursts { config, rng, bad: false, left: 0.0, begun: false }
    }

    fn length(&mut self) -> f64 {
        let c = &self.config;
        let mean = match self.bad {
            false => c.mean_gap,
            true if self.rng.chance(c.long_share) => c.mean_long,
            true => c.mean_short,
        };
        match c.clock {
            Clock::Time => self.rng.exponential(mean),
            // At least one frame.
            Clock::Frames => {
                let p = 1.0 / mean.max(1.0);
                if p >= 1.0 {
                    1.0
                } else {
                    1.0 + ((1.0 - self.rng.unit()).ln() / (1.0 - p).ln()).floor()
                }
            }
        }
    }

    pub(super) fn damages(&mut self, now: Ns) -> bool {
        if !self.begun {
            self.begun = true;
            self.left = self.length();
        }
        match self.config.clock {
            Clock::Time => {
                while self.left <= now as f64 {
                    self.bad = !self.bad;
                    self.left += self.length();
                }
            }
            Clock::Frames => {
                if self.left < 1.0 {
                    self.bad = !self.bad;
                    self.left = self.length();
                }
                self.left -= 1.0;
            }
        }
        let p = self.config.error_rate;
        self.bad && self.rng.chance(p)
    }
}

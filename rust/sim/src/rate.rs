//! Rate control: the rate of a station's next transmission.

use crate::engine::{Ns, MS};
use crate::phy::{airtime, Preamble, Rate};
use crate::rng::Rng;

/// Feedback about a station's own frames. One per destination.
pub trait RateControl: std::fmt::Debug + Send {
    /// The rate of transmission number `attempt` (0 first) of a frame.
    fn rate(&mut self, now: Ns, attempt: u32) -> Rate;
    /// A transmission was acknowledged.
    fn succeeded(&mut self, now: Ns);
    /// A transmission was not acknowledged.
    fn failed(&mut self, now: Ns);
    /// The frame was dropped.
    fn dropped(&mut self, _now: Ns) {}
}

/// A fixed rate.
#[derive(Debug, Clone, Copy)]
pub struct Fixed(pub Rate);

impl RateControl for Fixed {
    fn rate(&mut self, _: Ns, _: u32) -> Rate {
        self.0
    }
    fn succeeded(&mut self, _: Ns) {}
    fn failed(&mut self, _: Ns) {}
}

/// Automatic rate fallback (Kamerman and Monteban 1997), and its adaptive form (Lacage, Manshaei and Turletti 2004).
#[derive(Debug, Clone)]
pub struct Arf {
    rates: Vec<Rate>,
    at: usize,
    successes: u32,
    failures: u32,
    /// The rate was just raised: one failure lowers it again.
    probing: bool,
    up_after: u32,
    /// AARF: failed probes double `up_after` to at most this; None: ARF.
    up_most: Option<u32>,
}

/// Consecutive successes after which ARF tries the next rate.
const ARF_UP: u32 = 10;
/// Consecutive failures after which it lowers the rate.
const ARF_DOWN: u32 = 2;

impl Arf {
    /// `rates` from the lowest to the highest; it starts at the highest.
    pub fn new(rates: Vec<Rate>, adaptive: bool) -> Self {
        let at = rates.len().saturating_sub(1);
        Arf { rates, at, successes: 0, failures: 0, probing: false, up_after: ARF_UP, up_most: adaptive.then_some(50) }
    }
}

impl RateControl for Arf {
    fn rate(&mut self, _: Ns, _: u32) -> Rate {
        self.rates.get(self.at).copied().unwrap_or(Rate::R1)
    }

    fn succeeded(&mut self, _: Ns) {
        (self.failures, self.probing) = (0, false);
        self.successes += 1;
        if self.successes >= self.up_after && self.at + 1 < self.rates.len() {
            self.at += 1;
            (self.successes, self.probing) = (0, true);
        }
    }

    fn failed(&mut self, _: Ns) {
        self.successes = 0;
        self.failures += 1;
        if self.probing || self.failures >= ARF_DOWN {
            if let Some(most) = self.up_most {
                self.up_after = if self.probing { (self.up_after * 2).min(most) } else { ARF_UP };
            }
            self.at = self.at.saturating_sub(1);
            (self.failures, self.probing) = (0, false);
        }
    }
}

/// The defect that the USB study found in early firmware: after a few successes the next frame is sent at the top rate,
/// even if that failed often before, and the rate falls so slowly that the frame is dropped.
#[derive(Debug, Clone)]
pub struct Multiplicative {
    /// Rate of each transmission after a raise; the last is used for the rest.
    ladder: Vec<Rate>,
    low: Rate,
    up_after: u32,
    successes: u32,
    raised: bool,
    /// The rate of the latest transmission.
    latest: Rate,
}

impl Multiplicative {
    /// `ladder`: rates and the number of transmissions at each.
    pub fn new(ladder: &[(Rate, u32)], low: Rate, up_after: u32) -> Self {
        let ladder = ladder.iter().flat_map(|(rate, times)| vec![*rate; *times as usize]).collect();
        Multiplicative { ladder, low, up_after, successes: 0, raised: true, latest: low }
    }
}

impl RateControl for Multiplicative {
    fn rate(&mut self, _: Ns, attempt: u32) -> Rate {
        let step = self.ladder.get(attempt as usize).or(self.ladder.last()).copied();
        self.latest = if self.raised { step.unwrap_or(self.low) } else { self.low };
        self.latest
    }

    fn succeeded(&mut self, _: Ns) {
        // It stays at the rate that succeeded below the top until it has enough successes again.
        self.raised = self.raised && self.ladder.first() == Some(&self.latest);
        self.successes = if self.raised { 0 } else { self.successes + 1 };
        if self.successes >= self.up_after {
            (self.raised, self.successes) = (true, 0);
        }
    }

    fn failed(&mut self, _: Ns) {}

    fn dropped(&mut self, _: Ns) {
        (self.raised, self.successes) = (false, 0);
    }
}

/// A sampling rate control like Linux's minstrel: success rates by exponential average; one frame in ten tries
/// another rate; retries use the best rate and then the most reliable one.
#[derive(Debug)]
pub struct Minstrel {
    rates: Vec<Rate>,
    tried: Vec<(u32, u32)>,
    chance: Vec<f64>,
    rng: Rng,
    updated: Ns,
    sample: Option<usize>,
    latest: usize,
    bytes: u32,
}

/// Interval of the statistics; the new interval has a weight of a quarter.
const MINSTREL_PERIOD: Ns = 100 * MS;
const MINSTREL_NEW: f64 = 0.25;
/// One frame in this many samples another rate.
const MINSTREL_SAMPLE: u32 = 10;

impl Minstrel {
    /// `bytes`: the frame length by which rates are compared.
    pub fn new(rates: Vec<Rate>, bytes: u32, rng: Rng) -> Self {
        let n = rates.len();
        Minstrel {
            rates,
            tried: vec![(0, 0); n],
            chance: vec![0.5; n],
            rng,
            updated: 0,
            sample: None,
            latest: 0,
            bytes,
        }
    }

    fn renew(&mut self, now: Ns) {
        if now < self.updated + MINSTREL_PERIOD {
            return;
        }
        self.updated = now;
        for ((tried, passed), chance) in self.tried.iter_mut().zip(&mut self.chance) {
            if *tried > 0 {
                let new = f64::from(*passed) / f64::from(*tried);
                *chance = (1.0 - MINSTREL_NEW) * *chance + MINSTREL_NEW * new;
            }
            (*tried, *passed) = (0, 0);
        }
    }

    fn best(&self) -> usize {
        let speed = |i: usize| self.chance[i] / airtime(self.rates[i], Preamble::Long, self.bytes) as f64;
        (0..self.rates.len()).max_by(|a, b| speed(*a).total_cmp(&speed(*b))).unwrap_or(0)
    }

    fn surest(&self) -> usize {
        // The faster one of equal probabilities.
        (0..self.rates.len()).max_by(|a, b| self.chance[*a].total_cmp(&self.chance[*b])).unwrap_or(0)
    }
}

impl RateControl for Minstrel {
    fn rate(&mut self, now: Ns, attempt: u32) -> Rate {
        self.renew(now);
        if attempt == 0 {
            let other = self.rng.below(MINSTREL_SAMPLE) == 0;
            self.sample = other.then(|| self.rng.below(self.rates.len() as u32) as usize);
        }
        // Two transmissions at each stage of the retry chain, one at the sampled rate.
        self.latest = match (attempt, self.sample) {
            (0, Some(sample)) => sample,
            (0..=2, _) => self.best(),
            (3..=4, _) => self.surest(),
            _ => 0,
        };
        self.rates.get(self.latest).copied().unwrap_or(Rate::R1)
    }

    fn succeeded(&mut self, _: Ns) {
        if let Some(t) = self.tried.get_mut(self.latest) {
            *t = (t.0 + 1, t.1 + 1);
        }
    }

    fn failed(&mut self, _: Ns) {
        if let Some(t) = self.tried.get_mut(self.latest) {
            t.0 += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arf(adaptive: bool) -> Arf {
        Arf::new(Rate::DSSS.to_vec(), adaptive)
    }

    #[test]
    fn arf_lowers_the_rate_after_two_failures_and_after_a_failed_probe() {
        let mut a = arf(false);
        assert_eq!(a.rate(0, 0), Rate::R11);
        a.failed(0);
        assert_eq!(a.rate(0, 1), Rate::R11);
        a.failed(0);
        assert_eq!(a.rate(0, 2), Rate::R5_5);
        (0..10).for_each(|_| a.succeeded(0));
        assert_eq!(a.rate(0, 0), Rate::R11);
        a.failed(0);
        assert_eq!(a.rate(0, 1), Rate::R5_5);
        (0..10).for_each(|_| a.succeeded(0));
        assert_eq!(a.rate(0, 0), Rate::R11);
    }

    #[test]
    fn aarf_waits_twice_as_long_after_a_failed_probe() {
        let mut a = arf(true);
        (0..2).for_each(|_| a.failed(0));
        (0..10).for_each(|_| a.succeeded(0));
        a.failed(0);
        (0..19).for_each(|_| a.succeeded(0));
        assert_eq!(a.rate(0, 0), Rate::R5_5);
        a.succeeded(0);
        assert_eq!(a.rate(0, 0), Rate::R11);
    }

    #[test]
    fn the_defect_tries_the_top_rate_repeatedly() {
        let mut m = Multiplicative::new(&[(Rate::R11, 3), (Rate::R5_5, 1)], Rate::R1, 10);
        let rates: Vec<_> = (0..8).map(|k| m.rate(0, k).kbps).collect();
        assert_eq!(rates, [11_000, 11_000, 11_000, 5_500, 5_500, 5_500, 5_500, 5_500]);
        m.dropped(0);
        for _ in 0..10 {
            assert_eq!(m.rate(0, 0), Rate::R1);
            m.succeeded(0);
        }
        assert_eq!(m.rate(0, 0), Rate::R11);
        // A link good enough for the top rate stays there.
        m.succeeded(0);
        assert_eq!(m.rate(0, 0), Rate::R11);
    }

    #[test]
    fn minstrel_finds_the_fastest_rate_that_works() {
        let mut m = Minstrel::new(Rate::DSSS.to_vec(), 1536, Rng::stream(1, "rate", 0));
        let (mut at_2, mut frames) = (0, 0);
        for k in 0..4000u64 {
            let now = k * 10 * MS;
            for attempt in 0..7 {
                let rate = m.rate(now, attempt);
                frames += u32::from(attempt == 0 && k > 1000);
                at_2 += u32::from(attempt == 0 && k > 1000 && rate == Rate::R2);
                if rate <= Rate::R2 {
                    m.succeeded(now);
                    break;
                }
                m.failed(now);
            }
        }
        assert!(f64::from(at_2) > 0.9 * f64::from(frames), "{at_2} of {frames}");
    }
}

//! Which frames the channel damages: signal to noise, bursts of errors, and what a script says.

use crate::dcf::{Channel, StationId};
use crate::engine::Ns;
use crate::phy::Rate;
use crate::rng::Rng;

/// On what the state of a burst channel goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// With every frame: the channel stands still while nobody sends.
    Frames,
    /// With time; mean lengths are then nanoseconds.
    Time,
}

/// Bursts of errors: gaps without, short bursts, and now and then a long one. With `long_share` 0 it is Gilbert's channel of
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
struct Bursts {
    config: BurstConfig,
    rng: Rng,
    bad: bool,
    /// Frames left in this state, or when it ends.
    left: f64,
    begun: bool,
}

impl Bursts {
    fn new(config: BurstConfig, rng: Rng) -> Self {
        // The channel begins good, wherever in a gap.
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

    fn damages(&mut self, now: Ns) -> bool {
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

/// A stretch of time with less signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fade {
    pub start: Ns,
    pub end: Ns,
    pub depth_db: f64,
    /// Repeated this long after its start; 0 for never.
    pub every: Ns,
}

impl Fade {
    fn holds(&self, now: Ns) -> bool {
        let since = now.saturating_sub(self.start);
        let phase = since.checked_rem(self.every).unwrap_or(since);
        now >= self.start && phase < self.end.saturating_sub(self.start)
    }
}

/// Frames damaged on purpose: the n-th data frames (from 0) that a station sends, control frames not counted.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub frames: Vec<u64>,
    /// And everything in these spans of time.
    pub spans: Vec<(Ns, Ns)>,
}

/// One way between two stations.
#[derive(Debug)]
struct Path {
    snr_db: Option<f64>,
    frame_error_rate: f64,
    bursts: Option<usize>,
    fades: Vec<Fade>,
    script: Script,
    sent: u64,
}

/// The air between stations.
#[derive(Debug, Default)]
pub struct Air {
    paths: Vec<Vec<Option<Path>>>,
    /// Burst processes; both ways of a link may share one.
    bursts: Vec<Bursts>,
    rng: Option<Rng>,
}

/// What disturbs one way between two stations.
#[derive(Debug, Clone, Default)]
pub struct PathConfig {
    /// Signal to noise; None: no thermal errors.
    pub snr_db: Option<f64>,
    /// Errors of every frame alike, whatever its length.
    pub frame_error_rate: f64,
    pub fades: Vec<Fade>,
    pub script: Script,
}

impl Air {
    pub fn new(rng: Rng) -> Self {
        Air { paths: Vec::new(), bursts: Vec::new(), rng: Some(rng) }
    }

    /// Add a burst process, for `disturb`.
    pub fn burst_process(&mut self, config: BurstConfig, rng: Rng) -> usize {
        self.bursts.push(Bursts::new(config, rng));
        self.bursts.len() - 1
    }

    /// Disturb the way from one station to another.
    pub fn disturb(&mut self, from: StationId, to: StationId, config: PathConfig, bursts: Option<usize>) {
        let least = from.max(to) + 1;
        if self.paths.len() < least {
            self.paths.resize_with(least, Vec::new);
        }
        let row = &mut self.paths[from];
        if row.len() < least {
            row.resize_with(least, || None);
        }
        let PathConfig { snr_db, frame_error_rate, fades, script } = config;
        row[to] = Some(Path { snr_db, frame_error_rate, bursts, fades, script, sent: 0 });
    }

    /// Signal to noise of a way at a time, fades counted.
    pub fn snr_db(&self, from: StationId, to: StationId, now: Ns) -> Option<f64> {
        let path = self.paths.get(from)?.get(to)?.as_ref()?;
        Some(path.snr_db? - path.fading(now))
    }
}

impl Path {
    fn fading(&self, now: Ns) -> f64 {
        self.fades.iter().filter(|f| f.holds(now)).map(|f| f.depth_db).sum()
    }
}

/// Frames longer than a control frame count for scripts.
const DATA_BYTES: u32 = 28;

impl Channel for Air {
    fn passes(&mut self, from: StationId, to: StationId, rate: Rate, bytes: u32, start: Ns, _end: Ns) -> bool {
        let Some(path) = self.paths.get_mut(from).and_then(|row| row.get_mut(to)).and_then(Option::as_mut) else {
            return true;
        };
        let mut damaged = path.script.spans.iter().any(|(a, b)| (*a..*b).contains(&start));
        if bytes >= DATA_BYTES {
            damaged |= path.script.frames.contains(&path.sent);
            path.sent += 1;
        }
        // Every process goes on with every frame, whatever the others said.
        if let Some(bursts) = path.bursts {
            damaged |= self.bursts[bursts].damages(start);
        }
        if let Some(rng) = &mut self.rng {
            damaged |= rng.chance(path.frame_error_rate);
            if let Some(snr) = path.snr_db {
                damaged |= rng.chance(frame_error_rate(snr - path.fading(start), rate, bytes));
            }
        }
        !damaged
    }
}

/// Chance that white noise damages a frame of so many bytes.
pub fn frame_error_rate(snr_db: f64, rate: Rate, bytes: u32) -> f64 {
    let ber = bit_error_rate(10f64.powf(snr_db / 10.0), rate);
    -(f64::from(bytes) * 8.0 * (-ber).ln_1p()).exp_m1()
}

/// The bound is a coherent receiver's, DQPSK's is not: 4 dB (a factor of 2.5) put the rates as far apart as the sensitivities
/// that the standard asks for (clauses 15.4.8.2 and 16.3.8.2).
const CCK_LOSS: f64 = 2.512;

/// Bits in error under white noise, `snr` in 22 MHz.
///
/// DBPSK and DQPSK: Proakis, Digital Communications, section 5.2. CCK: union bound over the distances of its code words
/// (Pursley and Royster 2000); OFDM: coherent modulations after a code gain of 5 dB, a common approximation.
pub fn bit_error_rate(snr: f64, rate: Rate) -> f64 {
    const BANDWIDTH_KHZ: f64 = 22_000.0;
    let per_bit = snr * BANDWIDTH_KHZ / f64::from(rate.kbps.max(1));
    let ber = match rate {
        Rate::R1 => 0.5 * (-per_bit).exp(),
        Rate::R2 => {
            let root = std::f64::consts::SQRT_2;
            let front = (root + 1.0) / (8.0 * std::f64::consts::PI * root).sqrt();
            front / per_bit.sqrt() * (-(2.0 - root) * per_bit).exp()
        }
        Rate::R5_5 => {
            // 4 bits in a symbol of 8 chips: squared distances 8 and 16 in units of the chip energy.
            let chip = per_bit * 4.0 / 8.0 / CCK_LOSS;
            8.0 / 15.0 * (14.0 * tail((8.0 * chip).sqrt()) + tail((16.0 * chip).sqrt()))
        }
        Rate::R11 => {
            let chip = per_bit / CCK_LOSS;
            let terms = [(24.0, 4.0), (16.0, 6.0), (174.0, 8.0), (16.0, 10.0), (24.0, 12.0), (1.0, 16.0)];
            128.0 / 255.0 * terms.iter().map(|(n, d)| n * tail((d * chip).sqrt())).sum::<f64>()
        }
        _ => {
            let coded = per_bit * 10f64.powf(0.5);
            let points: f64 = match rate.kbps {
                0..=9_000 => 2.0,
                9_001..=18_000 => 4.0,
                18_001..=36_000 => 16.0,
                _ => 64.0,
            };
            let bits = points.log2();
            if points <= 4.0 {
                tail((2.0 * coded).sqrt())
            } else {
                4.0 / bits * (1.0 - 1.0 / points.sqrt()) * tail((3.0 * bits / (points - 1.0) * coded).sqrt())
            }
        }
    };
    ber.clamp(0.0, 0.5)
}

/// The tail of the normal distribution, by Abramowitz and Stegun 26.2.17 (error below 7.5e-8).
fn tail(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let poly =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    poly * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(air: &mut Air, frames: usize) -> (f64, f64, usize) {
        let (mut bad, mut runs, mut run, mut longest) = (0usize, 0usize, 0usize, 0usize);
        for k in 0..frames {
            if air.passes(0, 1, Rate::R11, 1500, k as Ns, 0) {
                run = 0;
            } else {
                bad += 1;
                runs += usize::from(run == 0);
                run += 1;
                longest = longest.max(run);
            }
        }
        (bad as f64 / frames as f64, bad as f64 / runs.max(1) as f64, longest)
    }

    #[test]
    fn gilberts_channel_has_its_error_rate_and_burst() {
        let mut air = Air::new(Rng::stream(1, "channel", 0));
        let process = air.burst_process(BurstConfig::gilbert(0.135, 1.8), Rng::stream(1, "bursts", 0));
        air.disturb(0, 1, PathConfig::default(), Some(process));
        let (fer, mean, longest) = bursts(&mut air, 1_000_000);
        assert!((fer - 0.135).abs() < 0.003 && (mean - 1.8).abs() < 0.02, "{fer} {mean}");
        // Far from the 29 that the idle-time study saw in 8000 frames.
        assert!(longest < 25, "{longest}");
    }

    #[test]
    fn a_third_state_makes_long_bursts() {
        let mut air = Air::new(Rng::stream(1, "channel", 0));
        let config = BurstConfig {
            clock: Clock::Frames,
            mean_gap: 1.8 * 0.865 / 0.135,
            mean_short: 1.61,
            mean_long: 8.0,
            long_share: 0.03,
            error_rate: 1.0,
        };
        let process = air.burst_process(config, Rng::stream(1, "bursts", 0));
        air.disturb(0, 1, PathConfig::default(), Some(process));
        let (fer, mean, longest) = bursts(&mut air, 8_000);
        assert!((fer - 0.135).abs() < 0.02 && (mean - 1.8).abs() < 0.2 && longest > 14, "{fer} {mean} {longest}");
    }

    #[test]
    fn noise_orders_rates_and_lengths() {
        for snr in [-5.0, 0.0, 3.0, 6.0, 9.0, 12.0] {
            let fer = |rate, bytes| frame_error_rate(snr, rate, bytes);
            assert!(Rate::DSSS.windows(2).all(|w| fer(w[0], 1500) <= fer(w[1], 1500) + 1e-12), "{snr}");
            assert!(fer(Rate::R11, 40) <= fer(Rate::R11, 1500));
        }
        assert!(frame_error_rate(20.0, Rate::R11, 1500) < 1e-6 && frame_error_rate(-15.0, Rate::R1, 1500) > 0.99);
        assert!((tail(1.0) - 0.158_655_254).abs() < 1e-6);
    }

    #[test]
    fn fades_and_scripts_have_their_times() {
        let fade = Fade { start: 10, end: 14, depth_db: 30.0, every: 100 };
        let held: Vec<Ns> = (0..220).filter(|t| fade.holds(*t)).collect();
        assert_eq!(held, [10, 11, 12, 13, 110, 111, 112, 113, 210, 211, 212, 213]);
        let mut air = Air::new(Rng::stream(1, "channel", 0));
        let script = Script { frames: vec![1], spans: vec![(50, 60)] };
        air.disturb(0, 1, PathConfig { script, ..PathConfig::default() }, None);
        let got: Vec<_> = [(0, 1500), (1, 14), (2, 1500), (55, 14), (70, 1500)]
            .map(|(t, bytes)| air.passes(0, 1, Rate::R11, bytes, t, 0))
            .to_vec();
        assert_eq!(got, [true, true, false, false, true]);
        assert!(air.passes(1, 0, Rate::R11, 1500, 55, 0));
    }
}

//! Varying signals: scripted fades, and multipath fading.

use crate::engine::Ns;
use crate::rng::Rng;

/// A period with less signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fade {
    pub start: Ns,
    pub end: Ns,
    pub depth_db: f64,
    /// Repeated this long after its start; 0 for never.
    pub every: Ns,
}

impl Fade {
    pub(super) fn holds(&self, now: Ns) -> bool {
        let since = now.saturating_sub(self.start);
        let phase = since.checked_rem(self.every).unwrap_or(since);
        now >= self.start && phase < self.end.saturating_sub(self.start)
    }
}

/// Attenuation by fades at a time.
pub(super) fn depth_db(fades: &[Fade], now: Ns) -> f64 {
    fades.iter().filter(|f| f.holds(now)).map(|f| f.depth_db).sum()
}

/// Number of paths in the sum: from a dozen on the envelope is Rayleigh's.
const WAVES: usize = 12;

/// Multipath fading: a direct path and scattered ones, whose phases rotate with movement (Clarke 1968; Rappaport, Wireless
/// Communications, section 5.7). Without a direct path the envelope is Rayleigh's.
#[derive(Debug, Clone)]
pub(super) struct Multipath {
    /// Rotations per second and initial phases of the two quadratures of each path.
    waves: Vec<(f64, f64, f64)>,
    /// Power of the direct path over that of the scattered ones.
    direct: f64,
}

impl Multipath {
    /// `doppler_hz`: the fastest rotation, speed over wavelength (8 Hz for a walking person, at 2.4 GHz).
    pub(super) fn new(doppler_hz: f64, direct: f64, rng: &mut Rng) -> Self {
        let turn = std::f64::consts::TAU;
        let waves = (0..WAVES).map(|k| {
            // The paths arrive from all directions.
            let angle = turn * (k as f64 + rng.unit()) / (4 * WAVES) as f64;
            (turn * doppler_hz * angle.cos(), turn * rng.unit(), turn * rng.unit())
        });
        Multipath { waves: waves.collect(), direct }
    }

    /// Power relative to its mean, dB.
    pub(super) fn gain_db(&self, now: Ns) -> f64 {
        let t = now as f64 / 1e9;
        let sum = |phase: fn(&(f64, f64, f64)) -> f64| -> f64 {
            self.waves.iter().map(|w| (w.0 * t + phase(w)).cos()).sum::<f64>() / (WAVES as f64).sqrt()
        };
        let (i, q) = (sum(|w| w.1) + self.direct.sqrt(), sum(|w| w.2));
        10.0 * ((i * i + q * q) / (1.0 + self.direct)).max(1e-12).log10()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{MS, S};

    #[test]
    fn fades_have_their_times() {
        let fade = Fade { start: 10, end: 14, depth_db: 30.0, every: 100 };
        let held: Vec<Ns> = (0..220).filter(|t| fade.holds(*t)).collect();
        assert_eq!(held, [10, 11, 12, 13, 110, 111, 112, 113, 210, 211, 212, 213]);
    }

    /// Shares of the time in which the power is below some depths.
    fn below(direct: f64) -> [f64; 3] {
        let mut count = [0u32; 3];
        let mut mean = 0.0;
        for link in 0..20 {
            let fading = Multipath::new(8.0, direct, &mut Rng::stream(1, "fading", link));
            for k in 0..5000 {
                let db = fading.gain_db(k * 20 * MS);
                mean += 10f64.powf(db / 10.0) / 1e5;
                [0.0, -10.0, -20.0].iter().zip(&mut count).for_each(|(d, n)| *n += u32::from(db < *d));
            }
        }
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
        count.map(|n| f64::from(n) / 1e5)
    }

    #[test]
    fn scattered_paths_make_rayleighs_envelope_and_a_direct_path_reduces_fading() {
        // 1 - exp(-x): 63 %, 9.5 % and 1 %.
        let [whole, tenth, hundredth] = below(0.0);
        assert!((whole - 0.632).abs() < 0.03 && (tenth - 0.0952).abs() < 0.015 && (hundredth - 0.01).abs() < 0.005);
        let [_, calm, _] = below(10.0);
        assert!(calm < 0.01, "{calm}");
    }

    #[test]
    fn it_changes_at_the_doppler_frequency() {
        let change = |doppler_hz| {
            let fading = Multipath::new(doppler_hz, 0.0, &mut Rng::stream(2, "fading", 0));
            let db: Vec<_> = (0..1000).map(|k| fading.gain_db(S + k * 5 * MS)).collect();
            db.windows(2).map(|w| (w[1] - w[0]).abs()).sum::<f64>() / 1000.0
        };
        assert!(change(0.5) * 3.0 < change(8.0));
        assert!(change(0.0) < 1e-9);
    }
}

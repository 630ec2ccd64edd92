//! The frames that the channel damages: by signal to noise ratio, bursts of errors, and scripts.

mod bursts;
mod fading;
mod noise;
mod place;

pub use bursts::{BurstConfig, Clock};
pub use fading::Fade;
pub use noise::{bit_error_rate, frame_error_rate};
pub use place::{PathLoss, Place};

use crate::dcf::{Channel, Damage, StationId};
use crate::engine::Ns;
use crate::phy::Rate;
use crate::rng::Rng;
use bursts::Bursts;
use fading::{depth_db, Multipath};

/// Frames damaged by a script: the n-th data frames (from 0) of a station, control frames not counted.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub frames: Vec<u64>,
    /// And all frames in these periods.
    pub spans: Vec<(Ns, Ns)>,
}

/// The disturbance of one direction between two stations.
#[derive(Debug, Clone, Default)]
pub struct PathConfig {
    /// Signal to noise ratio; None: from the path loss, or no thermal errors.
    pub snr_db: Option<f64>,
    /// Probability of an error in a frame of any length.
    pub frame_error_rate: f64,
    pub fades: Vec<Fade>,
    pub script: Script,
}

/// One direction between two stations.
#[derive(Debug, Default)]
struct Path {
    config: PathConfig,
    bursts: Option<usize>,
    /// Which fading process; both directions of a link share one.
    multipath: Option<usize>,
    sent: u64,
}

/// Positions, and the loss of signals between them.
#[derive(Debug, Clone, Default)]
pub struct Floor {
    /// None: no path loss.
    pub path_loss: Option<PathLoss>,
    /// Multipath fading: Doppler frequency, and power of the direct path over that of the others.
    pub multipath: Option<(f64, f64)>,
    pub noise_dbm: f64,
    /// The stations' positions, then the sniffer's.
    pub places: Vec<Place>,
    /// Fades of all frames that a station sends and receives, by station.
    pub fades: Vec<Vec<Fade>>,
}

/// The channel between stations.
#[derive(Debug)]
pub struct Air {
    paths: Vec<Vec<Path>>,
    /// Burst processes; both directions of a link may share one.
    bursts: Vec<Bursts>,
    /// Fading processes of links, the sniffer's too.
    multipath: Vec<Multipath>,
    floor: Floor,
    rng: Rng,
}

impl Air {
    /// `fading`: the random stream of each link's fading process, by its number.
    pub fn new(stations: usize, floor: Floor, rng: Rng, fading: impl Fn(u64) -> Rng) -> Self {
        let mut paths: Vec<Vec<Path>> =
            (0..stations).map(|_| (0..=stations).map(|_| Path::default()).collect()).collect();
        let mut multipath = Vec::new();
        if let Some((doppler_hz, direct)) = floor.multipath {
            let links = (0..stations).flat_map(|a| (a + 1..=stations).map(move |b| (a, b)));
            for (a, b) in links {
                let link = multipath.len();
                multipath.push(Multipath::new(doppler_hz, direct, &mut fading(link as u64)));
                paths[a][b].multipath = Some(link);
                if b < stations {
                    paths[b][a].multipath = Some(link);
                }
            }
        }
        Air { paths, bursts: Vec::new(), multipath, floor, rng }
    }

    /// Add a burst process, for `disturb`.
    pub fn burst_process(&mut self, config: BurstConfig, rng: Rng) -> usize {
        self.bursts.push(Bursts::new(config, rng));
        self.bursts.len() - 1
    }

    /// Disturb the direction from one station to another.
    pub fn disturb(&mut self, from: StationId, to: StationId, config: PathConfig, bursts: Option<usize>) {
        let path = &mut self.paths[from][to];
        (path.config, path.bursts) = (config, bursts);
    }

    /// Signal of a station at the sniffer; `usual_dbm` without path loss.
    pub fn heard_dbm(&self, from: StationId, usual_dbm: f64, now: Ns) -> f64 {
        let sniffer = self.paths.len();
        let mean = self.mean_dbm(from, sniffer, now).unwrap_or(usual_dbm);
        mean + self.waves_db(&self.paths[from][sniffer], now) - self.station_fades_db(from, now)
    }

    pub fn noise_dbm(&self) -> f64 {
        self.floor.noise_dbm
    }

    /// Signal to noise ratio of a direction at a time, without and with fading.
    fn snr_db(&self, from: StationId, to: StationId, now: Ns) -> Option<(f64, f64)> {
        let path = &self.paths[from][to];
        let distant = || self.mean_dbm(from, to, now).map(|dbm| dbm - self.floor.noise_dbm);
        let mean = path.config.snr_db.or_else(distant)?;
        let lost =
            depth_db(&path.config.fades, now) + self.station_fades_db(from, now) + self.station_fades_db(to, now);
        Some((mean, mean + self.waves_db(path, now) - lost))
    }

    fn mean_dbm(&self, from: StationId, to: StationId, now: Ns) -> Option<f64> {
        let loss = self.floor.path_loss?;
        let (a, b) = (self.floor.places.get(from)?, self.floor.places.get(to)?);
        Some(loss.signal_dbm(a.distance_m(b, now)))
    }

    fn waves_db(&self, path: &Path, now: Ns) -> f64 {
        path.multipath.map_or(0.0, |link| self.multipath[link].gain_db(now))
    }

    fn station_fades_db(&self, station: StationId, now: Ns) -> f64 {
        self.floor.fades.get(station).map_or(0.0, |fades| depth_db(fades, now))
    }
}

/// Scripts count frames longer than a control frame.
const DATA_BYTES: u32 = 28;

impl Channel for Air {
    fn damage(&mut self, from: StationId, to: StationId, rate: Rate, bytes: u32, start: Ns) -> Option<Damage> {
        let path = &mut self.paths[from][to];
        let mut by = path.config.script.spans.iter().any(|(a, b)| (*a..*b).contains(&start)).then_some(Damage::Script);
        if bytes >= DATA_BYTES {
            if path.config.script.frames.contains(&path.sent) {
                by = Some(Damage::Script);
            }
            path.sent += 1;
        }
        // Every process advances with every frame, whatever the others decide.
        let independent = path.config.frame_error_rate;
        let burst = match path.bursts {
            Some(process) => self.bursts[process].damages(start),
            None => false,
        };
        by = by.or(burst.then_some(Damage::Burst));
        by = by.or(self.rng.chance(independent).then_some(Damage::Independent));
        let Some((mean, snr)) = self.snr_db(from, to, start) else { return by };
        let usual = frame_error_rate(mean, rate, bytes);
        let now = if snr == mean { usual } else { frame_error_rate(snr, rate, bytes) };
        if now <= 0.0 {
            return by;
        }
        // One draw: if the frame would have arrived at the mean signal, the fade damaged it.
        let draw = self.rng.unit();
        let noise = if draw >= now {
            None
        } else if draw < usual {
            Some(Damage::Noise)
        } else {
            Some(Damage::Fade)
        };
        by.or(noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{MS, S};

    fn air(floor: Floor) -> Air {
        Air::new(2, floor, Rng::stream(1, "channel", 0), |link| Rng::stream(1, "fading", link))
    }

    fn bursts(config: BurstConfig, frames: usize) -> (f64, f64, usize) {
        let mut air = air(Floor::default());
        let process = air.burst_process(config, Rng::stream(1, "bursts", 0));
        air.disturb(0, 1, PathConfig::default(), Some(process));
        let (mut bad, mut runs, mut run, mut longest) = (0usize, 0usize, 0usize, 0usize);
        for k in 0..frames {
            match air.damage(0, 1, Rate::R11, 1500, k as Ns) {
                None => run = 0,
                Some(by) => {
                    assert_eq!(by, Damage::Burst);
                    bad += 1;
                    runs += usize::from(run == 0);
                    run += 1;
                    longest = longest.max(run);
                }
            }
        }
        (bad as f64 / frames as f64, bad as f64 / runs.max(1) as f64, longest)
    }

    #[test]
    fn gilberts_channel_has_its_error_rate_and_burst() {
        let (fer, mean, longest) = bursts(BurstConfig::gilbert(0.135, 1.8), 1_000_000);
        assert!((fer - 0.135).abs() < 0.003 && (mean - 1.8).abs() < 0.02, "{fer} {mean}");
        // Far from the 29 that the idle-time study observed in 8000 frames.
        assert!(longest < 25, "{longest}");
    }

    #[test]
    fn a_third_state_makes_long_bursts() {
        let config = BurstConfig {
            clock: Clock::Frames,
            mean_gap: 1.8 * 0.865 / 0.135,
            mean_short: 1.61,
            mean_long: 8.0,
            long_share: 0.03,
            error_rate: 1.0,
        };
        let (fer, mean, longest) = bursts(config, 8_000);
        assert!((fer - 0.135).abs() < 0.02 && (mean - 1.8).abs() < 0.2 && longest > 14, "{fer} {mean} {longest}");
    }

    /// Bursts of a second every ten, on a clock of time: how many of the frames in a burst's first second fail.
    #[test]
    fn on_a_clock_of_time_the_channel_recovers_without_frames() {
        let second = 1e9;
        let config = |clock, unit| BurstConfig {
            clock,
            mean_gap: 10.0 * unit,
            mean_short: unit,
            mean_long: unit,
            long_share: 0.0,
            error_rate: 1.0,
        };
        let streaks = |config: BurstConfig| {
            // After a failure the sender waits two seconds; does the next frame fail, too?
            let mut air = air(Floor::default());
            let process = air.burst_process(config, Rng::stream(3, "bursts", 0));
            air.disturb(0, 1, PathConfig::default(), Some(process));
            let (mut now, mut failed, mut again, mut after) = (0, 0, 0, false);
            for _ in 0..200_000 {
                let bad = air.damage(0, 1, Rate::R11, 1500, now).is_some();
                failed += u32::from(after);
                again += u32::from(after && bad);
                after = bad && !after;
                now += if bad { 2 * S } else { 2 * MS };
            }
            f64::from(again) / f64::from(failed)
        };
        let by_time = streaks(config(Clock::Time, second));
        let by_frames = streaks(config(Clock::Frames, 500.0));
        assert!(by_time < 0.25 && by_frames > 0.98, "{by_time} {by_frames}");
    }

    #[test]
    fn scripts_have_their_frames_and_times() {
        let mut air = air(Floor::default());
        let script = Script { frames: vec![1], spans: vec![(50, 60)] };
        air.disturb(0, 1, PathConfig { script, ..PathConfig::default() }, None);
        let got = [(0, 1500), (1, 14), (2, 1500), (55, 14), (70, 1500)]
            .map(|(t, bytes)| air.damage(0, 1, Rate::R11, bytes, t).is_some());
        assert_eq!(got, [false, false, true, true, false]);
        assert_eq!(air.damage(1, 0, Rate::R11, 1500, 55), None);
    }

    /// A station walks away from another; the sniffer is next to the first.
    fn walk() -> Floor {
        Floor {
            path_loss: Some(PathLoss { sent_dbm: 15.0, first_metre_db: 40.0, exponent: 3.5 }),
            multipath: None,
            noise_dbm: -95.0,
            places: vec![
                Place::default(),
                Place { at_m: (1.0, 0.0), walks_m_per_s: (1.0, 0.0) },
                Place { at_m: (0.0, 2.0), ..Place::default() },
            ],
            fades: vec![Vec::new(); 2],
        }
    }

    fn failures(air: &mut Air, rate: Rate, from_s: u64) -> u32 {
        (0..400).map(|k| u32::from(air.damage(0, 1, rate, 1500, from_s * S + k * 2 * MS).is_some())).sum()
    }

    #[test]
    fn distance_stops_the_fast_rates_first() {
        let mut air = air(walk());
        assert_eq!([Rate::R11, Rate::R1].map(|r| failures(&mut air, r, 10)), [0, 0]);
        // 75 m.
        let far = [Rate::R11, Rate::R1].map(|r| failures(&mut air, r, 74));
        assert!(far[0] > 380 && far[1] < 20, "{far:?}");
        assert_eq!(air.heard_dbm(0, -45.0, 0).round(), -36.0);
        assert!(air.heard_dbm(1, -45.0, 74 * S) < -80.0);
    }

    #[test]
    fn without_path_loss_distance_has_no_effect() {
        let mut air = air(Floor { path_loss: None, ..walk() });
        assert_eq!(failures(&mut air, Rate::R11, 200), 0);
        assert_eq!(air.heard_dbm(1, -45.0, 200 * S), -45.0);
    }

    #[test]
    fn a_stations_fade_affects_its_frames_and_the_sniffers_signal() {
        let fade = Fade { start: 20 * S, end: 21 * S, depth_db: 40.0, every: 0 };
        let mut air = air(Floor { fades: vec![Vec::new(), vec![fade]], ..walk() });
        assert_eq!([19, 20, 21].map(|s| failures(&mut air, Rate::R11, s)), [0, 400, 0]);
        assert_eq!(air.damage(1, 0, Rate::R11, 1500, 20 * S + MS), Some(Damage::Fade));
        let heard = [19, 20].map(|s| air.heard_dbm(1, -45.0, s * S));
        assert!((heard[0] - heard[1] - 40.0).abs() < 1.0, "{heard:?}");
        // The other station's signal does not change.
        assert_eq!(air.heard_dbm(0, -45.0, 20 * S).round(), -36.0);
    }

    #[test]
    fn multipath_makes_a_link_fail_in_both_directions() {
        // 25 m: 12 dB over what 11 Mb/s needs.
        let still = Floor { multipath: None, ..walk() };
        let rayleigh = Floor { multipath: Some((3.0, 0.0)), ..walk() };
        let mut calm = air(still);
        let mut waves = air(rayleigh);
        assert_eq!(failures(&mut calm, Rate::R11, 24), 0);
        let lost: u32 = (20..30).map(|s| failures(&mut waves, Rate::R11, s)).sum();
        assert!((40..2000).contains(&lost), "{lost}");
        let alike = (0..1000u64).all(|k| {
            let t = k * 10 * MS;
            let (there, back) = (waves.snr_db(0, 1, t).unwrap().1, waves.snr_db(1, 0, t).unwrap().1);
            (there - back).abs() < 1e-9
        });
        assert!(alike);
    }
}

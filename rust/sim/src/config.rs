//! The description of a world, as a scenario hands it over (JSON). Units are in the names.

use serde::Deserialize;

use crate::application::Application;
use crate::channel::{self, BurstConfig, Clock, Fade, Floor, PathConfig, Place, Script};
use crate::dcf::MacConfig;
use crate::engine::Ns;
use crate::limits::NEVER;
use crate::phy::{Preamble, Rate};
use crate::rate::{Arf, Fixed, Minstrel, Multiplicative, RateControl};
use crate::rng::Rng;
use crate::router::Discipline;
use crate::taps::TapConfig;
use crate::tcp::{Recovery, RtoFlavour, SendBuffer, TcpConfig, Wheel};
use crate::usb_host::UsbConfig;

/// What makes a description impossible, in words.
pub type Fault = String;

/// Rounded to the nearest; none before the start, and none after `NEVER`.
fn ns(seconds: f64) -> Ns {
    let exact = seconds * 1e9;
    let whole = (exact as Ns).min(NEVER);
    (whole + Ns::from(exact - whole as f64 >= 0.5)).min(NEVER)
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    pub seed: u64,
    pub duration_s: f64,
    /// Nanoseconds since 1970 at the start.
    pub epoch_ns: i64,
    pub nodes: Vec<Node>,
    pub cell: Option<Cell>,
    #[serde(default)]
    pub wires: Vec<Wire>,
    pub flows: Vec<Flow>,
    #[serde(default)]
    pub taps: Taps,
}

/// A host, an access point or a router.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub name: String,
    /// Packets waiting between its stack and its device, which tcpdump has not seen yet.
    pub queue_packets: usize,
    /// Of that queue.
    #[serde(default)]
    pub discipline: Discipline,
    /// The adapter keeps what it receives: from (s) and for how long (s).
    #[serde(default)]
    pub holds_s: Vec<(f64, f64)>,
    /// It loses so many packets with data that it should forward: the next from (s) on, again after (s; 0: once).
    #[serde(default)]
    pub drops_s: Vec<(f64, f64, u32)>,
    /// It does so at random as well.
    #[serde(default)]
    pub holds: Option<Holds>,
}

/// Now and then an adapter keeps what it receives.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holds {
    /// Mean time from a hold's end to the next one's begin; exponential.
    pub mean_gap_s: f64,
    /// Each lasts from one to the other, all alike.
    pub shortest_s: f64,
    pub longest_s: f64,
    /// Chance that it happens in a run at all.
    pub run_probability: f64,
}

/// A USB adapter and its bus, between a host and the air.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usb {
    /// The controller stays with a list; otherwise it takes one transaction of each (breadth first).
    pub depth_first: bool,
    /// Full-speed bandwidth reclamation.
    pub reclamation: bool,
    /// Transfers that the driver keeps outstanding: 1 is queueless.
    pub urbs_out: u32,
    pub urbs_in: u32,
    /// Packets that the adapter can keep for the air.
    pub buffer_frames: u32,
    /// Received frames that it can keep for the host.
    pub receive_buffer_frames: u32,
    /// It refuses a transfer's second transaction for so long.
    pub descriptor_s: f64,
    /// From a frame's end to the driver.
    pub interrupt_s: f64,
    /// What the driver needs from tcpdump to the submission of a packet, and from a completion to tcpdump.
    pub driver_s: f64,
}

/// The stations that share a channel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    pub stations: Vec<Station>,
    /// Stations talk to each other without an access point.
    pub ad_hoc: bool,
    pub beacons: bool,
    pub channel_mhz: u16,
    #[serde(default)]
    pub bursts: Vec<Bursts>,
    #[serde(default)]
    pub paths: Vec<Path>,
    /// What distance takes; null: nothing.
    #[serde(default)]
    pub path_loss: Option<PathLoss>,
    /// Fading by many waves: Doppler frequency (Hz), and power of the direct wave over that of the others; null: none.
    #[serde(default)]
    pub multipath: Option<(f64, f64)>,
    #[serde(default = "noise_dbm")]
    pub noise_dbm: f64,
    #[serde(default)]
    pub sniffer_m: (f64, f64),
}

/// Of a receiver 22 MHz wide with a noise figure of 6 dB.
fn noise_dbm() -> f64 {
    -95.0
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathLoss {
    pub sent_dbm: f64,
    pub first_metre_db: f64,
    pub exponent: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    pub node: usize,
    pub access_point: bool,
    pub cw_min: u16,
    pub cw_max: u16,
    pub short_retry_limit: u32,
    pub long_retry_limit: u32,
    pub rts_threshold_bytes: u32,
    pub short_preamble: bool,
    pub control_rate_mbps: f64,
    pub queue_frames: usize,
    pub post_backoff: bool,
    pub rate_control: RateSpec,
    /// It sends nothing: from (s), for (s), again after (s; 0: once).
    #[serde(default)]
    pub stalls_s: Vec<(f64, f64, f64)>,
    /// At the sniffer, where distances do not say.
    pub signal_dbm: f64,
    #[serde(default)]
    pub at_m: (f64, f64),
    #[serde(default)]
    pub walks_m_per_s: (f64, f64),
    /// All that it sends and receives fades: from (s), for (s), depth (dB), again after (s; 0: once).
    #[serde(default)]
    pub fades_s: Vec<(f64, f64, f64, f64)>,
    #[serde(default)]
    pub usb: Option<Usb>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum RateSpec {
    Fixed { rate_mbps: f64 },
    Arf { rates_mbps: Vec<f64> },
    Aarf { rates_mbps: Vec<f64> },
    Minstrel { rates_mbps: Vec<f64> },
    Multiplicative { ladder: Vec<(f64, u32)>, low_mbps: f64, up_after: u32 },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    pub clock: String,
    pub mean_gap: f64,
    pub mean_short: f64,
    pub mean_long: f64,
    pub long_share: f64,
    pub error_rate: f64,
}

/// What disturbs the way from one station to another, by their places in the cell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    pub from: usize,
    pub to: usize,
    pub snr_db: Option<f64>,
    #[serde(default)]
    pub frame_error_rate: f64,
    /// Which of the cell's burst processes; both ways of a link may share one.
    pub bursts: Option<usize>,
    /// From (s), for (s), depth (dB), again after (s; 0: once).
    #[serde(default)]
    pub fades_s: Vec<(f64, f64, f64, f64)>,
    /// The n-th data frames, from 0.
    #[serde(default)]
    pub lose_frames: Vec<u64>,
    #[serde(default)]
    pub blackouts_s: Vec<(f64, f64)>,
}

/// A line between two nodes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    pub a: usize,
    pub b: usize,
    pub rate_bps: f64,
    pub delay_s: f64,
    /// Bytes that the line adds to a packet.
    pub header_bytes: u32,
    /// Packets waiting at each end, the one being sent not counted.
    pub queue_packets: usize,
    /// Of both ends' queues.
    #[serde(default)]
    pub discipline: Discipline,
    /// Chance that the line loses a packet.
    #[serde(default)]
    pub loss_rate: f64,
    /// From b to a, where it is another.
    #[serde(default)]
    pub back_loss_rate: Option<f64>,
    /// Bursts of errors, each way: from (s), for (s), chance that a packet is lost, again after (s; 0: once).
    #[serde(default)]
    pub bursts_s: Vec<(f64, f64, f64, f64)>,
    /// From a to b: the n-th packets with data to lose, from 0.
    #[serde(default)]
    pub lose_data: Vec<u64>,
    #[serde(default)]
    pub blackouts_s: Vec<(f64, f64)>,
    /// From b to a: what would arrive from (s) is kept for (s).
    #[serde(default)]
    pub holds_s: Vec<(f64, f64)>,
    /// From b to a: the n-th packets without data to lose, from 0, ...
    #[serde(default)]
    pub lose_acks: Vec<u64>,
    /// ... and all of them from (s) for (s).
    #[serde(default)]
    pub ack_blackouts_s: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    pub client: usize,
    pub server: usize,
    pub start_s: f64,
    /// Begins when the transfer of this earlier flow is over instead, ...
    #[serde(default)]
    pub after: Option<usize>,
    /// ... and after a time of exponential distribution with this mean.
    #[serde(default)]
    pub think_s: f64,
    pub application: Application,
    #[serde(default)]
    pub tcp: Option<Tcp>,
    /// How the server's application reads; None: at once.
    #[serde(default)]
    pub reader: Option<Reader>,
}

/// An application that reads slowly.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reader {
    /// It reads so much at most ...
    pub bytes: u64,
    /// ... so often ...
    pub every_s: f64,
    /// ... except from (s) for (s).
    #[serde(default)]
    pub pauses_s: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    pub mss_bytes: u32,
    pub initial_window_segments: u32,
    pub receive_window_bytes: u32,
    pub sack: bool,
    pub dsack: bool,
    pub fack: bool,
    pub timestamps: bool,
    pub recovery: String,
    pub prr: bool,
    #[serde(default)]
    pub rate_halving: bool,
    pub limited_transmit: bool,
    #[serde(default)]
    pub repairs_all_first: bool,
    pub nagle: bool,
    pub delayed_ack_segments: u32,
    /// Early segments are acknowledged more often: (number of the last one, ACK every so many).
    #[serde(default)]
    pub delayed_ack_steps: Vec<(u64, u32)>,
    pub delayed_ack_timer_s: f64,
    pub quick_acks: u32,
    pub rto: String,
    pub rto_min_s: f64,
    #[serde(default)]
    pub rto_tick_s: f64,
    #[serde(default)]
    pub timer_phase_s: f64,
    pub eifel: bool,
    pub eifel_first_stamp_defect: bool,
    pub frto: bool,
    pub tail_loss_probe: bool,
    #[serde(default = "yes")]
    pub counts_segments: bool,
    #[serde(default = "yes")]
    pub cwnd_validation: bool,
    #[serde(default = "yes")]
    pub minshall: bool,
    #[serde(default = "yes")]
    pub silly_window_avoidance: bool,
    #[serde(default)]
    pub stale_dupacks: bool,
    #[serde(default)]
    pub keep_alive_s: f64,
    #[serde(default)]
    pub ack_pushed: bool,
    #[serde(default)]
    pub receive_window_first_bytes: u32,
    #[serde(default)]
    pub receive_window_steps: Vec<(u64, u32)>,
    #[serde(default)]
    pub receive_window_script: Vec<u32>,
    /// What holds the application's data at the client; None: no bound.
    #[serde(default)]
    pub send_buffer: Option<Buffer>,
}

/// A send buffer of finite size (`tcp::SendBuffer`).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    pub size_bytes: u64,
    pub grows_by_bytes: u64,
    pub overhead_bytes: u64,
    pub write_bytes: u64,
    pub wakeup_s: f64,
    pub first_write_s: f64,
}

fn yes() -> bool {
    true
}

/// Where captures are written; None: no tap there.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Taps {
    /// Node and file.
    pub sender: Option<Tap>,
    pub receiver: Option<Tap>,
    pub air: Option<Tap>,
    /// Node, which must have a USB adapter.
    pub usb: Option<Tap>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tap {
    pub path: std::path::PathBuf,
    #[serde(default)]
    pub node: usize,
    #[serde(default)]
    pub clock: TapConfig,
}

fn rate(mbps: f64) -> Rate {
    Rate { kbps: (mbps * 1000.0).round() as u32 }
}

impl RateSpec {
    pub fn build(&self, rng: Rng) -> Box<dyn RateControl> {
        let all = |rates: &[f64]| rates.iter().map(|r| rate(*r)).collect::<Vec<_>>();
        match self {
            RateSpec::Fixed { rate_mbps } => Box::new(Fixed(rate(*rate_mbps))),
            RateSpec::Arf { rates_mbps } => Box::new(Arf::new(all(rates_mbps), false)),
            RateSpec::Aarf { rates_mbps } => Box::new(Arf::new(all(rates_mbps), true)),
            RateSpec::Minstrel { rates_mbps } => Box::new(Minstrel::new(all(rates_mbps), 1536, rng)),
            RateSpec::Multiplicative { ladder, low_mbps, up_after } => {
                let ladder: Vec<_> = ladder.iter().map(|(r, n)| (rate(*r), *n)).collect();
                Box::new(Multiplicative::new(&ladder, rate(*low_mbps), *up_after))
            }
        }
    }
}

impl Station {
    pub fn mac(&self) -> MacConfig {
        MacConfig {
            cw_min: self.cw_min,
            cw_max: self.cw_max,
            short_retry_limit: self.short_retry_limit,
            long_retry_limit: self.long_retry_limit,
            rts_threshold_bytes: self.rts_threshold_bytes,
            preamble: if self.short_preamble { Preamble::Short } else { Preamble::Long },
            control_rate: rate(self.control_rate_mbps),
            queue_frames: self.queue_frames,
            post_backoff: self.post_backoff,
        }
    }
}

impl Usb {
    pub fn build(&self, mut rng: Rng) -> UsbConfig {
        UsbConfig {
            depth_first: self.depth_first,
            reclamation: self.reclamation,
            // The bus began to count its frames long before.
            phase: Ns::from(rng.below(1_000_000)),
            interrupt: ns(self.interrupt_s),
            descriptor: ns(self.descriptor_s),
            buffer_frames: self.buffer_frames,
        }
    }
}

impl Bursts {
    pub fn build(&self) -> Result<BurstConfig, Fault> {
        // Lengths on the clock of time come in seconds.
        let (clock, unit) = match self.clock.as_str() {
            "frames" => (Clock::Frames, 1.0),
            "time" => (Clock::Time, 1e9),
            other => return Err(format!("a burst clock is \"frames\" or \"time\", not {other:?}")),
        };
        Ok(BurstConfig {
            clock,
            mean_gap: self.mean_gap * unit,
            mean_short: self.mean_short * unit,
            mean_long: self.mean_long * unit,
            long_share: self.long_share,
            error_rate: self.error_rate,
        })
    }
}

impl Path {
    pub fn build(&self) -> PathConfig {
        let spans = self.blackouts_s.iter().map(|(start, lasts)| (ns(*start), ns(start + lasts))).collect();
        PathConfig {
            snr_db: self.snr_db,
            frame_error_rate: self.frame_error_rate,
            fades: fades(&self.fades_s),
            script: Script { frames: self.lose_frames.clone(), spans },
        }
    }
}

fn fades(list: &[(f64, f64, f64, f64)]) -> Vec<Fade> {
    let fade = |&(start, lasts, depth_db, every): &(f64, f64, f64, f64)| Fade {
        start: ns(start),
        end: ns(start + lasts),
        depth_db,
        every: ns(every),
    };
    list.iter().map(fade).collect()
}

impl Cell {
    pub fn floor(&self) -> Floor {
        let path_loss = self.path_loss.map(|p| channel::PathLoss {
            sent_dbm: p.sent_dbm,
            first_metre_db: p.first_metre_db,
            exponent: p.exponent,
        });
        let stations = self.stations.iter().map(|s| Place { at_m: s.at_m, walks_m_per_s: s.walks_m_per_s });
        let sniffer = Place { at_m: self.sniffer_m, walks_m_per_s: (0.0, 0.0) };
        Floor {
            path_loss,
            multipath: self.multipath,
            noise_dbm: self.noise_dbm,
            places: stations.chain([sniffer]).collect(),
            fades: self.stations.iter().map(|s| fades(&s.fades_s)).collect(),
        }
    }
}

impl Tcp {
    pub fn build(&self) -> Result<TcpConfig, Fault> {
        let floor = ns(self.rto_min_s);
        Ok(TcpConfig {
            mss_bytes: self.mss_bytes,
            initial_window_segments: self.initial_window_segments,
            receive_window_bytes: self.receive_window_bytes,
            sack: self.sack,
            dsack: self.dsack,
            fack: self.fack,
            timestamps: self.timestamps,
            recovery: match self.recovery.as_str() {
                "reno" => Recovery::Reno,
                "newreno" => Recovery::NewReno,
                "newreno_careless" => Recovery::NewRenoCareless,
                other => return Err(format!("no TCP recovery is called {other:?}")),
            },
            prr: self.prr,
            rate_halving: self.rate_halving,
            limited_transmit: self.limited_transmit,
            repairs_all_first: self.repairs_all_first,
            nagle: self.nagle,
            delayed_ack_segments: self.delayed_ack_segments,
            delayed_ack_steps: self.delayed_ack_steps.clone(),
            delayed_ack_timer: ns(self.delayed_ack_timer_s),
            quick_acks: self.quick_acks,
            rto: match self.rto.as_str() {
                "rfc6298" => RtoFlavour::Rfc6298 { floor, granularity: 1_000_000 },
                "linux" => RtoFlavour::Linux { floor, tick: ns(self.rto_tick_s) },
                "linux24" => RtoFlavour::Linux24,
                "linux22" => RtoFlavour::Linux22 { keeps_backoff: true },
                "linux22_reset" => RtoFlavour::Linux22 { keeps_backoff: false },
                other => return Err(format!("no retransmission timer is called {other:?}")),
            },
            wheel: Wheel { tick: ns(self.rto_tick_s), phase: ns(self.timer_phase_s) },
            eifel: self.eifel,
            eifel_first_stamp_defect: self.eifel_first_stamp_defect,
            frto: self.frto,
            tail_loss_probe: self.tail_loss_probe,
            counts_segments: self.counts_segments,
            cwnd_validation: self.cwnd_validation,
            minshall: self.minshall,
            silly_window_avoidance: self.silly_window_avoidance,
            stale_dupacks: self.stale_dupacks,
            keep_alive: ns(self.keep_alive_s),
            ack_pushed: self.ack_pushed,
            receive_window_first_bytes: self.receive_window_first_bytes,
            receive_window_steps: self.receive_window_steps.clone(),
            receive_window_script: self.receive_window_script.clone(),
            send_buffer: self.send_buffer.as_ref().map_or_else(SendBuffer::default, |b| SendBuffer {
                bytes: b.size_bytes,
                grows_by_bytes: b.grows_by_bytes,
                overhead_bytes: b.overhead_bytes,
                write_bytes: b.write_bytes,
                wakeup: ns(b.wakeup_s),
                first_write: ns(b.first_write_s),
            }),
            ..TcpConfig::default()
        })
    }
}

pub fn spans(list: &[(f64, f64)]) -> Vec<(Ns, Ns)> {
    list.iter().map(|(start, lasts)| (ns(*start), ns(start + lasts))).collect()
}

pub fn seconds(s: f64) -> Ns {
    ns(s)
}

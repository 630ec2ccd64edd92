//! The description of a world, as a scenario hands it over (JSON). Units are in the names.

mod build;
mod time;

use serde::Deserialize;

use crate::application::Application;
use crate::router::Discipline;
use crate::taps::TapConfig;

pub use time::{seconds, spans};

/// What makes a description impossible, in words.
pub type Fault = String;

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

/// The unit of a burst's lengths.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BurstClock {
    Frames,
    /// Seconds.
    Time,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    pub clock: BurstClock,
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

/// How losses are recovered without SACK (`tcp::Recovery`).
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryName {
    Reno,
    Newreno,
    NewrenoCareless,
}

/// The retransmission timer (`tcp::RtoFlavour`).
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RtoName {
    Rfc6298,
    Linux,
    Linux24,
    Linux22,
    /// Linux 2.2 that resets its backoff on an ACK of new data.
    Linux22Reset,
}

/// One end of a connection (`tcp::TcpConfig`).
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
    pub recovery: RecoveryName,
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
    pub rto: RtoName,
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

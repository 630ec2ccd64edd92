//! The description of a world in JSON, as a scenario writes it. Units are in the names.

mod build;
mod time;

use serde::Deserialize;

use crate::application::Application;
use crate::router::Discipline;
use crate::taps::TapConfig;

pub use time::{seconds, spans};

/// A contradiction in a description, in words.
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
    /// Whether to keep what the true ledger is made of.
    #[serde(default)]
    pub ledger: bool,
}

/// A host, an access point or a router.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub name: String,
    /// Packets in the queue between its stack and its device, before tcpdump.
    pub queue_packets: usize,
    /// Discipline of that queue.
    #[serde(default)]
    pub discipline: Discipline,
    /// The adapter holds received packets: from (s), for (s).
    #[serde(default)]
    pub holds_s: Vec<(f64, f64)>,
    /// It loses data packets that it should forward: from (s), again after (s; 0: once), number of packets.
    #[serde(default)]
    pub drops_s: Vec<(f64, f64, u32)>,
    /// Holds at random times, in addition.
    #[serde(default)]
    pub holds: Option<Holds>,
}

/// At random times an adapter holds the packets that it receives.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holds {
    /// Mean time from a hold's end to the start of the next; exponential.
    pub mean_gap_s: f64,
    /// Each lasts from one to the other, uniformly distributed.
    pub shortest_s: f64,
    pub longest_s: f64,
    /// Probability that a run has any holds.
    pub run_probability: f64,
}

/// A USB adapter and its bus, between a host and the air.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usb {
    /// The controller finishes a list; otherwise it takes one transaction of each (breadth first).
    pub depth_first: bool,
    /// Full-speed bandwidth reclamation.
    pub reclamation: bool,
    /// Transfers that the driver keeps outstanding; with 1 there is no queue.
    pub urbs_out: u32,
    pub urbs_in: u32,
    /// Packets that the adapter can buffer for the air.
    pub buffer_frames: u32,
    /// Received frames that it can buffer for the host.
    pub receive_buffer_frames: u32,
    /// Time for which it refuses a transfer's second transaction.
    pub descriptor_s: f64,
    /// From a frame's end to the driver.
    pub interrupt_s: f64,
    /// Driver delay from tcpdump to the submission of a packet, and from a completion to tcpdump.
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
    /// Null: no path loss.
    #[serde(default)]
    pub path_loss: Option<PathLoss>,
    /// Multipath fading: Doppler frequency (Hz), and power of the direct path over that of the others; null: none.
    #[serde(default)]
    pub multipath: Option<(f64, f64)>,
    #[serde(default = "noise_dbm")]
    pub noise_dbm: f64,
    #[serde(default)]
    pub sniffer_m: (f64, f64),
}

/// For a receiver 22 MHz wide with a noise figure of 6 dB.
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
    /// At the sniffer, without path loss.
    pub signal_dbm: f64,
    #[serde(default)]
    pub at_m: (f64, f64),
    #[serde(default)]
    pub walks_m_per_s: (f64, f64),
    /// Fades of all frames that it sends and receives: from (s), for (s), depth (dB), again after (s; 0: once).
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

/// The disturbance of the direction from one station to another, by their numbers in the cell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    pub from: usize,
    pub to: usize,
    pub snr_db: Option<f64>,
    #[serde(default)]
    pub frame_error_rate: f64,
    /// Which of the cell's burst processes; both directions of a link may share one.
    pub bursts: Option<usize>,
    /// From (s), for (s), depth (dB), again after (s; 0: once).
    #[serde(default)]
    pub fades_s: Vec<(f64, f64, f64, f64)>,
    /// Numbers of the data frames to lose, from 0.
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
    /// Discipline of both queues.
    #[serde(default)]
    pub discipline: Discipline,
    /// Probability that the line loses a packet.
    #[serde(default)]
    pub loss_rate: f64,
    /// From b to a, if different.
    #[serde(default)]
    pub back_loss_rate: Option<f64>,
    /// Bursts of errors in each direction: from (s), for (s), probability that a packet is lost, again after (s; 0: once).
    #[serde(default)]
    pub bursts_s: Vec<(f64, f64, f64, f64)>,
    /// From a to b: numbers of the data packets to lose, from 0.
    #[serde(default)]
    pub lose_data: Vec<u64>,
    #[serde(default)]
    pub blackouts_s: Vec<(f64, f64)>,
    /// From b to a: packets that would arrive from (s) are held for (s).
    #[serde(default)]
    pub holds_s: Vec<(f64, f64)>,
    /// From b to a: numbers of the packets without data to lose, from 0.
    #[serde(default)]
    pub lose_acks: Vec<u64>,
    /// From b to a: all packets without data are lost from (s) for (s).
    #[serde(default)]
    pub ack_blackouts_s: Vec<(f64, f64)>,
    /// Share of the packets that take longer, and by how much at most (s; uniform): later packets overtake them.
    #[serde(default)]
    pub jitter_share: f64,
    #[serde(default)]
    pub jitter_s: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    pub client: usize,
    pub server: usize,
    pub start_s: f64,
    /// It begins when the transfer of this earlier flow has ended instead of at `start_s`.
    #[serde(default)]
    pub after: Option<usize>,
    /// Mean of an exponentially distributed time after that.
    #[serde(default)]
    pub think_s: f64,
    pub application: Application,
    #[serde(default)]
    pub tcp: Option<Tcp>,
    /// How the server's application reads; None: immediately.
    #[serde(default)]
    pub reader: Option<Reader>,
}

/// An application that reads slowly.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reader {
    /// Most bytes per read.
    pub bytes: u64,
    /// Time between reads.
    pub every_s: f64,
    /// It does not read from (s) for (s).
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
    #[serde(default)]
    pub lost_retransmissions: bool,
    #[serde(default)]
    pub linux24_scoreboard: bool,
    #[serde(default)]
    pub burst_segments: u32,
    pub limited_transmit: bool,
    #[serde(default = "dupack_threshold")]
    pub dupack_threshold: u32,
    #[serde(default)]
    pub repairs_all_first: bool,
    pub nagle: bool,
    pub delayed_ack_segments: u32,
    /// Early segments are acknowledged more often: (number of the last one, segments per ACK).
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
    /// The client's send buffer; None: unlimited.
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

/// RFC 5681's.
fn dupack_threshold() -> u32 {
    3
}

fn yes() -> bool {
    true
}

/// Where captures are written; None: no capture.
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

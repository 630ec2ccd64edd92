//! The sender: windows, losses, recovery and timers, in the order of Linux's decisions.

mod ack;
mod output;
mod recovery;
mod timers;
mod waits;
mod window;

use super::config::TcpConfig;
use super::rto::Rto;
use super::scoreboard::{Acked, Scoreboard};
use super::segment::Trigger;
use crate::engine::Ns;

/// The sender's state (RFC 5681, 6582, 6675; Linux's names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    Open,
    Disorder,
    Recovery,
    Loss,
}

/// What a sender waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// The peer's part of the handshake.
    #[default]
    Handshake,
    /// Nothing is outstanding, and the application has given nothing more.
    Application,
    /// Nothing is outstanding, and the peer's window is closed.
    ClosedWindow,
    /// Everything is acknowledged, FIN included.
    Closed,
    /// ACKs, in the state after a timeout.
    Loss,
    /// ACKs, in fast recovery.
    Recovery,
    /// The peer's window: the congestion window has room.
    Window,
    /// The congestion window, which is below the threshold.
    SlowStart,
    /// The congestion window.
    Congestion,
    /// ACKs of what is outstanding: the application has given nothing more.
    LastAcks,
    /// ACKs that let a small segment go (Nagle).
    SmallSegment,
}

/// The variables of a sender's timer and windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variables {
    pub srtt: Option<Ns>,
    /// Mean deviation of the round trip.
    pub mdev: Ns,
    /// The current timeout.
    pub rto: Ns,
    pub cwnd: u32,
    /// None before the first loss.
    pub ssthresh: Option<u32>,
    /// Expiries of the timer that count as consecutive.
    pub expiries: u32,
    /// Doublings of the timeout.
    pub backoff: u32,
    /// Segments sent and not acknowledged.
    pub outstanding: u32,
}

/// An event for the ground truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Timeout {
        seq: u64,
        /// Before it.
        variables: Variables,
    },
    /// After a timeout, and after each ACK of new data in the recovery that follows.
    Loss {
        una: u64,
        variables: Variables,
    },
    TimeoutUndone,
    RecoveryBegan {
        seq: u64,
    },
    RecoveryUndone,
    RecoveryEnded,
    /// The third duplicate ACK for `seq` came, which had not been retransmitted in this recovery: a fast retransmit may follow.
    ThirdDuplicate {
        seq: u64,
    },
    /// A zero-window probe.
    WindowProbe {
        wait: Ns,
    },
    /// The peer's window limits the sender from here on: the window is filled, or holds no segment; or it no longer limits.
    WindowFilled,
    WindowClosed,
    WindowFreed,
    /// The receiver's delayed-ACK timer sent an ACK.
    DelayedAck {
        ack: u64,
    },
}

#[derive(Debug)]
pub struct Sender {
    pub una: u64,
    pub next: u64,
    /// The application has written up to here; FIN follows when it has closed.
    pub written: u64,
    pub closed: bool,
    pub scoreboard: Scoreboard,
    pub state: State,
    pub cwnd: u32,
    pub ssthresh: u32,
    /// Acknowledged segments since the window last grew in congestion avoidance.
    grown: u32,
    /// Whether the window was filled recently, and how far (the problem of RFC 7661, Linux's solution).
    filled: bool,
    most_out: u32,
    usage_until: u64,
    /// The peer's window: its right edge; its maximum; the sequence number of its last update.
    pub window_end: u64,
    pub window_most: u32,
    window_updated_by: u64,
    window_state: Event,
    pub rto: Rto,
    /// When the timer for retransmission, tail loss probe or window probe fires.
    pub timer: Option<Ns>,
    timer_is: Timer,
    /// Consecutive window probes.
    window_probes: u32,
    probed: Option<u64>,
    /// Recovery point.
    high: u64,
    /// Duplicate ACKs that count for segments that left the network (no SACK).
    dupacks: u32,
    /// Consecutive duplicate ACKs for `una`.
    consecutive_dupacks: u32,
    /// The same for the truth: also those that report a hole again with what came twice.
    repeated_acks: u32,
    /// Duplicate ACKs needed: more after reordering.
    threshold: u32,
    /// Proportional rate reduction.
    prr_delivered: u32,
    prr_out: u32,
    prior_cwnd: u32,
    /// The current recovery has retransmitted a segment.
    has_retransmitted: bool,
    /// For undo.
    undo_cwnd: Option<(u32, u32)>,
    undo_retransmissions: u32,
    undo_of_timeout: bool,
    /// Timestamp of the first retransmission; 0 for none.
    retransmit_timestamp: u32,
    /// Expiries since the last ACK of new data.
    expiries: u32,
    frto: bool,
    /// F-RTO's step 2b: new data is sent first, and alone if there is any.
    new_first: bool,
    /// End of the last small segment sent (Minshall).
    small_end: u64,
    pub events: Vec<Event>,
}

/// The purpose of the timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Timer {
    #[default]
    Retransmission,
    TailLossProbe,
    WindowProbe,
    KeepAlive,
}

/// A full 16-bit window, in segments, is beyond any simulated path.
const CWND_MOST: u32 = 1 << 20;
/// No path reorders by more (Linux's tcp_max_reordering).
const THRESHOLD_MOST: u32 = 300;

impl Sender {
    pub fn new(config: &TcpConfig) -> Self {
        Sender {
            una: 0,
            next: 0,
            written: 1,
            closed: false,
            scoreboard: Scoreboard::default(),
            state: State::Open,
            cwnd: config.initial_window_segments.max(1),
            ssthresh: config.initial_ssthresh_segments.max(2),
            grown: 0,
            filled: false,
            most_out: 0,
            usage_until: 0,
            window_end: 1,
            window_most: 0,
            window_updated_by: 0,
            window_state: Event::WindowFreed,
            rto: Rto::new(config.rto),
            timer: None,
            timer_is: Timer::Retransmission,
            window_probes: 0,
            probed: None,
            high: 0,
            dupacks: 0,
            consecutive_dupacks: 0,
            repeated_acks: 0,
            threshold: config.dupack_threshold,
            prr_delivered: 0,
            prr_out: 0,
            prior_cwnd: 0,
            has_retransmitted: false,
            undo_cwnd: None,
            undo_retransmissions: 0,
            undo_of_timeout: false,
            retransmit_timestamp: 0,
            expiries: 0,
            frto: false,
            new_first: false,
            small_end: 0,
            events: Vec::new(),
        }
    }

    /// Everything written, FIN included, is acknowledged.
    pub fn drained(&self) -> bool {
        self.una >= self.written + u64::from(self.closed) && self.scoreboard.is_empty()
    }

    fn variables(&self) -> Variables {
        Variables {
            srtt: self.rto.srtt(),
            mdev: self.rto.mdev(),
            rto: self.rto.current(self.cwnd),
            cwnd: self.cwnd,
            ssthresh: Some(self.ssthresh).filter(|s| *s < u32::MAX),
            expiries: self.expiries,
            backoff: self.rto.backoff,
            outstanding: self.scoreboard.len(),
        }
    }

    /// Segments that count against the congestion window.
    fn pipe(&self, config: &TcpConfig, sack: bool) -> u32 {
        if sack {
            return self.scoreboard.pipe();
        }
        match self.state {
            // RFC 5681 inflates the window instead.
            State::Recovery if inflates(config) => self.scoreboard.len(),
            State::Open | State::Disorder if !config.limited_transmit => self.scoreboard.pipe(),
            _ => self.scoreboard.pipe().saturating_sub(self.dupacks),
        }
    }
}

/// The next segment to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Retransmit(u64, Trigger),
    New { len: u32, fin: bool },
}

/// What to send when the timer fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fired {
    Retransmit(u64, Trigger),
    /// A segment without data that makes the peer send its window.
    Probe,
}

/// A segment sent for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct New {
    pub len: u32,
    pub syn: bool,
    pub fin: bool,
    pub psh: bool,
}

#[derive(Debug)]
struct Facts {
    advanced: bool,
    duplicate: bool,
    delivered: u32,
    acked: Acked,
    original_sacked: bool,
    sack: bool,
    /// Segments newly SACKed, and whether any was newly marked as lost.
    newly_sacked: u32,
    newly_lost: bool,
    /// It reports a duplicate.
    dsack: bool,
}

/// Whether duplicate ACKs inflate the window in a recovery (RFC 5681); else a rule limits what each ACK releases.
fn inflates(config: &TcpConfig) -> bool {
    !config.prr && !config.rate_halving
}

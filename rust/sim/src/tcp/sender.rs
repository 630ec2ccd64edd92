//! The sending half: windows, losses, recovery and timers, in the order in which Linux decides them.

mod ack;
mod output;
mod recovery;
mod timers;
mod window;

use super::board::{Acked, Board};
use super::config::TcpConfig;
use super::rto::Rto;
use super::segment::Trigger;
use crate::engine::Ns;

/// Where the sender is (RFC 5681, 6582, 6675; Linux's names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    Open,
    Disorder,
    Recovery,
    Loss,
}

/// Something worth a line in the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Timeout {
        seq: u64,
        rto: Ns,
        backoff: u32,
    },
    TimeoutUndone,
    RecoveryBegan {
        seq: u64,
    },
    RecoveryUndone,
    RecoveryEnded,
    /// The third duplicate ACK for `seq` came and nothing was retransmitted for it.
    ThirdDuplicate {
        seq: u64,
    },
    /// A closed window was asked after.
    WindowProbe {
        wait: Ns,
    },
    /// From here on only the peer's window keeps the sender from sending: it is filled, or holds no segment; no longer.
    WindowFilled,
    WindowClosed,
    WindowFreed,
    /// The receiving half's timer sent an ACK that it had put off.
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
    pub board: Board,
    pub state: State,
    pub cwnd: u32,
    pub ssthresh: u32,
    /// ACKed segments since the window last grew in congestion avoidance.
    grown: u32,
    /// Whether the window was filled of late, and how far (RFC 7661's question, Linux's answer).
    filled: bool,
    most_out: u32,
    usage_until: u64,
    /// The peer's window: its right edge; the greatest it has offered; what it was told by.
    pub window_end: u64,
    pub window_most: u32,
    window_told_by: u64,
    window_state: Event,
    pub rto: Rto,
    /// When the retransmission timer, the probe's or the closed window's fires.
    pub timer: Option<Ns>,
    timer_is: Timer,
    /// Probes of a closed window without an open one in between.
    window_probes: u32,
    probed: Option<u64>,
    /// Recovery point.
    high: u64,
    /// Duplicate ACKs that count for segments that left the network (no SACK).
    dupacks: u32,
    /// Duplicate ACKs in a row for `una`, whatever they count for.
    in_a_row: u32,
    /// Duplicate ACKs needed: more after reordering was seen.
    threshold: u32,
    /// Proportional rate reduction.
    prr_delivered: u32,
    prr_out: u32,
    prior_cwnd: u32,
    /// The recovery under way has sent something again.
    resent_fast: bool,
    /// For undo.
    undo_cwnd: Option<(u32, u32)>,
    undo_resends: u32,
    undo_of_timeout: bool,
    /// Timestamp of the first retransmission; 0 for none.
    resend_stamp: u32,
    /// Expiries since the last ACK of new data.
    expiries: u32,
    frto: bool,
    /// F-RTO's step 2b: new data goes first, and alone if there is any.
    new_first: bool,
    /// End of the last small segment sent (Minshall).
    small_end: u64,
    pub events: Vec<Event>,
}

/// What the one timer was set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Timer {
    #[default]
    Retransmission,
    TailLossProbe,
    WindowProbe,
    KeepAlive,
}

/// A full window of 16 bits, in segments, is beyond any path simulated here.
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
            board: Board::default(),
            state: State::Open,
            cwnd: config.initial_window_segments.max(1),
            ssthresh: config.initial_ssthresh_segments.max(2),
            grown: 0,
            filled: false,
            most_out: 0,
            usage_until: 0,
            window_end: 1,
            window_most: 0,
            window_told_by: 0,
            window_state: Event::WindowFreed,
            rto: Rto::new(config.rto),
            timer: None,
            timer_is: Timer::Retransmission,
            window_probes: 0,
            probed: None,
            high: 0,
            dupacks: 0,
            in_a_row: 0,
            threshold: config.dupack_threshold,
            prr_delivered: 0,
            prr_out: 0,
            prior_cwnd: 0,
            resent_fast: false,
            undo_cwnd: None,
            undo_resends: 0,
            undo_of_timeout: false,
            resend_stamp: 0,
            expiries: 0,
            frto: false,
            new_first: false,
            small_end: 0,
            events: Vec::new(),
        }
    }

    /// Everything written, FIN included, is acknowledged.
    pub fn drained(&self) -> bool {
        self.una >= self.written + u64::from(self.closed) && self.board.is_empty()
    }

    /// Segments that count against the congestion window.
    fn pipe(&self, config: &TcpConfig, sack: bool) -> u32 {
        if sack {
            return self.board.pipe();
        }
        match self.state {
            // RFC 5681 inflates the window instead.
            State::Recovery if inflates(config) => self.board.len(),
            State::Open | State::Disorder if !config.limited_transmit => self.board.pipe(),
            _ => self.board.pipe().saturating_sub(self.dupacks),
        }
    }
}

/// What `next_to_send` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Again(u64, Trigger),
    New { len: u32, fin: bool },
}

/// What the timer wants sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fired {
    Again(u64, Trigger),
    /// A segment that has no data and makes the peer tell its window.
    AskWindow,
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
    /// Segments newly SACKed, and whether any was newly treated as lost.
    news: u32,
    newly_lost: bool,
    /// It reports a duplicate.
    dsack: bool,
}

/// Whether duplicate ACKs inflate the window in a recovery (RFC 5681), instead of a rule for what each ACK lets out.
fn inflates(config: &TcpConfig) -> bool {
    !config.prr && !config.rate_halving
}

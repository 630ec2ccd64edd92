//! Events of one sender that later packets decide.

use super::kinds::{By, RecoveryEnd, State, TimeoutKind, Trigger};

/// A retransmission that was found to be needed, or left undecided.
#[derive(Debug, Clone, Copy)]
pub struct Settled {
    pub start: i64,
    pub end: i64,
    pub row: u64,
    pub needed: bool,
}

/// A timer expiry whose kind or end is not yet decided.
#[derive(Debug, Clone, Copy)]
pub struct Timeout {
    pub id: u64,
    pub packet: u64,
    pub t: i64,
    pub start: i64,
    pub len: u32,
    pub kind: Option<TimeoutKind>,
    pub by: Option<By>,
    pub evidence_packet: Option<u64>,
    pub backoff: u16,
    pub rto: Option<i64>,
    pub fresh_rto: Option<i64>,
    pub waited: i64,
    pub silent_from: i64,
    pub progress: Option<(i64, u64)>,
    pub flight: u32,
    /// Highest sequence sent at the expiry.
    pub sent_end: i64,
    pub no_dupacks: bool,
    pub known_tail: Option<bool>,
}

/// A fast recovery in progress or just ended.
#[derive(Debug, Clone, Copy)]
pub struct Recovery {
    pub id: u64,
    pub packet: u64,
    pub t: i64,
    pub t_end: i64,
    pub ended: Option<RecoveryEnd>,
    pub dupacks: u16,
    pub retransmissions: u32,
    pub spurious: u32,
    pub undecided: u32,
    pub open: u32,
    pub recover: i64,
    pub first_row: u64,
    /// Whether the first segment retransmitted was spurious.
    pub first_spurious: Option<bool>,
}

/// A tail loss probe; the next expiry shows whether it was an expiry itself.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    pub row: u64,
    pub t: i64,
    pub start: i64,
    pub end: i64,
    pub packet: u64,
    pub waited: i64,
    pub silent_from: i64,
    pub len: u32,
    /// The probe was the only segment outstanding: head and tail at once.
    pub alone: bool,
    /// Undecided: it may have been an expiry.
    pub trigger: Trigger,
}

/// A timeout whose bytes had been acknowledged when it passed the tap: were the ACKs late or lost?
#[derive(Debug, Clone, Copy)]
pub struct EchoWait {
    pub timeout: u64,
    /// An echo of this TSval or a newer one shows that an ACK of the bytes arrived.
    pub acked: u32,
    /// TSval of the last ACK before the retransmission, and how long before the timer expired it passed (by the sender's clock).
    pub last: u32,
    pub before: i64,
    /// The ACK that answered the retransmission: its TSval, and when it passed.
    pub answer: Option<(u32, i64)>,
    /// Of a SYN: its sender answers a SYN+ACK at once.
    pub syn: bool,
    /// The ACKs came with data, or after data, that the sender may lack: it echoes none of them until that is repaired.
    pub blocked: bool,
}

/// A small segment was outstanding, and without an ACK a full one followed: it holds more than one write.
#[derive(Debug, Clone, Copy)]
pub struct KeptBack {
    /// When the small segment passed, and when the full one did.
    pub small_at: i64,
    pub full_at: i64,
    /// The full segment ends here.
    pub end: i64,
    /// Since when the small one waited at the receiver, and what its sender seemed to wait for.
    pub since: i64,
    pub state: State,
}

/// An ACK beyond everything sent, until another packet confirms or refutes it.
#[derive(Debug, Clone, Copy)]
pub struct HeldAck {
    pub packet: u64,
    pub t: i64,
    pub ack: i64,
    pub raw_window: u16,
    pub window: Option<u32>,
    pub timestamps: Option<(u32, u32)>,
    pub sack_ok: bool,
}

//! The categories of the true ledger, and its rows.

use crate::engine::Ns;

/// Where a second of a direction's life went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Category {
    Handshake,
    Application,
    ReceiverWindow,
    DelayedAck,
    RtoWait,
    RtoBackoff,
    SpuriousRecovery,
    LossRecovery,
    FastRecovery,
    SlowStart,
    Usb,
    AirUseful,
    AirRetries,
    AirOthers,
    Queue,
    Path,
    Unknown,
}

/// Names of the categories, by code.
pub const CATEGORIES: [&str; 17] = [
    "handshake",
    "application",
    "receiver_window",
    "delayed_ack",
    "rto_wait",
    "rto_backoff",
    "spurious_recovery",
    "loss_recovery",
    "fast_recovery",
    "slow_start",
    "usb",
    "air_useful",
    "air_retries",
    "air_others",
    "queue",
    "path",
    "unknown",
];

/// One interval of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerRow {
    pub flow: u32,
    pub reverse: bool,
    pub category: Category,
    pub start: Ns,
    pub end: Ns,
}

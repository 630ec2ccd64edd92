//! Duplicate ACKs, run by run, and what they and timestamps show of a trigger.

use super::kinds::{Evidence, Trigger};

/// Duplicate ACKs with one number: when the first and the third passed, and the echoes that show that they reached the sender (0 for
/// none, or without timestamps).
#[derive(Debug, Clone, Copy, Default)]
pub struct DupRun {
    pub una: i64,
    pub first: u32,
    pub third: u32,
    pub first_at: Option<i64>,
    pub third_at: Option<i64>,
    /// It began with an ACK of new bytes that carried SACK: earlier ACKs may have reported this hole above theirs.
    pub reported_before: bool,
}

/// The latest runs of duplicate ACKs.
pub type DupRuns = [DupRun; 4];

/// What the timestamps show of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Is(Trigger, Evidence),
    /// No timer sent it.
    NoTimer,
    /// No duplicate ACKs and no SACK called for it at once.
    NoAck,
    Nothing,
}

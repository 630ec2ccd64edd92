//! Duplicate ACKs, run by run, the latest of them.

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

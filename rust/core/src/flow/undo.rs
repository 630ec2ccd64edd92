//! What a sender remembers to undo a spurious timeout.

/// What the sender remembers of its retransmissions since it left state Open.
#[derive(Debug, Clone, Copy, Default)]
pub struct Undo {
    /// Timestamp of the first retransmission.
    pub first_tsval: Option<u32>,
    /// Before the first retransmission it was in slow start.
    pub in_slow_start: bool,
    /// Everything below it was acknowledged before the first retransmission.
    pub marker: i64,
    /// Retransmissions that no DSACK has reported; None before the first.
    pub unreported: Option<i64>,
    /// After the timeout: no ACK has shown yet that the loss was real (RFC 5682 section 2.1).
    pub frto: bool,
    /// The last ACK let the sender undo the timeout; its next transmission shows whether it did.
    pub tentative: Option<By>,
    /// No new data confirmed the latest undoing by F-RTO; and so it was before the first retransmission, which may not be the first then.
    pub unconfirmed: bool,
    pub doubted: bool,
    /// An ACK let the sender undo its fast recovery: when, and the end of the data sent before.
    pub left_recovery: Option<(i64, i64)>,
    /// Away from the sender: ACKs that passed before the timer's packet may let it undo the timeout.
    pub unseen: bool,
    /// The end of the data sent before that ACK, and when it came.
    pub sent_end: i64,
    pub at: i64,
}

/// What lets a sender undo a timeout: an echoed timestamp or a DSACK, which every Linux uses, or F-RTO, which can be off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Echo,
    Dsack,
    Frto,
}

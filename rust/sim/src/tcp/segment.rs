//! A TCP segment, and why it was sent.

/// Why a segment with data was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// For the first time.
    New,
    /// When the retransmission timer expired.
    Rto,
    /// In the recovery after a timeout.
    GoBackN,
    /// On the third duplicate ACK.
    Fast,
    /// On a partial ACK in fast recovery.
    PartialAck,
    /// SACK blocks showed the hole.
    Sack,
    /// A tail loss probe (RFC 8985).
    TailLossProbe,
    /// A SYN+ACK that answers a repeated SYN.
    Answer,
}

/// A segment as one end passes it to its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub seq: u64,
    pub len: u32,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    /// The application's last write ends here, as far as the sender knew.
    pub psh: bool,
    /// Offset in the peer's sequence space; None: no ACK flag.
    pub ack: Option<u64>,
    /// The receive window, bytes.
    pub window: u32,
    /// Selective acknowledgements, the most recent first; a DSACK is the first.
    pub sack: [(u64, u64); 4],
    pub sack_blocks: u8,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    pub trigger: Trigger,
    /// Number of earlier transmissions of its first byte.
    pub copy: u16,
}

impl Segment {
    /// Sequence numbers that it occupies.
    pub fn span(&self) -> u64 {
        u64::from(self.len) + u64::from(self.syn) + u64::from(self.fin)
    }
}

//! The causes that a retransmission can have: a set, from which evidence removes some.

use super::kinds::{Evidence, Trigger};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Causes(u8);

impl Causes {
    pub const NONE: Causes = Causes(0);
    /// The third duplicate ACK, or as much SACK evidence: fast retransmit (RFC 5681 section 3.2, RFC 6675 section 5).
    pub const REPORT: Causes = Causes(1);
    /// A hole found in fast recovery, or a copy that was lost again (RFC 6582 section 3.2, RFC 6675 section 5, RFC 8985 section 6).
    pub const REPAIR: Causes = Causes(2);
    /// What follows a timeout (RFC 5681 section 3.1).
    pub const GO_BACK: Causes = Causes(4);
    /// The retransmission timer expired (RFC 6298 section 5).
    pub const EXPIRY: Causes = Causes(8);
    /// The probe timer expired (RFC 8985 section 7).
    pub const PROBE: Causes = Causes(16);
    /// A packet of the peer that is no report: it opened a closed window, or repeated its SYN.
    pub const ANSWER: Causes = Causes(32);
    /// All that an ACK calls for.
    pub const BY_ACK: Causes = Causes(1 | 2 | 4);
    /// Fast retransmit and fast recovery.
    pub const FAST: Causes = Causes(1 | 2);
    /// A timeout, now or before.
    pub const AFTER_TIMEOUT: Causes = Causes(4 | 8);
    /// What a sender may do that repairs nothing yet.
    pub const CALM: Causes = Causes(1 | 8 | 16 | 32);
    pub const ALL: Causes = Causes(63);

    pub const fn or(self, other: Causes) -> Causes {
        Causes(self.0 | other.0)
    }

    pub fn without(self, other: Causes) -> Causes {
        Causes(self.0 & !other.0)
    }

    pub fn has(self, any: Causes) -> bool {
        self.0 & any.0 != 0
    }

    pub fn is_one(self) -> bool {
        self.0.is_power_of_two()
    }

    /// What these rules leave: where evidence is present, its causes are impossible.
    pub fn unless(self, rules: &[(bool, Causes)]) -> Causes {
        rules.iter().filter(|rule| rule.0).fold(self, |left, rule| left.without(rule.1))
    }

    /// The trigger and its evidence, if one cause is left.
    pub fn named(self, sack_ok: bool, head: bool, report: Evidence) -> (Trigger, Evidence) {
        match self {
            Causes::REPORT => (Trigger::Fast, report),
            Causes::REPAIR if sack_ok => (Trigger::Sack, Evidence::SackBlocks),
            Causes::REPAIR if head => (Trigger::PartialAck, Evidence::PartialAck),
            Causes::REPAIR => (Trigger::Fast, Evidence::DuplicateAcks),
            Causes::GO_BACK => (Trigger::GoBackN, Evidence::AfterTimeout),
            Causes::EXPIRY => (Trigger::Rto, Evidence::TimerExpired),
            Causes::PROBE => (Trigger::TailLossProbe, Evidence::ProbeTimer),
            // Whether the recovery began here is undecided.
            Causes::FAST if sack_ok => (Trigger::Sack, Evidence::SackBlocks),
            Causes::FAST => (Trigger::Fast, report),
            // It expired for these bytes, or for others before, whose copy is missing.
            Causes::AFTER_TIMEOUT => (Trigger::Undecided, Evidence::AfterTimeout),
            // A timer sent it: which one is undecided.
            Causes(24) => (Trigger::Undecided, Evidence::TimerExpired),
            Causes::NONE => (Trigger::Undecided, Evidence::NoAckSeen),
            _ => (Trigger::Undecided, Evidence::SameBytes),
        }
    }
}

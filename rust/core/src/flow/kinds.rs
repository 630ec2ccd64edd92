//! The enums of the TCP tables, in the order of their value lists in `table::tcp`.

use crate::packet::flags;

macro_rules! enums {
    ($($(#[$meta:meta])* $name:ident { $($variant:ident),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(i8)]
        pub enum $name { $($variant),* }
    )*};
}

enums! {
    /// The kind of a segment.
    Kind { Syn, SynAck, Data, Ack, DupAck, WindowUpdate, KeepAlive, KeepAliveAck, WindowProbe, Fin, Rst }
    /// First transmission, retransmission, or a copy.
    Transmission { First, Retransmission, Reordered, NetworkDuplicate, CaptureDuplicate, MacCopy }
    /// The trigger of a retransmission.
    Trigger { Rto, GoBackN, Fast, PartialAck, Sack, TailLossProbe, Undecided }
    /// The evidence for transmission or trigger.
    Evidence {
        TimerExpired, AfterTimeout, DuplicateAcks, SackBlocks, PartialAck, ProbeTimer, NoAckSeen,
        IpId, Tsval, FillsHole, SameBytes, Timing,
    }
    /// The evidence for a spurious retransmission.
    #[allow(dead_code, reason = "other_capture is decided where captures are aligned")]
    By { Timestamp, Dsack, OtherCapture, MinRtt, Acked, Original }
    /// Congestion state of a sender.
    Phase { Open, Disorder, Recovery, Loss }
    /// The kind of a timer expiry.
    TimeoutKind { Genuine, Spurious, AckLost, Undecided }
    /// The end of a fast recovery.
    RecoveryEnd { Acked, Timeout, CaptureEnd }
    /// The state of a sender.
    State {
        Handshake, Idle, ZeroWindow, WindowLimited, DelayedAck, RtoWait, BackoffWait, LossRecovery,
        FastRecovery, SlowStart, Transfer, FullPath, FullPathWindowLimited, FullPathSlowStart, Closing, NotCaptured, Undecided,
    }
}

impl State {
    /// The same on a path that the flow fills, where a window may be the limit. `away` from the sender it is not told which one would be.
    pub fn on_full_path(self, away: bool) -> State {
        match self {
            State::SlowStart if !away => State::FullPathSlowStart,
            State::WindowLimited if !away => State::FullPathWindowLimited,
            State::SlowStart | State::WindowLimited | State::Transfer => State::FullPath,
            _ => self,
        }
    }

    pub fn is_full_path(self) -> bool {
        matches!(self, State::FullPath | State::FullPathWindowLimited | State::FullPathSlowStart)
    }
}

#[allow(clippy::derivable_impls, reason = "the macro derives the same for all")]
impl Default for Phase {
    fn default() -> Self {
        Phase::Open
    }
}

impl Kind {
    /// The kind by flags and payload alone.
    pub fn plain(f: u16, payload: u32) -> Kind {
        match () {
            () if f & flags::RST != 0 => Kind::Rst,
            () if f & flags::SYN != 0 && f & flags::ACK != 0 => Kind::SynAck,
            () if f & flags::SYN != 0 => Kind::Syn,
            () if f & flags::FIN != 0 => Kind::Fin,
            () if payload > 0 => Kind::Data,
            () => Kind::Ack,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tcp;

    #[test]
    fn the_last_variant_is_the_last_value() {
        assert_eq!(Kind::Rst as usize + 1, tcp::KINDS.len());
        assert_eq!(Transmission::MacCopy as usize + 1, tcp::TRANSMISSIONS.len());
        assert_eq!(Trigger::Undecided as usize + 1, tcp::TRIGGERS.len());
        assert_eq!(Evidence::Timing as usize + 1, tcp::EVIDENCE.len());
        assert_eq!(By::Original as usize + 1, tcp::SPURIOUS_EVIDENCE.len());
        assert_eq!(Phase::Loss as usize + 1, tcp::PHASES.len());
        assert_eq!(TimeoutKind::Undecided as usize + 1, tcp::TIMEOUT_KINDS.len());
        assert_eq!(RecoveryEnd::CaptureEnd as usize + 1, tcp::RECOVERY_ENDS.len());
        assert_eq!(State::Undecided as usize + 1, tcp::STATES.len());
    }
}

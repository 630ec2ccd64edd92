//! Does the sender detect that its timeout was spurious, and return to its old state? As Linux does (net/ipv4/tcp_input.c,
//! `tcp_process_loss`): Eifel (RFC 3522, 4015), DSACK of every copy (RFC 3708), F-RTO (RFC 5682).

use super::ack::{Ack, AckKind};
use super::causes::Causes;
use super::kinds::Phase;
use super::send::Sent;
use super::sender_state::SenderState;
use super::undo::{By, Undo};

impl SenderState {
    /// A retransmission leaves. Linux begins anew from state Open, and with a timeout after progress in state Loss.
    pub fn count_resent(&mut self, s: &Sent, expired: bool) {
        let from_open = matches!(self.phase, Phase::Open | Phase::Disorder) && self.probe.is_none();
        let progressed = self.expired_at < 0 || self.last_advance > self.last_expiry;
        let again = expired && self.phase == Phase::Loss && progressed;
        if from_open || again {
            let outstanding = self.pending.iter().filter(|p| p.covered.is_none() && p.end > self.una).count() as i64;
            let first_tsval = self.undo.first_tsval.filter(|_| again);
            let unreported = (outstanding > 0).then_some(outstanding);
            self.undo = Undo { marker: self.una, unreported, first_tsval, ..Undo::default() };
        }
        let u = &mut self.undo;
        u.first_tsval = u.first_tsval.or(s.tsval);
        u.unreported = Some(u.unreported.unwrap_or(0) + 1);
    }

    /// The timer expired: F-RTO begins.
    pub fn begin_frto(&mut self) {
        self.undo.frto = true;
    }

    /// A retransmission that only go-back-N explains: this sender does not wait for new data to be acknowledged.
    pub fn end_frto(&mut self) {
        self.undo.frto = false;
    }

    /// An ACK in state Loss: whether it lets the sender undo the timeout. `original`: it acknowledges bytes, cumulatively or
    /// selectively, that were sent once, before the timeout.
    #[inline]
    pub fn may_undo(&mut self, a: &Ack<'_>, kind: AckKind, dsack: Option<(i64, i64)>, original: bool) -> Option<By> {
        if dsack.is_none() && self.phase != Phase::Loss {
            return None;
        }
        self.may_undo_now(a, kind, dsack, original)
    }

    #[inline(never)]
    fn may_undo_now(&mut self, a: &Ack<'_>, kind: AckKind, dsack: Option<(i64, i64)>, original: bool) -> Option<By> {
        let (una, recover) = (self.una, self.recover);
        let u = &mut self.undo;
        if let (Some((_, right)), Some(n)) = (dsack, u.unreported) {
            if right > u.marker {
                u.unreported = Some((n - 1).max(0));
            }
        }
        if self.phase != Phase::Loss {
            return None;
        }
        let advanced = kind == AckKind::Advance;
        let older = match (a.timestamps, u.first_tsval) {
            (Some((_, echo)), Some(first)) => (echo.wrapping_sub(first) as i32) < 0,
            _ => false,
        };
        let undone = match () {
            () if advanced && (older || u.unreported == Some(0)) => Some(By::Report),
            () if u.frto && original && una < recover => Some(By::Frto),
            () => None,
        };
        // Step 3a of RFC 5682: a duplicate ACK after new data shows that the loss was real.
        if kind == AckKind::Duplicate && self.end > recover {
            u.frto = false;
        }
        undone
    }

    /// The sender may have undone the timeout: its next transmission decides.
    pub fn undo_timeout(&mut self, by: By, t: i64) {
        (self.undo.tentative, self.undo.sent_end, self.undo.at) = (Some(by), self.end, t);
        (self.left, self.phase) = (Phase::Loss, Phase::Open);
    }

    /// New data is sent after an ACK that allowed to undo the timeout: the sender has undone it. With F-RTO it may send two segments first
    /// and wait for the next ACK (RFC 5682 section 2.1 step 2b).
    #[inline]
    pub fn confirm_undo(&mut self) {
        if let Some(by) = self.undo.tentative {
            if by == By::Report || self.end - self.undo.sent_end >= 2 * self.mss() {
                self.undo.tentative = None;
            }
        }
    }

    /// A retransmission after an ACK that allowed to undo the timeout. A sender that did not retransmits the next unacknowledged bytes at
    /// once (`goes_back`). If a loss was reported (`told`), one that did repairs it: after F-RTO, which can be off, both are possible if SACK or
    /// three duplicate ACKs reported it, unless an ACK of new data followed the first new segment (RFC 5682 section 2.1 step 3b).
    pub fn doubt_undo(&mut self, s: &Sent, goes_back: bool, told: bool) {
        let Some(by) = self.undo.tentative.take() else { return };
        match by {
            _ if !goes_back || (self.end > self.undo.sent_end && self.last_advance > Some(self.undo.at)) => {}
            By::Frto if self.sacked_hi > s.end || self.dupacks >= 3 => {
                (self.unsure, self.unsure_until, self.unsure_since) = (Causes::BY_ACK, self.end, Some(s.t));
            }
            By::Report if told => {}
            _ => self.phase = Phase::Loss,
        }
    }
}

//! Does the sender detect that its timeout or fast recovery was spurious, and return to its old state? As Linux does
//! (net/ipv4/tcp_input.c, `tcp_process_loss`): Eifel (RFC 3522, 4015), DSACK of every copy (RFC 3708), F-RTO (RFC 5682).

use super::ack::{Ack, AckKind, DUPACK_THRESHOLD};
use super::causes::Causes;
use super::kinds::Phase;
use super::send::Sent;
use super::sender_state::SenderState;
use super::undo::{By, Undo};

impl SenderState {
    /// A retransmission leaves. Linux begins anew from state Open, and with a timeout after progress in state Loss.
    pub fn count_resent(&mut self, s: &Sent, expired: bool) {
        let from_open = self.is_calm() && self.probe.is_none();
        let progressed = self.expired_at < 0 || self.last_advance > self.last_expiry;
        let again = expired && self.phase == Phase::Loss && progressed;
        if from_open || again {
            let outstanding = self.pending.iter().filter(|p| p.covered.is_none() && p.end > self.una).count() as i64;
            let first_tsval = self.undo.first_tsval.filter(|_| again);
            let doubted = self.undo.unconfirmed;
            let unreported = (outstanding > 0).then_some(outstanding);
            let in_slow_start = if again { self.undo.in_slow_start } else { !self.slow_start.over };
            self.undo = Undo { in_slow_start, marker: self.una, unreported, first_tsval, doubted, ..Undo::default() };
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
        let (una, recover, ignores_echo) = (self.una, self.recover, self.ignores_echo);
        let calm = self.is_calm();
        let u = &mut self.undo;
        let mut last_copy = false;
        if let (Some((_, right)), Some(n)) = (dsack, u.unreported) {
            if right > u.marker {
                u.unreported = Some((n - 1).max(0));
                last_copy = n == 1;
            }
        }
        // Its recovery had ended, as if it had been needed, before this showed that it was not (Linux: `tcp_try_undo_dsack` in state Open).
        if last_copy && calm && self.slow_start.over {
            self.resume_slow_start(a.t);
        }
        let u = &mut self.undo;
        if self.phase != Phase::Loss {
            return None;
        }
        let advanced = kind == AckKind::Advance;
        let older = u.is_older(a);
        let undone = match () {
            () if advanced && u.unreported == Some(0) => Some(By::Dsack),
            () if advanced && older && !ignores_echo && !u.doubted => Some(By::Echo),
            () if advanced && older && !ignores_echo => Some(By::Frto),
            () if u.frto && original && una < recover => Some(By::Frto),
            () => None,
        };
        // Step 3a of RFC 5682: a duplicate ACK after new data shows that the loss was real.
        if kind == AckKind::Duplicate && self.end > recover {
            u.frto = false;
        }
        undone
    }

    /// Whether an ACK of new data ends a fast recovery: the echo is older than the first retransmission, and none is outstanding any more (Linux:
    /// `tcp_try_undo_partial`); or DSACKs have reported every copy (`tcp_try_undo_dsack`).
    pub fn undoes_recovery(&mut self, a: &Ack<'_>) -> bool {
        let older = self.undo.is_older(a);
        let outstanding = self.pending.iter().any(|p| p.covered.is_none() && p.end > self.una);
        let undone = older && !outstanding || a.sack_ok && self.undo.unreported == Some(0);
        if undone {
            self.undo.first_tsval = None;
            self.undo.left_recovery = Some((a.t, self.end));
            self.resume_slow_start(a.t);
        }
        undone
    }

    /// That ACK releases a retransmission of the next bytes at once: the sender goes on with its recovery (RFC 6582 section 3.2), as without
    /// the Eifel detection, or in another recovery than the tap sees; one that has undone it sends new data.
    pub fn resume_recovery(&mut self, goes_back: bool) {
        let Some((at, end)) = self.undo.left_recovery.take() else { return };
        let goes_on = goes_back && self.near_sender && !self.behind && self.last_ack == Some(at) && self.end == end;
        if let Some(recovery) = self.recoveries.back_mut().filter(|_| goes_on) {
            recovery.ended = None;
            self.phase = Phase::Recovery;
        }
    }

    /// The sender may have undone the timeout: its next transmission decides.
    pub fn undo_timeout(&mut self, by: By, t: i64) {
        (self.undo.tentative, self.undo.sent_end, self.undo.at) = (Some(by), self.end, t);
        (self.left, self.phase) = (Phase::Loss, Phase::Open);
    }

    /// New data is sent after an ACK that allowed to undo the timeout: the sender has undone it. With F-RTO it may send two segments first
    /// and wait for the next ACK (RFC 5682 section 2.1 step 2b), in Linux as many as slow start allows (`tcp_process_loss`), also if it does
    /// not use Eifel.
    #[inline]
    pub fn confirm_undo(&mut self) {
        if let Some(by) = self.undo.tentative {
            let waits = match by {
                By::Frto | By::Echo if self.near_sender => (self.una - self.expired_at).max(self.mss()) + self.mss(),
                By::Frto => 2 * self.mss(),
                _ => 0,
            };
            if self.end - self.undo.sent_end >= waits {
                self.undo.tentative = None;
                self.resume_slow_start(self.undo.at);
            }
        }
    }

    fn resume_slow_start(&mut self, t: i64) {
        if self.undo.in_slow_start {
            self.slow_start.resume(t);
        }
    }

    /// A retransmission after an ACK that allowed to undo the timeout. A sender that did not retransmits the next unacknowledged bytes at
    /// once (`goes_back`). If a loss was reported (`told`), one that did repairs it: after F-RTO, which can be off, both are possible if SACK or
    /// three duplicate ACKs reported it, unless an ACK of new data followed the first new segment (RFC 5682 section 2.1 step 3b). So they are
    /// if an old echo let it undo: senders other than Linux do without the Eifel detection (RFC 3522), and only Linux counts what overtook the
    /// timer's copy (RFC 8985 section 6.2).
    pub fn doubt_undo(&mut self, s: &Sent, goes_back: bool, told: bool) {
        let Some(by) = self.undo.tentative.take() else { return };
        self.undo.unconfirmed = by == By::Frto;
        let reported = self.sacked_hi > s.end || self.dupacks >= DUPACK_THRESHOLD;
        match by {
            _ if !goes_back || (self.end > self.undo.sent_end && self.last_advance > Some(self.undo.at)) => {}
            By::Frto | By::Echo if (by == By::Frto && reported) || (by == By::Echo && told) => {
                (self.unsure, self.unsure_until, self.unsure_since) = (Causes::BY_ACK, self.end, Some(s.t));
                self.doubt_left = Causes::BY_ACK;
            }
            By::Dsack if told => {}
            _ => {
                self.ignores_echo |= by == By::Echo && self.near_sender && !self.behind;
                self.phase = Phase::Loss;
            }
        }
    }
}

impl Undo {
    /// Whether an ACK echoes a timestamp from before the first retransmission (RFC 3522).
    fn is_older(&self, a: &Ack<'_>) -> bool {
        match (a.timestamps, self.first_tsval) {
            (Some((_, echo)), Some(first)) => (echo.wrapping_sub(first) as i32) < 0,
            _ => false,
        }
    }
}

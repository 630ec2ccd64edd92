//! What a sender had waited for, at a tap of its own host: the host's queue may lie between them.

use super::ack::AckOutcome;
use super::host_queue::Busy;
use super::intervals::{Timeline, TICK_NS};
use super::kinds::{State, Transmission};
use super::output::Out;
use super::send::{Sent, SentOutcome};
use super::sender_state::SenderState;
use super::seq::newer;
use super::timer::LEAST_TIMEOUT_NS;
use super::timestamp_clock::TimestampClock;
use super::trigger::REACTION_SLACK_NS;

impl SenderState {
    /// What waited in the queue of its host is judged here: true. `echo`: what the packet echoes. `clock`: that of its timestamps.
    pub fn judge_in_queue(
        &mut self,
        s: &Sent,
        o: Option<&SentOutcome>,
        echo: Option<u32>,
        clock: &TimestampClock,
        timeline: &mut Timeline,
        out: &mut Out<'_>,
    ) -> bool {
        let first = o.is_none_or(|o| o.transmission == Transmission::First);
        if first && self.waited_in_host(s, timeline.rest_ns(), clock, out) {
            self.judge_host_queue(s, echo, &out.busy, clock, timeline);
            return true;
        }
        let crossed = o.is_some_and(|o| self.crossed_ack(s, o, timeline.rest_ns(), out));
        if crossed {
            self.judge_late_copy(s, &out.busy, timeline);
        }
        crossed
    }

    /// Nothing called for what passes after a silence: the sender had sent all. `first`: it is new data.
    pub fn judge_silence(&mut self, s: &Sent, first: bool, echo: Option<u32>, busy: &Busy, timeline: &mut Timeline) {
        self.waited_before_tap(s.t, echo, timeline);
        timeline.retract_stall();
        let last = self.tally.last_send.unwrap_or(s.t);
        timeline.retract_closed(last);
        timeline.sent_all(last);
        if self.last_ack.is_some_and(|asked| busy.is_first_since(asked)) {
            timeline.had_room(last);
        }
        self.missed_ack(s, first, timeline);
    }

    /// An ACK of new data of the `peer` passes, which had `sent` its latest data then: how long was it in the host's queue?
    pub fn note_ack_delay(&self, t: i64, o: &AckOutcome, peer: &SenderState, sent: Option<i64>, out: &mut Out<'_>) {
        let all = peer.flight() == 0;
        let kept = match () {
            // Made since that data passed.
            () if all && sent.is_some_and(|at| t - at <= TICK_NS) => Some(0),
            () if !self.is_at_tap() => None,
            // A receiver acknowledges a second full segment at once (RFC 5681 section 4.2).
            () if o.acked >= 2 * peer.mss() => o.rtt,
            // Made before what it does not acknowledge had passed.
            () => peer.scoreboard.front().filter(|_| !all).map(|next| t - next.t_first),
        };
        if let Some(delay) = kept {
            out.hosts.note_delay(self.host, t, delay, true);
        }
    }

    /// At its host, new data passes late after the latest ACK, and other packets of the host passed meanwhile, or by its timestamp it was made
    /// when that ACK passed: the data waited in the host's queue, which is above the tap.
    fn waited_in_host(&self, s: &Sent, rest_ns: i64, clock: &TimestampClock, out: &mut Out<'_>) -> bool {
        let Some(asked) = self.last_ack.filter(|_| self.is_at_tap()) else { return false };
        let delay = s.t - asked;
        let at_once = delay <= rest_ns.max(REACTION_SLACK_NS);
        let waited = !at_once && (out.busy.delays(asked, s.t) || clock.was_made_then(s.tsval, asked, s.t));
        if waited || at_once {
            out.hosts.note_delay(self.host, s.t, delay, s.start == self.una);
        }
        waited
    }

    /// The tap is at its host: an ACK that passed has reached it, whenever its answer passes.
    pub fn is_at_tap(&self) -> bool {
        (self.near_sender || self.at_host) && !self.sniffed
    }

    /// What it waited for meanwhile. A link of varying pace is shared, as the air is: it was full, and no window was the limit.
    fn judge_host_queue(
        &mut self,
        s: &Sent,
        echo: Option<u32>,
        busy: &Busy,
        clock: &TimestampClock,
        timeline: &mut Timeline,
    ) {
        // The interface passed its data meanwhile: a larger window had gained nothing.
        if let (Some((asked, trip)), Some(last)) = (self.last_ack.zip(self.rtt_least), self.tally.last_send) {
            if busy.is_kept_busy(last, asked, trip) {
                timeline.filled_path(last);
                self.may_fill_path = true;
            }
        }
        // What follows an own packet tells nothing of the time before that, unless it was written before the latest ACK.
        let older = self.echoes_older(echo);
        let behind_copy = self.late_copy.is_some() && self.late_copy == self.tally.last_send;
        let alone = self.tally.last_send <= self.last_ack || behind_copy;
        let Some(asked) = self.last_ack.filter(|_| older || alone) else { return };
        // The queue lost what was sent before, and a timer had expired.
        let recovers = behind_copy && s.start > self.una;
        let state = match self.slow_start.over {
            _ if recovers => State::LossRecovery,
            true => State::Transfer,
            false => State::SlowStart,
        };
        // The fastest packet of its clock may have waited as long as the fastest reaction.
        let made = s.tsval.and_then(|tsval| clock.made_after(tsval)).zip(self.reaction);
        let written = made.map(|(made, fastest)| made.saturating_sub(fastest));
        // What echoes an older ACK than the latest one was written before that.
        let then = clock.was_made_then(s.tsval, asked, s.t);
        let written = written.filter(|made| made.saturating_sub(asked) > REACTION_SLACK_NS && !older && !then);
        timeline.was_under_way(written.or(self.last_advance).unwrap_or(s.t), state);
        if s.start != self.una || written.is_some() {
            return;
        }
        let shared = !busy.has_no_pause(asked) && busy.had_it(asked, s.t);
        if shared || self.released_small(s) {
            timeline.sent_all(self.tally.last_send.unwrap_or(s.t));
        }
    }

    /// Near the sender, its packet echoes an older ACK than the latest one, which passed long before: it was made earlier, and waited in
    /// a queue between TCP and the tap. The application was not idle meanwhile.
    fn waited_before_tap(&self, t: i64, echo: Option<u32>, timeline: &mut Timeline) {
        let late = t - self.peer_tsval_at > self.reaction.unwrap_or(0).saturating_add(REACTION_SLACK_NS);
        if let (true, Some(since)) = (late && self.echoes_older(echo), self.last_advance) {
            timeline.was_under_way(since, State::Transfer);
        }
        // A timer sent it, as the host dropped what was sent before.
        let silent = self.last_ack.max(self.tally.last_send).filter(|at| t - at >= LEAST_TIMEOUT_NS);
        if let (true, Some(since)) = (self.host_dropped, silent) {
            timeline.was_for_timer(since);
        }
    }

    /// A packet with this echo was made before the latest ACK arrived.
    fn echoes_older(&self, echo: Option<u32>) -> bool {
        !self.peer_waits && self.peer_tsval.zip(echo).is_some_and(|(latest, echo)| newer(latest, echo))
    }

    /// A copy of bytes whose ACK had passed long before: no TCP repeats those, so it was made before that ACK, and waited in the host's
    /// queue since, as other packets of the host did.
    fn crossed_ack(&self, s: &Sent, o: &SentOutcome, rest_ns: i64, out: &mut Out<'_>) -> bool {
        let copy = o.acked_before && o.transmission == Transmission::Retransmission;
        let Some(acked) = self.last_advance.filter(|_| copy && self.is_at_tap()) else { return false };
        let crossed = s.t - acked > rest_ns.max(REACTION_SLACK_NS) && out.busy.delays(acked, s.t);
        if crossed {
            out.hosts.note_delay(self.host, s.t, s.t - acked, false);
        }
        crossed
    }

    /// No duplicate ACK had called for it: its timer expired before the ACK came. It had left the queue before that, if the queue
    /// was shorter than the timer.
    fn judge_late_copy(&mut self, s: &Sent, busy: &Busy, timeline: &mut Timeline) {
        self.late_copy = Some(s.t);
        let asked = self.dup_run.is_some_and(|(una, ..)| una == s.start) || !self.is_calm();
        let since = self.tally.last_send.filter(|_| !asked && self.rto().is_none_or(|rto| rto > busy.delay()));
        if let (Some(since), Some(until)) = (since, self.last_advance) {
            timeline.waited_for_timer(since, until);
        }
    }
}

//! What a sender waited for from the start of its connection to its first data.

use super::handshake::Handshake;
use super::intervals::{on_syn_schedule, Timeline};
use super::kinds::State;
use super::output::Out;
use super::piece::Piece;
use super::sender_state::SenderState;
use super::timer::{LEAST_TIMEOUT_NS, SYN_TIMEOUT_MAX_NS, SYN_TIMEOUT_NS};

/// The time until the first data of a direction passes, at `t`.
pub struct OpeningTime<'a> {
    pub timeline: Timeline,
    /// A piece of the packets until then.
    pub piece: Piece,
    pub handshake: &'a Handshake,
    pub sender: &'a SenderState,
    pub reverse: bool,
    pub t: i64,
    /// The end of the handshake.
    pub done: i64,
    /// From the tap to the sender and back, at least, over all connections of its host.
    pub loop_ns: i64,
}

/// The end that answers the SYN, at its tap: packets that its ids lack until the first data, and the way of an ACK to the other end.
#[derive(Debug, Clone, Copy)]
pub struct Unheard {
    pub early: u16,
    pub opener_at_tap: bool,
    pub trip: i64,
}

impl OpeningTime<'_> {
    fn pass(&mut self, end: i64, state: State) {
        self.timeline.pass(Piece { end, state, ..self.piece });
    }

    /// The time of the handshake.
    pub fn pass_handshake(&mut self, unheard: Unheard, out: &mut Out<'_>) {
        self.pass_syns();
        self.pass_unheard(unheard);
        let (done, at_tap, opens) = (self.done, self.sender.is_at_tap(), !self.reverse);
        // Away from the sender: its SYN's timer has expired meanwhile (RFC 6298 section 2.1), and the copies have not come here.
        // A sender near the tap answers the SYN+ACK at once; if it seems not to, it is not near, or the SYN+ACK was lost after the tap.
        let late = opens && self.handshake.answered.is_some_and(|at| done - at >= SYN_TIMEOUT_NS);
        let silent = (!at_tap || late) && done - self.timeline.now() >= SYN_TIMEOUT_NS;
        let kept = self.kept_by_host(out);
        let repeated = opens && silent && kept.is_none() && self.pass_synacks();
        let state = if silent && kept.is_none() && !repeated { State::Undecided } else { State::Handshake };
        let read = self.handshake.answered.filter(|_| !at_tap && opens && state == State::Handshake);
        // Other connections show the sender to be nearer: the answer waited in a queue on its way to it, or what it sent then.
        let way = self.loop_ns.saturating_add(self.loop_ns / 2).saturating_add(self.timeline.rest_ns());
        if let Some(at) = read.filter(|at| done - at > way) {
            self.pass(at + self.loop_ns, state);
            self.pass(done, State::Undecided);
        } else {
            self.pass(kept.map_or(done, |kept| kept.0), state);
        }
        // The answer to the first of many SYNs was late: otherwise each had an answer, and all of those were lost.
        let few = self.handshake.timers(self.reverse).is_none_or(|(first, last)| first == last);
        if at_tap && opens && (few || self.handshake.later_answered()) {
            self.timeline.doubt_answer();
        }
        if let Some((_, end, state)) = kept {
            self.pass(end, state);
        }
    }

    /// The timers of the SYN, and of the SYN+ACK at the end that sends it, by their copies.
    fn pass_syns(&mut self) {
        let Some((first, last)) = self.handshake.timers(self.reverse) else { return };
        let (t, began) = (self.t, self.timeline.now());
        // Away from the sender, a copy of its SYN that passes after the answer, and later than a first timer sends it: a queue held it,
        // and the sender may have read the answer long before.
        let answered = self.handshake.answered.filter(|_| !self.sender.near_sender && !self.reverse);
        let timed_out = first - began <= SYN_TIMEOUT_MAX_NS;
        if let Some(answer) = answered.filter(|answer| first > *answer && !timed_out) {
            // Its timer expired before an answer as late as that.
            let state = if answer - began < SYN_TIMEOUT_NS { State::Handshake } else { State::Undecided };
            self.pass(answer.min(t), state);
            return self.pass(self.done, State::Undecided);
        }
        // A SYN's first timer takes 1 s to 3 s (RFC 6298 section 2.1): a longer one had expired before, and the tap missed that.
        if timed_out {
            self.pass(first.min(t), State::RtoWait);
        } else {
            self.pass((began + SYN_TIMEOUT_NS).min(t), State::RtoWait);
            self.pass((began + SYN_TIMEOUT_MAX_NS).min(t), State::Undecided);
        }
        // What passes after the answer, but not when a timer sends it, waited in a queue: its sender may have read the answer before.
        let (asked, heard) = match self.reverse {
            true => (self.handshake.answered, self.handshake.ack.filter(|_| !self.sender.near_sender)),
            false => (Some(began), answered),
        };
        let held = heard.filter(|_| !asked.is_some_and(|at| on_syn_schedule(last - at))).map(|at| at.max(first));
        self.pass(held.unwrap_or(last).min(last).min(t), State::BackoffWait);
        if held.is_some_and(|at| at < last) {
            self.pass(last.min(t), State::Undecided);
        }
    }

    /// At the end that answered the SYN: for a timer's time it hears nothing, and by the ids packets are missing: an ACK, and data that a
    /// timer repeated; or only the ACK, and the application was late, or the answer to a repeated SYN+ACK.
    fn pass_unheard(&mut self, unheard: Unheard) {
        let h = self.handshake;
        let far = if self.reverse { !unheard.opener_at_tap } else { !self.sender.is_at_tap() };
        let missing = far && unheard.early > 0 && h.timers(self.reverse).is_none() && h.answer_timers().is_none();
        let Some(at) = h.answered.filter(|at| missing && self.done - at >= LEAST_TIMEOUT_NS) else { return };
        let trip = if unheard.trip * 2 < self.done - at { unheard.trip } else { 0 };
        self.pass(if self.reverse { at } else { at + trip }, State::Handshake);
        self.pass(self.done - trip, if unheard.early > 1 { State::RtoWait } else { State::Undecided });
    }

    /// A sender at the tap answers a SYN+ACK at once: what passes later waited in its host's queue, above the tap, since the first time, to
    /// the second, in this state. In a shorter wait no timer of lost data expires.
    fn kept_by_host(&self, out: &mut Out<'_>) -> Option<(i64, i64, State)> {
        let (t, done, rest_ns) = (self.t, self.done, self.timeline.rest_ns());
        let answered = self.handshake.answered.filter(|_| self.sender.is_at_tap() && !self.reverse);
        let at = answered.filter(|at| *at <= done)?;
        out.hosts.note_delay(self.sender.host, done, done - at, true);
        if done - at > rest_ns && (t - at < LEAST_TIMEOUT_NS || out.busy.delays(at, t)) {
            return Some((at, if t - done <= rest_ns { t } else { done }, State::SlowStart));
        }
        let late = self.sender.at_host && done - at >= LEAST_TIMEOUT_NS;
        late.then_some((at, done, State::Undecided))
    }

    /// A SYN+ACK that its timer repeated, on time, is answered with data, and at once: the earlier ones were lost, or what they caused, and
    /// timers ran. What comes later may have waited in a queue.
    fn pass_synacks(&mut self) -> bool {
        let h = self.handshake;
        let now = self.timeline.now();
        let soon = self.t - self.done <= self.timeline.rest_ns();
        let repeated = h.answer_timers().filter(|(_, last)| {
            soon && (now..=self.done).contains(last)
                && self.done - last < LEAST_TIMEOUT_NS
                && h.answered.is_some_and(|at| on_syn_schedule(last - at))
        });
        let Some((first, last)) = repeated else { return false };
        if h.timers(self.reverse).is_none() {
            self.pass(first.min(last), State::RtoWait);
        }
        self.pass(last, State::BackoffWait);
        true
    }

    /// What followed the handshake until the first data.
    pub fn pass_rest(mut self) -> Timeline {
        let t = self.t;
        let hears = self.timeline.now().saturating_add(self.sender.hears_late(self.timeline.rest_ns())).min(t);
        if hears > self.timeline.now() {
            self.pass(hears, State::Undecided);
        }
        let now = self.timeline.now();
        if let Some((closed, opened)) = self.sender.closed.zip(self.sender.reopened).filter(|(c, o)| c < o && *o >= now)
        {
            // The capture began later than the connection: its data waited for the window, and is sent as soon as that opens.
            if t - opened <= self.timeline.rest_ns() {
                self.pass(closed, State::Idle);
                self.pass(t, State::ZeroWindow);
            }
        }
        self.pass(t, State::Idle);
        self.timeline
    }
}

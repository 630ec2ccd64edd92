//! Writes that a sender keeps back while the receiver delays the ACK of a small segment: Nagle's algorithm (RFC 1122 section 4.2.3.4).

use super::ack::{AckKind, AckOutcome, BURST_GAP_NS};
use super::host_queue::Busy;
use super::intervals::{Timeline, TICK_NS};
use super::kinds::State;
use super::send::Sent;
use super::sender_state::SenderState;
use super::undecided::KeptBack;

impl SenderState {
    /// New bytes pass: do they begin what met nothing outstanding, or go on with it? A write, or several that were kept back: no less.
    #[inline]
    pub fn note_write(&mut self, s: &Sent, busy: &Busy, timeline: &mut Timeline) {
        let goes_on = self.write > 0 && self.tally.last_send.is_some_and(|last| s.t - last <= TICK_NS);
        let una = self.view.as_ref().map_or(self.una, |view| view.una);
        self.write = match () {
            () if s.start == una => i64::from(s.len),
            () if goes_on && self.last_ack <= self.tally.last_send => self.write + i64::from(s.len),
            () => 0,
        };
        self.write_most = self.write_most.max(self.write);
        self.note_kept_back(s, timeline);
        self.note_burst(s, busy, timeline);
    }

    /// At its tap new bytes pass right after the latest ones, and no ACK came between: it sent all at once, and its line passes them one
    /// by one. If they fill the window, that was the limit since the first.
    #[inline]
    fn note_burst(&mut self, s: &Sent, busy: &Busy, timeline: &mut Timeline) {
        let asked = self.last_ack.unwrap_or(i64::MIN);
        let soon = |last: i64| s.t - last <= BURST_GAP_NS || busy.was_empty(last, asked);
        let before = self.tally.last_send.filter(|last| soon(*last) && self.last_ack <= Some(*last));
        self.burst = before.filter(|_| self.view.is_none()).map(|last| self.burst.unwrap_or(last));
        let fills = || self.window.is_some_and(|w| self.flight() + self.mss() > i64::from(w));
        if let Some(since) = self.burst.filter(|_| fills()) {
            timeline.was_at_window(since);
        }
    }

    /// Nagle's algorithm keeps back what is not a full segment until all is acknowledged: a segment that no ACK released and no write fills
    /// shows that some had been written before. The small segment ahead of it has arrived for so long, and its ACK is late.
    #[inline]
    fn note_kept_back(&mut self, s: &Sent, timeline: &mut Timeline) {
        let lone = self.len_before > 0 && s.start - self.una == self.len_before;
        let Some(small_at) = self.tally.last_send.filter(|_| lone && self.kept_back.is_none()) else { return };
        let len = i64::from(s.len);
        let full = len == self.segment && !self.is_small(len);
        let larger = full && self.write_most > 0 && len > self.write_most.max(self.len_before);
        let unasked = self.last_ack.is_some_and(|ack| ack <= small_at);
        let Some(floor) = self.rtt_floor().filter(|floor| larger && unasked && s.t - small_at > floor + TICK_NS) else {
            return;
        };
        let since = small_at + floor / 2;
        if let Some(state) = timeline.suppose_delayed(since) {
            self.kept_back = Some(KeptBack { small_at, full_at: s.t, end: s.end, since, state });
        }
    }

    /// An ACK: the receiver delayed that of the small segment if one ACK covers both, and the full one took less time than the small one
    /// had waited.
    #[inline]
    pub fn settle_kept_back(&mut self, t: i64, o: &AckOutcome, timeline: &mut Timeline) {
        let Some(k) = self.kept_back else { return };
        if o.kind == AckKind::Advance && self.una >= k.end && t - k.full_at < k.full_at - k.small_at {
            self.kept_back = None;
        }
        self.drop_kept_back(timeline);
    }

    /// The receiver did not delay that ACK, or the capture ends before one shows it.
    pub fn drop_kept_back(&mut self, timeline: &mut Timeline) {
        if let Some(k) = self.kept_back.take() {
            timeline.was_not_delayed(k.since, k.state);
        }
    }

    /// Data is left after an ACK that the receiver seems to have delayed.
    pub fn suppose_first_delayed(&mut self, t: i64, since: i64, state: State) {
        if self.flight() > 0 {
            self.first_delayed = Some((t, since, state));
        }
    }

    /// The ACK of more settles it.
    pub fn settle_first_delayed(&mut self, o: &AckOutcome, timeline: &mut Timeline) {
        if o.kind == AckKind::Advance {
            self.end_first_delayed(timeline);
        }
    }

    /// Without a retransmission the next segment was not lost: a queue held both, or the capture ends before one shows it.
    pub fn end_first_delayed(&mut self, timeline: &mut Timeline) {
        let Some((at, since, state)) = self.first_delayed.take() else { return };
        if self.last_resend.is_none_or(|again| again < at) {
            timeline.was_not_delayed(since, state);
        }
    }
}

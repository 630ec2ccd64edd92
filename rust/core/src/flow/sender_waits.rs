//! What a sender had waited for, at a tap away from it or one that missed its ACKs.

use super::away::LONGEST_FIRST_NS;
use super::intervals::{own_delay, Timeline, ACCESS_NS, TICK_NS};
use super::kinds::{Evidence, Phase, State, Transmission, Trigger};
use super::send::{Sent, SentOutcome};
use super::sender_state::SenderState;
use super::sender_view::{Lone, SenderView, Woke};
use super::seq::newer;
use super::timer::{FIRST_TIMEOUT_NS, LEAST_TIMEOUT_NS, LONGEST_TIMEOUT_NS, MOST_ACK_DELAY_NS, SYN_TIMEOUT_NS};
use super::wait_state::{pace_of, sends_at_once};

/// Two clocks differ by one part of so many at most (IEEE 802.3 clause 22.2.2.1: 100 ppm each).
const CLOCK_ERROR: i64 = 5_000;

impl SenderState {
    /// From the tap to this sender and back, at most.
    pub fn longest_loop(&self) -> Option<i64> {
        match (self.loop_syn, self.loop_least) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The same where the tap is away from it.
    pub fn loop_ns(&self) -> Option<i64> {
        self.longest_loop().filter(|_| !self.is_at_tap())
    }

    /// The ACK of everything released a small segment after another one: the sender kept it back until then (Nagle, RFC 1122 section 4.2.3.4).
    pub fn released_small(&self, s: &Sent) -> bool {
        s.start == self.una && self.len_before > 0 && s.len > 0 && self.is_small(self.len_before.max(i64::from(s.len)))
    }

    /// Below half of what both ends accept, so that no path's MTU made a segment so small.
    pub fn is_small(&self, len: i64) -> bool {
        len * 2 < self.accepted.max(self.segment)
    }

    /// From the tap to this sender, as the latest ACK of it took that shows.
    pub fn ack_way_ns(&self) -> i64 {
        let Some(view) = &self.view else { return 0 };
        // Without timestamps: data waits in a queue more often than its ACKs.
        view.ack_way.or_else(|| Some(self.loop_ns()? / 2)).unwrap_or(0)
    }

    /// How long the passive end has not heard of the end of the handshake yet.
    pub fn hears_late(&self, rest_ns: i64) -> i64 {
        self.loop_ns().filter(|l| *l > rest_ns && self.reverse).unwrap_or(0)
    }

    /// Begin to follow what the sender knew, if it differs from what the tap sees.
    #[inline]
    pub fn follow_view(&mut self) {
        if self.view.is_none() && self.loop_ns().is_some_and(|l| l > TICK_NS) {
            self.view = Some(Box::new(SenderView::new(self.una, self.window, self.phase, self.recover)));
        }
    }

    /// Bytes outstanding as the sender saw it, and the window that it knew.
    #[inline]
    pub fn seen_by_sender(&self) -> (i64, Option<u32>, i64) {
        match &self.view {
            None => (self.flight(), self.window, self.mss()),
            // Of ACKs made in one tick of the timestamps it is not known which had arrived.
            Some(v) => (self.end - v.una, v.window, self.mss() + v.same_tick),
        }
    }

    /// The least round trip that was measured. `rtt_least` may be less: of what the answer to a repeated SYN allows.
    pub fn measured_least(&self) -> Option<i64> {
        (self.tally.rtt_samples > 0).then_some(self.tally.rtt_min)
    }

    /// The least round trip between the hosts: of the whole path where the sender is followed, else of the tap.
    #[inline]
    pub fn rtt_floor(&self) -> Option<i64> {
        let least = self.measured_least()?.min(self.pair_least);
        match &self.view {
            None => Some(least),
            Some(_) => Some(self.loop_ns()?.min(self.pair_loop) + least),
        }
    }

    /// New or old bytes of the sender pass the tap: what had it waited for?
    ///
    /// Nothing was outstanding at the tap since an ACK. That ACK reached the sender after `loop_ns`; only a longer silence is idle time.
    #[cold]
    pub fn follow_sender(&mut self, s: &Sent, o: Option<&SentOutcome>, echo: Option<u32>, timeline: &mut Timeline) {
        let what = o.map_or(Transmission::First, |o| o.transmission);
        let Some(loop_ns) = self.loop_ns() else { return };
        let Some(mut view) = self.view.take() else { return };
        // A timer that it started when it went on had not expired yet, as far as the path's pace shows.
        let timer = self.ns_per_kib.map_or(loop_ns, |pace| LEAST_TIMEOUT_NS + own_delay(pace, self.mss()));
        view.woke = view.woke.filter(|woke| s.t - woke.t < loop_ns.min(timer));
        timeline.away = true;
        let unread = view.unread(echo);
        // Under way already when the ACK passed; or behind a queue, or written later: twice the shortest way is neither. A window without
        // room kept back whatever there was.
        let full = view.has_no_room(s.start, self.mss());
        let way = self.last_ack.map_or(loop_ns, |a| s.t - a);
        let late = way > loop_ns.saturating_mul(2).saturating_add(TICK_NS);
        if unread || way < loop_ns - loop_ns / 4 || late && !full {
            timeline.retract_stall();
        }
        let last = self.tally.last_send.unwrap_or(s.t);
        let first = what == Transmission::First;
        let empty = s.start == self.una && view.len > 0;
        let mut idle = 0;
        // A queue may make it longer.
        let earlier = view.there;
        let there = loop_ns.max(earlier.unwrap_or(0));
        // A sender that repeated bytes after their ACK had not read it by then, and a queue may hold either.
        let repeated =
            !self.resent_crossed && self.last_resend.is_some_and(|r| self.last_advance.is_none_or(|a| a < r));
        if first && empty && !unread && !repeated {
            let waited = s.t - self.last_advance.unwrap_or(s.t);
            let path = (self.held_on_path(s, &view) + there).max(self.late_by(s) + loop_ns);
            idle = waited - path;
            let opened = self.last_ack.map_or(waited, |a| s.t - a) - path;
            // Two round trips are never quite alike.
            let usual = (there / 2).max(timeline.rest_ns());
            let repairs = self.phase == Phase::Loss && !(self.resent_crossed && self.una >= self.recover);
            if idle > usual && !repairs && opened > usual {
                view.ends_round();
                // In a shorter silence no timer can have expired for data that was lost before the tap; nor was any sent if the ids
                // have no gap.
                let sure =
                    self.tally.last_send.is_some_and(|last| s.t - last < FIRST_TIMEOUT_NS) || self.sent_nothing();
                // On the air a frame may be as late, with those before it in the queue.
                let long = idle > there.saturating_mul(3).saturating_add(ACCESS_NS);
                let all = echo.is_some()
                    || long && self.ids.follows && view.had_no_more(self.segment) && self.has_room(&view);
                let paced = view.is_paced(s.t - last);
                let state = match paced {
                    true if sure => State::Transfer,
                    false if sure && all => State::Idle,
                    _ => self.ended_writing(&view),
                };
                timeline.was(s.t - idle, state, None);
                if !paced {
                    timeline.sent_all(last);
                }
                if state == State::Idle {
                    if late {
                        timeline.retract_stall();
                    }
                    timeline.had_room(last);
                }
            }
            idle = if idle > usual { idle } else { 0 };
        }
        let mut released = view.read(s.t, echo, loop_ns);
        let wrote_all = self.wrote_all(s, &view);
        // It had read of a hole when it sent this: slow start is over.
        let told = echo.and(self.hole_since).filter(|hole| released.is_some_and(|at| at >= *hole) && self.is_calm());
        if let Some((hole, sent)) = told.zip(self.sent_at) {
            timeline.ended_slow_start(sent.max(hole));
        }
        if let Some(lone) = view.lone.filter(|_| first && self.follows_lone(s, &view, released, there)) {
            timeline.was_for_timer(lone.since);
        }
        view.lone = None;
        if first && echo.is_none() {
            // No sender exceeds the window that it knows: it had read more ACKs, and the way there and back is shorter.
            while let Some(a) = view.acks.front().copied() {
                if view.window.is_none_or(|w| s.end - view.una <= i64::from(w)) {
                    break;
                }
                view.take(a);
                self.loop_syn = Some(loop_ns.min(s.t - a.t));
                released = Some(a.t);
            }
        } else if !first {
            view.una = view.una.min(s.start);
            // No packet that passed after the silence can have asked for this copy so soon: a timer sent it, and all waited before the tap.
            // Of the handshake, in which timers expire too, that is known of no more than the first timeout.
            if let Some(woke) = view.woke.filter(|woke| woke.start == s.start && loop_ns < SYN_TIMEOUT_NS) {
                timeline.was_for_timer(woke.since);
            }
            let silent = self.tally.last_send.filter(|last| s.t - last >= LEAST_TIMEOUT_NS);
            if let (Some(last), Some(Trigger::Undecided)) = (silent, o.and_then(|o| o.trigger)) {
                // An ACK called for it, or a timer ended the silence.
                let timer = self.timer_ended(s, last, o, &view);
                timeline.was(last, if timer { State::RtoWait } else { State::Undecided }, None);
                // Two expiries take three times the first one (RFC 6298 section 5.5), and how long that is was seen before; or it was
                // longer than one timer of any model. That of a SYN that expired before lasts until a round trip of data (section 3).
                let known = self.timer.fitted() || self.una > 1 && s.t - last > self.longest_wait();
                let first = self.timer.rto(0, self.cwnd_segments()).filter(|_| timer && known);
                if let Some(first) = first.filter(|first| s.t - last - loop_ns > 2 * first) {
                    timeline.was(last + first, State::BackoffWait, None);
                }
            }
        }
        if let (Some(at), 0, true) = (released, idle, first) {
            if echo.is_some() && !wrote_all {
                view.there = Some(s.t - at);
                // What waited in a queue on its way to the tap had left earlier, by its sender's clock.
                view.ack_way = self.sent_at.map(|sent| (sent.min(s.t) - at - loop_ns / 2).clamp(0, s.t - at));
            }
            if self.near_receiver {
                // What is left of the round trip is the receiver's own delay, which is no queue.
                view.back = self.rtt_least;
            }
            let least = self.measured_least().map(|least| least.min(self.pair_least));
            let floor = least.map(|least| loop_ns.min(self.pair_loop) + least);
            let head = if view.una < s.start { self.passed_at(view.una) } else { None };
            if let Some(sent) = self.passed_at(view.una - 1) {
                let pace = pace_of(self.mss(), s.t - sent, self.end - view.una);
                self.note_path(s.t, sent, pace, (head, floor), timeline);
            }
        }
        if let (Some(last), true) = (self.tally.last_send, first) {
            if self.may_hide_timer(s, last, released, earlier, &view) {
                timeline.doubt_since(last);
            }
            if empty && self.may_be_lone(s, s.t - last, &view) {
                view.lone = Some(Lone { since: last, end: s.end });
            }
            if s.t - last >= LEAST_TIMEOUT_NS {
                view.woke = Some(Woke { start: s.start, t: s.t, since: last.max(s.t - self.longest_wait()) });
            }
            view.begins_with_more |= view.una <= 1 && s.start > 1;
        }
        if !first {
            view.len = view.len.max(i64::from(s.len));
        } else {
            view.note_segment(i64::from(s.len), s.tsval, s.more, s.t - last);
            let since = view.note_train(s.t, s.t - last, s.start == self.una);
            let flight = self.end - view.una;
            // One ACK had released the whole window, and the path passes it segment by segment.
            if self.last_ack <= since && view.has_no_room(self.end, self.mss()) {
                timeline.was_at_window(since.unwrap_or(s.t));
            }
            let trip = view.round_trip().or_else(|| self.round_trip());
            self.follow_slow_start(s.t, flight, trip);
            view.flight_max = view.flight_max.max(flight);
            view.flight = flight;
        }
        self.view = Some(view);
    }

    /// Whether the sender's timer may have expired in the silence before `s`, its copies lost before the tap: not in a shorter one than the
    /// shortest timer, by its own clock or the tap's, nor if by the ids no packet is missing, nor if an ACK released `s` that no more than
    /// a delayed ACK kept back. `there`: from the ACK to `s`, as earlier segments took; of the handshake, in which timers expire too, no
    /// more than the first timeout.
    fn may_hide_timer(
        &self,
        s: &Sent,
        last: i64,
        released: Option<i64>,
        there: Option<i64>,
        view: &SenderView,
    ) -> bool {
        let silent = s.t - last - self.held_on_path(s, view);
        let loop_ns = self.loop_ns().filter(|l| *l < SYN_TIMEOUT_NS).unwrap_or(0);
        let there = loop_ns.max(there.unwrap_or(0));
        let at_once = released.is_some_and(|at| s.t - at <= there + there / 2);
        let back = view.back.unwrap_or(0);
        silent >= LEAST_TIMEOUT_NS
            && !self.sent_nothing()
            && !(at_once && s.t - last <= (there + back) / 2 * 3 + MOST_ACK_DELAY_NS)
    }

    /// By the ids it sent nothing between the latest two packets. If its latest copy was of arrived bytes, a queue outlasts its timer: what
    /// passes tells nothing of when it was sent.
    fn sent_nothing(&self) -> bool {
        self.ids.next && (!self.resent_acked || self.resent_crossed)
    }

    /// No silence of one timer is longer: the model's, which may be three times as long, or that of RFC 6298 section 2.4, 1 s.
    fn longest_wait(&self) -> i64 {
        self.rto().unwrap_or(0).saturating_mul(3).max(LONGEST_FIRST_NS)
    }

    /// A retransmission shows that the timer has expired, for it or for bytes whose copy is missing, and a calm sender was silent for no
    /// longer than one timer. On a path that holds nothing for so long: or for longer, but the bytes had passed before, so that their timer
    /// ran all the time; or by both clocks it had sent nothing for the shortest timer, nor had any ACK passed that it could answer.
    fn timer_ended(&self, s: &Sent, last: i64, o: Option<&SentOutcome>, view: &SenderView) -> bool {
        let Some(o) = o else { return false };
        let quick = self.loop_ns().is_some_and(|l| l < LEAST_TIMEOUT_NS);
        if o.evidence == Some(Evidence::AfterTimeout) && view.calm() {
            return s.t - last <= self.longest_wait() || quick && !o.lost_before_tap;
        }
        let dated = quick && view.tsval.is_some() && s.tsval.is_some() && self.own_tick().is_some();
        let unasked = self.last_ack.is_some_and(|asked| s.t - asked >= LEAST_TIMEOUT_NS);
        dated && unasked && s.t - last - self.held_on_path(s, view) >= LEAST_TIMEOUT_NS
    }

    /// A full segment after a silence may be the copy of one that was lost before the tap: after a timeout a sender repeats one segment and
    /// waits for its ACK (RFC 5681 section 3.1). One that was idle begins with as many as at first (section 4.1). Both clocks show the silence:
    /// no queue held the segment.
    fn may_be_lone(&self, s: &Sent, silent: i64, view: &SenderView) -> bool {
        let room = view.window.is_none_or(|w| self.end - view.una + self.segment <= i64::from(w));
        let dated = view.tsval.is_some() && s.tsval.is_some() && self.own_tick().is_some();
        (LEAST_TIMEOUT_NS..=self.longest_wait()).contains(&silent)
            && silent - self.held_on_path(s, view) >= LEAST_TIMEOUT_NS
            && i64::from(s.len) == self.segment
            && !s.control
            && room
            && dated
            && view.begins_with_more
            && view.flight >= 2 * self.segment
    }

    /// The ACK of a lone segment released `s`: the sender had more data before, as Nagle's algorithm keeps back no full segment, nor a FIN,
    /// and no application waits for an ACK.
    fn follows_lone(&self, s: &Sent, view: &SenderView, released: Option<i64>, there: i64) -> bool {
        let answers = released.is_some_and(|at| s.t - at <= there + there / 2 + TICK_NS);
        let more = s.control || i64::from(s.len) == self.segment;
        view.lone.is_some_and(|lone| s.start == lone.end && view.una == lone.end) && answers && more
    }

    /// What a silence after the latest segment was, where neither timestamps nor ids show it: the application had written all if
    /// that segment was not full, although the window had room for a full one.
    fn ended_writing(&self, view: &SenderView) -> State {
        let small = view.len < self.segment || self.is_small(view.len);
        if small && !view.has_more() && self.has_room(view) {
            State::Idle
        } else {
            State::Undecided
        }
    }

    /// Its application had written no more before `s`: the segment before was not full, although both windows had room for a full one.
    fn wrote_all(&self, s: &Sent, view: &SenderView) -> bool {
        let next = s.start - view.una + self.segment;
        let room = next <= view.flight_max && view.window.is_none_or(|w| next <= i64::from(w));
        room && self.phase == Phase::Open && (1..self.segment).contains(&view.len) && !view.has_more()
    }

    /// The window that it knew had room for a full segment.
    fn has_room(&self, view: &SenderView) -> bool {
        view.window.is_none_or(|w| self.end - view.una < i64::from(w))
    }

    /// An ACK passes its sender's tap later after the latest data than a receiver may delay it (RFC 1122 section 4.2.3.2) and than the
    /// shortest timer takes: it was queued before the tap, or made for a copy, and the timer may have expired meanwhile.
    #[inline]
    pub fn doubt_late_ack(&self, t: i64, timeline: &mut Timeline) {
        let late = |last: &i64| t - last >= LEAST_TIMEOUT_NS + MOST_ACK_DELAY_NS;
        if let Some(last) = self.tally.last_send.filter(late).filter(|_| self.view.is_some()) {
            timeline.doubt_since(last);
        }
    }

    /// Its packets that passed since the third duplicate ACK were made before that arrived, by their echo: they waited in a queue, as its
    /// retransmission does (RFC 5681 section 3.2). Without timestamps: what is missing never passed, so that a queue before the tap dropped
    /// it, and no timer can have expired since new data passes.
    fn has_not_shown_repair(&self, now: i64) -> bool {
        let Some(last) = self.tally.last_send.filter(|last| *last > self.third_dupack) else { return false };
        match self.third_dupack_tsval.zip(self.own_stamps) {
            Some((tsval, (_, echo))) => !self.peer_waits && newer(tsval, echo),
            None => {
                let missing = self.scoreboard.range(self.una, self.una + 1).next().is_some_and(|r| r.unseen);
                missing && !self.reorders && now - last < LEAST_TIMEOUT_NS
            }
        }
    }

    /// The capture ends. Nothing is outstanding: the sender had sent all, and at a tap away from it what followed is idle time or undecided.
    pub fn end_view(&mut self, now: i64, timeline: &mut Timeline) {
        // It did not wait for a last delayed ACK: it had sent all.
        timeline.retract_stall();
        self.drop_kept_back(timeline);
        self.end_first_delayed(timeline);
        if let (true, Some(last)) = (self.flight() <= 0, self.tally.last_send) {
            timeline.sent_all(last);
            // The capture goes on, and the latest ACK released nothing: no window was the limit.
            if self.view.is_none() && !sends_at_once(self, timeline.rest_ns(), now) {
                timeline.had_room(last);
            }
        }
        let asked = self.repair_asked().filter(|asked| *asked < timeline.now());
        if let Some(asked) = asked.filter(|_| self.has_not_shown_repair(timeline.now())) {
            timeline.was(asked, State::FastRecovery, None);
            self.view = None;
            return;
        }
        // The third duplicate ACK has reached it: what it repeats since then may be in a queue.
        let asked = asked.filter(|_| self.view.is_some());
        let (Some(view), Some(loop_ns), Some(sent)) = (self.view.take(), self.loop_ns(), self.tally.last_send) else {
            return;
        };
        if let Some(asked) = asked {
            return timeline.was(asked, State::Undecided, None);
        }
        // What passed after the last ACK of new data repeats bytes: it was no idle time.
        let last = self.last_advance.map_or(sent, |at| at.max(sent));
        let idle = last.saturating_add(loop_ns).saturating_add(loop_ns / 2);
        // A receiver near the tap answers at once: an answer that does not come was lost or waits above the tap, and timers run.
        let unanswered = self.near_receiver && self.flight() > 0;
        let trip = if unanswered { 0 } else { idle - last };
        if timeline.now() - sent > trip.saturating_add(MOST_ACK_DELAY_NS) {
            timeline.doubt_since(sent);
        }
        // It probes a closed window: it has data.
        if self.window == Some(0) && timeline.probed {
            return;
        }
        if self.flight() <= 0 && !self.drained() && idle < timeline.now() && view.len > 0 {
            timeline.was(idle, self.ended_writing(&view), None);
        }
    }

    /// New bytes after a silence in which the timer of outstanding bytes would have expired: they had been acknowledged, and the tap
    /// missed the ACK. A timer takes at most 60 s (RFC 6298 section 2.5), and less than three times what the model says.
    #[cold]
    pub fn missed_ack(&mut self, s: &Sent, first: bool, timeline: &mut Timeline) {
        let (Some(last), Some(rto), Some(trip)) = (self.tally.last_send, self.rto(), self.timer.srtt()) else { return };
        let longest = rto.clamp(FIRST_TIMEOUT_NS, LONGEST_TIMEOUT_NS / 3) * 3;
        if first && s.start == self.end - (s.end - s.start) && self.una < s.start && s.t - last > longest {
            timeline.was(last.saturating_add(2 * trip), State::Idle, None);
        }
    }

    /// When the latest copy of the byte at `pos` passed, acknowledged or not.
    fn passed_at(&self, pos: i64) -> Option<i64> {
        let past = self.past.get(self.past.partition_point(|r| r.end <= pos)).filter(|r| r.start <= pos);
        past.or_else(|| self.scoreboard.range(pos, pos + 1).next()).map(|r| r.t_last)
    }

    /// How much later it passes than its sender's fastest packet, by the sender's clock: a long packet on a slow link, or a queue.
    fn late_by(&self, s: &Sent) -> i64 {
        let drift = s.t.saturating_sub(self.first_stamp.map_or(0, |first| first.1)) / CLOCK_ERROR;
        self.sent_at.map_or(0, |sent| s.t - sent - drift).max(0)
    }

    /// How much longer the silence before `s` is at the tap than by the sender's own clock: the path held the segment.
    fn held_on_path(&self, s: &Sent, view: &SenderView) -> i64 {
        let (Some(before), Some(now), Some(last)) = (view.tsval, s.tsval, self.tally.last_send) else { return 0 };
        let Some(tick) = self.own_tick() else { return 0 };
        let apart = i64::from(now.wrapping_sub(before) as i32).saturating_add(2).saturating_mul(tick);
        (s.t - last).saturating_sub(apart).max(0)
    }
}

//! The state of a sender between two packets.

use super::ack::{AckKind, AckOutcome};
use super::intervals::{own_delay, Timeline, TICK_NS};
use super::kinds::{Phase, State, TimeoutKind};
use super::link_times::Bursts;
use super::pair_times::PairTimes;
use super::sender_state::SenderState;
use super::sender_view::SenderView;
use super::timer::{
    AFTER_LOST_SYN_NS, DELAYED_ACK_MAX_NS, DELAYED_ACK_NS, FIRST_TIMEOUT_NS, HOST_DELAY_NS, MOST_ACK_DELAY_NS,
};
use super::trigger::REACTION_SLACK_NS;

/// The rate of a link falls by some times, as that of 802.11 does from 54 to 11 Mb/s, and it passes its data all the same.
const STILL_WINDOWS: i64 = 4;
/// A path that idles for no larger part of the time is the limit: a larger window would gain no more than that.
const IDLE_PART: i64 = 10;
/// A SYN and a SYN+ACK have two headers of IPv4 and TCP at least.
const HANDSHAKE_BYTES: i64 = 80;

/// The state of a sender until `t`, from its outstanding bytes, the window and its phase.
pub fn wait_state(h: &SenderState, handshake_done: bool, t: i64) -> (State, Option<u64>) {
    if !handshake_done {
        return (State::Handshake, None);
    }
    let (flight, window, room) = h.seen_by_sender();
    // A window below one segment acts like a zero window: senders wait (RFC 9293 section 3.8.6.2.1).
    let closed = h
        .window
        .is_some_and(|w| w == 0 || (i64::from(w) < h.mss() && u64::from(w) * 2 < u64::from(h.tally.window_max)));
    if h.flight() == 1 && h.fin_end.is_some_and(|f| h.una == f - 1) {
        // All its data arrived; only the FIN is outstanding.
        return (State::Closing, None);
    }
    if h.flight() <= 0 {
        match () {
            () if h.fin_end.is_some_and(|f| h.una >= f) => return (State::Closing, None),
            () if closed => return (State::ZeroWindow, None),
            () if flight <= 0 => return (State::Idle, None),
            // Nothing is outstanding at the tap, but the sender has not read the last ACKs.
            () => {}
        }
    }
    if let Some(view) = &h.view {
        let reach = h.reach_ns(view);
        match view.recovers(h.last_timeout, t, (h.ack_way_ns(), reach)) {
            // Whether anything was lost is not known, or not yet.
            Some((State::LossRecovery, _)) if h.doubts_timeout() => return (State::Undecided, None),
            Some(state) => return state,
            None => {}
        }
        // The sender has read of a hole that no retransmission has filled: that was lost, or a timer is to send it.
        let told = h.hole_since.map_or(0, |since| t.saturating_sub(since));
        // As soon as it has read of it, slow start is over.
        let read =
            view.ack_way.filter(|_| !h.slow_start.over).map_or(reach, |way| reach.min(way.saturating_add(TICK_NS)));
        if view.una < h.unsure_until || told > read {
            return (State::Undecided, None);
        }
    }
    // A SYN's timer may expire once more after its answer has passed the tap.
    if let Some(t) = h.timeouts.back().filter(|t| t.progress.is_none() && t.start >= i64::from(h.una > 0)) {
        let state = if t.backoff == 0 { State::RtoWait } else { State::BackoffWait };
        return (state, Some(t.packet));
    }
    // Without SACK a sender keeps its state until more is acknowledged (RFC 6582 section 4), but all that it repeats has arrived by then.
    let repeats = h.view.is_none() && h.una < h.recover;
    match h.phase {
        Phase::Loss if repeats => (State::LossRecovery, h.last_timeout),
        Phase::Recovery if repeats => (State::FastRecovery, None),
        // It has sent all: neither a window nor slow start keeps anything back.
        _ if h.fin_end.is_some_and(|fin| h.end >= fin) => (State::Transfer, None),
        _ if h.window == Some(0) => (State::ZeroWindow, None),
        _ if h.una <= 1 && h.syn_lost && flight <= h.mss() => (State::SlowStart, None),
        _ if window.is_some_and(|w| flight + room > i64::from(w)) => (State::WindowLimited, None),
        // A full segment would have fitted: it had no more.
        _ if h.len_before > 0 && flight == h.len_before && h.is_small(flight) => (State::Transfer, None),
        _ if !h.slow_start.over => (State::SlowStart, None),
        _ => (State::Transfer, None),
    }
}

/// The time by which the receiver delayed the ACK of everything outstanding, while the sender was silent; and how long the path held that ACK.
/// Or the ACK of the first segment of a burst: had the next one arrived, the receiver had answered at once (RFC 5681 section 4.2).
///
/// `alone`: no other packet of the receiver passed since the latest data, behind which the ACK could have waited before a tap at the receiver.
pub fn delayed_ack(
    h: &SenderState,
    o: &AckOutcome,
    state: State,
    (silent, gap): (i64, i64),
    alone: bool,
) -> Option<(i64, i64)> {
    let burst = o.rtt.is_some_and(|rtt| rtt - silent < DELAYED_ACK_NS);
    let first = burst && h.flight() > 0 && o.acked <= h.mss() && h.view.is_none();
    // The receiver's application, which read, ended this wait.
    let read = o.opens && matches!(state, State::WindowLimited | State::ZeroWindow);
    if o.kind != AckKind::Advance
        || read
        || h.flight() > 0 && !first
        || h.link_busy.is_some()
        || h.phase == Phase::Loss
        || !matches!(state, State::Transfer | State::SlowStart | State::WindowLimited | State::ZeroWindow)
    {
        return None;
    }
    let least = h.rtt_least?;
    // The bytes ahead of the last segment delay it; until the path's speed is known, this is zero only for a single segment.
    let bytes = if first { o.acked } else { h.flight_sent };
    let own = match (h.sizes.of_line(bytes, least), h.ns_per_kib) {
        // What passes a tap at the receiver has the path behind it.
        _ if h.near_receiver => 0,
        (Some(trip), _) => trip - least,
        (None, Some(n)) => own_delay(n, bytes),
        (None, None) if first => 0,
        (None, None) if h.flight_sent <= h.mss() || h.answered_by_timer(o, silent, least) => 0,
        (None, None) => return None,
    };
    // An ACK whose own timestamp shows that it was made long before was held on the path, not by the receiver.
    let held = o.made.map_or(0, |made| h.last_advance.unwrap_or(0) - made);
    let held = if held > DELAYED_ACK_NS { held } else { 0 };
    let over = silent - least - own - held;
    let least = if h.near_receiver && alone { HOST_DELAY_NS } else { DELAYED_ACK_NS };
    if !(least..=DELAYED_ACK_MAX_NS).contains(&over) || gap - held < least {
        return None;
    }
    Some((over.min(gap - held), held))
}

/// Whether a transmission at `t` follows the latest ACK at once, so that the sender had waited for it: within twice its shortest reaction
/// at this tap, which includes the path between the two.
pub fn sends_at_once(h: &SenderState, rest_ns: i64, t: i64) -> bool {
    let wait = rest_ns.max(REACTION_SLACK_NS);
    h.last_ack.is_some_and(|ack| t - ack <= h.reaction.unwrap_or(0).saturating_mul(2).saturating_add(wait))
}

/// The time that a path takes for `bytes`, if it passes the outstanding ones in a round trip.
pub fn pace_of(bytes: i64, trip: i64, outstanding: i64) -> i64 {
    (trip as f64 * bytes as f64 / outstanding.max(bytes).max(1) as f64) as i64
}

impl SenderState {
    /// From an ACK at the tap to what it causes its sender to send, at most: two round trips are never quite alike.
    #[inline]
    fn reach_ns(&self, view: &SenderView) -> i64 {
        let there = view.there.unwrap_or(0).max(self.loop_ns().unwrap_or(0));
        there.saturating_add(there / 2).saturating_add(TICK_NS)
    }

    /// One ACK answers all that was outstanding.
    fn answers_all(&self, o: &AckOutcome) -> bool {
        o.kind == AckKind::Advance && self.flight() <= 0 && o.acked == self.flight_sent
    }

    /// The window is known, and was never smaller.
    fn has_steady_window(&self) -> bool {
        self.window.is_some() && self.window == self.window_least
    }

    /// One ACK answers a whole burst so late that the path, had it spent its least round trip on passing the bytes of that, passes the burst
    /// sooner: a timer of the receiver made it late. A receiver whose application reads slowly looks alike where its window changes.
    fn answered_by_timer(&self, o: &AckOutcome, silent: i64, least: i64) -> bool {
        // What passes a tap away from its sender had been sent closer together.
        let whole = (o.burst == o.acked || self.view.is_some()) && self.answers_all(o);
        let bytes = if self.rtt_least_small { HANDSHAKE_BYTES } else { self.segment.max(1) };
        // A clock that ticks may show none.
        let known = least > 0;
        whole
            && self.has_steady_window()
            && known
            && silent - least - least.saturating_mul(self.flight_sent) / bytes >= DELAYED_ACK_NS
    }

    /// Whether the latest timeout was spurious is undecided.
    fn doubts_timeout(&self) -> bool {
        let latest = self.timeouts.iter().rev().find(|t| Some(t.packet) == self.last_timeout);
        latest.is_some_and(|t| matches!(t.kind, None | Some(TimeoutKind::Undecided)))
    }

    /// By how much longer the least round trip of data is than that of a SYN, on a slow line. Where each round trip has a queue, the
    /// ACKs that follow one another show how fast the line is.
    fn own_time(&self) -> i64 {
        let pace = self.ns_per_kib.filter(|_| self.rtt_least_small && self.view.is_none());
        pace.map_or(0, |pace| own_delay(pace.min(self.least_spaced.unwrap_or(pace)), self.segment))
    }

    /// Since then a link that data and ACKs share has been busy; and when the first data was answered.
    fn keeps_link_busy(&mut self, (since, answered): (i64, i64), timeline: &mut Timeline) {
        if !self.fills_path {
            timeline.filled_path(since);
        }
        (self.path_empty_at, self.path_answered_at, self.fills_path) = (since, Some(answered), true);
        (self.queued, self.late, self.may_fill_path) = (false, false, false);
    }

    /// An ACK at the sender's tap: has the path data of it?
    #[inline]
    pub fn note_ack_of_path(&mut self, t: i64, o: &AckOutcome, timeline: &mut Timeline) {
        let floor = self.rtt_floor();
        if let (Some(rtt), AckKind::Advance) = (o.rtt, o.kind) {
            // A receiver delays the ACK of one segment: one that is late after one in time says nothing.
            let over = floor.map_or(0, |floor| rtt - floor);
            let sent = t - rtt;
            if self.copies_on_path.back().is_some_and(|copied| sent >= *copied) {
                self.copies_on_path.clear();
            }
            if !self.late && o.acked <= self.mss() && (DELAYED_ACK_NS..=DELAYED_ACK_MAX_NS).contains(&over) {
                (self.queued, self.late) = (false, true);
            } else {
                // A path that has delivered the original may hold its copy yet.
                let copy = self.copies_on_path.back().copied();
                let head = self.scoreboard.front().map(|r| r.t_last);
                let pace = head.map_or(0, |_| pace_of(o.acked, t - sent, self.flight() + o.acked));
                match self.link_busy {
                    Some(busy) => self.keeps_link_busy(busy, timeline),
                    None => self.note_path(t, sent, pace, (head.or(copy), floor), timeline),
                }
            }
        } else if o.kind == AckKind::Duplicate && (!self.copies_on_path.is_empty() || o.dsack) {
            // It answers a copy of bytes that had arrived, or may: no other if a single segment is outstanding.
            let head = self.scoreboard.front().map(|r| r.t_last);
            let copied = self.copies_on_path.pop_front().filter(|_| self.flight() <= self.mss());
            if let (Some(sent), true) = (copied, head.is_some()) {
                self.note_path(t, sent, 0, (head, floor), timeline);
            }
        } else if o.kind == AckKind::Duplicate {
            // Segments arrived above the first outstanding one, which may be lost: the next ones are on the path.
            let arrived = self.sacked_hi.max(self.una + i64::from(self.dupacks) * self.mss());
            let mut runs = self.scoreboard.range(arrived - 1, self.end).map(|r| r.t_last);
            if let (Some(sent), head) = (runs.next(), runs.next()) {
                drop(runs);
                let pace = pace_of(self.mss(), t - sent, self.flight());
                self.note_path(t, sent, pace, (head, floor), timeline);
            }
        }
    }

    /// An ACK of bytes sent at `sent` reaches the sender at `t`; the first of those left was sent at `head`. `floor`: the least round trip.
    ///
    /// What left a link when that ACK was caused is acknowledged by now, and what the sender has sent since then is not there yet. So the
    /// path held data at that time if some is outstanding for longer than the least round trip. It is full while that is so until an
    /// answer to the first data after a pause is back: more data could not have been sent faster. `pace`: the path takes that long for what
    /// was acknowledged.
    #[inline]
    pub fn note_path(
        &mut self,
        t: i64,
        sent: i64,
        pace: i64,
        (head, floor): (Option<i64>, Option<i64>),
        timeline: &mut Timeline,
    ) {
        let Some(floor) = floor else { return };
        // Two round trips in a row: one late ACK may be a delayed one.
        let late = t - sent - floor > floor / 2;
        // The head leaves as much later as it was sent, or as the path passes what is ahead. Two round trips are never quite alike.
        let slack = self.own_time().max(floor / 4);
        let on_way = |head: i64| t - head <= floor + slack - pace.min(head - sent).clamp(0, floor);
        let empty = head.is_none_or(on_way);
        // Data or its ACK is in the queue nearly all the time. A queue that holds none of its data is that of other flows.
        let busy = floor <= (t - sent) / IDLE_PART;
        (self.queued, self.late) = (late && self.late && busy && !empty, late);
        if empty {
            (self.path_empty_at, self.path_answered_at, self.fills_path) = (t, None, false);
            self.path_queued_from = None;
        } else if !self.fills_path {
            // What was acknowledged waited behind earlier data since it was sent.
            let queued_from = *self.path_queued_from.get_or_insert(sent);
            if sent >= self.path_empty_at {
                self.path_answered_at.get_or_insert(t);
            }
            // From the link an ACK takes a part of the least round trip: the link had data until then.
            if self.path_answered_at.is_some_and(|at| t - floor / 2 >= at) {
                timeline.filled_path(self.path_empty_at.min(queued_from));
                self.fills_path = true;
            }
        }
        // Whether a burst fills the path shows when its later segments are answered.
        self.may_fill_path = !self.fills_path
            && (!empty || self.flight() > 2 * self.mss() || self.bursts.is_some_and(|bursts| bursts.may_be_busy(t)));
    }

    /// More data, by a window without room or one that still grows, would only wait on a full path. `now`: when the latest packet of the
    /// connection passed.
    #[inline]
    pub fn on_path(&self, t: i64, now: i64, state: State) -> State {
        match state {
            State::WindowLimited if self.stands_still(t - now) => state,
            // A sniffer sees no expiry.
            State::SlowStart | State::WindowLimited | State::Transfer if self.hears_nothing(t) => State::Undecided,
            _ if self.fills_path && state.on_full_path(true) == State::FullPath => {
                state.on_full_path(self.view.is_some())
            }
            State::SlowStart if self.queued => state.on_full_path(self.view.is_some()),
            State::RtoWait if self.keeps_silent(t) => State::Undecided,
            // Whether it repairs the hole meanwhile, or waits for a timer, shows only when the queue has passed.
            State::Transfer if self.hole_since.is_some() && self.far_behind_queue() => State::Undecided,
            _ => state,
        }
    }

    /// The capture ends, and no answer has come to what was sent since the path was empty, for longer than any round trip of data took, and
    /// than the timer waits without backoff (3 s before a round trip is known, RFC 6298 section 5.7): a timer that waits for so long had
    /// expired before, for a queue or a loss, and a queue is what lasts. Or the handshake has just found a queue. More data would only wait in it.
    /// `opening`: so long may the handshake's round trip have been.
    pub fn end_in_queue(&self, now: i64, opening: Option<i64>, timeline: &mut Timeline) {
        let shown = self.dupacks > 0 || self.sacked_bytes > 0 || self.path_answered_at.is_some();
        let Some(sent) = self.head_sent.filter(|_| self.view.is_none() && self.flight() > 0 && !shown) else { return };
        let since = sent.max(self.path_empty_at);
        let first = self.una <= 1;
        let least = Some(self.pair_least).filter(|least| *least < i64::MAX);
        let met_queue = first && self.timer.srtt().zip(least).is_some_and(|(trip, least)| trip / 2 > least);
        let longest = if first { least.or(opening).unwrap_or(0) } else { self.tally.rtt_max };
        let timer = self.timer.rto(0, self.cwnd_segments()).unwrap_or(AFTER_LOST_SYN_NS);
        // Not every stack has taken the handshake for a round trip.
        let timer = if first { timer.max(AFTER_LOST_SYN_NS) } else { timer };
        if now - since > if met_queue { longest * 2 } else { timer.max(longest) } {
            timeline.filled_path(since);
        }
    }

    /// The least round trip of other connections between the two hosts, if it is shorter than any of this one's; 0 for none.
    pub fn least_of_others(&self) -> i64 {
        let own = self.measured_least().unwrap_or(i64::MAX);
        if self.pair_least < own {
            self.pair_least
        } else {
            0
        }
    }

    /// A sniffer hears no ACK for so long that the sender's timer may have expired, whatever stations repeat meanwhile: a link whose rate
    /// has fallen delivers a segment for each ACK in that time, and a queue takes no longer than it took lately.
    fn hears_nothing(&self, t: i64) -> bool {
        if !self.sniffed {
            return false;
        }
        let trip = self.view.as_ref().and_then(|view| view.round_trip()).max(self.timer.srtt()).unwrap_or(0);
        let answer = own_delay(self.ns_per_kib.unwrap_or(0), 2 * self.mss());
        self.last_ack.is_some_and(|ack| t - ack > FIRST_TIMEOUT_NS + trip && t - ack > STILL_WINDOWS * answer)
    }

    /// The receiver at the tap answers the timer's copy with nothing: the timer goes on, or the answer is in the receiver's own queue.
    fn keeps_silent(&self, t: i64) -> bool {
        let expired = self.timeouts.back().filter(|x| self.near_receiver && x.start > 0 && x.progress.is_none());
        expired.is_some_and(|x| t - x.t > FIRST_TIMEOUT_NS + MOST_ACK_DELAY_NS)
    }

    /// For so long the path would have passed some windows, and a station have given up a frame: the path holds none of the data, and the
    /// other end stands still. A queue that other connections show was in each of its round trips. Away from the sender the tap's round trips
    /// show no pace of the path.
    fn stands_still(&self, silent: i64) -> bool {
        let window = self.window.map_or(0, i64::from).min(self.tally.flight_max);
        let passes = self.ns_per_kib.map(|pace| own_delay(pace, window));
        let queue = self.measured_least().map_or(0, |least| (least - self.pair_least).max(0));
        let near = self.view.is_none() && silent > FIRST_TIMEOUT_NS;
        near && passes.is_some_and(|passes| silent - queue > STILL_WINDOWS * passes)
    }

    /// Away from the sender: the latest round trip was longer than the least by the shortest timeout (200 ms), so that any timer may run.
    fn far_behind_queue(&self) -> bool {
        let trip = self.view.as_ref().and_then(|view| view.round_trip());
        trip.zip(self.rtt_floor()).is_some_and(|(trip, floor)| trip - floor >= FIRST_TIMEOUT_NS)
    }

    /// One ACK answers a whole burst. If a larger one takes no longer than the one before, a timer of the receiver made both late, and not the
    /// path: that passes the additional bytes in the difference.
    pub fn learn_from_bursts(&mut self, t: i64, o: &AckOutcome, pairs: &mut PairTimes) {
        self.link_busy = None;
        // What passes a tap away from its sender had been sent closer together.
        let burst = o.burst == o.acked || self.view.is_some();
        let Some(rtt) = o.rtt.filter(|_| burst && self.answers_all(o)) else { return };
        if self.view.is_none() {
            let at_once = self.reaction.unwrap_or(0).saturating_add(REACTION_SLACK_NS);
            // Which of several SYNs was answered is not known.
            let opening = self.rtt_whole.filter(|_| !self.syn_lost);
            let shortest = self.pair_least.min(opening.unwrap_or(i64::MAX));
            let times = pairs.link(self.pair);
            times.note(o.acked, rtt, opening);
            let bursts = Bursts::follow(self.bursts, t, rtt, at_once);
            let busy = bursts.busy_since(t, (o.acked, rtt), times, self.segment);
            self.link_busy = busy.or_else(|| bursts.fill_line_since(t, rtt, shortest));
            self.bursts = Some(bursts);
            self.sizes.note(o.acked, rtt, None);
            self.sizes.compare(o.acked, rtt);
        }
        let late = rtt - self.rtt_least.unwrap_or(rtt);
        let (bytes, before, window) = std::mem::replace(&mut self.burst_late, (o.acked, late, self.window));
        let apart = (late - before).max(0);
        // Round trips are never quite alike; where that outweighs what the path took for more bytes, it says nothing.
        let alike = (-before / 8..=before / 16).contains(&(late - before));
        // A receiver whose application reads slowly answers when that reads, and its window falls meanwhile.
        let steady = window == self.window && self.has_steady_window();
        let larger = bytes > 0 && bytes + self.mss() <= o.acked;
        if steady && larger && before >= DELAYED_ACK_NS && alike {
            let pace = apart.saturating_mul(1024) / (o.acked - bytes);
            self.ns_per_kib = Some(self.ns_per_kib.map_or(pace, |known| known.min(pace)));
        }
    }

    /// The path's speed from an ACK that was not delayed, if it is a new estimate.
    pub fn learn_speed(&mut self, o: &AckOutcome) -> Option<i64> {
        let over = (o.rtt.filter(|_| o.burst > 0)? - self.rtt_least?).saturating_mul(1024);
        // The minimum RTT itself contains no information about the speed.
        if over <= 0 {
            return None;
        }
        if self.ns_per_kib.is_some_and(|known| over >= known.saturating_mul(o.burst)) {
            return None;
        }
        self.ns_per_kib = Some(over / o.burst);
        self.ns_per_kib
    }
}

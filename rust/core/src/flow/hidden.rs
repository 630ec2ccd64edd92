//! What a sender may have sent before its timer expired that a tap away from it never captured: the timeout marks it as lost, too.

use super::kinds::{Phase, State};
use super::output::Out;
use super::send::{Sent, SentOutcome};
use super::sender_state::SenderState;
use super::seq::newer;
use super::timer::{FIRST_TIMEOUT_NS, LEAST_TIMEOUT_NS, LONGEST_TIMEOUT_NS, SYN_TIMEOUT_MAX_NS, SYN_TIMEOUT_NS};

/// The first window of a sender (RFC 6928).
const FIRST_WINDOW: i64 = 10;
/// No path is so long without a queue: over a geostationary satellite, 36 000 km high, a round trip takes half of it.
const QUEUE_NS: i64 = 1_000_000_000;
/// The ceiling of Linux, above that of the RFC.
const LONGEST_OF_LINUX_NS: i64 = 2 * LONGEST_TIMEOUT_NS;
/// A timer is late by the tick of a clock of 100 Hz.
const SLOW_TICK_NS: i64 = 10_000_000;
/// The weight of the first round trip is below a tenth after 16 more (RFC 6298 section 2.3), which two segments each may take.
const OPENING_SEGMENTS: i64 = 32;
/// Expiries of one segment before a sender gives up: 15 in Linux (`tcp_retries2`).
const MOST_TIMERS: u32 = 16;

/// On a path with such round trips several timers may have expired in a silence: if these are short, a timer in use takes 200 ms and a few
/// round trips (Linux, and near it others) or 1 s (RFC 6298 section 2.4), and k of them, each twice as long as the one before, take 2^k - 1
/// times that. One of RFC 6298 is enough where it fits.
fn may_be_several(silent: i64, trip: Option<i64>) -> bool {
    let Some(trip) = trip else { return false };
    let longest = FIRST_TIMEOUT_NS.saturating_add(trip.saturating_mul(3));
    let one_of_rfc = silent.saturating_sub(SYN_TIMEOUT_NS).saturating_abs() <= trip.saturating_add(SLOW_TICK_NS);
    let fits = |k: u32| (LEAST_TIMEOUT_NS..=longest).contains(&(silent / ((1 << k) - 1)));
    longest < 2 * LEAST_TIMEOUT_NS && !one_of_rfc && (2..MOST_TIMERS).any(fits)
}

impl SenderState {
    /// The timer has expired, or may have.
    pub fn expired_unseen(&mut self) {
        self.hidden_until = self.hidden_until.max(self.may_have_sent());
        self.ids.since_expiry = 0;
    }

    /// Packets that were sent since the highest captured byte and are missing may have carried data up to here, as far as one flight goes.
    pub fn may_have_sent(&self) -> i64 {
        (self.end + i64::from(self.ids.above) * self.mss()).min(self.una + self.largest_flight())
    }

    /// The timer has expired: ACKs that passed may not have arrived by then, and let the sender undo the timeout when they do.
    pub fn may_undo_unseen(&self, s: &Sent) -> bool {
        let echo = self.latest_stamp.map(|(_, echo, _)| echo).filter(|_| s.tsval.is_some() && !self.peer_waits);
        let Some((latest, at)) = self.latest_news else { return false };
        match echo {
            Some(echo) => newer(latest, echo),
            None => self.round_trip().is_some_and(|trip| s.t - at < 2 * trip),
        }
    }

    /// Bytes that can be in flight: all ACKs under way let the sender double its window at most (RFC 5681 section 3.1).
    fn largest_flight(&self) -> i64 {
        let before = self.view.as_ref().map_or(i64::from(self.tally.window_max), |view| view.flight_max);
        let first = if self.una < FIRST_WINDOW * self.mss() { FIRST_WINDOW * self.mss() } else { 0 };
        2 * before.max(self.tally.flight_max).max(first)
    }

    /// New bytes, and packets may be missing since those before. At the sender its host dropped them, unless it may have sent them
    /// for others while this sender was silent.
    #[inline(never)]
    pub fn note_unseen_before(&mut self, s: &Sent) {
        if self.near_sender {
            self.host_dropped = self.ids.follows && self.ids.unseen().is_some_and(|unseen| self.ids.above <= unseen);
            self.ids.above = 0;
            return;
        }
        let since_loss = i64::from(self.ids.since_expiry);
        // All that passes after a silence may be repeated: the first copies, and the timer's own, may be missing.
        if self.paused_before(s) {
            // Slow start goes on since an expiry before, if this pause was none.
            if self.phase != Phase::Loss {
                self.maybe_expired_start = self.una;
            }
            self.expired_unseen();
        }
        // More segments are missing below these than packets since the timer expired: the others were sent before, and a sender that repeated
        // what it had sent before would have begun with them. So these bytes are new.
        let missing = (s.start - self.end + self.mss() - 1) / self.mss();
        let before = missing - i64::from(self.ids.since_expiry);
        if before > 0 && self.hidden_until > self.end {
            self.hidden_until = s.start;
            let before_loss = missing - since_loss;
            if before_loss > 0 && self.end == self.recover && self.left_loss() {
                self.recover = self.end + before_loss * self.mss();
                self.phase = Phase::Loss;
            }
        }
        self.ids.above = 0;
    }

    /// By SND.NXT of `ack` it had sent more than its first segment, which has just passed, for a timer's time the only packet since its SYN was
    /// `answered`. A host acknowledges that at once (RFC 9293 section 3.10.7.3): its queue dropped that ACK and the first window, and the timer
    /// sent the segment.
    #[cold]
    pub fn opened_by_timer(&mut self, answered: Option<i64>, ack: &Sent, out: &mut Out<'_>) {
        let Some(head) = self.scoreboard.front().filter(|r| r.start == 1 && !r.unseen).copied() else { return };
        let packet = self.timeline.as_ref().and_then(|timeline| timeline.last_packet());
        let (Some(at), Some(packet)) = (answered.filter(|_| self.is_at_tap() && self.una == 1), packet) else { return };
        let waited = head.t_first - at;
        let alone = head.copies == 1 && self.last_send == Some(head.t_first);
        if alone && (LEAST_TIMEOUT_NS..=SYN_TIMEOUT_MAX_NS).contains(&waited) {
            let len = u32::try_from(head.end - head.start).unwrap_or(0);
            let first = Sent { packet, t: head.t_first, start: head.start, end: head.end, len, ..*ack };
            self.expire(&first, 0, waited, at, out);
        }
    }

    /// A timer ended a silence that is longer than any first timer, after `backoff` expiries that were seen: a queue held the copy, or where
    /// packets may be missing (`hidden`) earlier copies were lost before the tap. The first timer takes as long as the least one at least,
    /// and each next one twice as long as the one before (RFC 6298 section 5.5), so that k of them take 2^k - 1 times the first: with the
    /// least k that fits, it is longest. In between it is undecided.
    #[cold]
    pub fn divide_silence(&mut self, s: &Sent, o: &SentOutcome, backoff: u16, hidden: bool) {
        let from = o.silent_from.unwrap_or(s.t);
        let silent = s.t - from;
        let least =
            if s.start == 0 { SYN_TIMEOUT_NS } else { LEAST_TIMEOUT_NS.max(self.round_trip().unwrap_or(0) / 8 * 7) };
        let trip = self.view.as_ref().and_then(|view| view.round_trip());
        if o.acked_before && self.may_have_crossed(silent, trip) {
            if let Some(timeline) = self.timeline.as_mut() {
                timeline.was(from, State::Undecided, None);
            }
            return;
        }
        let known = trip.max(self.round_trip());
        // SRTT + 4 RTTVAR is five times the longest round trip at most (RFC 6298 section 2.3). The opening is the first one, with its timers.
        let usual = known.unwrap_or(0).saturating_mul(5).max(SYN_TIMEOUT_MAX_NS);
        let opening = self.opening_trip.filter(|_| self.una < OPENING_SEGMENTS * self.mss()).unwrap_or(0);
        let first = usual.max(opening.saturating_mul(5));
        // Linux 2.2 adds 1/4 of that and, for a window of one segment, all of it.
        let linux22 = first.saturating_add(first / 4).saturating_add(first).min(LONGEST_OF_LINUX_NS);
        // Without timestamps a queue may have made the round trips of the data longer than any that the tap can know.
        let longest = match () {
            () if s.start == 0 => usual,
            // Until a round trip is measured, the timer of a SYN lasts, whose earlier copies may have been lost before the tap.
            () if self.una <= 1 => LONGEST_OF_LINUX_NS,
            () if trip.is_some() => linux22,
            () => linux22.max(LONGEST_TIMEOUT_NS),
        };
        let most = match () {
            () if trip.is_some() => usual,
            // In a handshake timers expire, too: its round trip tells the least timer, three times which two expiries take.
            () if hidden => least.saturating_mul(3).clamp(SYN_TIMEOUT_MAX_NS, usual),
            () => SYN_TIMEOUT_MAX_NS,
        };
        // A silence as long as the ceiling of a timer is one timer: the path held nothing meanwhile.
        let ceiling = [LONGEST_TIMEOUT_NS, LONGEST_OF_LINUX_NS]
            .into_iter()
            .any(|most| silent.abs_diff(most) <= SLOW_TICK_NS as u64);
        if ceiling && s.start > 0 {
            return;
        }
        let several = hidden && !self.ids.next && self.una > 1 && may_be_several(silent, known);
        let unsure = backoff == 0 && (silent > most || several);
        let Some(timeline) = self.timeline.as_mut().filter(|_| unsure) else { return };
        // Whether the timer had expired before is as unknown as what the sender waited for then.
        let since = if timeline.is_undecided_until(from) { from } else { from.saturating_add(least) };
        timeline.was(since, State::Undecided, None);
        // A queue may have kept the copy longer than the packet before, by as much as a round trip.
        if hidden && silent.saturating_sub(known.unwrap_or(0)) > longest {
            let mut firsts = (2..i64::BITS - 1).map(|k| silent / ((1 << k) - 1));
            let first = firsts.find(|first| *first <= longest).unwrap_or(least).max(least);
            timeline.was_timer_wait(from.saturating_add(first), State::BackoffWait, s.packet);
        }
    }

    /// A copy of acknowledged bytes passes a tap near the receiver, `silent` after the packet before. Their ACK was lost; or the copy had been
    /// sent before that arrived, and a queue that held packets nearly as long before held it.
    fn may_have_crossed(&self, silent: i64, trip: Option<i64>) -> bool {
        let held = self.longest_loop().max(trip).filter(|held| *held >= QUEUE_NS);
        self.near_receiver && held.is_some_and(|held| silent / 2 <= held)
    }

    /// It repeats what follows a timeout, or did so until the tap saw the ACK of all that it had captured then.
    fn left_loss(&self) -> bool {
        self.phase == Phase::Loss || self.phase != Phase::Recovery && self.left == Phase::Loss
    }

    /// The sender was silent for the time of a timer, by its own clock where it is known: at least all of its ticks but one, which may be coarse.
    pub fn paused_before(&self, s: &Sent) -> bool {
        let ticks = s.tsval.zip(self.stamps_before).map(|(v, (before, _))| i64::from(v.wrapping_sub(before) as i32));
        let by_stamps = ticks.zip(self.own_tick()).map(|(ticks, tick)| (ticks - 1).saturating_mul(tick));
        let silent = by_stamps.or_else(|| self.previous_packet.map(|p| s.t - p));
        // It answers an ACK that passed too lately for a timer to have run since then.
        let soon = |at: i64| s.t - at < self.least_loop() + LEAST_TIMEOUT_NS;
        let answers = match (s.tsval, self.latest_stamp) {
            (Some(_), Some((_, echo, _))) => {
                let is_new = self.stamps_before.is_none_or(|(_, before)| newer(echo, before));
                is_new && self.peer_tsval == Some(echo) && soon(self.peer_tsval_at)
            }
            _ => self.last_advance.is_some_and(soon),
        };
        // The first data after the SYN waited for the handshake.
        let begins = s.start <= 1 && self.round_trip().is_none();
        !begins && !answers && silent.is_some_and(|silent| silent >= self.least_timer(s))
    }
}

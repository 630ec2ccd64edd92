//! The intervals of a direction with data, one per state of its sender.

use super::kinds::State;
use super::piece::{Counts, Piece};
use crate::table::tcp::IntervalRows;

/// The pieces of one direction. The last one can grow, and those since the sender's last transmission can become a wait for the
/// retransmission timer.
#[derive(Debug)]
pub struct Timeline {
    now: i64,
    /// Shorter pauses are no idle time of the application.
    rest_ns: i64,
    /// Pieces that are not final: the one at the sender's last transmission, and those since.
    open: Vec<Piece>,
    /// The counters of all pieces, and what they were at the sender's latest transmissions and at ACKs of new data.
    all: Counts,
    marks: Vec<(i64, Counts)>,
    /// Bytes in flight at the end of the latest piece.
    flight: u32,
    /// End of the last piece that the peer acknowledged: later pieces are not part of the intervals.
    acked_until: i64,
    /// Since when the sender has been idle.
    idle_since: Option<i64>,
    /// Bytes in flight at a delayed-ACK stall among the open pieces while the path's speed is unknown: nothing is final.
    doubt: Option<i64>,
    /// The answer to the SYN came as late as a timer of the peer sends it again: nothing is final until a round trip is known.
    late_answer: bool,
    /// The tap is away from the sender: no answer to an ACK ends the time in which the window is the limit, so that each ACK of new data
    /// does, as the pace of ACKs shows whether a link is busy.
    pub away: bool,
    /// The state before a stall for a delayed ACK that no transmission has followed yet.
    stalled: Option<State>,
    /// The sender probed a closed window since its last transmission: it had data.
    pub probed: bool,
}

/// The transmission time of `bytes` in flight on a path of this speed.
pub fn own_delay(ns_per_kib: i64, bytes: i64) -> i64 {
    ns_per_kib.saturating_mul(bytes) / 1024
}

/// Pieces kept while a sender is silent. Above it the oldest are final. A silent sender receives only a few kinds of ACK.
const OPEN_PIECES: usize = 64;

/// Marks kept of one direction, 1.5 KB.
const MARKS: usize = 32;

/// After how many seconds a SYN or SYN+ACK is retransmitted: after one timer of 1 s, two, three... (RFC 6298 sections 2.1 and 5.5); or
/// of 3 s (RFC 1122).
const SYN_TIMERS_S: [i64; 11] = [1, 3, 7, 9, 15, 21, 31, 45, 63, 93, 127];
const SECOND_NS: i64 = 1_000_000_000;
/// A timer of Linux is late by no more than this part: its wheel has 64 places at each level.
const TIMER_PART: i64 = 64;

/// A SYN passes so long after the first one as its timer sends it, give or take what the air does.
pub fn on_syn_schedule(elapsed: i64) -> bool {
    let by_timer = |timer: i64| elapsed.saturating_sub(timer).saturating_abs() <= timer / TIMER_PART + ACCESS_NS;
    SYN_TIMERS_S.iter().any(|s| by_timer(s * SECOND_NS))
}

/// States of a sender whose window, its own or the peer's, is the limit unless a link is full.
const LIMITED: [State; 3] = [State::SlowStart, State::Transfer, State::WindowLimited];

/// The same, and what they are called on a full path.
fn limited_or_full() -> impl Iterator<Item = State> {
    LIMITED.into_iter().chain(LIMITED.map(|state| state.on_full_path(false)))
}

/// A scheduler's tick, 1000 Hz.
pub const TICK_NS: i64 = 1_000_000;

/// The time for a full frame with contention and a few retries at the lowest rate (12 ms per transmission at 1 Mb/s): over the air
/// a sender with data may need this long between an ACK and its next segment.
pub const ACCESS_NS: i64 = 30_000_000;

impl Timeline {
    pub fn new(start: i64, rest_ns: i64) -> Self {
        Timeline {
            now: start,
            rest_ns,
            open: Vec::new(),
            all: Counts::default(),
            marks: Vec::new(),
            flight: 0,
            acked_until: start,
            doubt: None,
            late_answer: false,
            idle_since: None,
            away: false,
            stalled: None,
            probed: false,
        }
    }

    pub fn now(&self) -> i64 {
        self.now
    }

    /// Time passed in `piece.state` until `piece.end`; zero-length pieces only count their packet.
    pub fn pass(&mut self, mut piece: Piece) {
        piece.start = self.now;
        piece.end = piece.end.max(self.now);
        self.now = piece.end;
        self.flight = piece.flight;
        self.all.packets = self.all.packets.wrapping_add(piece.packets);
        self.all.acked += piece.acked;
        self.all.rtt_sum = self.all.rtt_sum.saturating_add(piece.rtt_sum);
        self.all.rtt_count += piece.rtt_count;
        // A short pause is processing or channel access, not an idle application: it counts with the state before it. Packets of the
        // peer divide a long one.
        let idle = piece.state == State::Idle;
        if !idle && piece.end > piece.start {
            self.idle_since = None;
        }
        let since = if idle { *self.idle_since.get_or_insert(piece.start) } else { piece.start };
        let rests = piece.end - since < self.rest_ns;
        if rests && matches!(piece.state, State::Idle | State::Handshake) {
            if let Some(before) = self.open.last().filter(|p| p.state != State::Handshake) {
                (piece.state, piece.timeout) = (before.state, before.timeout);
            }
        }
        piece.state = self.state_of(&piece);
        // The beginning of a long pause counted with the state before it.
        let begins = idle && !rests && self.open.last().is_some_and(|p| p.state != State::Idle);
        self.append(piece);
        if begins && since < piece.start {
            self.was(since, State::Idle, None);
        }
        if piece.acked > 0 {
            self.mark();
        }
    }

    pub fn rest_ns(&self) -> i64 {
        self.rest_ns
    }

    /// The end of a stall for a delayed ACK, after a wait in this state; or, after the stall, the time that the path held that ACK.
    pub fn pass_stall(&mut self, before: State, piece: Piece) {
        self.pass(piece);
        self.stalled = Some(before);
    }

    /// No transmission follows at once: the sender had nothing to send, and did not wait for the ACK.
    pub fn retract_stall(&mut self) {
        let Some(before) = self.stalled.take() else { return };
        let Some(i) = self.open.iter().rposition(|p| p.state == State::DelayedAck) else { return };
        self.open[i].state = before;
        self.doubt = None;
        for i in [i + 1, i] {
            if i > 0 && self.open.get(i).is_some_and(|p| p.state == before && self.open[i - 1].state == before) {
                let later = self.open.remove(i);
                self.open[i - 1].merge(&later);
            }
        }
    }

    /// Since then the sender neither probed a closed window nor sent when it opened: it had nothing to send.
    pub fn retract_closed(&mut self, since: i64) {
        if !self.probed {
            self.rename(since, State::ZeroWindow, State::Idle);
        }
    }

    /// Data that passes now had been sent by then, and waited in a queue before the tap.
    pub fn was_under_way(&mut self, since: i64, state: State) {
        self.rename(since, State::Idle, state);
    }

    /// No ACK released data: since its last transmission the sender had nothing more to send, and its window was no limit.
    pub fn sent_all(&mut self, since: i64) {
        self.rename(since, State::SlowStart, State::Transfer);
        self.rename(since, State::FullPathSlowStart, State::FullPath);
    }

    /// Since then the peer's window was no limit, either.
    pub fn had_room(&mut self, since: i64) {
        self.rename(since, State::WindowLimited, State::Transfer);
    }

    /// The sender had sent as much as the window allows, and its line passed that only now.
    pub fn was_at_window(&mut self, since: i64) {
        for state in [State::SlowStart, State::Transfer] {
            self.rename(since, state, State::WindowLimited);
        }
    }

    /// Since then it has filled the path by itself.
    pub fn filled_path(&mut self, since: i64) {
        for state in LIMITED {
            self.rename(since, state, state.on_full_path(self.away));
        }
        for mut p in std::mem::take(&mut self.open) {
            p.state = self.state_of(&p);
            self.append(p);
        }
    }

    /// The next piece, as more of the one before where it goes on.
    fn append(&mut self, p: Piece) {
        match self.open.last_mut() {
            Some(before) if before.goes_on(&p, self.away) => before.merge(&p),
            _ => self.open.push(p),
        }
    }

    /// The state of the next piece: on a full path the answer to an ACK takes a moment, in which a window has room.
    fn state_of(&self, next: &Piece) -> State {
        let moment = next.end - next.start < TICK_NS && next.state.is_full_path();
        self.open.last().filter(|p| moment && p.state.is_full_path()).map_or(next.state, |p| p.state)
    }

    /// Since its last transmission the sender was silent for so long that its timer may have expired: what it waited for is not known.
    pub fn doubt_since(&mut self, since: i64) {
        for state in limited_or_full().chain([State::FastRecovery, State::LossRecovery]) {
            self.rename(since, state, State::Undecided);
        }
    }

    /// Since then it was in slow start no more, and whether it waited for the path, a repair or a timer is not known.
    pub fn ended_slow_start(&mut self, since: i64) {
        for state in [State::SlowStart, State::FullPathSlowStart] {
            self.rename(since, state, State::Undecided);
        }
    }

    /// Since then it waited for a timer, and for the answer to what that sent; it was not idle.
    pub fn was_for_timer(&mut self, since: i64) {
        for state in [State::Undecided, State::Idle, State::DelayedAck] {
            self.rename(since, state, State::RtoWait);
        }
    }

    /// It waited for a timer from one time to another, at which the ACK came that the timer had not waited for.
    pub fn waited_for_timer(&mut self, since: i64, until: i64) {
        for state in limited_or_full().chain([State::DelayedAck]) {
            self.rename_until(since, until, state, State::RtoWait);
        }
    }

    /// What was `from` since a time is `to`.
    fn rename(&mut self, since: i64, from: State, to: State) {
        self.rename_until(since, i64::MAX, from, to);
    }

    /// The same for pieces that end by `until`.
    fn rename_until(&mut self, since: i64, until: i64, from: State, to: State) {
        let is_meant = |p: &Piece| p.state == from && p.end > since && p.end <= until;
        let Some(first) = self.open.iter().find(|p| is_meant(p)) else { return };
        let after = self.counts_between(since, first.end);
        for mut p in std::mem::take(&mut self.open) {
            if is_meant(&p) {
                if p.start < since {
                    let before = p.cut(since, &after);
                    self.append(before);
                }
                p.state = to;
            }
            self.append(p);
        }
    }

    /// What was counted from one time to another, each rounded to the latest mark before.
    fn counts_between(&self, since: i64, until: i64) -> Counts {
        let at = |t: i64| self.marks.get(self.latest_before(t)).map(|(_, counts)| *counts);
        let then = at(since).unwrap_or_default();
        let end = if until < self.now { at(until).unwrap_or(self.all) } else { self.all };
        Counts {
            packets: end.packets.wrapping_sub(then.packets),
            acked: end.acked.saturating_sub(then.acked),
            rtt_sum: end.rtt_sum.saturating_sub(then.rtt_sum),
            rtt_count: end.rtt_count - then.rtt_count,
            ..then
        }
    }

    /// The latest mark until then, or the first one.
    fn latest_before(&self, since: i64) -> usize {
        self.marks.partition_point(|(at, _)| *at <= since).saturating_sub(1)
    }

    /// Mark a transmission or an ACK. Of many in a time that is not final, every second one is enough, from the first one on.
    fn mark(&mut self) {
        if self.marks.len() >= MARKS {
            let mut nth = 0;
            self.marks.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
        }
        let last_packet = self.open.last().map_or(0, |p| p.last_packet);
        self.marks.push((self.now, Counts { last_packet, flight: self.flight, ..self.all }));
    }

    /// Since then the receiver may have delayed an ACK: nothing is final until one shows it. Returns what the sender seemed to wait for.
    pub fn suppose_delayed(&mut self, since: i64) -> Option<State> {
        let state = self.open.last().map(|p| p.state).filter(|state| LIMITED.contains(state))?;
        self.rename(since, state, State::DelayedAck);
        Some(state)
    }

    /// It had not.
    pub fn was_not_delayed(&mut self, since: i64, state: State) {
        self.rename(since, State::DelayedAck, state);
    }

    /// The peer acknowledged data: the intervals go on at least until now.
    pub fn acked(&mut self) {
        self.acked_until = self.now;
    }

    /// The last stall was found with `flight` bytes on a path of unknown speed.
    pub fn doubt_stall(&mut self, flight: i64) {
        self.doubt = Some(flight);
    }

    /// The path's speed is now known: subtract the transmission time of the bytes in flight from the open stall.
    pub fn adjust_stall(&mut self, ns_per_kib: i64) {
        let Some(flight) = self.doubt.take() else { return };
        let Some(i) = self.open.iter().position(|p| p.state == State::DelayedAck) else {
            return;
        };
        let (before, rest) = self.open.split_at_mut(i);
        if let (Some(wait), Some(stall)) = (before.last_mut(), rest.first_mut()) {
            stall.start = stall.start.saturating_add(own_delay(ns_per_kib, flight)).min(stall.end);
            wait.end = stall.start;
        }
    }

    /// The latest packet that passed.
    pub fn last_packet(&self) -> Option<u64> {
        self.open.last().map(|p| p.last_packet)
    }

    /// What it waited for until then is not known.
    pub fn is_undecided_until(&self, t: i64) -> bool {
        self.open.iter().rfind(|p| p.start < t).is_some_and(|p| p.state == State::Undecided)
    }

    /// The handshake just passed: its end may be the answer of a timer.
    pub fn doubt_answer(&mut self) {
        let answer = self.open.last().filter(|p| p.state == State::Handshake);
        self.late_answer = answer.is_some_and(|p| p.end - p.start >= SYN_TIMERS_S[0] * SECOND_NS);
    }

    /// The first round trip of data, once it is known; 0 if none ever is. A SYN is answered at once: an answer that is late by a timer, and
    /// by no more than this round trip besides, was sent by the timer of the peer, whose first copies were lost. `trip`: as long as one takes
    /// now, at least.
    pub fn settle_answer(&mut self, rtt: i64, trip: i64) {
        if !std::mem::take(&mut self.late_answer) {
            return;
        }
        let Some(i) = self.open.iter().position(|p| p.state == State::Handshake) else { return };
        let p = self.open[i];
        let after = |timer: i64| p.end - p.start - timer;
        let by_timer = |timer: &i64| (0..=rtt + rtt / 4 + timer / TIMER_PART).contains(&after(*timer));
        // Without a round trip it is a chance that grows with the timer, whose lateness does.
        let known = &SYN_TIMERS_S[..if rtt > 0 { SYN_TIMERS_S.len() } else { 2 }];
        let Some(timer) = known.iter().map(|s| s * SECOND_NS).rfind(by_timer) else { return };
        if rtt.max(trip) * 2 > p.end - p.start {
            return;
        }
        let first = i == 0 || self.open[i - 1].state != State::BackoffWait && self.open[i - 1].state != State::RtoWait;
        let state = if first { State::RtoWait } else { State::BackoffWait };
        let expiry = p.start + timer;
        self.open[i].start = expiry;
        self.open.insert(i, Piece { end: expiry, state, packets: 0, acked: 0, rtt_sum: 0, rtt_count: 0, ..p });
    }

    /// The sender was silent from `since` until its timer expired now: the whole time was a wait for the timer.
    pub fn was_timer_wait(&mut self, since: i64, state: State, timeout: u64) {
        self.was(since, state, Some(timeout));
    }

    /// The sender was in this state from `since` until now.
    pub fn was(&mut self, since: i64, state: State, timeout: Option<u64>) {
        let mut wait: Option<Piece> = None;
        while let Some(mut p) = self.open.pop() {
            if p.end <= since && p.start < since {
                self.open.push(p);
                break;
            }
            let mut rest = None;
            if p.start < since {
                rest = Some(p.cut(since, &self.counts_between(since, p.end)));
            }
            wait = Some(match wait {
                None => Piece { state, timeout, ..p },
                Some(w) => Piece {
                    start: p.start,
                    first_packet: p.first_packet,
                    packets: w.packets.saturating_add(p.packets),
                    acked: w.acked + p.acked,
                    ..w
                },
            });
            if let Some(rest) = rest {
                self.open.push(rest);
                break;
            }
        }
        if let Some(w) = wait {
            match self.open.last_mut() {
                Some(p) if p.state == w.state && p.timeout == w.timeout => p.merge(&w),
                _ => self.open.push(w),
            }
        }
    }

    /// The sender transmitted: the open pieces are final, but for those since `asked`, when it may have begun a recovery. `held`: what
    /// follows shows what it had waited for, and none is final.
    pub fn commit(&mut self, asked: Option<i64>, held: bool, rows: &mut IntervalRows, flow: u32, reverse: bool) {
        self.stalled = None;
        self.probed = false;
        if (self.doubt.is_some() || self.late_answer || held) && self.open.len() <= OPEN_PIECES {
            return self.mark();
        }
        (self.doubt, self.late_answer) = (None, false);
        let mut last = self.open.len().saturating_sub(1);
        let since = asked.filter(|_| self.open.len() <= OPEN_PIECES);
        if let Some(since) = since {
            last = last.min(self.open.iter().take_while(|p| p.end <= since).count());
        }
        if last > 0 {
            for piece in self.open.drain(..last) {
                piece.write(rows, flow, reverse);
            }
        }
        match since {
            None => self.marks.clear(),
            Some(since) => drop(self.marks.drain(..self.latest_before(since))),
        }
        self.mark();
    }

    /// Limit the open list during a long silence of the sender.
    pub fn trim(&mut self, rows: &mut IntervalRows, flow: u32, reverse: bool) {
        while self.open.len() > OPEN_PIECES {
            (self.doubt, self.late_answer) = (None, false);
            self.open.remove(0).write(rows, flow, reverse);
        }
    }

    /// The flow ended: write its intervals.
    pub fn finish(&mut self, rows: &mut IntervalRows, flow: u32, reverse: bool) {
        self.retract_stall();
        let end = self.acked_until;
        let mut pieces = std::mem::take(&mut self.open);
        // Idle time at the end is not part of them, unless data was sent after it, nor is the time after the ACK of all data. Without any
        // ACK (one-sided capture) they last until the last packet.
        let data = self.flight > 1;
        let is_end = |p: &Piece| self.flight == 0 || p.state == State::Closing || p.state == State::Idle && !data;
        while let Some(p) = pieces.last_mut().filter(|p| is_end(p)) {
            if end <= 0 || p.start < end {
                p.end = if end > p.start { p.end.min(end) } else { p.end };
                break;
            }
            pieces.pop();
        }
        for p in pieces {
            p.write(rows, flow, reverse);
        }
    }
}

//! What a sender knew when it sent what passes a tap away from it: ACKs reach it a part of the round trip after they passed the tap.

use std::collections::VecDeque;

use super::intervals::ACCESS_NS;
use super::kinds::{Phase, State};
use super::seq::newer;

/// An ACK that has passed the tap.
#[derive(Debug, Clone, Copy)]
pub struct Passed {
    pub t: i64,
    pub ack: i64,
    pub window: Option<u32>,
    pub tsval: Option<u32>,
    /// With it the sender left its recovery, or undid its timeout.
    pub ends: bool,
}

/// A full segment that ended a silence, with nothing else outstanding.
#[derive(Debug, Clone, Copy)]
pub struct Lone {
    /// When the packet before the silence passed.
    pub since: i64,
    pub end: i64,
}

/// New bytes passed after a silence in which a timer may have expired.
#[derive(Debug, Clone, Copy)]
pub struct Woke {
    pub start: i64,
    pub t: i64,
    /// When the packet before the silence passed, or where one timer that ended the silence began at the earliest.
    pub since: i64,
}

/// ACKs kept that no data has answered yet: those of a large window.
const MOST_ACKS: usize = 4096;

/// The sender as of the latest data that passed the tap.
#[derive(Debug, Default)]
pub struct SenderView {
    /// ACKs that had not reached it.
    pub acks: VecDeque<Passed>,
    /// The highest ACK that had, and the window of the latest one.
    pub una: i64,
    pub window: Option<u32>,
    /// Largest flight, and that of the latest new segment.
    pub flight_max: i64,
    pub flight: i64,
    /// The flight when all of it had been acknowledged before, and how many times in a row it was no larger than the time before.
    round: i64,
    alike: u32,
    /// Bytes that ACKs made in one tick covered after the first of them: its echo shows only that it had read one.
    pub same_tick: i64,
    /// The latest segment with new bytes: its length and its TSval.
    pub len: i64,
    pub tsval: Option<u32>,
    /// More data was to follow it; and whether the sender ever says that none does. The latest silence in which more was to follow.
    more: bool,
    pushes: bool,
    pace: i64,
    /// From the ACK that released it to the latest segment that was sent at once, and the latest round trip at the tap.
    pub there: Option<i64>,
    pub back: Option<i64>,
    /// Of `there` the part to the sender, by the sender's timestamps.
    pub ack_way: Option<i64>,
    /// More than one segment was sent before any ACK of data could have arrived.
    pub begins_with_more: bool,
    /// The latest segment, if it may be the only one that a timeout allows.
    pub lone: Option<Lone>,
    pub woke: Option<Woke>,
    /// What the sender knew to be acknowledged when it sent the latest segments, and when the first of them passed alone.
    train: (i64, Option<i64>),
    /// Its recovery, which lasts until it has read an ACK of the bytes below this.
    phase: Phase,
    recover: i64,
    /// An expiry that no ACK has answered: the bytes repeated, the wait, and the packet.
    expiry: Option<(i64, State, u64)>,
}

impl SenderView {
    /// Of a sender that has read every ACK up to here.
    pub fn new(una: i64, window: Option<u32>, phase: Phase, recover: i64) -> Self {
        let mut view = SenderView { una, window, ..SenderView::default() };
        view.repeats(phase, recover);
        view
    }

    /// With all bytes before `end` sent, the window that it knows has no room for a segment of `mss` bytes.
    pub fn has_no_room(&self, end: i64, mss: i64) -> bool {
        self.window.is_some_and(|w| end - self.una + mss > i64::from(w))
    }

    /// A segment with new bytes passes the tap, so long after the one before. `more`: as in `Sent`.
    pub fn note_segment(&mut self, len: i64, tsval: Option<u32>, more: bool, silent: i64) {
        self.pace = if self.has_more() { silent } else { self.pace };
        (self.len, self.tsval, self.more) = (len, tsval, more);
        self.pushes |= len > 0 && !more;
    }

    /// A segment passes the tap at `t`, so long after the one before; `empty`: nothing else was outstanding. Returns when the first one
    /// passed of those that the sender sent without another ACK and a rest, if it was `empty` then.
    pub fn note_train(&mut self, t: i64, silent: i64, empty: bool) -> Option<i64> {
        if silent >= ACCESS_NS || self.train.0 != self.una {
            self.train = (self.una, empty.then_some(t));
        }
        self.train.1
    }

    /// After the latest segment it had more data: its application was not idle.
    pub fn has_more(&self) -> bool {
        self.more && self.pushes
    }

    /// It had more data in a silence as long as this, or it was as silent when it had more: a queue on the path may stand behind this one, too.
    pub fn is_paced(&self, silent: i64) -> bool {
        self.has_more() || silent <= self.pace.saturating_add(self.pace / 4)
    }

    /// An ACK passed the tap towards the sender.
    pub fn note_ack(&mut self, ack: Passed, rtt: Option<i64>) {
        self.back = rtt.or(self.back);
        if self.acks.len() >= MOST_ACKS {
            self.acks.pop_front();
        }
        self.acks.push_back(ack);
    }

    /// The sender repeats bytes in this phase.
    pub fn repeats(&mut self, phase: Phase, recover: i64) {
        if matches!(phase, Phase::Recovery | Phase::Loss) {
            (self.phase, self.recover, self.round, self.alike) = (phase, recover, 0, 0);
        }
    }

    /// All that it had sent is acknowledged, and it goes on.
    pub fn ends_round(&mut self) {
        self.alike = if self.flight <= self.round { self.alike + 1 } else { 0 };
        self.round = self.flight;
    }

    /// Its window had grown meanwhile, and it sent no more all the same: by a segment for each ACK below two segments, which is slow start
    /// (RFC 5681 section 3.1), and else by half a segment at least for a flight whose ACKs were delayed.
    pub fn had_no_more(&self, segment: i64) -> bool {
        self.alike >= if self.flight <= segment { 1 } else { 3 }
    }

    /// As far as is known it repeats nothing.
    pub fn calm(&self) -> bool {
        self.phase == Phase::Open && self.expiry.is_none()
    }

    /// Its timer expired for the bytes that start here.
    pub fn expired(&mut self, start: i64, again: bool, packet: u64) {
        let state = if again { State::BackoffWait } else { State::RtoWait };
        self.expiry = Some((start, state, packet));
    }

    /// What the sender does, as far as it has read ACKs: an answer to its timer, or to all that a recovery repairs, is on its way to it.
    /// An ACK needs the first of these times for its way to the sender, and at most the second: then it was lost if the timer goes on.
    pub fn recovers(&self, timeout: Option<u64>, t: i64, way: (i64, i64)) -> Option<(State, Option<u64>)> {
        let read = |way: i64| self.acks.iter().take_while(move |a| a.t.saturating_add(way) < t);
        let answered = self.expiry.filter(|e| read(way.1).all(|a| a.ack <= e.0));
        let over = self.phase != Phase::Open && read(way.0).any(|a| a.ends || a.ack >= self.recover);
        match (answered, if over { Phase::Open } else { self.phase }) {
            (Some((_, state, packet)), _) => Some((state, Some(packet))),
            (None, Phase::Loss) => Some((State::LossRecovery, timeout)),
            (None, Phase::Recovery) => Some((State::FastRecovery, None)),
            _ => None,
        }
    }

    /// The latest ACK had not reached the sender when it sent a packet with this echo.
    pub fn unread(&self, echo: Option<u32>) -> bool {
        let last = self.acks.back().and_then(|a| a.tsval);
        last.zip(echo).is_some_and(|(tsval, echo)| newer(tsval, echo))
    }

    /// Take the ACKs that had reached the sender of a packet that passes at `t`: its echo tells, else the shortest way there and back.
    pub fn read(&mut self, t: i64, echo: Option<u32>, loop_ns: i64) -> Option<i64> {
        let (mut latest, mut tick) = (None, None);
        while let Some(a) = self.acks.front() {
            let reached = match (a.tsval, echo) {
                (Some(tsval), Some(echo)) => !newer(tsval, echo),
                _ => a.t + loop_ns <= t,
            };
            if !reached {
                break;
            }
            latest = Some(a.t);
            let (a, before) = (*a, self.una);
            let again = a.tsval.is_some() && a.tsval == tick;
            self.take(a);
            self.same_tick = if again { self.same_tick + self.una - before } else { 0 };
            tick = a.tsval;
        }
        latest
    }

    pub fn take(&mut self, a: Passed) {
        self.una = self.una.max(a.ack);
        self.window = a.window;
        self.expiry = self.expiry.filter(|e| a.ack <= e.0);
        if a.ends || self.una >= self.recover {
            self.phase = Phase::Open;
        }
        self.acks.pop_front();
    }

    /// The whole round trip, of the latest segment that was sent at once.
    pub fn round_trip(&self) -> Option<i64> {
        Some(self.there? + self.back?)
    }
}

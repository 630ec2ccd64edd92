//! What a sender's own timestamps show at a tap away from it: which ACKs have reached it (RFC 7323 section 4.3).

use super::kinds::{By, Phase, TimeoutKind};
use super::send::{Sent, SentOutcome};
use super::sender_state::SenderState;
use super::seq::newer;
use super::timer::FIRST_TIMEOUT_NS;
use super::trigger::REACTION_SLACK_NS;
use super::undecided::EchoWait;

impl SenderState {
    /// The TSval whose echo shows that the ACK with this TSval arrived: the next one, if an earlier ACK had the same.
    pub fn proof(&self, tsval: u32) -> u32 {
        tsval.wrapping_add(u32::from(self.peer_tsval == Some(tsval))).max(1)
    }

    /// An ACK with this TSval passed towards the sender.
    pub fn note_answer(&mut self, t: i64, tsval: u32) {
        if self.echo_probe.is_none() && self.peer_tsval != Some(tsval) {
            self.echo_probe = Some((tsval, t));
        }
        if self.peer_tsval.is_none_or(|p| newer(tsval, p)) {
            (self.peer_tsval, self.peer_tsval_at) = (Some(tsval), t);
        }
        for w in self.echo_waits.iter_mut().filter(|w| w.answer.is_none()) {
            w.answer = Some((tsval, t));
        }
    }

    /// A packet of the sender with these timestamps. `data`: it carries new or old bytes.
    pub fn note_echo(&mut self, t: i64, (tsval, tsecr): (u32, u32), data: bool) {
        if let Some((awaited, at)) = self.echo_probe {
            if tsecr == awaited {
                self.loop_least = Some(self.loop_least.map_or(t - at, |l| l.min(t - at)));
                if self.rtt_whole.is_none() {
                    self.place_by_loop();
                }
            }
            if tsecr == awaited || newer(tsecr, awaited) {
                self.echo_probe = None;
                self.behind &= self.peer_tsval != Some(tsecr);
            } else if !self.behind {
                self.behind = t - at > self.reaction.unwrap_or(0).saturating_add(REACTION_SLACK_NS);
            }
        }
        (self.stamps_before, self.latest_stamp) = (self.own_stamps, Some((tsval, tsecr, t)));
        if self.own_stamps.is_none_or(|(v, _)| !newer(v, tsval)) {
            self.own_stamps = Some((tsval, tsecr));
        }
        self.first_stamp.get_or_insert((tsval, t));
        if !self.echo_waits.is_empty() {
            self.settle_echo_waits(t, tsecr, data);
        }
    }

    #[cold]
    fn settle_echo_waits(&mut self, t: i64, tsecr: u32, data: bool) {
        let trip = self.round_trip();
        let tick = self.ts_clock.tick();
        for w in std::mem::take(&mut self.echo_waits) {
            let kind = match w.answer {
                _ if newer(w.acked, tsecr) => {
                    self.echo_waits.push(w);
                    continue;
                }
                // Only the answer to the retransmission made the sender go on: no earlier ACK had reached it.
                Some((answer, at)) if !newer(answer, tsecr) => {
                    let prompt = w.syn || (data && trip.is_some_and(|trip| t - at <= 2 * trip));
                    match prompt && !w.blocked && (answer != w.last || newer(tsecr, answer)) {
                        true => TimeoutKind::AckLost,
                        false => TimeoutKind::Undecided,
                    }
                }
                // A later ACK than the first may only have crossed the retransmission: then the first may be lost.
                _ => {
                    let ticks = i64::from(w.last.wrapping_sub(tsecr));
                    let made_before = w.before + ticks.saturating_mul(tick.unwrap_or(0));
                    match tsecr == w.acked || trip.is_some_and(|trip| made_before > trip) {
                        true => TimeoutKind::Spurious,
                        false => TimeoutKind::Undecided,
                    }
                }
            };
            if let Some(timeout) = self.timeouts.iter_mut().find(|x| x.id == w.timeout) {
                timeout.kind = Some(kind);
                timeout.by = (kind != TimeoutKind::Undecided).then_some(By::Timestamp);
            }
        }
    }

    /// A timeout whose bytes had been acknowledged when it passed the tap. At the sender's tap those ACKs had nearly arrived; elsewhere
    /// only the sender's echo shows whether they were late or lost.
    pub fn late_or_lost(&mut self, timeout: Option<u64>, s: &Sent, o: &SentOutcome) {
        let Some(x) = self.timeouts.back_mut().filter(|x| Some(x.id) == timeout) else { return };
        let reached = self.own_stamps.is_some_and(|(_, echo)| !newer(o.acked_echo, echo));
        match self.peer_tsval.filter(|_| o.acked_echo != 0) {
            _ if self.near_sender => (x.kind, x.by) = (Some(TimeoutKind::Spurious), Some(By::Acked)),
            None => x.kind = Some(TimeoutKind::Undecided),
            Some(_) if reached => (x.kind, x.by) = (Some(TimeoutKind::Spurious), Some(By::Timestamp)),
            Some(last) => {
                let wait = EchoWait {
                    timeout: x.id,
                    acked: o.acked_echo,
                    last,
                    before: self.sent_at.map_or(s.t, |at| at.min(s.t)) - self.peer_tsval_at,
                    answer: None,
                    syn: s.start == 0,
                    blocked: self.peer_waits,
                };
                self.echo_waits.push(wait);
            }
        }
    }

    /// Without a handshake in the capture: the tap is near an end if its part of the round trip is below a tenth of the other.
    #[cold]
    fn place_by_loop(&mut self) {
        if let Some((to_sender, to_receiver)) = self.loop_least.zip(self.rtt_least) {
            self.near_receiver = to_receiver.saturating_mul(10) < to_sender;
            self.near_sender = to_sender.saturating_mul(10) < to_receiver;
        }
    }

    /// Near the receiver: an ACK made the sender send `s`, as its timestamps show, or without them as its packets come without a gap: a timer
    /// ends a silence.
    pub fn answered_away(&self, s: &Sent) -> bool {
        self.near_receiver
            && match s.tsval {
                Some(tsval) => self.stamped_at_once(tsval),
                None => {
                    self.phase == Phase::Recovery && self.previous_packet.is_some_and(|p| s.t - p < FIRST_TIMEOUT_NS)
                }
            }
    }

    /// Length of a tick of this sender's TSval, ns. Until the clock's rate is known at most so much: the time of all ticks but one,
    /// so two ticks at least.
    pub fn own_tick(&self) -> Option<i64> {
        self.own_clock_tick.or_else(|| {
            let ((v, since), (tsval, _, t)) = self.first_stamp.zip(self.latest_stamp)?;
            let ticks = i64::from(tsval.wrapping_sub(v) as i32);
            (ticks >= 2).then(|| (t - since) / (ticks - 1))
        })
    }

    /// The latest packet has this TSval and echoes a new one, and was made within a round trip of those before it.
    fn stamped_at_once(&self, tsval: u32) -> bool {
        match (self.stamps_before.zip(self.latest_stamp), self.own_tick(), self.round_trip()) {
            (Some(((v, e), (_, echo, _))), Some(tick), Some(trip)) => {
                newer(echo, e) && i64::from(tsval.wrapping_sub(v) as i32).saturating_mul(tick) < trip
            }
            _ => false,
        }
    }

    /// The shortest round trip of the whole path, where a tap anywhere can measure it.
    pub fn round_trip(&self) -> Option<i64> {
        match (self.rtt_whole, self.loop_least, self.rtt_least) {
            (Some(whole), Some(there), Some(back)) => Some(whole.min(there + back)),
            (Some(whole), ..) => Some(whole),
            (None, Some(there), Some(back)) => Some(there + back),
            _ => None,
        }
    }
}

//! Away from the sender: what it had been told when it sent a packet, as the packet's own timestamps show (RFC 7323 section 4.3).

use super::ack::Ack;
use super::dup_runs::{DupRun, Shown};
use super::kinds::{Evidence, Phase, Trigger};
use super::scoreboard::Run;
use super::send::Sent;
use super::sender_state::SenderState;
use super::seq::newer;
use super::trigger::LEAST_RTO_NS;

/// No timer of a sender is shorter, less the 10 % by which ticks round.
const LEAST_NS: i64 = LEAST_RTO_NS / 10 * 9;

/// Whether an ACK had reached the sender that echoes `echo`. `proof`: an echo of it or a newer one shows it; one tick below, a
/// second ACK of that tick leaves it open.
fn reached(proof: u32, echo: u32) -> Option<bool> {
    match proof {
        0 => None,
        _ if !newer(proof, echo) => Some(true),
        _ if proof != echo.wrapping_add(1) => Some(false),
        _ => None,
    }
}

impl SenderState {
    /// An ACK that repeats the number of the one before.
    pub fn note_same_ack(&mut self, a: &Ack<'_>) {
        self.same_acks = self.same_acks.saturating_add(1);
        if self.same_acks != 1 && self.same_acks != 3 {
            return;
        }
        let proof = a.timestamps.map_or(0, |(tsval, _)| self.proof(tsval));
        let una = self.una;
        let runs = self.dup_runs.get_or_insert_default();
        if self.same_acks == 3 {
            (runs[0].third, runs[0].third_at) = (proof, Some(a.t));
        } else if runs[0].una != una || runs[0].first_at.is_none() {
            runs.rotate_right(1);
            runs[0] = DupRun { una, first: proof, first_at: Some(a.t), ..DupRun::default() };
        }
    }

    /// An ACK of new bytes whose SACK blocks report later ones: the first report of the bytes that it asks for.
    pub fn note_gap_above(&mut self, a: &Ack<'_>) {
        let proof = a.timestamps.map_or(0, |(tsval, _)| self.proof(tsval));
        let una = self.una;
        let runs = self.dup_runs.get_or_insert_default();
        runs.rotate_right(1);
        runs[0] = DupRun { una, first: proof, first_at: Some(a.t), reported_before: true, ..DupRun::default() };
    }

    /// The duplicate ACKs that called for these bytes; None if that is no longer known.
    pub fn dup_run_of(&self, s: &Sent) -> Option<DupRun> {
        let Some(runs) = &self.dup_runs else { return Some(DupRun::default()) };
        let run = runs.iter().find(|r| r.una <= s.start)?;
        Some(if run.una == s.start { *run } else { DupRun::default() })
    }

    /// The latest copy of the first of these bytes, acknowledged or not.
    pub fn latest_copy(&self, s: &Sent) -> Option<Run> {
        let past = self.past.get(self.past.partition_point(|r| r.end <= s.start)).filter(|r| r.start <= s.start);
        past.or_else(|| self.scoreboard.range(s.start, s.end).next()).filter(|r| !r.merged).copied()
    }

    /// What the timestamps show of the trigger of a retransmission.
    #[inline(never)]
    pub fn by_echo(&self, s: &Sent) -> Shown {
        match self.read_echo(s) {
            Some(shown) => shown,
            None if self.unlike_an_answer(s) => Shown::NoAck,
            None => Shown::Nothing,
        }
    }

    /// Without timestamps: the reports passed so late that they had not reached the sender; or the silence is longer than any that new data ended, and long enough for a timer.
    fn unlike_an_answer(&self, s: &Sent) -> bool {
        if self.near_sender || s.tsval.is_some() {
            return false;
        }
        let silent = [self.last_ack, self.last_send].into_iter().flatten().max().map_or(0, |b| s.t - b);
        let run = self.dup_run_of(s).filter(|r| r.una == s.start);
        let told = run.and_then(|r| if s.sack_ok { r.first_at.filter(|_| !r.reported_before) } else { r.third_at });
        let enters = self.phase != Phase::Recovery && self.phase != Phase::Loss;
        let trip = self.round_trip().unwrap_or(0);
        (enters && told.is_some_and(|at| s.t - at < trip / 8 * 7))
            || silent / 2 > self.usual_gap.max(trip.saturating_mul(2)).saturating_add(LEAST_NS / 4)
    }

    fn read_echo(&self, s: &Sent) -> Option<Shown> {
        if self.near_sender || self.peer_waits || s.start == 0 {
            return None;
        }
        let (tsval, (before, earlier), (_, echo, _)) = (s.tsval?, self.stamps_before?, self.latest_stamp?);
        if newer(before, tsval) || newer(earlier, echo) {
            return None;
        }
        let tick = self.own_clock_tick;
        let since = |v: u32| tick.map_or(i64::MAX, |tick| i64::from(tsval.wrapping_sub(v) as i32).saturating_mul(tick));
        let silent = since(before);
        // The ACK that made these bytes the first unacknowledged ones.
        let edge = self.past.get(self.past.partition_point(|r| r.end < s.start)).filter(|r| r.end == s.start);
        let (is_head, was_head) = match edge {
            Some(edge) => (reached(edge.acked_echo, echo), reached(edge.acked_echo, earlier)),
            None if s.start == 1 => (Some(true), Some(true)),
            None => return None,
        };
        // A repair of duplicate ACKs or partial ACKs sends one segment for each ACK, and one in a round trip (RFC 6582 section 3.2).
        let next = self.resent_end == s.start && self.last_resend.is_some_and(|at| self.last_send == Some(at));
        let fine = self.round_trip().zip(tick).is_some_and(|(trip, tick)| silent <= tick && trip / 4 > tick);
        if next && !s.sack_ok && self.ids.next && echo == earlier && fine {
            return Some(Shown::Is(Trigger::GoBackN, Evidence::AfterTimeout));
        }
        let after_loss = match self.phase {
            Phase::Loss => s.end <= self.una || !self.went_on(),
            Phase::Recovery => false,
            Phase::Open | Phase::Disorder => self.left == Phase::Loss && s.start < self.recover && s.end <= self.una,
        };
        // Nothing was sent between the previous packet and this, or no timer can have expired between the two.
        let prompt = self.ids.next || silent < LEAST_NS;
        // The sender answered the ACK that it echoes at once.
        let answer = self.sent_at.zip(self.ts_clock.made(echo)).zip(self.round_trip());
        let delay = answer.map(|((sent, acked), trip)| sent.saturating_sub(acked).saturating_sub(trip));
        let at_once = echo != earlier && delay.is_some_and(|delay| delay < LEAST_NS / 2);
        if is_head == Some(false) || (is_head, was_head) == (Some(true), Some(false)) {
            // Not the first unacknowledged bytes, or an ACK had just made them so. After that ACK a timer may have expired in a silence,
            // unless the sender answered at once.
            let silence = is_head == Some(true) && silent >= LEAST_NS && !at_once;
            return match silence {
                true => None,
                false if after_loss && prompt => Some(Shown::Is(Trigger::GoBackN, Evidence::AfterTimeout)),
                false => Some(Shown::NoTimer),
            };
        }
        let tick = tick?;
        let unknown = Some(if at_once { Shown::NoTimer } else { Shown::Nothing });
        let copy = self.latest_copy(s)?;
        let Some(DupRun { first, third, first_at, third_at, .. }) = self.dup_run_of(s) else { return unknown };
        // Several ACKs later than the third one: even if some of the first were lost, they were enough.
        let span = third_at.zip(first_at).map_or(0, |(third, first)| third.saturating_sub(first));
        let after = self.ts_clock.tick().map_or(0, |t| i64::from(echo.wrapping_sub(third) as i32).saturating_mul(t));
        let long_after = third != 0 && after / 2 > span.max(LEAST_NS / 4);
        let never = |proof: u32| proof == 0 || reached(proof, echo) == Some(false);
        let told = long_after || reached(third, earlier) == Some(true);
        let just = |proof: u32| reached(proof, echo) == Some(true) && reached(proof, earlier) == Some(false);
        if just(third) && !told && prompt && copy.copies == 1 && !after_loss {
            return Some(Shown::Is(Trigger::Fast, Evidence::DuplicateAcks));
        }
        if was_head != Some(true) {
            return unknown;
        }
        let waited = since(copy.tsval_last);
        if waited < LEAST_NS {
            return Some(if copy.unseen { Shown::Nothing } else { Shown::NoTimer });
        }
        // After a timeout any ACK may call for the next bytes, but only once.
        let again = copy.copies > 1 && self.last_expiry.is_some_and(|at| copy.t_last >= at);
        let unasked = echo == earlier && self.ids.next && silent >= LEAST_NS;
        // A timeout may have passed unseen, if its packet was lost before the tap.
        let hidden = at_once && (copy.unseen || !self.ids.next);
        if after_loss && !again && at_once {
            return Some(Shown::Is(Trigger::GoBackN, Evidence::AfterTimeout));
        }
        if silent < 2 * tick || hidden || (after_loss && !again && !unasked) {
            return unknown;
        }
        // No ACK can have called for these bytes: a timer sent them.
        let late = delay.zip(self.round_trip()).is_some_and(|(delay, trip)| delay / 2 > trip.max(LEAST_NS / 2));
        // Later than a sender waits after a report for what is only out of order (a quarter of the least round trip, RFC 8985 section 6.2).
        let overdue = delay.zip(self.round_trip()).is_some_and(|(delay, trip)| delay > trip / 4 + LEAST_NS / 2);
        let uncalled = if s.sack_ok {
            let unreported = copy.copies > 1 && self.ts_clock.made(echo) < Some(copy.t_last);
            never(first) || unreported || (told && late && silent >= LEAST_NS)
        } else {
            never(third) || told
        };
        let probe = s.sack_ok && s.end == self.end && copy.copies == 1;
        Some(match () {
            () if uncalled && !probe => Shown::Is(Trigger::Rto, Evidence::TimerExpired),
            () if (s.sack_ok && overdue && silent >= LEAST_NS) => Shown::NoAck,
            () if told && copy.copies == 1 || (echo == earlier && silent >= LEAST_NS) => Shown::NoAck,
            () => return unknown,
        })
    }
}

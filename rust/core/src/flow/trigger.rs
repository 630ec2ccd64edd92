//! The trigger of a retransmission: from the ACKs before it; from times only if no ACK can have caused it.

use super::dup_runs::Shown;
use super::kinds::{Evidence, Phase, Trigger};
use super::send::{Sent, SentOutcome};
use super::sender_state::{Probe, SenderState};

const MS: i64 = 1_000_000;
/// A sender reacts to an ACK within its own reaction time; schedulers add a few ms (Linux ticks at 4 ms).
pub const REACTION_SLACK_NS: i64 = 3 * MS;
/// Of the slowest clock of Linux's timers (100 Hz).
const TWO_TICKS_NS: i64 = 20 * MS;
/// The smallest timeout of Linux, and half of what RFC 6298 section 2.4 asks for is more.
pub const LEAST_RTO_NS: i64 = 200 * MS;
/// No timer of a SYN is shorter, less the 10 % by which ticks round.
const LEAST_SYN_NS: i64 = 180 * MS;
/// RFC 1122 section 4.2.3.2.
const LONGEST_ACK_DELAY_NS: i64 = 500 * MS;
/// No timer is longer: it may be bounded by this (RFC 6298 section 2.5).
const LONGEST_PATH_NS: i64 = 60_000 * MS;

/// A timer sent it, and whether that was a probe or an expiry is undecided.
pub fn by_timer(trigger: Trigger, evidence: Evidence) -> bool {
    (trigger, evidence) == (Trigger::Undecided, Evidence::TimerExpired)
}

impl SenderState {
    /// Determine the trigger of a retransmission; changes the phase (RFC 5681, 6298, 6582, 6675, 8985).
    pub fn name_trigger(&mut self, s: &Sent, o: &mut SentOutcome) {
        let head = s.start <= self.una;
        let since_ack = self.last_ack.map_or(i64::MAX, |a| s.t - a);
        let reaction = self.reaction.unwrap_or(0).saturating_add(REACTION_SLACK_NS);
        let clocked = since_ack <= reaction || self.answered_away(s);
        let base = [self.last_advance, self.head_sent, self.sack_restart].into_iter().flatten().max();
        let waited = base.map_or(0, |b| s.t - b);
        let silent = [self.last_ack, self.last_send].into_iter().flatten().max().map_or(0, |b| s.t - b);
        let sack_hole = self.sacked_hi > s.end;
        let known = self.scoreboard.range(s.start, s.end).next().copied();
        let resent = known.is_some_and(|r| r.copies > 1);
        // RACK (RFC 8985 section 6.2): a segment sent after the latest copy of these bytes has arrived.
        let overtaken = s.sack_ok && known.is_some_and(|r| self.delivered_sent > Some(r.t_last));
        // Without SACK, Linux keeps counting duplicate ACKs over partial progress. With SACK, RACK needs no block above.
        let dups = if s.sack_ok { self.dupacks } else { self.dupacks.max(self.unspent_dupacks) };
        // RACK reacts to the ACK that shows a loss, or after its reordering window.
        let window = self.reordering_window().saturating_add(reaction);
        let prompt = clocked || self.delivered_at.is_some_and(|at| s.t - at <= window);
        // A sender with RACK would have repeated it when it was first overtaken: the window may have grown since, with the round trip.
        let ignored = self.head_overtaken.is_some_and(|(start, at)| start == s.start && s.t - at > 2 * window);
        // Duplicate ACKs never call for bytes below them: away from the sender they had not reached it.
        let below = o.acked_before && !self.near_sender;
        let told = !below && (dups >= 3 || sack_hole || (s.sack_ok && clocked && o.hole) || (overtaken && prompt));
        // Near the receiver an ACK needs the path to restart the timer, and the timer, which includes an RTT, adds another.
        let away = self.rtt_whole.filter(|_| self.near_receiver).map_or(0, |whole| 2 * whole.clamp(0, LONGEST_PATH_NS));
        let model = self.rto().unwrap_or(1000 * MS).saturating_add(away);
        // The models differ in their floors, so an expiry is a retransmission without an ACK as cause after at least the smallest timeout.
        // Linux has a floor of 200 ms, which can be set lower: near the sender, where every ACK that it gets is seen, silence alone tells.
        let floor = if self.near_sender { 0 } else { LEAST_RTO_NS / 10 * 9 };
        let floor = if resent && self.doubled(s, clocked) { 0 } else { floor };
        let least = self.timer.least().unwrap_or(LEAST_RTO_NS).max(floor).saturating_add(away);
        // A sender that has been told of a loss and stays silent for a whole timeout did not react to it: the timer did.
        let timer_only = !clocked && silent >= least.max(LEAST_RTO_NS + away);
        // An ACK of these bytes that passed the tap had not reached the sender.
        let alone = if o.acked_before { waited.max(self.last_send.map_or(0, |sent| s.t - sent)) } else { waited };
        let late = (waited >= model * 7 / 10 && alone >= floor) || (!clocked && waited >= least && !told) || timer_only;
        // A timeout marks everything as lost: only a copy sent since then can be lost again.
        let since_timeout = self.phase != Phase::Loss || known.map(|r| r.t_last) >= self.last_expiry;
        let ignored = head && self.near_sender && ignored;
        let lost_again = resent && overtaken && since_timeout && prompt && !timer_only && !ignored;
        // An ACK that opens a closed window calls for the bytes that did not fit.
        let reopened = clocked && self.reopened.is_some_and(|at| Some(at) == self.last_ack);

        // What follows a timeout repeats nothing twice (RFC 5681 section 3.1).
        let resent_since = !self.near_sender
            && self.latest_copy(s).is_some_and(|r| r.copies > 1 && Some(r.t_last) >= self.last_expiry);
        let again = resent_since && o.acked_before;
        let went_on = !self.near_sender && self.went_on();
        self.confirm_undo(head && clocked && !o.acked_before, told);
        let (trigger, evidence) = match self.phase {
            // A SYN+ACK that follows a repeated SYN answers it, and no timer is shorter than this (RFC 6298 section 2.1).
            _ if s.start == 0 && waited >= LEAST_SYN_NS && self.asked.is_none_or(|at| s.t - at >= LEAST_SYN_NS) => {
                (Trigger::Rto, Evidence::TimerExpired)
            }
            _ if s.start == 0 => (Trigger::Undecided, Evidence::SameBytes),
            // It crossed an ACK that filled the hole, which three duplicate ACKs had reported right before.
            Phase::Open | Phase::Disorder if o.acked_before && self.crossed(s, reaction) => {
                (Trigger::Fast, Evidence::DuplicateAcks)
            }
            // It crossed the ACK that ended the recovery: it was queued between TCP and the tap when the ACK came.
            Phase::Open | Phase::Disorder if o.acked_before && s.start < self.recover => match self.left {
                Phase::Loss if again && s.start == self.expired_at => (Trigger::Rto, Evidence::TimerExpired),
                Phase::Loss if again => (Trigger::Undecided, Evidence::SameBytes),
                Phase::Loss => (Trigger::GoBackN, Evidence::AfterTimeout),
                _ if s.sack_ok => (Trigger::Sack, Evidence::SackBlocks),
                _ => (Trigger::PartialAck, Evidence::PartialAck),
            },
            // One after the other, acknowledged and never reported missing: only a sender that went back after a timeout sends these.
            Phase::Open | Phase::Disorder if o.acked_before && self.resent_acked && self.in_turn(s) => {
                (Trigger::GoBackN, Evidence::AfterTimeout)
            }
            Phase::Open | Phase::Disorder if reopened && !told => (Trigger::Undecided, Evidence::SameBytes),
            // Far from the sender: the bytes that the timer sent last and these had all arrived, so a delayed ACK between the two advanced
            // the sender, which reacts to it at once (RFC 5681 section 3.1).
            Phase::Loss if again && s.start != self.expired_at => (Trigger::Undecided, Evidence::SameBytes),
            Phase::Loss if o.acked_before && (0..s.start).contains(&self.expired_at) => {
                (Trigger::GoBackN, Evidence::AfterTimeout)
            }
            // Sent after the timeout: no part of what follows it, and the third duplicate ACK calls for it (RFC 6582 section 4).
            Phase::Loss
                if self.near_sender && !s.sack_ok && s.start >= self.recover && !resent && clocked && dups == 3 =>
            {
                (Trigger::Fast, Evidence::DuplicateAcks)
            }
            // The sender has gone on with new data: it had undone the timeout, or a copy of these bytes was lost before the tap.
            Phase::Loss if went_on && !again && !o.acked_before && head => {
                match dups >= 3 && silent < least.max(LEAST_RTO_NS) {
                    true => (Trigger::Fast, Evidence::DuplicateAcks),
                    false if late && !clocked => (Trigger::Rto, Evidence::TimerExpired),
                    false => (Trigger::Undecided, Evidence::SameBytes),
                }
            }
            // It answers the ACK of what the timer sent at once (RFC 5681 section 3.1): later it was the timer again, if the answer was lost.
            Phase::Loss if head && !self.near_sender && !resent_since && self.last_advance >= self.last_expiry => {
                match self.ids.next || silent < LEAST_RTO_NS {
                    true => (Trigger::GoBackN, Evidence::AfterTimeout),
                    false => (Trigger::Undecided, Evidence::SameBytes),
                }
            }
            Phase::Loss if lost_again && waited < model * 9 / 10 => (Trigger::Sack, Evidence::SackBlocks),
            Phase::Loss if head && late && !clocked => (Trigger::Rto, Evidence::TimerExpired),
            // An ACK that comes first calls for bytes not repeated since the timeout: it ends F-RTO (RFC 5682 section 2.1 step 3a).
            Phase::Loss if head && waited >= model * 9 / 10 && (since_timeout || !clocked || !self.near_sender) => {
                (Trigger::Rto, Evidence::TimerExpired)
            }
            Phase::Loss => (Trigger::GoBackN, Evidence::AfterTimeout),
            Phase::Recovery if lost_again && (waited < model * 9 / 10 || self.delivered_at == self.last_ack) => {
                (Trigger::Sack, Evidence::SackBlocks)
            }
            Phase::Recovery if head && !clocked && (waited >= model * 7 / 10 || timer_only) => {
                (Trigger::Rto, Evidence::TimerExpired)
            }
            // No recovery repeats a repair at the left edge that nothing sent after it has overtaken (RFC 6582 section 3.2, RFC 6675 section 5,
            // RFC 8985 section 6.2), whatever ACK comes just before by chance.
            Phase::Recovery
                if head && resent && self.near_sender && !lost_again && self.last_advance < self.head_sent =>
            {
                (Trigger::Rto, Evidence::TimerExpired)
            }
            // After the time of a timeout the timer is the cause, even if an ACK arrives just before by chance.
            Phase::Recovery if head && resent && waited >= model * 9 / 10 => (Trigger::Rto, Evidence::TimerExpired),
            Phase::Recovery if s.sack_ok => (Trigger::Sack, Evidence::SackBlocks),
            Phase::Recovery if head => (Trigger::PartialAck, Evidence::PartialAck),
            Phase::Recovery => (Trigger::Fast, Evidence::DuplicateAcks),
            // The third duplicate ACK triggers a fast retransmission: one that a sender let pass, as RFC 6582 section 3.2 asks after a
            // timeout, is not answered a timeout later.
            _ if head && self.near_sender && !s.sack_ok && dups > 4 && waited >= model * 9 / 10 => {
                (Trigger::Rto, Evidence::TimerExpired)
            }
            _ if told && (clocked || !(head && timer_only) && waited < model * 7 / 10) => {
                (Trigger::Fast, if dups >= 3 { Evidence::DuplicateAcks } else { Evidence::SackBlocks })
            }
            _ if self.is_probe(s, clocked, head) && silent >= self.least_probe() => {
                self.probe_or_expiry(head, late, waited)
            }
            _ if head && late => (Trigger::Rto, Evidence::TimerExpired),
            // A segment above all that was SACKed is not missing.
            _ if self.dupacks > 0 && clocked && !below && (head || sack_hole || !s.sack_ok) => {
                (Trigger::Fast, Evidence::DuplicateAcks)
            }
            _ => (Trigger::Undecided, Evidence::NoAckSeen),
        };
        let by_ack = matches!(trigger, Trigger::Fast | Trigger::PartialAck | Trigger::Sack);
        let (trigger, evidence) = match self.by_echo(s) {
            Shown::Is(trigger, evidence) => {
                // What the sender did before is known again.
                self.unsure_until = 0;
                if trigger == Trigger::GoBackN && self.phase == Phase::Recovery {
                    (self.phase, self.recover) = (Phase::Loss, self.end);
                }
                (trigger, evidence)
            }
            Shown::NoTimer if s.start > 0 && matches!(trigger, Trigger::Rto | Trigger::TailLossProbe) => {
                (self.unsure_until, o.unsure) = (self.end, true);
                (Trigger::Undecided, Evidence::SameBytes)
            }
            Shown::NoAck if by_ack => {
                (self.unsure_until, o.unsure) = (self.end, true);
                (Trigger::Undecided, Evidence::SameBytes)
            }
            _ if trigger == Trigger::TailLossProbe && !self.near_sender && s.start < self.unsure_until => {
                o.unsure = true;
                (Trigger::Undecided, Evidence::SameBytes)
            }
            _ if trigger == Trigger::Rto && s.start > 0 && self.may_be_answer(s, told) => {
                (self.unsure_until, o.unsure) = (self.end, true);
                (Trigger::Undecided, Evidence::SameBytes)
            }
            _ if (by_ack || trigger == Trigger::GoBackN) && s.start < self.unsure_until => {
                o.unsure = true;
                (Trigger::Undecided, Evidence::SameBytes)
            }
            _ => {
                if evidence == Evidence::NoAckSeen && !self.near_sender && o.acked_before && !o.hole {
                    (self.unsure_until, o.unsure) = (self.end, true);
                }
                (trigger, evidence)
            }
        };
        if trigger == Trigger::GoBackN {
            self.end_frto();
        }
        self.count_resent(s, trigger == Trigger::Rto);
        if trigger == Trigger::Rto {
            let same = self.expired_at == s.start;
            let expiries = if same { self.expiries } else { 0 };
            // A copy of a SYN that answered the peer's, or was sent by the timer at that moment.
            let uncertain = s.start == 0 && known.is_some_and(|r| r.copies > expiries + 1);
            o.backoff = (!uncertain).then_some(expiries);
            o.silent_from = Some(self.last_send.unwrap_or(s.t).min(s.t));
            // A sender with probes would have sent one for the tail first: this sender sends none.
            if !same && s.sack_ok && self.phase == Phase::Open && self.probe.is_none() && self.flight() > self.mss() {
                self.no_probes = true;
            }
        }
        if trigger == Trigger::TailLossProbe || by_timer(trigger, evidence) {
            self.probes |= trigger == Trigger::TailLossProbe;
            o.silent_from = Some(self.last_send.unwrap_or(s.t).min(s.t));
        }
        o.trigger = Some(trigger);
        o.evidence = Some(evidence);
        o.waited = waited;
    }

    /// Away from the sender: the bytes that follow the latest retransmission, and that no duplicate ACK called for.
    fn in_turn(&self, s: &Sent) -> bool {
        !self.near_sender
            && (self.left != Phase::Recovery || s.start >= self.recover)
            && s.start == self.resent_end
            && self.dup_run_of(s).is_some_and(|run| run.first_at.is_none())
            && self.latest_copy(s).is_some_and(|run| run.copies == 1 && !run.unseen)
    }

    /// More new data since the timeout than a sender sends that waits for what its ACKs show (two segments, RFC 5682 section 2.1).
    pub fn went_on(&self) -> bool {
        self.end - self.recover > 2 * self.mss()
    }

    /// Away from the sender: an ACK that called for these bytes may have been on its way all the time, if new data came after as long a
    /// silence (twice that, as a packet of two may be lost before the tap), or if the retransmission before is undecided.
    fn may_be_answer(&self, s: &Sent, told: bool) -> bool {
        let usual = self.last_send.is_some_and(|sent| s.t - sent <= self.usual_gap.saturating_mul(9) / 4);
        let called = told || self.phase == Phase::Recovery;
        !self.near_sender && (s.start < self.unsure_until || (called && usual))
    }

    /// A timer sent the last segment. An expiry sends the first (RFC 6298 section 5.4); of a segment that is both, a probe looks the same.
    fn probe_or_expiry(&self, head: bool, late: bool, waited: i64) -> (Trigger, Evidence) {
        // Two SRTT and the time for which a receiver may delay an ACK, or a second without a sample (RFC 8985 section 7.2).
        let longest =
            self.timer.srtt().map_or(0, |srtt| srtt / 4 * 9).saturating_add(LONGEST_ACK_DELAY_NS).max(1000 * MS);
        match () {
            () if !head || !late || self.probes => (Trigger::TailLossProbe, Evidence::ProbeTimer),
            () if self.near_sender && waited > longest => (Trigger::Rto, Evidence::TimerExpired),
            () => (Trigger::Undecided, Evidence::TimerExpired),
        }
    }

    /// No probe comes sooner after the last segment or ACK: two SRTT (RFC 8985 section 7.2), less what jitter makes of them at the tap, but
    /// not more than the timeout.
    fn least_probe(&self) -> i64 {
        match (self.timer.srtt(), self.timer.least()) {
            (Some(srtt), Some(least)) => (srtt * 2).min(least) * 7 / 8,
            _ => LEAST_RTO_NS,
        }
    }

    /// How long RACK waits for what an ACK shows as overtaken: a quarter of the least round trip, once more for each round with a DSACK,
    /// an SRTT at most (RFC 8985 section 6.2 step 4), and in Linux two ticks of its timer. Away from the sender round trips are not its own.
    fn reordering_window(&self) -> i64 {
        let srtt = self.timer.srtt().unwrap_or(0);
        let rounds = i64::try_from(self.tally.dsack_acks).unwrap_or(i64::MAX).saturating_add(1);
        let least = self.rtt_least.filter(|_| self.near_sender);
        least.map_or(srtt, |least| (least / 4).saturating_mul(rounds).min(srtt).saturating_add(TWO_TICKS_NS))
    }

    /// Three duplicate ACKs asked for these bytes, and the retransmission was queued between TCP and the tap when the next ACK came.
    fn crossed(&self, s: &Sent, reaction: i64) -> bool {
        self.dup_run.is_some_and(|(una, dups, t)| una == s.start && dups >= 3 && s.t - t <= reaction)
    }

    /// The sender has been silent for about twice as long as before the previous copy of the same bytes: a timer that backs off.
    fn doubled(&self, s: &Sent, clocked: bool) -> bool {
        let silent = self.last_send.map_or(0, |sent| s.t - sent);
        !clocked
            && self.last_ack <= self.head_sent
            && self.head_gap.is_some_and(|gap| gap > 0 && silent > gap / 4 * 7 && silent < gap.saturating_mul(5) / 2)
    }

    /// RFC 8985 section 7: a probe is the last segment, sent by a timer without any sign of loss; one at a time.
    fn is_probe(&self, s: &Sent, clocked: bool, head: bool) -> bool {
        let quiet = !clocked && self.dupacks == 0 && self.sacked_bytes == 0;
        let tail = s.end == self.end;
        s.sack_ok
            && quiet
            && tail
            && !(head && self.no_probes)
            && self.probe.is_none()
            && self.phase == Phase::Open
            && s.start > 0
    }

    /// Keep a probe until the next expiry or ACK shows whether it was one.
    pub fn remember_probe(&mut self, s: &Sent, o: &SentOutcome, row: u64) {
        self.probe = Some(Box::new(Probe {
            row,
            t: s.t,
            start: s.start,
            end: s.end,
            packet: s.packet,
            waited: o.waited,
            silent_from: o.silent_from.unwrap_or(s.t),
            len: s.len,
            alone: s.start <= self.una,
            trigger: o.trigger.unwrap_or(Trigger::Undecided),
        }));
    }

    /// After a probe the timer restarts; after an expiry it runs twice as long. True if the probe was an expiry.
    pub fn probe_was_expiry(&self, s: &Sent) -> bool {
        let (Some(p), Some(rto)) = (self.probe.as_ref(), self.timer.rto(0, self.cwnd_segments())) else {
            return false;
        };
        // The middle between one and two timeouts, on a logarithmic scale.
        let later = (s.t - p.t) as f64 > rto as f64 * std::f64::consts::SQRT_2;
        // A timer that ran for less than any sender's was a probe's; its next expiry may come after about twice the time by chance.
        let long_enough = self.timer.shortest().is_none_or(|least| p.waited >= least / 8 * 7);
        p.alone && p.start == s.start && later && long_enough && !self.expiry_was_probe(s)
    }

    /// The next expiry did not come after twice the time: the first retransmission was a probe.
    pub fn expiry_was_probe(&self, s: &Sent) -> bool {
        self.near_sender
            && self.probe.as_ref().is_some_and(|p| {
                let next = s.t - p.t;
                p.start == s.start && (next * 2 < p.waited * 3 || next * 2 > p.waited.saturating_mul(5))
            })
    }
}

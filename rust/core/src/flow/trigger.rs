//! The trigger of a retransmission: from the ACKs before it; from times only if no ACK can have caused it.

use super::ack::DUPACK_THRESHOLD;
use super::causes::Causes;
use super::kinds::{Evidence, Phase, Trigger};
use super::send::{Sent, SentOutcome};
use super::sender_state::SenderState;
use super::seq::reached;
use super::timer::{FIRST_TIMEOUT_NS, LEAST_TIMEOUT_NS, LONGEST_TIMEOUT_NS, MOST_ACK_DELAY_NS};
use super::undecided::Probe;

const MS: i64 = 1_000_000;
/// A sender reacts to an ACK within its own reaction time; schedulers add a few ms (Linux ticks at 4 ms).
pub const REACTION_SLACK_NS: i64 = 3 * MS;
/// Of the slowest clock of Linux's timers (100 Hz).
const TWO_TICKS_NS: i64 = 20 * MS;
/// No timer of a SYN is shorter, less the 10 % by which ticks round.
pub const LEAST_SYN_NS: i64 = 180 * MS;

/// A reset ends a connection with its timers (RFC 9293 section 3.10.7.4): who sends on is no TCP. One may be lost behind the tap.
const ENOUGH_RESETS: u32 = 2;

/// What the tap saw before a retransmission.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Nothing below it is unacknowledged at the tap.
    pub head: bool,
    /// An ACK came just before.
    pub clocked: bool,
    /// The sender's reaction time.
    pub reaction: i64,
    /// Time since the timer was last (re)started, as far as the tap can infer it, and time without a packet.
    pub waited: i64,
    pub silent: i64,
    /// Transmissions of its first byte; 0 if it is acknowledged.
    pub copies: u16,
    /// ACKs reported a loss here: as many as a fast retransmit needs, or any sign of a hole. Duplicate ACKs.
    pub told: bool,
    pub hole: bool,
    pub dups: u16,
    /// The timer can have expired: after the least time of any sender, or most of the modelled time, or in a silence of that length.
    pub late: bool,
    /// Nearly all of the modelled time is over; so it is for a timer that no SACK restarts (RFC 6298 section 5).
    pub overdue: bool,
    pub ran_out: bool,
    /// Transmitted since the latest expiry.
    pub since_timeout: bool,
    /// A segment sent after its latest copy arrived just before (RFC 8985 section 6.2).
    pub lost_again: bool,
    /// What reported the loss.
    pub report: Evidence,
}

/// A timer sent it, and whether that was a probe or an expiry is undecided.
pub fn by_timer(trigger: Trigger, evidence: Evidence) -> bool {
    (trigger, evidence) == (Trigger::Undecided, Evidence::TimerExpired)
}

impl SenderState {
    /// Determine the trigger of a retransmission; changes the phase (RFC 5681, 6298, 6582, 6675, 8985).
    pub fn name_trigger(&mut self, s: &Sent, o: &mut SentOutcome) {
        let v = self.evidence(s, o);
        let goes_back = v.head && v.clocked && !o.acked_before;
        self.doubt_undo(s, goes_back, v.told);
        self.resume_recovery(goes_back);
        let doubted = self.in_doubt(s);
        let causes = match s.start {
            0 => self.causes_of_syn(s, &v),
            _ if self.near_sender && self.was_in_queue(s, o, &v) => Causes::REPORT,
            _ if self.is_seen_at_once() && !self.may_be_kept(o) => self.causes_near(s, o, &v),
            _ => self.causes_away(s, o, &v),
        };
        let (trigger, evidence) = match self.resets < ENOUGH_RESETS {
            true => causes.named(s.sack_ok && self.tally.sack_acks > 0, v.head, v.report),
            false => (Trigger::Undecided, Evidence::NoAckSeen),
        };
        if trigger == Trigger::GoBackN {
            self.end_frto();
        }
        if trigger == Trigger::Rto {
            self.unsure_until = 0;
        }
        self.count_resent(s, trigger == Trigger::Rto);
        if trigger == Trigger::Rto {
            let same = self.expired_at == s.start;
            let expiries = if same { self.expiries } else { 0 };
            // A copy of a SYN that answered the peer's, or another undecided copy, may have been sent by the timer.
            let uncertain = (s.start == 0 || doubted || self.may_have_expired(s)) && o.copy > expiries + 1;
            let uncertain = uncertain || same && self.expiries_unsure;
            self.expiries_unsure = uncertain;
            (o.backoff, o.expiries) = ((!uncertain).then_some(expiries), expiries);
            o.silent_from = Some(self.silent_from(s, o));
            // A sender with probes would have sent one for the tail first: this sender sends none.
            if !same && s.sack_ok && self.phase == Phase::Open && self.probe.is_none() && self.flight() > self.mss() {
                self.no_probes = true;
            }
        }
        if trigger == Trigger::TailLossProbe || by_timer(trigger, evidence) {
            self.probes |= trigger == Trigger::TailLossProbe;
            o.silent_from = Some(self.silent_from(s, o));
        }
        o.trigger = Some(trigger);
        o.evidence = Some(evidence);
        o.waited = v.waited;
    }

    /// Since when it had sent nothing: what was lost before the tap was sent when the latest ACK of new data released it, or later.
    fn silent_from(&self, s: &Sent, o: &SentOutcome) -> i64 {
        let released = self.last_advance.filter(|_| o.lost_before_tap);
        let opened = self.opened.filter(|_| s.start > 0 && !self.near_sender);
        let from = self.last_send.max(released).max(opened).unwrap_or(s.t).min(s.t);
        self.stall.silent_from(s.t, from, self.sent_before_at.zip(self.sent_at))
    }

    /// What the tap saw before a retransmission.
    fn evidence(&self, s: &Sent, o: &SentOutcome) -> Seen {
        let head = s.start <= self.una;
        let since_ack = self.last_ack.map_or(i64::MAX, |a| s.t - a);
        let reaction = self.reaction.unwrap_or(0).saturating_add(REACTION_SLACK_NS);
        let clocked = since_ack <= reaction || self.answered_away(s);
        let started = self.last_advance.max(self.head_sent);
        let waited = started.max(self.sack_restart).map_or(0, |b| s.t - b);
        let silent = [self.last_ack, self.last_send].into_iter().flatten().max().map_or(0, |b| s.t - b);
        let sack_hole = self.sacked_hi > s.end;
        let known = self.scoreboard.range(s.start, s.end).next();
        let copies = known.map_or(0, |r| r.copies);
        // RACK (RFC 8985 section 6.2): a segment sent after the latest copy of these bytes has arrived.
        let overtaken = s.sack_ok && known.is_some_and(|r| self.delivered_sent > Some(r.t_last));
        // Without SACK, Linux keeps counting duplicate ACKs over partial progress. With SACK, RACK needs no block above.
        let dups = if s.sack_ok { self.dupacks } else { self.dupacks.max(self.unspent_dupacks) };
        // RACK reacts to the ACK that shows a loss, or after its reordering window.
        let window = self.reordering_window().saturating_add(reaction);
        let prompt = clocked || self.delivered_at.is_some_and(|at| s.t - at <= window);
        // Duplicate ACKs never call for bytes below them: away from the sender they had not reached it.
        let below = o.acked_before && !self.near_sender;
        let told = !below
            && (dups >= DUPACK_THRESHOLD || sack_hole || (s.sack_ok && clocked && o.hole) || (overtaken && prompt));
        // A segment above all that was SACKed is not missing.
        let reported = told || self.dupacks > 0 && clocked && !below && (head || sack_hole || !s.sack_ok);
        // Near the receiver an ACK needs the path to restart the timer, and the timer, which includes an RTT, adds another.
        let away =
            self.rtt_whole.filter(|_| self.near_receiver).map_or(0, |whole| 2 * whole.clamp(0, LONGEST_TIMEOUT_NS));
        let model = self.rto().unwrap_or(1000 * MS).saturating_add(away);
        // The models differ in their floors, so an expiry is a retransmission without an ACK as cause after at least the smallest timeout.
        // Linux has a floor of 200 ms, which can be set lower: near the sender, where every ACK that it gets is seen, silence alone tells.
        let floor = if self.near_sender { 0 } else { LEAST_TIMEOUT_NS };
        let floor = if copies > 1 && self.doubled(s, clocked) { 0 } else { floor };
        let least = self.timer.least().unwrap_or(FIRST_TIMEOUT_NS).max(floor).saturating_add(away);
        // A sender that has been told of a loss and stays silent for a whole timeout did not react to it: the timer did.
        let timer_only = !clocked && silent >= least.max(FIRST_TIMEOUT_NS + away);
        // An ACK of these bytes that passed the tap had not reached the sender.
        let alone = if o.acked_before { waited.max(self.last_send.map_or(0, |sent| s.t - sent)) } else { waited };
        let late = (waited >= model * 7 / 10 && alone >= floor) || (!clocked && waited >= least && !told) || timer_only;
        // A timeout marks everything as lost: only a copy sent since then can be lost again.
        let since_timeout = known.map(|r| r.t_last) >= self.last_expiry;
        // A sender with RACK would have repeated it when it was first overtaken: the window may have grown since, with the round trip.
        let ignored = self.head_overtaken.is_some_and(|(start, at)| start == s.start && s.t - at > 2 * window);
        let ignored = head && self.near_sender && ignored;
        let lost_again = copies > 1
            && overtaken
            && prompt
            && (since_timeout || self.phase != Phase::Loss)
            && !(timer_only || ignored);
        Seen {
            head,
            clocked,
            reaction,
            waited,
            silent,
            copies,
            told,
            hole: o.hole || reported,
            dups,
            late,
            overdue: waited >= model * 9 / 10,
            ran_out: started.is_some_and(|at| s.t - at >= model * 9 / 10),
            since_timeout,
            lost_again,
            report: match () {
                () if dups >= DUPACK_THRESHOLD || (!told && reported) => Evidence::DuplicateAcks,
                () if told => Evidence::SackBlocks,
                () => Evidence::NoAckSeen,
            },
        }
    }

    /// A SYN+ACK that follows a repeated SYN answers it, and no timer is shorter than a second, or 200 ms (RFC 6298 section 2.1). A SYN is
    /// answered at once: near this end the answer passes as soon, elsewhere any SYN but the first may have caused it.
    fn causes_of_syn(&self, s: &Sent, v: &Seen) -> Causes {
        let near = self.answered_in.is_some_and(|least| least <= REACTION_SLACK_NS);
        let late = (near || self.syns_of_peer <= 1) && self.asked.is_none_or(|at| s.t - at >= LEAST_SYN_NS);
        let timer = v.waited >= LEAST_SYN_NS && late;
        Causes::EXPIRY.or(Causes::ANSWER).unless(&[(timer, Causes::ANSWER)])
    }

    /// Near the sender an ACK that passed has arrived, and the sender reacts to it at once. So the state of the sender is known, and what
    /// remains is whether an ACK or a timer sent the segment.
    fn causes_near(&mut self, s: &Sent, o: &SentOutcome, v: &Seen) -> Causes {
        let calm = self.is_calm();
        let behind = o.acked_before && calm;
        // What the state of the sender lets it repeat.
        let possible = match self.phase {
            _ if self.in_doubt(s) => self.unsure.or(Causes::EXPIRY),
            // It crossed the ACK that filled the hole or ended the recovery: it was queued between TCP and the tap when that ACK came.
            _ if behind && self.crossed(s, v.reaction) && self.was_asked(s) => Causes::REPORT,
            _ if behind && s.start < self.recover && self.left == Phase::Loss => Causes::GO_BACK,
            _ if behind && s.start < self.recover => Causes::REPAIR,
            Phase::Open | Phase::Disorder => Causes::CALM,
            Phase::Recovery => Causes::REPAIR.or(Causes::EXPIRY),
            // Sent after the timeout: no part of what follows it, and the third duplicate ACK calls for it (RFC 6582 section 4).
            Phase::Loss if !s.sack_ok && s.start >= self.recover && v.copies == 1 && v.clocked && v.dups == 3 => {
                Causes::REPORT
            }
            Phase::Loss => Causes::AFTER_TIMEOUT.or(Causes::REPAIR),
        };
        // No recovery repeats a repair at the left edge that nothing sent after it has overtaken (RFC 6582 section 3.2, RFC 6675 section 5,
        // RFC 8985 section 6.2), whatever ACK comes just before by chance.
        let stuck = self.phase == Phase::Recovery
            && v.head
            && v.copies > 1
            && !v.lost_again
            && self.last_advance < self.head_sent;
        // An ACK just before explains it, unless the sender let such ACKs pass for the whole time of its timer.
        let explained = match self.phase {
            Phase::Recovery if v.lost_again => !v.overdue || self.delivered_at == self.last_ack,
            Phase::Recovery => v.clocked && !stuck && !(v.copies > 1 && v.overdue),
            // The first ACK calls for bytes not repeated since the timeout: it ends F-RTO (RFC 5682 section 2.1 step 3a).
            Phase::Loss => (v.lost_again && !v.overdue) || v.clocked && !(v.since_timeout && v.overdue),
            // The third duplicate ACK that a sender let pass, as RFC 6582 section 3.2 asks after a timeout, is not answered a timeout later.
            _ => v.told && v.clocked && !(!s.sack_ok && v.dups > 4 && v.overdue),
        };
        // It comes at once after a duplicate ACK, when the timer is due, too: the sender let the third one pass.
        let passed = v.told && v.clocked && !s.sack_ok && v.dups > 4 && v.overdue;
        let passed = passed && calm;
        let slow = self.answers_no_ack(v);
        let probe = self.may_be_probe(s, v);
        // A probe repeats the last segment (RFC 8985 section 7.3).
        let expired = v.head && (v.late || stuck || slow && (v.ran_out || calm && s.end < self.end)) && !explained;
        // A while after the ACK that calls for it, and when the retransmission timer is due: RACK's timer or that one.
        let due = v.overdue || v.ran_out;
        let either = self.phase == Phase::Recovery && due && v.head && !v.clocked && !expired;
        let left = possible.unless(&[
            // The timer repeats the first segment outstanding (RFC 6298 section 5.4), after its time and without an ACK that calls for it.
            (!expired && !either, Causes::EXPIRY),
            (expired && !passed || slow, Causes::BY_ACK),
            // A hole that no ACK has shown is not repaired (RFC 5681 section 3.2).
            (!v.hole, Causes::REPORT),
            // In state Loss everything is repeated once, and again only if it is lost again, which ends the state (RFC 8985 section 6.3).
            (self.phase == Phase::Loss && !v.lost_again, Causes::REPAIR),
            (v.lost_again, Causes::GO_BACK),
            // An ACK that opens a closed window calls for the bytes that did not fit (RFC 9293 section 3.8.6).
            (v.told || !v.clocked || self.reopened.is_none_or(|at| Some(at) != self.last_ack), Causes::ANSWER),
            (!probe, Causes::PROBE),
            // A probe comes before an expiry if the sender sends probes, and no later than its time (RFC 8985 section 7.2).
            (probe && self.probes, Causes::EXPIRY),
            (probe && !self.probes && expired && v.waited > self.longest_probe(), Causes::PROBE),
        ]);
        if either {
            self.follow_doubt(s, left);
        }
        if left == Causes::NONE && (self.is_unasked(v) || self.is_alone(s, v)) {
            return self.either_timer(s);
        }
        left
    }

    /// No ACK is answered so late: after RACK's reordering window only a timer is left.
    fn answers_no_ack(&self, v: &Seen) -> bool {
        !v.clocked && v.silent > self.reordering_window().saturating_add(v.reaction)
    }

    /// The queue of its host loses packets, as it did the first copy of this one, or keeps what passes until after its ACK.
    fn may_be_kept(&self, o: &SentOutcome) -> bool {
        self.tally.lost_before_tap > 0 && (o.lost_before_tap || o.acked_before || self.host_delay > 0)
    }

    /// Near the sender, whose packets echo all ACKs that passed: none waits long between its TCP and the tap.
    fn is_seen_at_once(&self) -> bool {
        self.near_sender && (!self.behind || self.peer_waits)
    }

    /// Near a calm sender no report and no ACK called for the head, and it had been silent for a timer's time: a timer sent it, whose sender
    /// measures other round trips than the tap.
    pub fn is_unasked(&self, v: &Seen) -> bool {
        let unasked = self.answers_no_ack(v) && !v.told;
        self.is_seen_at_once() && self.is_calm() && v.head && unasked && v.silent >= FIRST_TIMEOUT_NS
    }

    /// Nothing else is outstanding, and no ACK has passed since it was sent: only a timer repeats it, however short.
    pub fn is_alone(&self, s: &Sent, v: &Seen) -> bool {
        let outstanding = s.start == self.una && s.end == self.end && v.copies == 1;
        outstanding && matches!(self.phase, Phase::Open) && self.dupacks == 0 && self.last_ack <= self.head_sent
    }

    /// An expiry, or a probe if the sender may send one.
    pub fn either_timer(&self, s: &Sent) -> Causes {
        if s.sack_ok && !self.no_probes {
            Causes::EXPIRY.or(Causes::PROBE)
        } else {
            Causes::EXPIRY
        }
    }

    /// Since the third duplicate ACK more new data passed, without a pause, than duplicate ACKs call for (RFC 6582 section 3.2): it had been
    /// sent before, and waited in a queue between TCP and the tap, as the retransmission did that they called for. That queue shows too where
    /// it lost the segment, and on duplicate ACKs alone a sender that waits for its timer sends two (RFC 3042). It pauses for most of that time.
    fn was_in_queue(&self, s: &Sent, o: &SentOutcome, v: &Seen) -> bool {
        // Timestamps show which ACKs a sender had read.
        let called = if o.lost_before_tap && self.own_stamps.is_none() {
            2
        } else {
            i64::from(self.dupacks.max(self.unspent_dupacks))
        };
        let silent = self.last_send.map_or(i64::MAX, |at| s.t - at);
        let first = v.told && (v.head || s.sack_ok && o.lost_before_tap) && v.copies <= 1;
        first
            && self.repair_asked().is_some()
            && self.end - self.third_dupack_end > called * self.mss()
            && self.len_before == self.segment
            && silent <= (s.t - self.third_dupack) / 8
    }

    /// A probe comes no later after the last segment or ACK: two SRTT and the time for which a receiver may delay an ACK, or a second
    /// without a sample (RFC 8985 section 7.2).
    fn longest_probe(&self) -> i64 {
        self.timer.srtt().map_or(0, |srtt| srtt / 4 * 9).saturating_add(MOST_ACK_DELAY_NS).max(1000 * MS)
    }

    /// No probe comes sooner after the last segment or ACK: two SRTT (RFC 8985 section 7.2), less what jitter makes of them at the tap, but
    /// not more than the timeout.
    fn least_probe(&self) -> i64 {
        match (self.timer.srtt(), self.timer.least()) {
            (Some(srtt), Some(least)) => (srtt * 2).min(least) * 7 / 8,
            _ => FIRST_TIMEOUT_NS,
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
        self.dup_run.is_some_and(|(una, dups, t)| una == s.start && dups >= DUPACK_THRESHOLD && s.t - t <= reaction)
    }

    /// The packet does not echo an ACK older than the third duplicate one, which its sender had not read then (RFC 7323 section 4.3).
    fn was_asked(&self, s: &Sent) -> bool {
        let third = self.dup_run_of(s).map_or(0, |run| run.third);
        let echo = s.tsval.and(self.latest_stamp).filter(|_| !self.peer_waits).map(|(_, echo, _)| echo);
        echo.is_none_or(|echo| reached(third, echo) != Some(false))
    }

    /// The sender has been silent for about twice as long as before the previous copy of the same bytes: a timer that backs off.
    fn doubled(&self, s: &Sent, clocked: bool) -> bool {
        let silent = self.last_send.map_or(0, |sent| s.t - sent);
        !clocked
            && self.last_ack <= self.head_sent
            && self.head_gap.is_some_and(|gap| gap > 0 && silent > gap / 4 * 7 && silent < gap.saturating_mul(5) / 2)
    }

    /// RFC 8985 section 7: a probe is the last segment, sent by a timer without any sign of loss, after its least time; one at a time. Data and
    /// ACKs of new data start its timer, others not.
    fn may_be_probe(&self, s: &Sent, v: &Seen) -> bool {
        let started = self.last_send.max(self.last_advance).max(self.sack_restart);
        // With SACK, duplicate ACKs that report nothing answer copies: no segment is missing (RFC 6675 section 2).
        let bare = self.syn_seen && self.sack_permitted && self.is_calm();
        s.sack_ok
            && s.end == self.end
            && !v.clocked
            && (bare || self.dupacks == 0 && self.phase == Phase::Open)
            && self.sacked_bytes == 0
            && !(v.head && self.no_probes)
            && self.probe.is_none()
            && started.is_some_and(|at| s.t - at >= self.least_probe())
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

    /// Whether the retransmission of the same bytes before was a probe or an expiry is undecided.
    fn may_have_expired(&self, s: &Sent) -> bool {
        self.probe.as_ref().is_some_and(|p| p.start == s.start && p.trigger == Trigger::Undecided)
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

    /// The next expiry did not come after twice the time, although no timer was at its bound (RFC 6298 section 2.5): the first
    /// retransmission was a probe.
    pub fn expiry_was_probe(&self, s: &Sent) -> bool {
        self.near_sender
            && self.probe.as_ref().is_some_and(|p| {
                let next = s.t - p.t;
                let bounded = p.waited > LONGEST_TIMEOUT_NS / 2;
                p.start == s.start && (next * 2 < p.waited * 3 || next * 2 > p.waited.saturating_mul(5)) && !bounded
            })
    }
}

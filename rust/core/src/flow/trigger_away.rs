//! The trigger of a retransmission at a tap away from its sender: an ACK that passed may not have arrived when the packet was sent, and
//! the packet was sent some time before it passed. Timestamps show both (RFC 7323 section 4.3); without them the round trip bounds both.

use super::ack::{Ack, DUPACK_THRESHOLD};
use super::causes::Causes;
use super::dup_runs::DupRun;
use super::kinds::Phase;
use super::scoreboard::{Run, PASSED_SHIFT};
use super::send::{Sent, SentOutcome};
use super::sender_state::SenderState;
use super::seq::{newer, reached};
use super::timer::LEAST_TIMEOUT_NS;
use super::trigger::{Seen, REACTION_SLACK_NS};

/// What is known of one moment: the answer, or that it is not known.
type Known = Option<bool>;

/// What the sender knew and did when it sent a retransmission, as far as a tap away from it can show.
#[derive(Debug, Clone, Copy, Default)]
struct Knew {
    /// Whether SND.UNA was the first of these bytes when it sent this packet, and when it sent the one before.
    head: Known,
    was_head: Known,
    /// The report that a fast retransmit needs had arrived when it sent this packet, and when it sent the one before.
    told: Known,
    was_told: Known,
    /// The third duplicate ACK arrived since the packet before; and just now.
    new_report: bool,
    just_told: bool,
    /// The reports passed so lately that they may not have arrived.
    too_soon: bool,
    /// SACK: some report of a hole here had arrived.
    reported: Known,
    /// Its timer can have run out: since these bytes were sent or became the first.
    timer: Known,
    /// It sent the packet at once when an ACK arrived; and so its clock shows, by less than the time of a probe.
    at_once: bool,
    no_probe: bool,
    /// An ACK had arrived since its packet before.
    news: bool,
    /// No ACK had arrived for at least the time of a timer.
    no_news: bool,
    /// An answer to the reports that passed would be unusually late.
    overdue: bool,
    /// It sent another retransmission just before, for the same ACK.
    burst: bool,
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
    fn latest_copy(&self, s: &Sent) -> Option<Run> {
        let past = self.past.get(self.past.partition_point(|r| r.end <= s.start)).filter(|r| r.start <= s.start);
        past.or_else(|| self.scoreboard.range(s.start, s.end).next()).filter(|r| !r.merged).copied()
    }

    /// The causes that are left at a tap away from the sender. More than one: what the sender does next is uncertain, too.
    pub fn causes_away(&mut self, s: &Sent, o: &SentOutcome, v: &Seen) -> Causes {
        let knew = self.knew_by_echo(s, v).unwrap_or_else(|| self.knew_by_time(s, o, v));
        let (no, yes) = (Some(false), Some(true));
        let loss = self.phase == Phase::Loss;
        let copy = self.latest_copy(s);
        let since = if self.in_doubt(s) { self.unsure_since } else { self.last_expiry };
        let again = copy.is_some_and(|r| r.copies > 1 && Some(r.t_last) >= since.max(self.maybe_expired));
        let recovery = self.recoveries.back().filter(|r| self.phase == Phase::Recovery && r.ended.is_none());
        let repaired = copy.zip(recovery).is_some_and(|(copy, r)| copy.copies > 1 && copy.t_last >= r.t);
        let overtaken = !o.acked_before && copy.is_some_and(|r| self.delivered_sent > Some(r.t_last));
        let calm = self.is_calm();
        let probe = s.sack_ok && s.end >= self.end && calm && self.probe.is_none() && !(v.head && self.no_probes);
        let probe = probe && copy.map_or(o.lost_before_tap && self.ids.skipped == 1, |r| r.copies == 1);
        // The timer may have expired for bytes below these, and its packet be missing.
        let unseen = calm && knew.was_head != yes && s.start > 1 && self.ids.above > 0 && self.paused_before(s);
        let went_on = self.went_on() && !o.acked_before && !unseen;
        let possible = self.possible_away(s, o).or(if unseen { Causes::GO_BACK } else { Causes::NONE });
        let left = possible.unless(&[
            // A timer repeats the first unacknowledged segment (RFC 6298 section 5.4), and so does a sender without SACK (RFC 6582 section 3.2).
            (knew.head == no, Causes::EXPIRY),
            (knew.head == no && !s.sack_ok, Causes::FAST),
            // One ACK calls for one repair (RFC 6582 section 3.2).
            (knew.burst, Causes::FAST.or(Causes::EXPIRY)),
            // Fast retransmit needs its report (RFC 5681 section 3.2, RFC 6675 section 5), and answers it at once.
            (knew.told == no, Causes::REPORT),
            (knew.was_told == yes && !knew.news, Causes::REPORT),
            (knew.too_soon && knew.timer == no, Causes::REPORT),
            // Nothing above it is missing, and no segment sent later has arrived (RFC 8985 section 6.2).
            (s.sack_ok && self.sacked_hi <= s.end && !self.options_cut && !overtaken, Causes::REPORT),
            (knew.just_told, Causes::EXPIRY),
            // Fast recovery repairs what is reported, or what a partial ACK calls for, which is answered at once (RFC 6582 section 3.2).
            (knew.reported == no, Causes::REPORT),
            (knew.was_head == yes && (knew.reported == no || !s.sack_ok), Causes::REPAIR),
            (knew.timer == no, Causes::EXPIRY),
            // An ACK is answered at once, and a timer ends a silence.
            (knew.no_news, Causes::BY_ACK),
            (knew.overdue, Causes::FAST),
            (knew.at_once && !calm, Causes::EXPIRY),
            // The first packet after an expiry, of other bytes: an ACK had arrived, and is answered at once (RFC 5681 section 3.1), unless it
            // undid the expiry.
            (
                loss && self.ids.next
                    && !self.resent_acked
                    && self.last_send == self.last_expiry
                    && s.start != self.expired_at,
                Causes::EXPIRY,
            ),
            // After a timeout nothing is repeated twice (RFC 5681 section 3.1), and no new data is sent before, but two segments (RFC 5682).
            (again || went_on, Causes::GO_BACK),
            (loss && self.una <= self.expired_at, Causes::GO_BACK),
            (loss && !v.lost_again, Causes::REPAIR),
            (calm && self.passed_above(s), Causes::GO_BACK),
            (self.follows_doubt(s), Causes::GO_BACK),
            // The report is new, and no packet is missing since the one before: a calm sender answers it at once, before any timer.
            (calm && s.start >= self.recover && v.copies <= 1 && knew.new_report && self.ids.next, Causes::EXPIRY),
            // A repair is repeated only if something sent after it has arrived (RFC 8985 section 6.2). A sender may break that rule; its timer cannot.
            (repaired && !overtaken && knew.timer != no, Causes::REPAIR),
            // An ACK that opens a closed window calls for the bytes that did not fit (RFC 9293 section 3.8.6).
            (v.told || !v.clocked || self.reopened.is_none_or(|at| Some(at) != self.last_ack), Causes::ANSWER),
            (!probe || knew.no_probe, Causes::PROBE),
            (probe && self.probes, Causes::EXPIRY),
        ]);
        // A fast retransmit or an expiry on a path that has become faster explains a reported hole as well as an expiry that nobody saw.
        let left = match left {
            Causes::GO_BACK if calm && self.dupacks > 0 => left.or(Causes::CALM),
            Causes::NONE if self.is_unasked(v) || self.is_alone(s, v) && self.sees_all() => self.either_timer(s),
            _ => left,
        };
        self.follow_doubt(s, left);
        left
    }

    /// Sent before the ACK can have arrived that answers the undecided retransmission before it, which goes back to nothing: without
    /// that ACK a sender repeats nothing else after a timeout (RFC 5681 section 3.1) unless it undoes it.
    fn follows_doubt(&self, s: &Sent) -> bool {
        // Without timestamps that time is known of the handshake only, which may have waited in a queue.
        let share = if self.loop_least.is_some() { 2 } else { 8 };
        self.in_doubt(s)
            && self.near_receiver
            && self.doubt_left != Causes::NONE
            && !self.doubt_left.has(Causes::GO_BACK)
            && self.unsure_since.is_some_and(|at| s.t - at < self.least_loop() / share)
            && s.start >= self.una
    }

    /// More segments above `s` have passed since it became the first unacknowledged one than a sender sends before it goes back: two new
    /// ones at most (RFC 5682 section 2.1), and those no sooner than the ACK can have arrived. Paths keep the order (FIFO), so an expiry
    /// before would have made the sender repeat `s` before them.
    fn passed_above(&self, s: &Sent) -> bool {
        let Some(at) = self.last_advance.filter(|_| s.start == self.una && self.near_receiver) else { return false };
        // Where it may have expired for bytes below, what passed before that shows nothing.
        let after = if self.in_doubt(s) { self.unsure_since.max(Some(at)) } else { Some(at) };
        let above = self.scoreboard.range(s.end, self.end).filter(|r| !r.unseen && !r.merged && Some(r.t_last) > after);
        // The path may have been slower when it was measured.
        let soonest = at + self.least_loop() / 2;
        // Linux sends as many as slow start allows: one more than were acknowledged (`tcp_process_loss`).
        let by = self.past.back().map(|r| r.acked_by);
        let acked =
            self.past.iter().rev().take_while(|r| Some(r.acked_by) == by).last().map_or(0, |r| s.start - r.start);
        let most = (acked / self.mss() + 1).max(2);
        let mut passed = 0;
        above.take(1 + most.unsigned_abs() as usize).any(|r| {
            passed += 1;
            passed > most || r.t_last < soonest
        })
    }

    /// What the sender may do in the state that it may be in.
    fn possible_away(&self, s: &Sent, o: &SentOutcome) -> Causes {
        // The ACK of these bytes had not arrived: the sender was in the state before that ACK.
        let behind = o.acked_before && s.start < self.recover;
        let possible = match (self.phase, self.left) {
            (phase, left) if phase == Phase::Loss || (behind && phase != Phase::Recovery && left == Phase::Loss) => {
                let undone = match () {
                    () if self.undo.unseen => Causes::REPORT,
                    () if self.went_on() => Causes::REPORT,
                    () => Causes::REPAIR,
                };
                Causes::AFTER_TIMEOUT.or(undone)
            }
            (Phase::Recovery, _) => Causes::REPAIR.or(Causes::EXPIRY),
            (_, Phase::Recovery) if behind => Causes::FAST.or(Causes::EXPIRY),
            // Data that others overtook may have been sent before the recovery began: it ends later than the tap can tell.
            (_, Phase::Recovery) if o.acked_before && self.tally.reordered > 0 => Causes::CALM.or(Causes::REPAIR),
            _ if (2..self.hidden_until).contains(&s.start) => Causes::CALM.or(Causes::GO_BACK),
            _ => Causes::CALM,
        };
        // Acknowledged, one segment after the other: the timer's packet may have been lost before the tap.
        let in_turn = o.acked_before && self.resent_acked && s.start == self.resent_end;
        match () {
            () if self.in_doubt(s) => self.unsure.or(Causes::EXPIRY),
            () if in_turn => possible.or(Causes::GO_BACK),
            () => possible,
        }
    }

    /// It is undecided in which state the sender is. Without SACK a recovery includes the ACK of its point (RFC 6582 section 4).
    pub fn in_doubt(&self, s: &Sent) -> bool {
        self.unsure_until > 0 && s.start < self.unsure_until + i64::from(!s.sack_ok)
    }

    /// Keep what is uncertain about the state of the sender: until all data sent by now is acknowledged, or evidence leaves one state.
    pub fn follow_doubt(&mut self, s: &Sent, left: Causes) {
        // What begins where the uncertain time ends may begin another one.
        let doubted = self.in_doubt(s) && s.start < self.unsure_until;
        if left.has(Causes::EXPIRY) {
            self.maybe_expired = if left.is_one() { self.maybe_expired } else { Some(s.t) };
            self.maybe_expired_start = s.start;
            self.expired_unseen();
            self.undo.unseen = self.may_undo_unseen(s);
        }
        if left.has(Causes::FAST) && !left.has(Causes::AFTER_TIMEOUT) {
            self.hidden_until = 0;
        }
        let timed_out = match left {
            Causes::GO_BACK => doubted || self.phase == Phase::Recovery || s.start >= self.una,
            _ => left == Causes::AFTER_TIMEOUT,
        };
        if timed_out && self.phase != Phase::Loss {
            (self.phase, self.recover) = (Phase::Loss, self.end);
        }
        if left.is_one() || left == Causes::AFTER_TIMEOUT || left == Causes::FAST {
            self.unsure_until = 0;
        } else if !doubted {
            // What each cause that is left lets it repeat next; after none of them, anything.
            let is_known = left != Causes::NONE;
            self.unsure = Causes::ALL.unless(&[
                (is_known && !left.has(Causes::PROBE), Causes::PROBE.or(Causes::ANSWER)),
                (is_known && !left.has(Causes::FAST), Causes::REPAIR),
                (is_known && !left.has(Causes::AFTER_TIMEOUT), Causes::GO_BACK),
            ]);
            // Bytes sent before that are missing above the captured ones belong to it, too.
            (self.unsure_until, self.unsure_since, self.doubt_left) = (self.may_have_sent(), Some(s.t), left);
        }
    }

    /// More new data since the timeout than a sender sends that waits for what its ACKs show: two segments (RFC 5682 section 2.1), in Linux
    /// as many as slow start allows, one more than were acknowledged (`tcp_process_loss`).
    fn went_on(&self) -> bool {
        let before = self.unsure_until.max(self.recover).max(self.hidden_until);
        let acked = self.una.min(before) - self.maybe_expired_start;
        self.end - before > acked.max(self.mss()) + self.mss()
    }

    /// Without timestamps: what passed less than a round trip ago cannot have been answered.
    fn knew_by_time(&self, s: &Sent, o: &SentOutcome, v: &Seen) -> Knew {
        let trip = self.least_loop() / 8 * 7;
        let recent = |at: Option<i64>| at.is_some_and(|at| s.t - at < trip);
        let (edge, became) = self.edge_without_stamps(s);
        let head = if s.start > self.una || !edge { Some(false) } else { None };
        let run = self.dup_run_of(s);
        // Without SACK, Linux counts duplicate ACKs over partial progress.
        let counted = !o.acked_before && v.dups >= DUPACK_THRESHOLD;
        let told = match run {
            _ if !v.hole && !o.acked_before => Some(false),
            Some(r) if r.third_at.is_none() && !s.sack_ok && !counted && self.sees_all() => Some(false),
            _ => None,
        };
        // The path was faster than in the handshake, or the reports had not arrived.
        let report = run.filter(|r| r.una == s.start && !r.reported_before);
        let too_soon = report.is_some_and(|r| recent(if s.sack_ok { r.first_at } else { r.third_at }));
        // The first packet since that ACK arrived: the ACK called for it.
        let answer = self.ids.next && self.previous_packet.zip(became).is_some_and(|(packet, at)| packet < at + trip);
        Knew {
            head,
            told,
            too_soon,
            timer: self.too_early(s, became).then_some(false),
            at_once: answer && self.phase == Phase::Loss,
            overdue: self.overdue(s, v),
            ..Knew::default()
        }
    }

    /// The least time from an ACK to what its sender sends for it, at this tap.
    pub fn least_loop(&self) -> i64 {
        let loops = [self.round_trip(), self.loop_least, self.loop_syn.filter(|_| !self.near_receiver)];
        loops.into_iter().flatten().min().unwrap_or(0) / self.emptier()
    }

    /// Without timestamps only the handshake shows a round trip, and the queue that it met may drain: half of it is common.
    fn emptier(&self) -> i64 {
        if self.loop_least.is_some() {
            1
        } else {
            2
        }
    }

    /// The least timer of the sender: that of Linux, as the round trips that the tap sees may be longer than those of its timer, if a queue
    /// has drained or its SYN found none; twice as long after an expiry, until it has a sample (RFC 6298 section 5.7), which timestamps
    /// give at once, and so does SACK of bytes sent once (`tcp_ack_update_rtt`).
    pub fn least_timer(&self, s: &Sent) -> i64 {
        if self.phase == Phase::Loss && s.tsval.is_none() && !self.sampled_by_sack(s) {
            LEAST_TIMEOUT_NS.saturating_mul(2)
        } else {
            LEAST_TIMEOUT_NS
        }
    }

    /// A sniffer may miss the blocks, but a duplicate ACK of a receiver with SACK has them.
    fn sampled_by_sack(&self, s: &Sent) -> bool {
        self.once.is_some_and(|(sent, _)| Some(sent) > self.last_expiry) || s.sack_ok && self.dupacks > 0
    }

    /// By the tap's clock no timer can have expired: it runs from the ACK that made these bytes the first, or from their latest copy, which
    /// may have waited longer in a queue than this one: the sender's clock tells where it is known.
    fn too_early(&self, s: &Sent, became: Option<i64>) -> bool {
        let least = self.least_timer(s);
        let from_ack = (self.least_loop() / 8 * 7).saturating_add(least);
        became.is_some_and(|at| s.t - at < from_ack)
            || (s.tsval.is_none() || self.own_clock_tick.is_none())
                && self.latest_copy(s).is_some_and(|r| !r.unseen && s.t - r.t_last < LEAST_TIMEOUT_NS)
                && !self.may_have_queued(s)
            || self.after_expiry(s, became, least)
    }

    /// The latest copy may have been sent a timer before `s` and have waited in a queue: it passed a round trip and more after its report.
    fn may_have_queued(&self, s: &Sent) -> bool {
        let copied = self.latest_copy(s).is_some_and(|r| r.copies > 1);
        let reported = self.dup_run_of(s).filter(|r| r.una == s.start).and_then(|r| r.first_at);
        copied && reported.is_some_and(|at| s.t - at >= self.least_loop() + LEAST_TIMEOUT_NS)
    }

    /// An answer to an ACK would be unusually late: twice the longest silence that new data ended.
    fn overdue(&self, s: &Sent, v: &Seen) -> bool {
        let silent = self.last_send.map_or(0, |sent| s.t - sent);
        v.late && !v.clocked && silent > self.usual_gap.saturating_mul(9) / 4
    }

    /// After an expiry the timer runs twice as long (RFC 6298 section 5.5), from each copy and each ACK of new data.
    fn after_expiry(&self, s: &Sent, became: Option<i64>, least: i64) -> bool {
        let soon = |at: i64| s.t - at < least;
        let sooner = |at: i64| s.t - at < self.expiry_waited;
        let sampled = self.sampled_by_sack(s) || s.tsval.is_some() && became > self.last_expiry;
        self.phase == Phase::Loss
            && (self.last_resend.is_some_and(soon) || !sampled && became.or(self.last_expiry).is_some_and(sooner))
    }

    /// No ACK passed unseen: a sniffer misses some.
    fn sees_all(&self) -> bool {
        !self.sniffed && self.acks_missing.is_none()
    }

    /// Whether an ACK can have made these bytes the first unacknowledged ones, and when it passed: one that covers bytes on both sides did not.
    fn edge_without_stamps(&self, s: &Sent) -> (bool, Option<i64>) {
        if s.start >= self.una {
            return (true, self.last_advance.filter(|_| s.start == self.una));
        }
        let i = self.past.partition_point(|r| r.end < s.start);
        let Some(below) = self.past.get(i).filter(|r| r.end == s.start) else { return (true, None) };
        let after = self.past.get(i + 1).filter(|r| r.start == s.start);
        let edge = !(self.sees_all() && after.is_some_and(|r| r.acked_by == below.acked_by));
        if s.tsval.is_some() {
            return (edge, None);
        }
        let ago = ((s.t >> PASSED_SHIFT) as u32).wrapping_sub(below.acked_echo);
        (edge, edge.then(|| s.t - (i64::from(ago) << PASSED_SHIFT)))
    }

    /// With timestamps: a packet echoes the latest ACK that had arrived, and states when it was sent.
    #[inline(never)]
    fn knew_by_echo(&self, s: &Sent, v: &Seen) -> Option<Knew> {
        if self.peer_waits {
            return None;
        }
        let (tsval, (before, earlier), (_, echo, _)) = (s.tsval?, self.stamps_before?, self.latest_stamp?);
        if newer(before, tsval) || newer(earlier, echo) {
            return None;
        }
        // At most so long, until the clock's rate is known.
        let (tick, most) = (self.own_clock_tick, self.own_tick());
        let since = |v: u32| most.map_or(i64::MAX, |tick| i64::from(tsval.wrapping_sub(v) as i32).saturating_mul(tick));
        let silent = since(before);
        // The ACK that made these bytes the first unacknowledged ones.
        let edge = self.past.get(self.past.partition_point(|r| r.end < s.start)).filter(|r| r.end == s.start);
        // Another packet of the same tick that was captured first may have been sent after this one.
        let in_turn = self.ids.is_newest(s.order).unwrap_or(self.tally.reordered == 0);
        let ahead = (before, earlier) != (tsval, echo) || in_turn;
        let (head, was_head) = match edge {
            Some(edge) => (reached(edge.acked_echo, echo), reached(edge.acked_echo, earlier)),
            None if s.start == 1 => (Some(true), Some(true)),
            None => return None,
        };
        let was_head = was_head.filter(|_| ahead);
        let copy = self.latest_copy(s).filter(|r| !r.unseen);
        let run = self.dup_run_of(s);
        let sees_all = self.sees_all();
        let never = |proof: u32, echo: u32| if proof == 0 { sees_all.then_some(false) } else { reached(proof, echo) };
        let known = |of: fn(&DupRun) -> u32, echo: u32| run.as_ref().and_then(|r| never(of(r), echo));
        let (told, was_told) = (known(|r| r.third, echo), known(|r| r.third, earlier));
        let reported = known(|r| r.first, echo);
        // The sender answered the ACK that it echoes at once.
        let answer = self.sent_at.zip(self.ts_clock.made(echo)).zip(self.round_trip());
        let delay = answer.map(|((sent, acked), trip)| sent.saturating_sub(acked).saturating_sub(trip));
        let within = |ns: i64| echo != earlier && delay.is_some_and(|delay| delay < ns);
        // Round trips with a queue are no measure of a path without one.
        let queue = self.round_trip().map_or(0, |trip| trip - self.least_loop());
        let (at_once, surely) = (within(LEAST_TIMEOUT_NS / 2), within(LEAST_TIMEOUT_NS / 2 - queue));
        // Both clocks tick, and two round trips are never quite alike.
        let ticks = most.unwrap_or(0).saturating_add(self.ts_clock.tick().unwrap_or(0));
        let answers =
            within((2 * ticks + self.round_trip().unwrap_or(0) / 8 + REACTION_SLACK_NS).min(LEAST_TIMEOUT_NS / 2));
        // A probe waits for two round trips after an ACK of new data (RFC 8985 section 7.2), which the ticks must not hide.
        let no_probe = answers && self.round_trip().is_some_and(|trip| 2 * ticks + trip / 8 < 2 * (trip - ticks));
        let was_reported = known(|r| r.first, earlier);
        let just = (Some(true), Some(false));
        let new_report = (told, was_told) == just || s.sack_ok && (reported, was_reported) == just;
        let just_told = new_report && (surely || silent < LEAST_TIMEOUT_NS) && copy.is_none_or(|r| r.copies == 1);
        // Many ACKs later than the third one: even if some were lost, they were enough.
        let long_after = run.filter(|r| r.third != 0).is_some_and(|r| {
            let span = r.third_at.zip(r.first_at).map_or(0, |(third, first)| third.saturating_sub(first));
            let tick = self.ts_clock.tick().unwrap_or(0);
            i64::from(echo.wrapping_sub(r.third) as i32).saturating_mul(tick) / 2 > span.max(LEAST_TIMEOUT_NS / 4)
        });
        // An ACK of new data restarts the timer; these bytes were sent too lately.
        let restarted = (head, was_head) == (Some(true), Some(false)) && (silent < LEAST_TIMEOUT_NS || at_once);
        let least = self.least_timer(s);
        // By the clocks of both ends and the fastest path, that ACK was made later than a timer and a round trip before.
        let since_edge =
            edge.zip(self.sent_at).and_then(|(edge, sent)| Some(sent - self.ts_clock.made(edge.acked_echo)?));
        // Among other packets, it answered an ACK.
        let restarted = restarted
            || (echo != earlier && silent < LEAST_TIMEOUT_NS && self.round_trip().is_some_and(|trip| silent < trip));
        let restarted = restarted
            || since_edge.zip(self.round_trip()).is_some_and(|(since, trip)| since < trip.saturating_add(least));
        let early = copy.is_some_and(|r| since(r.tsval_last) < least);
        let became = self.last_advance.filter(|_| s.start == self.una);
        let early = early || self.too_early(s, became);
        let next = self.ids.next
            && self.resent_end == s.start
            && self.last_resend.is_some_and(|at| self.last_send == Some(at));
        let fine = self.round_trip().zip(tick).is_some_and(|(trip, tick)| silent <= tick && trip / 4 > tick);
        Some(Knew {
            head,
            was_head,
            // With SACK fewer duplicate ACKs can be enough.
            told: told.filter(|told| *told || !s.sack_ok),
            new_report: s.sack_ok && (told, was_told) == just,
            just_told,
            // Without SACK three duplicate ACKs have to arrive, and the others may be lost.
            was_told: if long_after { Some(true) } else { was_told.filter(|told| !*told || s.sack_ok && ahead) },
            reported: reported.filter(|_| s.sack_ok && head == Some(true)),
            timer: (restarted || early).then_some(false),
            at_once: answers,
            no_probe,
            overdue: !at_once && !just_told && self.overdue(s, v),
            news: echo != earlier && !long_after,
            no_news: tick.is_some() && echo == earlier && silent >= LEAST_TIMEOUT_NS,
            burst: next && !s.sack_ok && echo == earlier && fine,
            too_soon: false,
        })
    }
}

//! Decisions about a sender that need later evidence: spurious retransmissions, kinds of timeouts, ends of recoveries.

use super::kinds::{By, RecoveryEnd, TimeoutKind};
use super::output::Out;
use super::scoreboard::Run;
use super::sender_state::SenderState;
use super::seq::newer;
use super::spurious::{AckFacts, Dsack, Later, Pending};
use super::undecided::{Recovery, Settled, Timeout};
use crate::limits;

impl SenderState {
    /// Evaluate an ACK for every undecided retransmission, and close those that later data has confirmed.
    #[inline(never)]
    pub fn evaluate(&mut self, facts: &AckFacts, sack_news: bool, out: &mut Out<'_>) {
        let reported = facts.dsack.map(|range| self.reported(range, facts.t));
        for i in 0..self.pending.len() {
            let p = self.pending[i];
            let sacked = sack_news
                && p.covered.is_none()
                && facts.una < p.end
                && self.scoreboard.range(p.start, p.end).all(|r| r.sacked);
            let later = self.pending.iter().skip(i + 1).find(|q| q.start < p.end && p.start < q.end);
            let later = later.map(|q| Later { tsval: q.tsval });
            let meant = facts.dsack.is_some_and(|(l, r)| l < p.end && p.start < r);
            let dsack = match reported {
                Some(Some(n)) if n == i => Dsack::This,
                Some(Some(_)) if meant => Dsack::Other,
                _ => Dsack::None,
            };
            self.pending[i].evaluate(facts, sacked, later.as_ref(), dsack);
        }
        if facts.surplus > 0 && !facts.sack_ok {
            self.arrived_twice(facts);
        }
        let (una, end, clock, least) = (self.una, self.end, self.ts_clock, self.least_small());
        // The late answer to a SYN is no measure of the path.
        let measured = self.tally.rtt_samples > 1;
        // Closed once data sent after the copy is acknowledged: by then all effects of the copy have been observed.
        while let Some(i) = self.pending.iter_mut().position(|p| {
            if let Some(made) = p.answer.filter(|_| measured).and_then(|(tsval, _)| clock.made(tsval)) {
                p.date_answer(made, least);
            }
            let later = !facts.sack_ok || facts.acks_overtake || facts.reorders;
            if una > p.until && later && !p.extended && p.verdict == Some(false) {
                (p.until, p.extended) = (end, true);
            }
            p.covered.is_some() && p.answer.is_none() && (una > p.until || p.verdict == Some(true))
        }) {
            if let Some(p) = self.pending.remove(i) {
                let first = p.covered.is_some_and(|c| c.first) && p.start > 0;
                if let (TimeoutKind::Undecided, Some(timeout), Some(tsval), true) = (p.kind, p.timeout, p.tsval, first)
                {
                    self.late_check = Some((timeout, una, tsval));
                }
                if p.verdict != Some(false) && !p.dsacked {
                    self.await_report(p);
                }
                self.settle(&p, out);
            }
        }
        self.emit_timeouts(false, out);
    }

    /// The ACK after the one that covered a timeout's bytes. If it is of data sent before the copy (its echo is older), that data was late,
    /// and so were the bytes before it (RFC 5682 section 2.1): their ACK was not lost.
    #[inline(never)]
    pub fn settle_late(&mut self, edge: Option<&Run>, echo: Option<u32>, una_before: i64, packet: u64) {
        let Some((timeout, covered, tsval)) = self.late_check.take() else { return };
        let original = edge.is_some_and(|r| r.copies == 1 && !r.unseen && newer(tsval, r.tsval_last));
        if una_before == covered && original && echo.is_some_and(|echo| newer(tsval, echo)) {
            let open = self.timeouts.iter_mut().find(|t| t.id == timeout);
            if let Some(t) = open.filter(|t| t.kind == Some(TimeoutKind::Undecided)) {
                (t.kind, t.by, t.evidence_packet) = (Some(TimeoutKind::Spurious), Some(By::Timestamp), Some(packet));
            }
        }
    }

    /// A spurious copy that no DSACK has reported yet.
    pub fn await_report(&mut self, p: Pending) {
        if self.unreported.len() >= limits::RECENT_PACKETS {
            self.unreported.pop_front();
        }
        self.unreported.push_back(p);
    }

    /// The copy that a DSACK reports: one already known to be spurious and not reported yet (None), else the last that can have arrived
    /// by then.
    fn reported(&mut self, (left, right): (i64, i64), t: i64) -> Option<usize> {
        if let Some(i) = self.unreported.iter().position(|u| left < u.end && u.start < right) {
            self.unreported.remove(i);
            return None;
        }
        let (latest, half) = (self.latest_cause(t), t - self.least_path().unwrap_or(0) / 2);
        let meant = |p: &&Pending| left < p.end && p.start < right && !p.dsacked;
        // A round trip can be shorter than all before, which waited for a delayed ACK or in a queue: then one of two may be meant.
        if self.pending.iter().any(|p| meant(&p) && latest < p.t && p.t <= half)
            && self.pending.iter().filter(meant).nth(1).is_some()
        {
            return Some(usize::MAX);
        }
        let arrived = self.pending.iter().rposition(|p| meant(&p) && p.t <= latest);
        arrived.or_else(|| self.pending.iter().position(|p| meant(&p)))
    }

    /// Without SACK: duplicate ACKs that no segment out of order explains. First those of copies that may be spurious, whose duplicate
    /// ACK comes before that of data sent later; the rest shows that an original arrived after the copy that filled its hole.
    fn arrived_twice(&mut self, facts: &AckFacts) {
        let una = facts.una_before;
        let doubtful = |p: &&Pending| p.verdict != Some(false) && p.end <= una && una <= p.sent_end;
        let explained = self.pending.iter().filter(doubtful).chain(self.unreported.iter().filter(doubtful)).count();
        let rest = usize::from(facts.surplus).saturating_sub(explained);
        if rest > 0 {
            let meant = |p: &Pending| p.filled_only(una);
            let filled = self.pending.iter().filter(|p| meant(p)).count();
            // Each copy causes one: more of them come from segments out of order, and wait behind a second hole.
            self.reorders |= rest > filled && filled > 0;
            if rest > filled {
                return;
            }
            let certain = rest == filled && !self.reorders;
            self.pending.iter_mut().filter(|p| meant(p)).for_each(|p| p.arrived_twice(certain, facts.packet));
        }
    }

    pub fn add_pending(&mut self, p: Pending, out: &mut Out<'_>) {
        self.pending.push_back(p);
        if self.pending.len() > limits::PENDING_RETRANSMISSIONS {
            if let Some(p) = self.pending.pop_front() {
                self.settle(&p, out);
            }
        }
    }

    /// The bytes of a retransmission arrived once more: it was spurious if that was the original, else undecided.
    pub fn doubt(&mut self, start: i64, end: i64, verdict: Option<bool>, out: &mut Out<'_>) {
        let overlaps = |a: i64, b: i64| a < end && start < b;
        let by = verdict.map(|_| By::Original);
        if let Some(p) = self.pending.iter_mut().find(|p| overlaps(p.start, p.end)) {
            let kind = if verdict.is_some() { TimeoutKind::Spurious } else { TimeoutKind::Undecided };
            (p.verdict, p.by, p.kind, p.doubted) = (verdict, by, kind, verdict.is_none());
        } else {
            self.correct_settled(start, end, verdict, by, out);
        }
    }

    /// Correct the latest settled retransmission of these bytes that was not known to be spurious.
    fn correct_settled(
        &mut self,
        start: i64,
        end: i64,
        verdict: Option<bool>,
        by: Option<By>,
        out: &mut Out<'_>,
    ) -> bool {
        let Some(i) = self.settled.iter().rposition(|s| s.start < end && start < s.end) else { return false };
        let Some(s) = self.settled.remove(i) else { return false };
        if !out.segments.correct(s.row, verdict, by) {
            return false;
        }
        let n = &mut self.tally;
        let before = if s.needed { &mut n.needed } else { &mut n.undecided };
        *before = before.saturating_sub(1);
        *(if verdict.is_some() { &mut n.spurious } else { &mut n.undecided }) += 1;
        if verdict == Some(true) {
            self.reorders = true;
            if let Some(r) = self.recoveries.iter_mut().find(|r| r.first_row == s.row) {
                (r.first_spurious, r.spurious) = (verdict, r.spurious + 1);
            }
        }
        true
    }

    /// A DSACK of bytes whose only copies are settled: the original came later than data sent after the copy, and so may others.
    pub fn take_late_report(&mut self, left: i64, right: i64, out: &mut Out<'_>) {
        let meant = |p: &Pending| left < p.end && p.start < right;
        if !self.settled.is_empty()
            && !self.pending.iter().chain(&self.unreported).any(meant)
            && self.correct_settled(left, right, Some(true), Some(By::Dsack), out)
        {
            self.reports_late = true;
        }
    }

    fn settle(&mut self, p: &Pending, out: &mut Out<'_>) {
        let mut p = *p;
        // If reports can be lost, the absence of a second report proves nothing; a hole observed before the first copy still does.
        let shown = p.proven || (p.hole && p.copy == 1);
        if p.verdict == Some(false) && !shown && self.acks_missing.is_some_and(|t| t >= p.t) {
            (p.verdict, p.by) = (None, None);
        }
        if p.doubted && p.by != Some(By::Dsack) {
            (p.verdict, p.by) = (None, None);
        }
        // A path that reorders by more than three segments fills holes without a loss, and only some receivers report it. It delays nothing
        // until the answer to a copy.
        if p.hole && p.recovery != 0 {
            let reported = p.sack_ok && self.reports == Some(true) && !self.reports_late;
            match p.verdict {
                Some(true) => self.reorders = true,
                Some(false) if !reported && !p.stands && !p.proven && (self.reorders || self.acks_overtake) => {
                    (p.verdict, p.by) = (None, None);
                }
                _ => {}
            }
        }
        let p = &p;
        out.segments.decide(p.row, p.verdict, p.by);
        if p.verdict != Some(true) {
            if self.settled.len() >= limits::RECENT_PACKETS {
                self.settled.pop_front();
            }
            self.settled.push_back(Settled { start: p.start, end: p.end, row: p.row, needed: p.verdict.is_some() });
        }
        match p.verdict {
            Some(true) => self.tally.spurious += 1,
            Some(false) => self.tally.needed += 1,
            None => self.tally.undecided += 1,
        }
        if let Some(t) = self.timeouts.iter_mut().find(|t| Some(t.id) == p.timeout) {
            let kind = if p.verdict.is_some() { p.kind } else { TimeoutKind::Undecided };
            t.kind = Some(kind);
            // That it was not needed shows at the sender also where its kind does not; away from it the ACK may have come after the timer.
            let known = matches!(kind, TimeoutKind::Spurious | TimeoutKind::AckLost);
            let here = p.verdict == Some(true) && p.start > 0 && !self.near_receiver && self.view.is_none();
            t.by = p.by.filter(|_| known || here);
            t.evidence_packet = p.evidence_packet.filter(|_| kind != TimeoutKind::Undecided);
        }
        if let Some(r) = self.recoveries.iter_mut().find(|r| r.id == p.recovery && p.recovery != 0) {
            r.open = r.open.saturating_sub(1);
            r.spurious += u32::from(p.verdict == Some(true));
            r.undecided += u32::from(p.verdict.is_none());
            if p.row == r.first_row {
                r.first_spurious = p.verdict;
            }
        }
        self.emit_recoveries(false, out);
    }

    /// The flow has ended: open retransmissions stay undecided or keep their last result.
    pub fn decide_all(&mut self, t: i64, out: &mut Out<'_>) {
        for mut p in std::mem::take(&mut self.pending) {
            // The receiver still asked for it when its answer was due: no path keeps what others overtook for so long.
            let due = p.t.saturating_add(self.tally.rtt_max);
            if p.verdict.is_none() && p.covered.is_none() && p.hole && p.copy == 1 && self.latest_dupack >= Some(due) {
                (p.verdict, p.kind) = (Some(false), TimeoutKind::Genuine);
            }
            // The report of a second arrival may still be under way: no longer than the longest round trip.
            let shown = p.proven || (p.hole && p.copy == 1);
            if p.verdict == Some(false) && !shown && p.flight_many && t - p.t < self.tally.rtt_max {
                (p.verdict, p.by) = (None, None);
            }
            self.settle(&p, out);
        }
        self.end_recovery(t, RecoveryEnd::CaptureEnd, out);
        self.emit_recoveries(true, out);
        self.emit_timeouts(true, out);
    }

    /// Write timeouts whose kind and end are known.
    pub fn emit_timeouts(&mut self, all: bool, out: &mut Out<'_>) {
        let (una, end) = (self.una, self.end);
        for t in self.timeouts.iter_mut().filter(|t| t.known_tail.is_none() && (all || una >= t.sent_end)) {
            t.known_tail = Some(t.no_dupacks && end == t.sent_end);
        }
        while let Some(t) = self.timeouts.front() {
            let known = t.kind.is_some() && t.progress.is_some() && t.known_tail.is_some();
            if !(all || known || self.timeouts.len() > limits::PENDING_RETRANSMISSIONS) {
                break;
            }
            if let Some(t) = self.timeouts.pop_front() {
                self.write_timeout(&t, out);
            }
        }
    }

    fn write_timeout(&mut self, t: &Timeout, out: &mut Out<'_>) {
        let kind = t.kind.unwrap_or(TimeoutKind::Undecided);
        let n = &mut self.tally.rto[kind as usize];
        *n = n.saturating_add(1);
        let rows = &mut *out.timeouts;
        rows.flow.push(out.flow);
        rows.direction.push(i8::from(self.reverse));
        rows.packet.push(t.packet);
        rows.t_ns.push(t.t);
        rows.rel_seq.push(t.start);
        rows.len.push(t.len);
        rows.kind.push(kind as i8);
        rows.kind_evidence.push_opt(t.by.map(|b: By| b as i8));
        rows.evidence_packet.push_opt(t.evidence_packet);
        rows.backoff.push(t.backoff);
        rows.rto_ns.push_opt(t.rto);
        rows.fresh_rto_ns.push_opt(t.fresh_rto);
        rows.waited_ns.push(t.waited);
        rows.silent_from_ns.push(t.silent_from);
        rows.progress_ns.push_opt(t.progress.map(|p| p.0));
        rows.progress_packet.push_opt(t.progress.map(|p| p.1));
        rows.flight_bytes.push(t.flight);
        rows.tail.push(t.known_tail.unwrap_or(false));
        rows.timer.push_opt(self.timer.fitted().then(|| self.timer.flavour() as i8));
    }

    /// A fast recovery has ended.
    #[inline(never)]
    pub fn end_recovery(&mut self, t: i64, why: RecoveryEnd, out: &mut Out<'_>) {
        if let Some(r) = self.recoveries.back_mut().filter(|r| r.ended.is_none()) {
            r.ended = Some(why);
            r.t_end = t;
        }
        self.emit_recoveries(false, out);
    }

    fn emit_recoveries(&mut self, all: bool, out: &mut Out<'_>) {
        while let Some(r) = self.recoveries.front() {
            // Where the path reorders, an original may still come.
            let latest = if self.reorders { limits::RECENT_PACKETS } else { 0 };
            let known = r.ended.is_some() && r.open == 0 && self.recoveries.len() > latest;
            if !(all || known || self.recoveries.len() > limits::PENDING_RETRANSMISSIONS) {
                break;
            }
            if let Some(r) = self.recoveries.pop_front() {
                self.write_recovery(&r, out);
            }
        }
    }

    fn write_recovery(&self, r: &Recovery, out: &mut Out<'_>) {
        let rows = &mut *out.recoveries;
        rows.flow.push(out.flow);
        rows.direction.push(i8::from(self.reverse));
        rows.packet.push(r.packet);
        rows.t_start_ns.push(r.t);
        rows.t_end_ns.push(r.t_end.max(r.t));
        let ended = r.ended.unwrap_or(RecoveryEnd::CaptureEnd);
        // A timer may have ended it before.
        let during = |at: i64| at >= r.t && (r.ended.is_none() || at <= r.t_end);
        let unsure = ended != RecoveryEnd::Timeout && self.maybe_expired.is_some_and(during);
        rows.ended_by.push_opt((!unsure).then_some(ended as i8));
        rows.dupacks.push(r.dupacks);
        rows.retransmissions.push(r.retransmissions);
        rows.spurious_retransmissions.push(r.spurious);
        rows.undecided.push(r.undecided + r.open);
        rows.recover_rel_seq.push(r.recover);
        // What had to be repaired shows that something had been lost, whatever the first retransmission was for.
        let needed = r.retransmissions.saturating_sub(r.spurious + r.undecided + r.open);
        rows.spurious.push_opt(if needed > 0 { Some(false) } else { r.first_spurious });
    }
}

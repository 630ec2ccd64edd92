//! The effects of a transmission: phases, timeouts, recoveries, open decisions, the segment's row.

use super::ack::DUPACK_THRESHOLD;
use super::kinds::{By, Evidence, Phase, RecoveryEnd, State, Transmission, Trigger};
use super::output::Out;
use super::rows::SegmentRow;
use super::send::{Sent, SentOutcome};
use super::sender_state::SenderState;
use super::slow_start::Outstanding;
use super::timer::LEAST_TIMEOUT_NS;
use super::trigger::by_timer;
use super::undecided::{Recovery, Timeout};
use crate::limits;

impl SenderState {
    /// The sender has closed its direction (FIN).
    pub fn drained(&self) -> bool {
        self.fin_end.is_some()
    }

    /// Keep a duplicate's row for the DSACK that may follow.
    pub fn remember_duplicate(&mut self, transmission: Transmission, row: u64, start: Option<i64>, span: i64) {
        if let (Transmission::CaptureDuplicate, Some(start), true) = (transmission, start, span > 0) {
            if self.duplicated.len() >= limits::RECENT_PACKETS {
                self.duplicated.pop_front();
            }
            self.duplicated.push_back((row, start, start + span));
        }
    }

    /// The sender's columns of a row.
    pub fn describe(&self, row: &mut SegmentRow) {
        row.flight = Some(self.flight_u32());
        row.window = self.window;
        row.srtt_ns = self.timer.srtt();
        row.rttvar_ns = self.timer.rttvar();
        row.rto_ns = self.rto();
        row.phase = Some(self.phase);
    }

    /// All effects of a transmission: phases, timeouts, recoveries, open decisions, the row.
    #[inline(never)]
    pub fn after_send(&mut self, s: &Sent, o: &SentOutcome, row: &mut SegmentRow, out: &mut Out<'_>) {
        let t = s.t;
        if o.transmission != Transmission::Retransmission {
            return self.after_first(s, o.transmission, row, out);
        }
        self.note_gap(t);
        self.last_resend = Some(t);
        self.tally.retransmissions += 1;
        self.tally.lost_before_tap += u64::from(o.lost_before_tap);
        let trigger = o.trigger.unwrap_or(Trigger::Undecided);
        let timer = trigger == Trigger::TailLossProbe || o.evidence.is_some_and(|e| by_timer(trigger, e));
        // A lost SYN leaves the windows as they are at first (RFC 6298 section 5.7), and so does a probe (RFC 8985 section 7.3).
        self.slow_start.over |= s.start > 0 && !timer;
        let mut timeout = None;
        let mut recovery = 0;
        // A queue of the host that nothing passed in the silence drops no copy.
        let drops = o.silent_from.is_none_or(|from| !out.busy.is_first_since(from));
        let hidden = self.hides_expiries(s, o, drops);
        if hidden {
            row.copy = None;
        }
        let away = hidden || self.view.is_some();
        if trigger == Trigger::Rto {
            if self.probe_was_expiry(s) {
                self.probe_to_timeout(s, out);
                row.backoff = Some(1);
            } else if self.expiry_was_probe(s) {
                self.show_probe(out);
                row.backoff = Some(o.expiries);
            }
            self.probe = None;
            let backoff = row.backoff.unwrap_or(o.expiries);
            timeout = Some(self.expire(s, backoff, o.waited, o.silent_from.unwrap_or(t), out));
            if hidden {
                row.backoff = None;
            }
            if away {
                self.divide_silence(s, o, backoff, hidden);
            }
        }
        if o.is_by_ack() {
            recovery = self.recover_fast(s, o.acked_before, out);
        }
        row.trigger = Some(trigger);
        let n = &mut self.tally.by_trigger[trigger as usize];
        *n = n.saturating_add(1);
        self.describe(row);
        let number = out.segments.push(row, !o.acked_before);
        if timer {
            self.remember_probe(s, o, number);
            // A probe ends nothing: since it was made it has been in the queue of the host, as others lately were.
            let probe = trigger == Trigger::TailLossProbe && self.is_at_tap();
            let made = if probe { t - out.busy.delay() } else { t };
            let silent_from = o.silent_from.unwrap_or(t);
            // The ACK of its bytes passed long before: the probe was in the host's queue with them, and the sender waited for that queue.
            let answered = self.last_advance.filter(|_| probe && o.acked_before);
            let behind = answered.is_some_and(|at| t - at >= LEAST_TIMEOUT_NS);
            if let Some(timeline) = self.timeline.as_mut().filter(|_| !behind) {
                timeline.was_timer_wait(silent_from, State::RtoWait, s.packet);
                if made < t && made > silent_from {
                    timeline.was(made, State::Transfer, None);
                }
            }
            if away {
                self.divide_silence(s, o, 0, hidden);
            }
        }
        if timer || trigger == Trigger::Rto {
            self.end_timer_wait(s, o, timeout);
        }
        if let Some(r) = self.recoveries.iter_mut().find(|r| r.id == recovery && recovery != 0) {
            r.retransmissions += 1;
            r.open += u32::from(!o.acked_before);
            // Acknowledged bytes had not been lost.
            r.spurious += u32::from(o.acked_before);
            if r.retransmissions == 1 {
                r.first_row = number;
                r.first_spurious = o.acked_before.then_some(true);
            }
        }
        if o.acked_before {
            // Decided before it was sent.
            out.segments.decide(number, Some(true), Some(By::Acked));
            self.tally.spurious += 1;
            // The receiver reports this copy.
            if !self.pending.iter().any(|p| p.start < s.end && s.start < p.end) {
                self.await_report(self.pending_of(s, o, number, timeout, recovery));
            }
            for p in self.pending.iter_mut().filter(|p| p.start < s.end && s.start < p.end) {
                (p.later_copies, p.later_at) = (p.later_copies + 1, t);
            }
            self.late_or_lost(timeout, s, o);
        } else {
            let pending = self.pending_of(s, o, number, timeout, recovery);
            self.add_pending(pending, out);
        }
        if let Some(view) = &mut self.view {
            view.repeats(self.phase, self.recover);
            if timeout.is_some() {
                view.expired(s.start, self.expiries > 1 || row.backoff > Some(0), s.packet);
            }
        }
        self.commit_intervals(s.t, out);
    }

    /// Its timer sent `s` before the ACK of all its data came: since then the packet was in a queue between TCP and the tap.
    fn end_timer_wait(&mut self, s: &Sent, o: &SentOutcome, timeout: Option<u64>) {
        let acked = self.last_advance.filter(|at| o.acked_before && s.end == self.una && Some(*at) > o.silent_from);
        let (Some(acked), Some(timeline), None) = (acked, &mut self.timeline, &self.view) else { return };
        timeline.was(acked, State::Transfer, None);
        if let Some(t) = self.timeouts.iter_mut().find(|t| Some(t.id) == timeout) {
            t.progress = Some((acked, self.last_advance_packet));
        }
    }

    /// What it waited for before it sent what passes at `t` is final, unless what follows may show something else.
    #[inline]
    fn commit_intervals(&mut self, t: i64, out: &mut Out<'_>) {
        let asked = self.repair_since(t);
        let held = self.view.as_ref().is_some_and(|view| view.lone.is_some() || view.woke.is_some())
            || self.may_fill_path
            || self.burst.is_some()
            || self.stall.is_open()
            || self.first_delayed.is_some()
            || self.kept_back.is_some()
            || self.late_copy == Some(t);
        if let Some(timeline) = &mut self.timeline {
            timeline.commit(asked, held, out.intervals, out.flow, self.reverse);
        }
    }

    /// The effects of a transmission other than a retransmission.
    pub fn after_first(&mut self, s: &Sent, what: Transmission, row: &mut SegmentRow, out: &mut Out<'_>) {
        if self.view.is_none() {
            self.follow_slow_start(s.t, self.flight(), self.timer.srtt());
        }
        let outstanding = self.head_sent != Some(s.t);
        if what == Transmission::First && (outstanding || self.len_before == self.segment) {
            self.usual_gap = self.usual_gap.max(self.tally.last_send.map_or(0, |last| s.t - last));
        }
        self.len_before = i64::from(s.len);
        self.note_gap(s.t);
        match what {
            Transmission::Reordered => self.tally.reordered += 1,
            Transmission::NetworkDuplicate | Transmission::CaptureDuplicate | Transmission::MacCopy => {
                self.tally.duplicates[what as usize - Transmission::NetworkDuplicate as usize] += 1;
            }
            _ => {}
        }
        self.tally.flight_max = self.tally.flight_max.max(self.flight());
        self.describe(row);
        let number = out.segments.push(row, false);
        self.remember_duplicate(what, number, Some(s.start), s.end - s.start);
        self.commit_intervals(s.t, out);
    }

    /// When the third duplicate ACK reached the sender, if no retransmission has followed it. One that passes the tap later waited in a
    /// queue before the tap.
    pub fn repair_asked(&self) -> Option<i64> {
        (self.is_calm() && self.dupacks >= DUPACK_THRESHOLD)
            .then_some(self.third_dupack.saturating_add(self.ack_way_ns()))
    }

    /// Since when the sender may have repaired a hole, if what passes at `t` is a repair: since the third duplicate ACK, or since it sent that.
    fn repair_since(&self, t: i64) -> Option<i64> {
        self.repair_asked().or_else(|| self.repair_sent(t))
    }

    /// Away from the sender: when it sent what passes at `t`, if duplicate ACKs may have called for it. Which of them did is not known where
    /// the tap saw late segments fill the hole first.
    fn repair_sent(&self, t: i64) -> Option<i64> {
        let loop_ns = self.view.as_ref().and_then(|_| self.loop_ns())?;
        let asked = self.latest_dupack.is_some_and(|at| t - at <= loop_ns + loop_ns / 2);
        asked.then_some(t - (loop_ns - self.ack_way_ns()).max(0))
    }

    fn note_gap(&mut self, t: i64) {
        if let Some(last) = self.tally.last_send.replace(t) {
            self.tally.longest_idle = self.tally.longest_idle.max(t - last);
        }
    }

    /// An ACK of `acked` new bytes comes at `t`. What it released may leave the host after the next ACK: it is counted after a silence,
    /// a quarter of a round trip.
    #[cold]
    pub fn count_start_ack(&mut self, t: i64, acked: i64) {
        let silent = self.timer.srtt().is_some_and(|srtt| self.last_send.is_some_and(|last| t - last > srtt / 4));
        let room = self.window.is_none_or(|w| self.flight() + self.mss() <= i64::from(w));
        self.slow_start.acked(acked, self.end, self.mss(), silent, room);
    }

    /// Of new data: is the sender in slow start?
    pub fn follow_slow_start(&mut self, t: i64, bytes: i64, trip: Option<i64>) {
        let open = self.is_calm();
        self.slow_start.sends(Outstanding {
            t,
            bytes,
            end: self.end,
            mss: self.mss(),
            trip,
            open,
            last_resend: self.last_resend,
        });
    }

    /// The timer expired: a row in `timeouts`, and state Loss (RFC 6298 section 5).
    pub fn expire(&mut self, s: &Sent, backoff: u16, waited: i64, silent_from: i64, out: &mut Out<'_>) -> u64 {
        let cwnd = self.cwnd_segments();
        let (rto, fresh) = (self.rto(), self.timer.rto(0, cwnd));
        self.timer.observe_expiry(waited, self.backoff, cwnd);
        let id = self.id();
        self.timeouts.push_back(Timeout {
            id,
            packet: s.packet,
            t: s.t,
            start: s.start,
            len: s.len,
            kind: None,
            by: None,
            evidence_packet: None,
            backoff,
            rto,
            fresh_rto: fresh,
            waited,
            silent_from,
            progress: None,
            flight: self.flight_u32(),
            sent_end: self.end,
            no_dupacks: self.dupacks == 0 && self.sacked_bytes == 0,
            known_tail: None,
        });
        self.emit_timeouts(false, out);
        if let Some(timeline) = &mut self.timeline {
            let state = if backoff == 0 { State::RtoWait } else { State::BackoffWait };
            timeline.was_timer_wait(silent_from, state, s.packet);
        }
        self.end_recovery(s.t, RecoveryEnd::Timeout, out);
        self.expiries = if self.expired_at == s.start { self.expiries.saturating_add(1) } else { 1 };
        (self.expired_at, self.last_expiry, self.expiry_waited) = (s.start, Some(s.t), waited);
        self.backoff = self.backoff.saturating_add(1);
        if s.start > 0 {
            self.last_timeout = Some(s.packet);
            // Linux begins F-RTO unless the timer expires in a recovery, for the first time (`tcp_enter_loss`).
            if self.phase != Phase::Recovery || self.expiries > 1 {
                self.begin_frto();
            }
            self.phase = Phase::Loss;
            self.undo.unseen = !self.near_sender && self.may_undo_unseen(s);
        }
        self.recover = self.end;
        self.unspent_dupacks = 0;
        id
    }

    /// The retransmission counted as a probe was an expiry: the next expiry came after twice the time.
    fn probe_to_timeout(&mut self, s: &Sent, out: &mut Out<'_>) {
        let Some(p) = self.probe.take() else { return };
        let known = self.hidden_expiries != Some(p.start);
        out.segments.retrigger(p.row, Trigger::Rto, Evidence::TimerExpired, known.then_some(0));
        self.count_again(p.trigger, Trigger::Rto);
        self.no_probes = true;
        let earlier = Sent { packet: p.packet, t: p.t, start: p.start, end: p.end, len: p.len, ..*s };
        let id = self.expire(&earlier, 0, p.waited, p.silent_from, out);
        for q in self.pending.iter_mut().filter(|q| q.row == p.row) {
            q.timeout = Some(id);
        }
    }

    /// The retransmission that may have been an expiry was a probe.
    fn show_probe(&mut self, out: &mut Out<'_>) {
        let Some(p) = self.probe.take() else { return };
        out.segments.retrigger(p.row, Trigger::TailLossProbe, Evidence::ProbeTimer, None);
        self.count_again(p.trigger, Trigger::TailLossProbe);
        self.probes = true;
    }

    fn count_again(&mut self, before: Trigger, now: Trigger) {
        let n = &mut self.tally.by_trigger;
        n[before as usize] = n[before as usize].saturating_sub(1);
        n[now as usize] = n[now as usize].saturating_add(1);
    }

    /// A retransmission in fast recovery: the episode that it starts or belongs to.
    fn recover_fast(&mut self, s: &Sent, acked_before: bool, out: &mut Out<'_>) -> u64 {
        if self.phase != Phase::Recovery || self.recoveries.back().is_none_or(|r| r.ended.is_some()) {
            let asked = self.repair_since(s.t).filter(|asked| *asked < s.t);
            // One that has ended sent it, and a queue between TCP and the tap held it meanwhile.
            if acked_before && asked.is_none() && self.view.is_none() {
                return 0;
            }
            self.end_recovery(s.t, RecoveryEnd::Acked, out);
            let id = self.id();
            if let (Some(since), Some(timeline)) = (asked, &mut self.timeline) {
                timeline.was(since, State::FastRecovery, None);
            }
            self.phase = Phase::Recovery;
            self.recover = self.end;
            self.tally.fast_recoveries += 1;
            self.recoveries.push_back(Recovery {
                id,
                packet: s.packet,
                t: asked.unwrap_or(s.t),
                t_end: s.t,
                ended: None,
                dupacks: self.dupacks,
                retransmissions: 0,
                spurious: 0,
                undecided: 0,
                open: 0,
                recover: self.end,
                first_row: 0,
                first_spurious: None,
            });
        }
        self.recoveries.back().filter(|r| r.ended.is_none()).map_or(0, |r| r.id)
    }
}

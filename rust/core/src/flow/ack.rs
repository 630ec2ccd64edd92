//! Reading an ACK: what it shows about the sender whose data it acknowledges.

use super::delivered::Delivered;
use super::intervals::own_delay;
use super::kinds::{Phase, RecoveryEnd};
use super::output::Out;
use super::scoreboard::{Run, PASSED_SHIFT};
use super::sender_state::SenderState;
use super::seq::newer;
use super::spurious::AckFacts;
use super::timer::DELAYED_ACK_NS;
use crate::limits;

/// An ACK as the sender of the data reads it.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    pub packet: u64,
    pub t: i64,
    pub ack: i64,
    pub raw_window: u16,
    /// In bytes; None while the scale is unknown.
    pub window: Option<u32>,
    pub sack: &'a [(i64, i64)],
    pub timestamps: Option<(u32, u32)>,
    /// Carries no payload, SYN, FIN or RST.
    pub pure: bool,
    pub syn: bool,
    /// The connection agreed on SACK, so the receiver reports duplicates (RFC 2883).
    pub sack_ok: bool,
}

impl Ack<'_> {
    /// It reports segments above the acknowledged bytes.
    pub fn reports_above(&self) -> bool {
        self.sack.iter().any(|block| block.1 > self.ack)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckKind {
    /// Acknowledges new bytes.
    Advance,
    /// A duplicate ACK (RFC 5681).
    Duplicate,
    /// A window update.
    Window,
    /// Nothing new.
    Same,
    /// Below what was acknowledged before.
    Old,
    /// Beyond anything possible; ignored.
    Absurd,
}

/// The result, for the row and the intervals.
#[derive(Debug, Clone, Copy)]
pub struct AckOutcome {
    pub kind: AckKind,
    pub acked: i64,
    pub rtt: Option<i64>,
    pub ambiguous: Option<bool>,
    pub dsack: bool,
    /// It covers bytes that are not in the capture.
    pub unseen: bool,
    /// When the ACK was made, if the peer's timestamp clock is known.
    pub made: Option<i64>,
    /// Bytes sent in one burst up to the newest covered, if `rtt` is a sample of it by Karn's rule; else 0.
    pub burst: i64,
    /// It offers two segments more than the ACK before: a receiver sends it as its application reads (RFC 9293 section 3.8.6.2.2).
    pub opens: bool,
}

impl AckOutcome {
    pub const NONE: AckOutcome = AckOutcome {
        kind: AckKind::Old,
        acked: 0,
        rtt: None,
        ambiguous: None,
        dsack: false,
        unseen: false,
        made: None,
        burst: 0,
        opens: false,
    };
}

/// A packet so small that its transmission time is negligible compared with a full segment's.
const SMALL_BYTES: i64 = 100;

/// The bytes that may be outstanding below the first captured segment: a large window.
const LARGEST_WINDOW: i64 = 1 << 20;

/// Segments sent closer together than this are one burst: a scheduler tick, below any RTT of interest.
pub const BURST_GAP_NS: i64 = 1_000_000;

/// Duplicate ACKs that cause a fast retransmission (RFC 5681 section 3.2).
pub const DUPACK_THRESHOLD: u16 = 3;

/// Summary of the runs that an ACK covered.
#[derive(Default)]
struct Covered {
    /// The run at the left edge: its latest transmission, and whether it was sent only once.
    edge: Option<Run>,
    newest: Option<Run>,
    resent: bool,
    /// Holes that the tap noticed and nothing filled.
    holes: u64,
    /// Bytes sent back to back up to the newest.
    burst: i64,
    /// By the echoed timestamp: when the copy that caused this ACK was sent.
    echoed: Option<i64>,
}

impl SenderState {
    /// Take an ACK in.
    pub fn on_ack(&mut self, a: &Ack<'_>, o: &mut AckOutcome, out: &mut Out<'_>) {
        o.kind = AckKind::Same;
        if a.ack - self.end > limits::MAX_JUMP || self.una - a.ack > limits::MAX_JUMP {
            o.kind = AckKind::Absurd;
            return;
        }
        if a.ack < self.una && self.last_advance.is_none() && !self.syn_seen && self.una - a.ack <= LARGEST_WINDOW {
            // The capture began in mid-connection, above a hole.
            self.scoreboard.push_front(a.ack, self.una);
            self.una = a.ack;
        }
        if a.ack > self.end {
            self.unseen_until(a, out);
            o.unseen = !a.syn;
        }
        if !self.pending.is_empty() {
            self.pair_now = out.pairs.least(self.pair, None);
        }
        let una_before = self.una;
        let window_same = self.raw_window == Some(a.raw_window);
        if a.ack >= self.una {
            if a.raw_window != 0 && self.raw_window == Some(0) && !a.syn {
                self.reopened = Some(a.t);
            }
            let most = self.window.map(|before| i64::from(before) + 2 * self.mss());
            o.opens = most.zip(a.window).is_some_and(|(most, now)| i64::from(now) >= most);
            self.note_window(a);
        }
        let dsack = self.dsack(a);
        o.dsack = dsack.is_some();
        if let Some(block) = dsack {
            self.take_dsack(block, out);
        }
        let mut delivered = Delivered::default();
        let sack_news = !a.sack.is_empty() && self.take_sack(a, dsack.is_some(), &mut delivered);
        o.made = a.timestamps.and_then(|(tsval, _)| self.ts_clock.made(tsval));

        let (mut edge_original, mut surplus) = (None, 0);
        if a.ack > self.una {
            let mut c = Covered::default();
            self.cover(a, &mut c, &mut delivered);
            if c.holes > 0 {
                // Acknowledged, so they arrived, but they are not in the capture.
                out.notes.add(crate::notes::NoteKind::AckedUnseen, a.packet, 0);
                self.tally.acks_unseen += 1;
            }
            o.kind = AckKind::Advance;
            o.acked = a.ack - una_before;
            self.take_rtt(a, &c, o);
            self.edge_filled = None;
            if self.late_check.is_some() {
                self.settle_late(c.edge.as_ref(), a.timestamps.map(|t| t.1), una_before, a.packet);
            }
            if !self.pending.is_empty() || c.edge.as_ref().is_some_and(|r| r.copies > 1) {
                edge_original = self.read_edge(a, &c, una_before);
            }
            if self.unspent_dupacks > 0 {
                let segments = o.acked / self.mss();
                self.unspent_dupacks = self.unspent_dupacks.saturating_sub(u16::try_from(segments - 1).unwrap_or(0));
            }
            if self.dupacks > 0 {
                // Segments out of order cause a duplicate ACK each, and are acknowledged together with the one that fills the hole.
                if c.edge.as_ref().is_some_and(|r| r.copies == 1 && !r.unseen) {
                    let explained = u16::try_from((o.acked - 1) / self.mss()).unwrap_or(u16::MAX);
                    surplus = self.dupacks.saturating_sub(explained);
                }
                self.dup_run = self.last_ack.map(|t| (una_before, self.dupacks, t));
            }
            (self.dupacks, self.same_acks) = (0, 0);
            self.hole_since = a.reports_above().then_some(a.t);
            if a.reports_above() {
                self.note_gap_above(a);
            }
            self.answered = false;
            if let Some(at) = self.last_advance {
                let spaced = (a.t - at).saturating_mul(1024) / o.acked.max(1);
                self.least_spaced = Some(self.least_spaced.map_or(spaced, |least| least.min(spaced)));
            }
            (self.last_advance, self.last_advance_packet) = (Some(a.t), a.packet);
            self.last_ack = Some(a.t);
            if self.probe.as_ref().is_some_and(|p| p.end <= a.ack) {
                self.probe = None;
            }
        } else if a.ack == self.una {
            let outstanding = self.flight() > 0;
            if !self.pending.is_empty() {
                self.note_unreported(a, window_same);
            }
            if a.pure && outstanding && ((window_same && a.raw_window != 0) || sack_news || o.dsack) {
                o.kind = AckKind::Duplicate;
                // What reports only a segment that came twice shows no hole (RFC 6675 section 2).
                let counts = u16::from(!o.dsack || a.reports_above());
                self.dupacks = self.dupacks.saturating_add(counts);
                if counts > 0 {
                    self.latest_dupack = Some(a.t);
                    if self.dupacks == DUPACK_THRESHOLD {
                        (self.third_dupack, self.third_dupack_tsval) = (a.t, a.timestamps.map(|t| t.0));
                        self.third_dupack_end = self.end;
                    }
                }
                self.unspent_dupacks = self.unspent_dupacks.saturating_add(counts);
                self.tally.dupacks += 1;
                self.hole_since = self.hole_since.or((counts > 0).then_some(a.t));
                self.note_same_ack(a);
                self.last_ack = Some(a.t);
                self.answered = false;
            } else if a.pure && window_same {
                // What it duplicates may still be on its way to the tap.
                self.note_same_ack(a);
            } else if a.pure {
                o.kind = AckKind::Window;
                self.answered = false;
                self.last_ack = Some(a.t);
            }
        } else {
            o.kind = AckKind::Old;
            // An ACK that a later one overtook: round trips are not all alike, and ACKs do not tell the order of arrivals.
            self.acks_overtake |= a.pure && self.near_sender;
        }
        if !a.sack.is_empty() {
            self.tally.sack_acks += 1;
        }
        self.tally.dsack_acks += u64::from(o.dsack);
        if let Some(sent) = delivered.once_sent {
            self.once = Some((sent, a.t));
        }
        let facts =
            (!self.pending.is_empty()).then(|| self.facts(a, o.made, una_before, dsack, surplus, edge_original));
        if o.kind == AckKind::Advance {
            self.progress(a);
        }
        if !self.near_sender && (o.kind == AckKind::Advance || sack_news) {
            self.latest_news = Some((a.timestamps.map_or(0, |(tsval, _)| tsval), a.t));
        }
        self.take_delivered(a.t, &delivered);
        // Without SACK, an ACK of bytes that were retransmitted too may be the copy's (`tcp_clean_rtx_queue`).
        let undone = self.may_undo(a, o.kind, dsack, delivered.original && (a.sack_ok || !delivered.resent));
        if let Some(facts) = facts {
            self.evaluate(&facts, sack_news, out);
        }
        self.next_phase(a, o.kind, undone, out);
        if let Some((tsval, _)) = a.timestamps {
            self.ts_clock.observe(a.t, tsval);
            // A repeated SYN+ACK is outside of the window: its timestamp is not echoed (RFC 7323 section 5.3, R2).
            if !a.syn || o.kind == AckKind::Advance {
                self.note_answer(a.t, tsval);
            }
        }
    }

    /// What an ACK shows of the run at the left edge: when it was sent, if that was once; and when the copy that filled it was sent.
    #[inline(never)]
    fn read_edge(&mut self, a: &Ack<'_>, c: &Covered, una_before: i64) -> Option<i64> {
        let edge = c.edge.as_ref().filter(|r| !r.merged)?;
        let least = self.least_path();
        let (copied, echo) = (edge.copies > 1, a.timestamps.map(|(_, echo)| echo));
        // The echo, a hole that was known, or duplicate ACKs that no copy below explains show that the copy caused this ACK, not a
        // late original. An echo older than the latest copy: an earlier copy caused this ACK.
        let explained = self.pending.iter().filter(|p| p.end <= una_before).count();
        let filled = || self.pending.iter().any(|p| p.hole && p.start <= una_before && una_before < p.end);
        // Of several copies only the echo shows which one.
        let by_copy = (edge.copies == 2 && (usize::from(self.dupacks) > explained || filled()))
            || echo.is_some_and(|echo| echo == edge.tsval_last && echo != edge.tsval_first);
        let late_enough = least.is_none_or(|least| a.t - edge.t_last >= least);
        let by_earlier = echo.is_some_and(|echo| newer(edge.tsval_last, echo));
        self.edge_filled = (copied && by_copy && late_enough && !by_earlier).then_some(edge.t_last);
        // Away from the sender the time to an ACK is the receiver's, which answers at once where a hole is filled (RFC 5681 section 4.2).
        let quick = self.near_sender && least.is_some_and(|least| (a.t - edge.t_last) * 2 < least);
        // Only undecided retransmissions ask for it.
        (!self.pending.is_empty() && !edge.unseen && (!copied || quick)).then_some(edge.t_first)
    }

    /// What undecided retransmissions need to know of an ACK.
    #[inline(never)]
    fn facts(
        &self,
        a: &Ack<'_>,
        made: Option<i64>,
        una_before: i64,
        dsack: Option<(i64, i64)>,
        surplus: u16,
        edge_original: Option<i64>,
    ) -> AckFacts {
        AckFacts {
            packet: a.packet,
            t: a.t,
            una_before,
            una: self.una,
            tsecr: a.timestamps.map(|t| t.1),
            made,
            dsack,
            rtt_least: self.least_path(),
            measured: self.tally.rtt_samples > 0,
            steady: self.is_steady(),
            fast_line: self.ns_per_kib.is_some_and(|n| own_delay(n, self.mss()) < DELAYED_ACK_NS),
            sack_ok: a.sack_ok && self.reports != Some(false),
            reports: self.reports == Some(true),
            tsval: a.timestamps.map(|t| t.0),
            surplus,
            reorders: self.reorders,
            acks_overtake: self.acks_overtake,
            near_sender: self.near_sender,
            reports_gap: a.reports_above(),
            once: self.once,
            edge_original,
            mss: self.mss(),
        }
    }

    /// An ACK of bytes that are not in the capture: the capture lost them, TCP did not.
    #[cold]
    fn unseen_until(&mut self, a: &Ack<'_>, out: &mut Out<'_>) {
        if self.seq.is_set() && !a.syn {
            out.notes.add(crate::notes::NoteKind::AckedUnseen, a.packet, 0);
            self.tally.acks_unseen += 1;
        }
        self.scoreboard.push(Run { unseen: true, ..Run::once(self.end, a.ack, a.t) });
        self.end = a.ack;
        self.seq.advance(a.ack);
    }

    /// Segments sent later cannot have caused an ACK that arrives at `t`: seven eighths of the minimum RTT, as two round trips are
    /// never quite alike, or half of it while few were seen.
    pub fn latest_cause(&self, t: i64) -> i64 {
        t - self.least_path().unwrap_or(0) / 8 * if self.is_steady() { 7 } else { 4 }
    }

    /// Remove the covered runs from the scoreboard.
    fn cover(&mut self, a: &Ack<'_>, c: &mut Covered, delivered: &mut Delivered) {
        let echo = a.timestamps.map(|t| t.1);
        let acked_echo = a.timestamps.map_or((a.t >> PASSED_SHIFT) as u32, |(tsval, _)| self.proof(tsval));
        let acked_by = a.packet as u32;
        let (latest, recover) = (self.latest_cause(a.t), self.recover);
        let (past, sacked_bytes, captured_from) = (&mut self.past, &mut self.sacked_bytes, self.captured_from);
        self.scoreboard.acked(a.ack, |r| {
            if c.edge.is_none() {
                c.edge = Some(*r);
            }
            if r.sacked {
                *sacked_bytes -= r.end - r.start;
            } else {
                delivered.add(r, echo, latest, recover, false);
            }
            c.resent |= r.copies > 1 || r.unseen;
            c.holes += u64::from(r.unseen && r.t_first < a.t && captured_from.is_some_and(|from| r.start >= from));
            if !r.unseen && !r.merged {
                let apart = c.newest.as_ref().is_none_or(|n| r.t_first - n.t_first > BURST_GAP_NS);
                c.burst = r.end - r.start + if apart { 0 } else { c.burst };
                c.newest = Some(*r);
                if let (Some(echo), None) = (echo, c.echoed) {
                    if r.tsval_first == echo {
                        c.echoed = Some(r.t_first);
                    } else if r.copies > 1 && r.tsval_last == echo {
                        c.echoed = Some(r.t_last);
                    }
                }
            }
            past.push_back(Run { acked_echo, acked_by, ..*r });
            if past.len() > limits::PAST_RUNS {
                past.pop_front();
            }
        });
        self.una = a.ack;
        self.seq.advance(a.ack);
        if self.scoreboard.is_empty() {
            self.sacked_bytes = 0;
        }
    }

    /// Karn's algorithm, or the echoed timestamp if copies were sent (RFC 6298 section 3, RFC 7323 section 4).
    fn take_rtt(&mut self, a: &Ack<'_>, c: &Covered, o: &mut AckOutcome) {
        let Some(newest) = &c.newest else { return };
        let (rtt, model) = if c.resent {
            (c.echoed.map(|sent| a.t - sent), c.echoed.map(|sent| a.t - sent))
        } else if newest.end == a.ack {
            (Some(a.t - newest.t_first), c.edge.as_ref().map(|e| a.t - e.t_first))
        } else {
            (None, None)
        };
        o.ambiguous = Some(c.resent && c.echoed.is_none());
        if a.syn && rtt.is_none() && c.resent && a.timestamps.is_none_or(|(_, echo)| echo == 0) {
            // The answer to a repeated SYN may be of any copy: the least round trip is not longer than from the last one.
            let possible = a.t - newest.t_last;
            self.rtt_least = Some(self.rtt_least.map_or(possible, |least| least.min(possible)));
            self.rtt_least_small = true;
        }
        let Some(rtt) = rtt.filter(|r| *r >= 0) else { return };
        o.rtt = Some(rtt);
        if !c.resent {
            o.burst = c.burst;
        }
        // Written only when it falls: a store on every ACK would stall later loads.
        if self.rtt_least.is_none_or(|least| rtt < least) {
            self.rtt_least = Some(rtt);
            self.rtt_least_small = newest.end - newest.start <= SMALL_BYTES;
        }
        if let Some(m) = model {
            self.timer.sample(m, self.una, self.end);
            self.backoff = 0;
        }
        let t = &mut self.tally;
        t.rtt_min = if t.rtt_samples == 0 { rtt } else { t.rtt_min.min(rtt) };
        t.rtt_max = t.rtt_max.max(rtt);
        t.rtt_samples += 1;
        t.rtt_sum += rtt as f64;
        t.rtt_sum_sq += rtt as f64 * rtt as f64;
    }

    /// New data was acknowledged: no open timeout waits any longer.
    fn progress(&mut self, a: &Ack<'_>) {
        for timeout in self.timeouts.iter_mut().filter(|t| t.progress.is_none() && a.ack > t.start) {
            timeout.progress = Some((a.t, a.packet));
        }
    }

    /// Follow the states of RFC 5681, 6582, 6675 and 5682 as ACKs arrive.
    fn next_phase(&mut self, a: &Ack<'_>, kind: AckKind, undone: Option<super::undo::By>, out: &mut Out<'_>) {
        match self.phase {
            Phase::Open | Phase::Disorder => {
                self.phase = if self.dupacks > 0 || self.sacked_bytes > 0 { Phase::Disorder } else { Phase::Open };
            }
            Phase::Recovery | Phase::Loss => self.leave_phase(a, kind, undone, out),
        }
    }

    /// Whether an ACK ends a recovery, or what follows a timeout.
    #[inline(never)]
    fn leave_phase(&mut self, a: &Ack<'_>, kind: AckKind, undone: Option<super::undo::By>, out: &mut Out<'_>) {
        // Without SACK a sender stays in recovery until more than the recovery point is acknowledged (RFC 6582 section 4).
        let past_point = if a.sack_ok { self.una >= self.recover } else { self.una > self.recover };
        let over = past_point || (self.una >= self.recover && self.flight() == 0);
        if self.phase == Phase::Recovery && self.una >= self.recover {
            // The recovery is over (RFC 6582 section 3.2), even if its sender keeps the state for what it may have caused.
            self.end_recovery(a.t, RecoveryEnd::Acked, out);
        }
        if self.phase == Phase::Recovery && over {
            (self.left, self.phase) = (Phase::Recovery, Phase::Open);
            self.unspent_dupacks = 0;
        } else if self.phase == Phase::Recovery {
            if kind == AckKind::Advance && self.undoes_recovery(a) {
                self.end_recovery(a.t, RecoveryEnd::Acked, out);
                let holes = self.dupacks > 0 || self.sacked_bytes > 0;
                (self.left, self.phase) = (Phase::Recovery, if holes { Phase::Disorder } else { Phase::Open });
                self.unspent_dupacks = 0;
            }
        } else if self.phase == Phase::Loss {
            if over && kind == AckKind::Advance {
                (self.left, self.phase) = (Phase::Loss, Phase::Open);
            } else if let Some(by) = undone {
                self.undo_timeout(by, a.t);
            }
        }
    }
}

//! A segment with payload, SYN or FIN: new bytes, a retransmission, or a copy?

use super::kinds::{Evidence, Transmission, Trigger};
use super::output::Out;
use super::scoreboard::Run;
use super::sender_state::SenderState;
use super::spurious::Pending;
use crate::limits;
use crate::packet::{Packet, Tcp};

const MS: i64 = 1_000_000;

/// A transmitted segment, by the sequence numbers it occupies.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub packet: u64,
    pub t: i64,
    pub start: i64,
    pub end: i64,
    pub len: u32,
    pub ip_id: Option<u32>,
    pub tsval: Option<u32>,
    pub control: bool,
    pub sack_ok: bool,
}

/// The result.
#[derive(Debug, Clone, Copy)]
pub struct SentOutcome {
    pub transmission: Transmission,
    pub lost_before_tap: bool,
    pub trigger: Option<Trigger>,
    pub evidence: Option<Evidence>,
    pub backoff: Option<u16>,
    pub copy: u16,
    pub t_first: Option<i64>,
    pub t_previous: Option<i64>,
    /// Bytes acknowledged before they were retransmitted.
    pub acked_before: bool,
    /// An ACK had shown a hole here.
    pub hole: bool,
    /// When a timer sent it: silent since.
    pub silent_from: Option<i64>,
    /// Time since the timer was last (re)started, as far as the tap can infer it.
    pub waited: i64,
}

impl SentOutcome {
    fn new(transmission: Transmission, evidence: Option<Evidence>) -> Self {
        SentOutcome {
            transmission,
            lost_before_tap: false,
            trigger: None,
            evidence,
            backoff: None,
            copy: 0,
            t_first: None,
            t_previous: None,
            acked_before: false,
            hole: false,
            silent_from: None,
            waited: 0,
        }
    }
}

impl SenderState {
    /// Whether this is a copy of an earlier packet: a MAC retry, a second tap, a duplicating network.
    pub fn find_copy(&mut self, p: &Packet, tcp: &Tcp, payload: u32, t: i64) -> Option<Transmission> {
        // IP ID 0 means "not used" (Linux with DF): then only the MAC header, or a very short time, identifies a copy.
        let identified = p.ip_id.is_some_and(|i| i != 0) && !self.ip_id_constant();
        // No ACK that could trigger a retransmission can have arrived so soon.
        let near = if payload > 0 { self.rtt_least.map_or(MS / 10, |r| (r / 4).min(MS)) } else { 0 };
        self.recent.seen(p, tcp, payload, t, identified, near)
    }

    fn ip_id_constant(&self) -> bool {
        self.ip_id_same >= 3
    }

    /// Learn whether this sender's IP ID counts its packets.
    pub fn learn_ip_id(&mut self, ip_id: Option<u32>) {
        let (Some(now), Some(before)) = (ip_id, self.last_ip_id) else {
            self.last_ip_id = ip_id.or(self.last_ip_id);
            self.skipped = 0;
            self.step_missing = false;
            return;
        };
        let step = (now as u16).wrapping_sub(before as u16);
        let (ones, steps) = self.ip_id_ones;
        // Mostly steps of one: a counter of this flow, even if the path loses packets.
        self.step_missing = steps >= 8 && ones * 2 >= steps && (2..=limits::SKIPPED_PACKETS).contains(&step);
        let own_counter = steps >= 8 && u64::from(ones) * 50 >= u64::from(steps) * 49;
        let missing = if own_counter && (2..=limits::SKIPPED_PACKETS).contains(&step) { step - 1 } else { 0 };
        self.skipped = missing.saturating_add(if self.repeated { self.skipped } else { 0 });
        self.ip_id_ones =
            if steps >= 1 << 20 { (ones / 2, steps / 2) } else { (ones + u32::from(step == 1), steps + 1) };
        self.ip_id_same = if step == 0 { self.ip_id_same.saturating_add(1) } else { 0 };
        let (good, all) = self.ip_id_steps;
        // Another flow of the host may use the same counter: steps up to 1000 still count.
        self.ip_id_steps = (good + u32::from((1..1000).contains(&step)), all + 1);
        if self.ip_id_steps.1 >= 1 << 20 {
            self.ip_id_steps = (self.ip_id_steps.0 / 2, self.ip_id_steps.1 / 2);
        }
        self.last_ip_id = Some(now);
    }

    /// Process a segment that occupies sequence numbers; None: bytes in sequence, sent for the first time, the most common case.
    pub fn on_send(&mut self, s: &Sent, out: &mut Out<'_>) -> Option<Box<SentOutcome>> {
        if self.resent_until == 0 && self.skipped == 0 && s.start == self.end && self.una <= s.start {
            self.new_bytes(s);
            self.repeated = false;
            self.last_send = Some(s.t);
            self.flight_sent = self.flight();
            return None;
        }
        Some(Box::new(self.on_send_slowly(s, out)))
    }

    fn on_send_slowly(&mut self, s: &Sent, out: &mut Out<'_>) -> SentOutcome {
        if s.start - self.end > limits::MAX_JUMP || self.una - s.end > limits::MAX_JUMP {
            out.notes.add(crate::notes::NoteKind::SequenceJump, s.packet, 0);
            return SentOutcome::new(Transmission::First, None);
        }
        let outcome = if s.start == self.end && self.sent_unseen(s) {
            let mut o = SentOutcome::new(Transmission::Retransmission, Some(Evidence::IpId));
            o.lost_before_tap = true;
            o.copy = 1;
            self.name_trigger(s, &mut o);
            self.new_bytes(s);
            o
        } else if s.start >= self.end {
            self.new_bytes(s);
            SentOutcome::new(Transmission::First, None)
        } else {
            let outcome = self.old_bytes(s);
            if s.end > self.end && outcome.transmission != Transmission::CaptureDuplicate {
                // The rest is new: the sender split the bytes differently the second time.
                self.new_bytes(&Sent { start: self.end, ..*s });
            }
            outcome
        };
        // A copy of arrived bytes explains none of the packets missing before it.
        self.repeated = outcome.acked_before && outcome.transmission == Transmission::Retransmission;
        self.last_send = Some(s.t);
        self.flight_sent = self.flight();
        outcome
    }

    /// Bytes in sequence whose original was among packets that the IP ID shows to be missing: packets sent between two segments
    /// in sequence can only have carried these bytes.
    fn sent_unseen(&mut self, s: &Sent) -> bool {
        if !self.near_receiver || s.start <= 1 || self.ip_id_shared {
            return false;
        }
        if self.skipped > 0 && !self.scoreboard.range(self.una, self.end).any(|r| r.unseen) {
            let silence = self.previous_packet.map_or(0, |p| s.t - p).max(0);
            let round_trip = self.rtt_whole.unwrap_or(200 * MS);
            let room = i64::from(self.window.unwrap_or(u32::MAX)) / self.mss() + 16;
            if silence < round_trip || i64::from(self.skipped) > room {
                // A loss is repaired after a round trip at the earliest: this host counts other packets with the same counter.
                self.ip_id_shared = true;
                return false;
            }
            // Retransmissions of the first of them by the timer (doubling each time) are among the missing packets.
            let first = self.timer.rto(0, 1).unwrap_or(MS * 200).max(MS * 200);
            let repeats = (silence as f64 / first as f64 + 1.0).log2() as i64;
            let originals = (i64::from(self.skipped) - repeats).max(1);
            self.resent_until = s.start + originals * self.mss().max(s.end - s.start);
        }
        let sent_before = s.start < self.resent_until;
        if !sent_before {
            self.resent_until = 0;
        }
        sent_before
    }

    fn new_bytes(&mut self, s: &Sent) {
        // Written once: see `take_rtt`.
        if self.captured_from.is_none() {
            self.captured_from = Some(s.start);
        }
        if s.start > self.end {
            // A hole: lost before the tap, missed by it, or still to come out of order. Keep the segment after it.
            self.scoreboard.push(Run {
                start: self.end,
                end: s.start,
                t_first: s.t,
                t_last: s.t,
                tsval_first: s.tsval.unwrap_or(0),
                tsval_last: s.tsval.unwrap_or(0),
                ip_id: s.ip_id.unwrap_or(0),
                copies: 1,
                unseen: true,
                sacked: false,
                merged: false,
                control: false,
            });
        }
        if self.flight() == 0 {
            self.head_sent = Some(s.t);
        }
        if !self.answered {
            self.answered = true;
            if let Some(ack) = self.last_ack {
                let reaction = (s.t - ack).max(0);
                if self.reaction.is_none_or(|r| reaction < r) {
                    self.reaction = Some(reaction);
                }
            }
        }
        self.scoreboard.push(Run {
            start: s.start,
            end: s.end,
            t_first: s.t,
            t_last: s.t,
            tsval_first: s.tsval.unwrap_or(0),
            tsval_last: s.tsval.unwrap_or(0),
            ip_id: s.ip_id.unwrap_or(0),
            copies: 1,
            unseen: false,
            sacked: false,
            merged: false,
            control: s.control,
        });
        self.end = s.end;
        self.seq.advance(s.end);
        self.last_new_send = Some(s.t);
        self.tally.unique_bytes += u64::try_from(s.end - s.start).unwrap_or(0);
    }

    fn old_bytes(&mut self, s: &Sent) -> SentOutcome {
        let acked_before = s.end <= self.una;
        let old_end = s.end.min(self.end);
        // What is known about the bytes: from the scoreboard, and for acknowledged ones from the past runs.
        let mut known: Option<Run> = None;
        let (mut seen, mut unseen) = (false, false);
        let mut look = |r: &Run| {
            seen |= !r.unseen;
            unseen |= r.unseen;
            if known.is_none() {
                known = Some(*r);
            }
        };
        if s.start < self.una {
            let i = self.past.partition_point(|r| r.end <= s.start);
            self.past.range(i..).take_while(|r| r.start < s.end).for_each(&mut look);
        }
        self.scoreboard.range(s.start.max(self.una), old_end).for_each(&mut look);
        let Some(known) = known else {
            // Acknowledged so long ago that nothing is kept: still a retransmission.
            let mut o = SentOutcome::new(Transmission::Retransmission, Some(Evidence::SameBytes));
            o.acked_before = true;
            o.copy = 1;
            self.name_trigger(s, &mut o);
            return o;
        };
        if unseen && !seen {
            return self.fill_hole(s, &known, acked_before);
        }
        // The same packet again: duplicated by a network or a tap. TCP gives every copy its own IP ID.
        let same_id = s.ip_id.is_some_and(|i| i != 0 && i == known.ip_id) && !self.ip_id_constant() && !known.merged;
        let near = s.t - known.t_last < self.rtt_least.map_or(0, |r| (r / 8).min(MS));
        let same_stamp = s.tsval.is_none_or(|v| v == known.tsval_last);
        if same_id || (near && same_stamp && s.ip_id.is_none_or(|i| i == 0)) {
            let mut o = SentOutcome::new(
                Transmission::CaptureDuplicate,
                Some(if same_id { Evidence::IpId } else { Evidence::Timing }),
            );
            o.copy = known.copies - 1;
            o.t_first = Some(known.t_first);
            o.t_previous = Some(known.t_last);
            return o;
        }
        let mut o = SentOutcome::new(Transmission::Retransmission, Some(Evidence::SameBytes));
        o.copy = known.copies;
        o.t_first = (!known.unseen).then_some(known.t_first);
        o.t_previous = (!known.unseen).then_some(known.t_last);
        o.acked_before = acked_before;
        o.lost_before_tap = unseen;
        self.resend(s, &mut o);
        o
    }

    /// Bytes not yet captured arrive below captured ones: retransmitted or reordered?
    fn fill_hole(&mut self, s: &Sent, hole: &Run, acked_before: bool) -> SentOutcome {
        let ids = s
            .ip_id
            .filter(|_| self.ip_id_counts() && hole.ip_id != 0)
            .map(|i| (i as u16).wrapping_sub(hole.ip_id as u16) as i16);
        let stamps = s.tsval.filter(|_| hole.tsval_first != 0).map(|v| v.wrapping_sub(hole.tsval_first) as i32);
        let since = s.t - hole.t_first;
        let (again, evidence) = match (ids, stamps) {
            (Some(d), _) if d != 0 => (d > 0, Evidence::IpId),
            (_, Some(d)) if d != 0 => (d > 0, Evidence::Tsval),
            // No evidence in either: a retransmission follows a loss after a round trip.
            _ if self.dupacks >= 3 || self.sacked_hi > s.start => (true, Evidence::FillsHole),
            _ => (since >= self.rtt_whole.or(self.rtt_least).unwrap_or(3 * MS), Evidence::Timing),
        };
        if again {
            let mut o = SentOutcome::new(Transmission::Retransmission, Some(evidence));
            o.lost_before_tap = true;
            o.copy = 1;
            o.acked_before = acked_before;
            self.resend(s, &mut o);
            return o;
        }
        for r in self.scoreboard.range_mut(s.start, s.end) {
            (r.unseen, r.t_first, r.t_last) = (false, s.t, s.t);
            (r.tsval_first, r.tsval_last, r.ip_id) = (s.tsval.unwrap_or(0), s.tsval.unwrap_or(0), s.ip_id.unwrap_or(0));
        }
        self.tally.unique_bytes += u64::try_from(s.end - s.start).unwrap_or(0);
        SentOutcome::new(Transmission::Reordered, Some(evidence))
    }

    /// Record the copy on the scoreboard and determine its trigger.
    fn resend(&mut self, s: &Sent, o: &mut SentOutcome) {
        o.hole = self.hole_at(s);
        self.name_trigger(s, o);
        if s.start <= self.una {
            self.head_sent = Some(s.t);
        }
        let (t, tsval, ip_id) = (s.t, s.tsval.unwrap_or(0), s.ip_id.unwrap_or(0));
        for r in self.scoreboard.range_mut(s.start, s.end) {
            r.copies = r.copies.saturating_add(1);
            r.t_last = t;
            r.tsval_last = tsval;
            r.ip_id = ip_id;
            r.unseen = false;
        }
        if o.acked_before {
            let i = self.past.partition_point(|r| r.end <= s.start);
            for r in self.past.range_mut(i..).take_while(|r| r.start < s.end) {
                r.copies = r.copies.saturating_add(1);
                r.t_last = t;
                r.ip_id = ip_id;
            }
        }
    }

    /// The receiver has shown that it lacks these bytes but has later ones.
    fn hole_at(&self, s: &Sent) -> bool {
        if self.sacked_hi > s.end && s.end > self.una {
            return true;
        }
        // Paths keep the order (FIFO): an ACK caused by a copy sent after these bytes that does not cover them shows a hole.
        if let (true, Some(filled), Some(run)) =
            (s.start == self.una, self.edge_filled, self.scoreboard.range(s.start, s.end).next())
        {
            if run.t_last < filled && run.start == self.una {
                return true;
            }
        }
        // Every retransmission of arrived bytes causes one duplicate ACK: only further ones show a hole.
        let explained = self.pending.iter().filter(|p| p.end <= self.una).count();
        s.start <= self.una && usize::from(self.dupacks) > explained
    }

    /// The entry of a retransmission among the undecided ones.
    pub fn pending_of(&self, s: &Sent, o: &SentOutcome, row: u64, timeout: Option<u64>, recovery: u64) -> Pending {
        Pending {
            start: s.start,
            end: s.end,
            t: s.t,
            tsval: s.tsval,
            copy: o.copy,
            row,
            recovery,
            timeout,
            hole: o.hole || (o.lost_before_tap && self.near_receiver),
            flight_many: self.flight() >= 2 * self.mss(),
            sent_end: self.end,
            covered: None,
            verdict: None,
            by: None,
            dsacked: false,
            kind: super::kinds::TimeoutKind::Undecided,
            evidence_packet: None,
        }
    }
}

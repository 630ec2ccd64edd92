//! A segment with payload, SYN or FIN: new bytes, a retransmission, or a copy?

use super::kinds::{Evidence, Transmission, Trigger};
use super::output::Out;
use super::recent::{fingerprint, Identity};
use super::scoreboard::Run;
use super::sender_state::SenderState;
use super::spurious::Pending;
use crate::limits;
use crate::packet::{Packet, Tcp};

const MS: i64 = 1_000_000;
/// A hole shows after a round trip, and nothing is overtaken by more than another one (RFC 8985 section 6.2: the reordering window is no
/// longer); twice that, as round trips differ.
const REORDERING_TRIPS: i64 = 4;

/// A transmitted segment, by the sequence numbers it occupies.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub packet: u64,
    pub t: i64,
    pub start: i64,
    pub end: i64,
    pub len: u32,
    pub ip_id: Option<u32>,
    /// Position in sending order by the IP id, 0 for none.
    pub order: u32,
    pub tsval: Option<u32>,
    pub control: bool,
    /// Without PSH, which the last buffered segment has (RFC 9293 section 3.9.1.2): more data follows.
    pub more: bool,
    pub sack_ok: bool,
}

impl Sent {
    /// Its bytes on the scoreboard.
    pub fn run(&self) -> Run {
        let (tsval, ip_id) = (self.tsval.unwrap_or(0), self.ip_id.unwrap_or(0));
        Run {
            tsval_first: tsval,
            tsval_last: tsval,
            ip_id,
            order: self.order,
            control: self.control,
            ..Run::once(self.start, self.end, self.t)
        }
    }
}

/// The result.
#[derive(Debug, Clone, Copy)]
pub struct SentOutcome {
    pub transmission: Transmission,
    pub lost_before_tap: bool,
    pub trigger: Option<Trigger>,
    pub evidence: Option<Evidence>,
    pub backoff: Option<u16>,
    /// When a timer sent it: the timer had expired for these bytes at least so often before.
    pub expiries: u16,
    pub copy: u16,
    pub t_first: Option<i64>,
    pub t_previous: Option<i64>,
    /// Bytes acknowledged before they were retransmitted.
    pub acked_before: bool,
    /// An ACK had shown a hole here.
    pub hole: bool,
    /// When a timer sent it: silent since.
    pub silent_from: Option<i64>,
    /// An echo of this TSval or a newer one shows that an ACK of the bytes reached the sender; 0 for none.
    pub acked_echo: u32,
    /// Time since the timer was last (re)started, as far as the tap can infer it.
    pub waited: i64,
}

impl SentOutcome {
    /// An ACK called for it, however late it passes.
    pub fn is_by_ack(&self) -> bool {
        matches!(self.trigger, Some(Trigger::Fast | Trigger::Sack | Trigger::PartialAck))
    }

    pub fn new(transmission: Transmission, evidence: Option<Evidence>) -> Self {
        SentOutcome {
            transmission,
            lost_before_tap: false,
            trigger: None,
            evidence,
            backoff: None,
            expiries: 0,
            copy: 0,
            t_first: None,
            t_previous: None,
            acked_before: false,
            hole: false,
            silent_from: None,
            acked_echo: 0,
            waited: 0,
        }
    }
}

impl SenderState {
    /// Whether this is a copy of an earlier packet: a MAC retry, a second tap, a duplicating network.
    pub fn find_copy(
        &mut self,
        p: &Packet,
        tcp: &Tcp,
        t: i64,
        repeats: bool,
        tick: Option<i64>,
    ) -> Option<Transmission> {
        let payload = p.payload_bytes.unwrap_or(0);
        let print = fingerprint(p, tcp, payload);
        if !repeats && p.mpdu.is_none() && !self.recent.holds(print) {
            self.recent.store(print, t);
            return None;
        }
        self.look_up(p, tcp, t, print, repeats, tick)
    }

    #[inline(never)]
    fn look_up(
        &mut self,
        p: &Packet,
        tcp: &Tcp,
        t: i64,
        print: u64,
        repeats: bool,
        tick: Option<i64>,
    ) -> Option<Transmission> {
        let payload = p.payload_bytes.unwrap_or(0);
        // IP ID 0 means "not used" (Linux with DF): then only the MAC header, the timestamp or the time identifies a copy.
        // A timestamp identifies a segment if a tick is shorter than a round trip: nothing is sent again within one.
        let stamped = tcp.timestamps.is_some() && payload > 0 && self.fine_stamps();
        let by_id = stamped || (p.ip_id.is_some_and(|i| i != 0) && !self.ids.constant());
        // No ACK that could trigger a retransmission can have arrived so soon.
        let near_ns = if payload > 0 { self.rtt_least.map_or(MS / 10, |r| (r / 4).min(MS)) } else { 0 };
        let stamp_ns = tick.filter(|_| tcp.timestamps.is_some());
        self.recent.seen(p, tcp.seq, print, t, Identity { by_id, near_ns, repeats, stamp_ns })
    }

    /// Process a segment that occupies sequence numbers; None: bytes in sequence, sent for the first time, the most common case.
    pub fn on_send(&mut self, s: &Sent, out: &mut Out<'_>) -> Option<Box<SentOutcome>> {
        if !self.may_be_unseen() && s.start == self.end && self.una <= s.start {
            self.new_bytes(s);
            self.last_send = Some(s.t);
            self.flight_sent = self.flight();
            return None;
        }
        Some(Box::new(self.on_send_slowly(s, out)))
    }

    #[inline(never)]
    fn on_send_slowly(&mut self, s: &Sent, out: &mut Out<'_>) -> SentOutcome {
        if s.start - self.end > limits::MAX_JUMP || self.una - s.end > limits::MAX_JUMP {
            out.notes.add(crate::notes::NoteKind::SequenceJump, s.packet, 0);
            return SentOutcome::new(Transmission::First, None);
        }
        self.host_delay = out.busy.delay();
        let missing = self.missing_originals(s);
        let outcome = if s.start >= self.end && self.sent_unseen(s, missing) {
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
            let outcome = self.old_bytes(s, out);
            if outcome.transmission == Transmission::Retransmission {
                self.expect_lost(missing);
            }
            if s.end > self.end && outcome.transmission != Transmission::CaptureDuplicate {
                // The rest is new: the sender split the bytes differently the second time.
                self.new_bytes(&Sent { start: self.end, ..*s });
            }
            outcome
        };
        self.last_send = Some(s.t);
        self.flight_sent = self.flight();
        outcome
    }

    fn new_bytes(&mut self, s: &Sent) {
        // Written once: see `take_rtt`.
        if self.captured_from.is_none() {
            self.captured_from = Some(s.start);
        }
        self.host_dropped = false;
        if self.ids.above > 0 {
            self.note_unseen_before(s);
        }
        if s.start > self.end {
            // A hole: lost before the tap, missed by it, or still to come out of order. Keep the segment after it.
            self.push_hole(s);
        }
        if self.flight() == 0 {
            self.head_sent = Some(s.t);
        }
        self.confirm_undo();
        if !self.answered {
            self.answered = true;
            if let Some(ack) = self.last_ack {
                let reaction = (s.t - ack).max(0);
                if self.reaction.is_none_or(|r| reaction < r) {
                    self.reaction = Some(reaction);
                }
            }
        }
        self.scoreboard.push(s.run());
        self.end = s.end;
        self.captured_end = s.end;
        self.seq.advance(s.end);
        self.last_new_send = Some(s.t);
        self.tally.unique_bytes += u64::try_from(s.end - s.start).unwrap_or(0);
    }

    fn old_bytes(&mut self, s: &Sent, out: &mut Out<'_>) -> SentOutcome {
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
            let begins = s.start == 0 && self.last_send.is_none();
            if begins && !self.syn_again(s) {
                // The tap captured later packets first.
                return SentOutcome::new(Transmission::Reordered, Some(Evidence::Timing));
            }
            // Acknowledged so long ago that nothing is kept, or never captured: still a retransmission.
            let mut o = SentOutcome::new(Transmission::Retransmission, Some(Evidence::SameBytes));
            (o.acked_before, o.lost_before_tap) = (!begins, begins);
            o.copy = 1;
            self.name_trigger(s, &mut o);
            return o;
        };
        if unseen && !seen {
            return self.fill_hole(s, &known, acked_before);
        }
        // The same packet again: duplicated by a network or a tap. TCP gives every copy its own IP ID.
        let same_id = s.ip_id.is_some_and(|i| i != 0 && i == known.ip_id) && !self.ids.constant() && !known.merged;
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
        if let Some(o) = self.late_original(s, &known, out) {
            return o;
        }
        if acked_before && known.first_missing && self.sent_before(s, known.tsval_last, known.order).is_none() {
            // One of the two may be the original.
            self.doubt(s.start, s.end, None, out);
        }
        let mut o = SentOutcome::new(Transmission::Retransmission, Some(Evidence::SameBytes));
        o.copy = known.copies;
        o.t_first = (!known.unseen).then_some(known.t_first);
        o.t_previous = (!known.unseen).then_some(known.t_last);
        o.acked_before = acked_before;
        o.acked_echo = if s.tsval.is_some() { known.acked_echo } else { 0 };
        o.lost_before_tap = unseen;
        self.resend(s, &mut o);
        o
    }

    /// Record the copy on the scoreboard and determine its trigger.
    pub fn resend(&mut self, s: &Sent, o: &mut SentOutcome) {
        o.hole = self.hole_at(s);
        self.name_trigger(s, o);
        if s.start <= self.una {
            let since = self.last_send.max(self.last_ack);
            self.head_gap = since.map(|since| s.t - since);
            self.head_sent = Some(s.t);
        }
        (self.resent_end, self.resent_acked) = (s.end, o.acked_before);
        let soon = |at: i64| self.loop_ns().is_some_and(|there| s.t - at <= there + there / 4);
        self.resent_crossed = s.end == self.una && self.last_advance.is_some_and(soon);
        if self.copies_on_path.len() == limits::COPIES_ON_PATH {
            self.copies_on_path.pop_front();
        }
        self.copies_on_path.push_back(s.t);
        let (t, tsval, ip_id) = (s.t, s.tsval.unwrap_or(0), s.ip_id.unwrap_or(0));
        for r in self.scoreboard.range_mut(s.start, s.end) {
            r.copies = r.copies.saturating_add(1);
            r.t_last = t;
            r.tsval_last = tsval;
            (r.ip_id, r.order) = (ip_id, s.order);
            r.first_missing |= r.unseen;
            r.unseen = false;
        }
        if o.acked_before {
            let i = self.past.partition_point(|r| r.end <= s.start);
            for r in self.past.range_mut(i..).take_while(|r| r.start < s.end) {
                r.copies = r.copies.saturating_add(1);
                r.t_last = t;
                (r.tsval_last, r.ip_id, r.order) = (tsval, ip_id, s.order);
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

    /// Where the first outstanding segment after `s` begins that carries this timestamp.
    fn same_tick_from(&self, s: &Sent, tsval: Option<u32>) -> i64 {
        let Some(tsval) = tsval else { return self.end };
        let mut after = self.scoreboard.range(s.end, self.end);
        after.find(|r| r.tsval_first == tsval || r.tsval_last == tsval).map_or(self.end, |r| r.start)
    }

    /// The entry of a retransmission among the undecided ones.
    pub fn pending_of(&self, s: &Sent, o: &SentOutcome, row: u64, timeout: Option<u64>, recovery: u64) -> Pending {
        let first = self.scoreboard.range(s.start, s.end).next();
        let first_tsval = first.as_ref().map_or(0, |r| r.tsval_first);
        let open_for = first.map_or(0, |r| s.t - r.t_first);
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
            stands: o.hole && self.timer.srtt().is_some_and(|trip| open_for >= REORDERING_TRIPS * trip),
            flight_many: self.flight() >= 2 * self.mss(),
            sent_end: self.end,
            only_until: self.same_tick_from(s, s.tsval),
            first_until: self.same_tick_from(s, s.tsval.map(|_| first_tsval)),
            covered: None,
            verdict: None,
            by: None,
            dsacked: false,
            proven: false,
            first_tsval,
            doubted: s.start == 0 && o.lost_before_tap,
            sack_ok: s.sack_ok,
            timely: self.near_sender.then(|| o.waited.max(self.timer.rto(0, self.cwnd_segments()).unwrap_or(0))),
            until: self.end,
            extended: false,
            answer: None,
            later_copies: 0,
            later_at: 0,
            kind: super::kinds::TimeoutKind::Undecided,
            evidence_packet: None,
        }
    }
}

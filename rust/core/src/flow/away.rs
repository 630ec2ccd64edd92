//! Bytes that a tap away from the sender captures out of order, late, or only from a retransmission on.

use super::ack::DUPACK_THRESHOLD;
use super::kinds::{Evidence, Phase, Transmission};
use super::output::Out;
use super::scoreboard::Run;
use super::send::{Sent, SentOutcome};
use super::sender_state::SenderState;
use super::seq::newer;
use super::timer::{DELAYED_ACK_NS, FIRST_TIMEOUT_NS};
use super::trigger::LEAST_SYN_NS;
use crate::packet::Tcp;

const MS: i64 = 1_000_000;
/// One first timer, and not two (RFC 6298 sections 2.1 and 2.4).
pub const LONGEST_FIRST_NS: i64 = 1_500 * MS;

impl SenderState {
    /// Whether `s` was sent before the packet whose timestamp and position these are. Timestamps never run backwards in sending order
    /// (RFC 7323 section 5.2), and neither does an IP id that counts.
    pub fn sent_before(&self, s: &Sent, tsval: u32, order: u32) -> Option<(bool, Evidence)> {
        let stamps = s.tsval.filter(|v| tsval != 0 && *v != tsval).map(|v| (newer(tsval, v), Evidence::Tsval));
        stamps.or_else(|| self.ids.before(s.order, order).map(|b| (b, Evidence::IpId)))
    }

    /// The sender has nothing to acknowledge and no window to announce since its previous packet: it sends pure ACKs for nothing else
    /// (RFC 9293 sections 3.8.6 and 3.10.7.4).
    pub fn nothing_to_say(&self, tcp: &Tcp, rel_ack: Option<i64>, peer: &SenderState) -> bool {
        let in_flight = |r: i64| {
            let trip = self.round_trip().unwrap_or(FIRST_TIMEOUT_NS);
            self.previous_packet.is_none_or(|p| p <= r + 2 * trip)
        };
        self.stated == Some((tcp.ack, tcp.window))
            && rel_ack.is_some_and(|ack| peer.end <= ack)
            && !peer.last_resend.is_some_and(in_flight)
    }

    /// A tick of this sender's timestamps is shorter than a round trip.
    pub fn fine_stamps(&self) -> bool {
        self.own_tick().zip(self.round_trip()).is_some_and(|(tick, trip)| tick < trip)
    }

    /// Note that the bytes from `end` to the start of `s` were sent: lost before the tap, missed by it, or late.
    #[inline(never)]
    pub fn push_hole(&mut self, s: &Sent) {
        self.scoreboard.push(Run { start: self.end, end: s.start, unseen: true, control: false, ..s.run() });
    }

    /// A pure ACK carries SND.NXT (RFC 9293 section 3.10.7.4): everything below it has been sent. Whether there is more than was captured.
    pub fn note_sent_until(&mut self, s: &Sent) -> bool {
        let room = i64::from(self.tally.window_max).max(65_535);
        let more = self.end > 0 && s.start > self.end && s.start - self.una <= room;
        if more {
            self.push_hole(s);
            (self.end, self.captured_end) = (s.start, s.start);
            self.seq.advance(s.start);
        }
        more
    }

    /// Ids were skipped right before a packet at the edge of all captured data: this host counts other packets with the same counter if
    /// no repair can come so soon. The receiver got nothing to report, so only a timer or the answer to an earlier report repeats the bytes.
    #[inline(never)]
    pub fn doubt_counter(&mut self, rel_seq: Option<i64>, t: i64) {
        let soonest = self.soonest_timer(self.may_use_sack());
        let soon = |at: i64| t - at < soonest;
        if self.phase == Phase::Open
            && self.lost_ahead == 0
            && rel_seq == Some(self.end)
            && self.previous_packet.is_some_and(soon)
            && !self.last_resend.is_some_and(soon)
        {
            self.ids.shared = true;
        }
    }

    /// No timer for a lone segment is shorter: the first one, or with SACK a probe's, which leaves time for a delayed ACK (RFC 8985
    /// section 7.2).
    fn soonest_timer(&self, sack: bool) -> i64 {
        let probe = self.round_trip().map(|trip| 2 * trip + DELAYED_ACK_NS).filter(|_| sack);
        probe.map_or(FIRST_TIMEOUT_NS, |probe| probe.min(FIRST_TIMEOUT_NS))
    }

    /// Of the packets of this flow missing right before `s`: how many carried data above all captured bytes, at least.
    ///
    /// The others can be copies: of the head by its timer, doubled each time (RFC 6298 section 5.5), one probe (RFC 8985) or one fast
    /// retransmission. A sender does not repeat a segment within a round trip. A tap that misses packets itself shows nothing.
    pub fn missing_originals(&mut self, s: &Sent) -> i64 {
        let skipped = i64::from(self.ids.skipped);
        if skipped == 0
            || !self.near_receiver
            || s.start <= 1
            || self.ids.shared
            || self.tally.keepalives > 0
            || self.tally.acks_unseen > 0
        {
            return 0;
        }
        let silence = self.previous_packet.map_or(0, |p| s.t - p).max(0);
        let trip = self.round_trip().unwrap_or(FIRST_TIMEOUT_NS);
        let window = i64::from(self.window.unwrap_or(u32::MAX)) / self.mss();
        // Slow start sends at most the initial window (RFC 6928) and one segment for each acknowledged one (RFC 5681 section 3.1).
        let slow_start = if self.syn_seen { 10 + self.una / self.mss() } else { window };
        let room = window.min(slow_start) + 16;
        let holes = self.scoreboard.range(self.una, self.end).any(|r| r.unseen && (r.start < s.start || s.end < r.end));
        // Repaired by an ACK after a round trip, by a probe after two, or 200 ms later if it was alone (RFC 8985 section 7.2).
        let soonest = match self.phase {
            Phase::Open if skipped == 1 => self.soonest_timer(s.sack_ok),
            Phase::Open => 2 * trip,
            _ => trip,
        };
        if (s.start >= self.end && !holes && silence < soonest && self.lost_ahead == 0) || skipped > room {
            // This host counts other packets with the same counter.
            self.ids.shared = true;
            return 0;
        }
        if s.start > self.end || holes {
            return 0;
        }
        // Repeated in turn after a timeout: the missing ones are those between.
        let between = (s.start - self.resent_end + self.mss() - 1) / self.mss();
        if (self.phase == Phase::Loss || self.resent_acked) && skipped <= between {
            return 0;
        }
        // The timer may have begun a round trip before, and runs in ticks of up to 10 ms.
        let expiries = ((silence + trip) as f64 / (FIRST_TIMEOUT_NS - 10 * MS) as f64 + 1.0).log2() as i64;
        let by_acks = s.sack_ok || self.dupacks >= DUPACK_THRESHOLD;
        let copies = match () {
            () if s.start == self.end => expiries + i64::from(s.sack_ok),
            () if silence < trip / 2 => 0,
            () => (expiries - 1).max(0) + i64::from(by_acks),
        };
        let originals = (skipped - copies).max(i64::from(s.start == self.end));
        // A small segment ends what the application wrote; how the bytes after it were cut is not known.
        if s.start == self.end && s.end - s.start < self.mss() {
            originals.min(1)
        } else {
            originals
        }
    }

    /// Bytes above all captured ones may have been sent before: packets are missing.
    #[inline]
    pub fn may_be_unseen(&self) -> bool {
        self.lost_ahead > 0 || self.ids.skipped > 0
    }

    /// So many segments above all captured bytes were sent and never passed the tap.
    pub fn expect_lost(&mut self, segments: i64) {
        if segments > self.lost_ahead {
            (self.lost_ahead, self.lost_until) = (segments, self.end + segments * self.mss());
        }
    }

    /// Earlier expiries of the timer for `s` may not have passed the tap: it is away from the sender, and packets may be missing before `s`, or
    /// the queue of the host `drops` packets.
    pub fn hides_expiries(&mut self, s: &Sent, o: &SentOutcome, drops: bool) -> bool {
        // A SYN is answered at once: an answer as late as a timer may be a copy of one that a queue below TCP dropped.
        let late_answer =
            s.start == 0 && self.asked.zip(o.t_first).is_some_and(|(at, first)| first - at >= LEAST_SYN_NS);
        if late_answer {
            self.hidden_expiries = Some(0);
        }
        if self.near_sender {
            // A queue below TCP drops packets before the tap.
            return drops && self.tally.lost_before_tap > 0 || self.hidden_expiries == Some(0) && s.start == 0;
        }
        let away = self.near_receiver || self.rtt_whole.is_some() || self.syn_seen && s.start > 0;
        // Where the tap is shows only when the handshake is over. No first timer is shorter than a second (RFC 6298 section 2.1), and each
        // next one is twice as long: with a copy missing in between, three times as long or more.
        let longest = if self.expired_at == s.start { 3 * self.expiry_waited } else { LONGEST_FIRST_NS };
        let missed = s.start == 0 && !away && o.waited > longest;
        if o.lost_before_tap || missed || (away && !self.ids.next) {
            self.hidden_expiries = Some(s.start);
        }
        self.hidden_expiries == Some(s.start)
    }

    /// Bytes at the end of the captured ones whose original was among missing packets.
    pub fn sent_unseen(&mut self, s: &Sent, missing: i64) -> bool {
        self.expect_lost(missing);
        if self.lost_ahead == 0 || s.start >= self.lost_until {
            self.lost_ahead = 0;
            return false;
        }
        let mss = self.mss();
        let before = (s.start - self.end + mss - 1) / mss;
        let again = self.lost_ahead > before;
        self.lost_ahead = if s.end - s.start < mss { 0 } else { (self.lost_ahead - before - 1).max(0) };
        again
    }

    /// Bytes not yet captured arrive below captured ones: retransmitted or reordered?
    pub fn fill_hole(&mut self, s: &Sent, hole: &Run, acked_before: bool) -> SentOutcome {
        let (again, evidence) = match self.sent_before(s, hole.tsval_first, hole.order) {
            // Sent after the segment that follows in sequence, so not in sequence: a copy that overtook others.
            Some((true, evidence)) => (self.after_successor(s), evidence),
            Some((false, evidence)) => (true, evidence),
            // In the same tick as the segment that follows: nothing is sent again so soon.
            None if s.tsval.is_some_and(|v| v == hole.tsval_first) && self.fine_stamps() => (false, Evidence::Tsval),
            None => self.by_time(s, hole),
        };
        if again {
            let mut o = SentOutcome::new(Transmission::Retransmission, Some(evidence));
            o.lost_before_tap = true;
            o.copy = 1;
            // An ACK just before may be of this very copy, if the tap swapped them.
            let swapped = self.last_advance.is_some_and(|a| (s.t - a) * 2 < self.round_trip().unwrap_or(6 * MS));
            o.acked_before = acked_before && !swapped;
            self.resend(s, &mut o);
            return o;
        }
        for r in self.scoreboard.range_mut(s.start, s.end) {
            (r.unseen, r.t_first, r.t_last) = (false, s.t, s.t);
            (r.tsval_first, r.tsval_last) = (s.tsval.unwrap_or(0), s.tsval.unwrap_or(0));
            (r.ip_id, r.order) = (s.ip_id.unwrap_or(0), s.order);
        }
        self.tally.unique_bytes += u64::try_from(s.end - s.start).unwrap_or(0);
        SentOutcome::new(Transmission::Reordered, Some(evidence))
    }

    /// A SYN+ACK comes after a packet that its sender sent later: whether it is a copy, by its IP id, or because a timer of a SYN has run
    /// since the peer's latest one.
    pub fn syn_again(&self, s: &Sent) -> bool {
        let waited = || self.asked.is_some_and(|at| s.t - at >= LEAST_SYN_NS);
        self.ids.after_first(s.order).unwrap_or_else(waited)
    }

    fn after_successor(&self, s: &Sent) -> bool {
        let next = self.scoreboard.range(s.end, s.end + 1).next();
        next.filter(|r| !r.unseen && r.copies == 1 && !r.merged)
            .and_then(|r| self.sent_before(s, r.tsval_first, r.order))
            .is_some_and(|(before, _)| !before)
    }

    /// The tap has none of the outstanding bytes: a later pure ACK shows that they were sent.
    fn nothing_captured(&self) -> bool {
        self.scoreboard.range(self.una, self.end).all(|r| r.unseen)
    }

    /// Neither timestamps nor IP ids show the order: a sender learns of a hole from its report, half a round trip after it, and its
    /// answer takes the other half. Half of that again, as two round trips are never alike; where the path is seen to reorder, what may
    /// be as late as others were is not taken for a repair.
    fn by_time(&mut self, s: &Sent, hole: &Run) -> (bool, Evidence) {
        let since = s.t - hole.t_first;
        let trip = self.round_trip().or(self.rtt_least);
        if trip.is_some_and(|trip| since * 2 < trip) {
            self.lateness = self.lateness.max(since);
        } else if self.lateness > 0 && trip.is_some_and(|trip| since < trip + self.lateness) {
            return (false, Evidence::Timing);
        }
        let reported = self.dupacks > 0 || self.sacked_hi > s.start;
        match trip {
            Some(trip) if since * 2 < trip => (false, Evidence::Timing),
            // Not reported: only a timer can have sent it. It began when the bytes were sent, and a path that keeps back a whole flight keeps
            // back the pure ACK after it, too.
            Some(trip) if !reported => {
                let least = if self.nothing_captured() { 0 } else { trip };
                (since >= FIRST_TIMEOUT_NS.max(least), Evidence::Timing)
            }
            _ if self.dupacks >= DUPACK_THRESHOLD || self.sacked_hi > s.start => (true, Evidence::FillsHole),
            _ => (since >= trip.unwrap_or(3 * MS), Evidence::Timing),
        }
    }

    /// Bytes captured from a retransmission on arrive once more, sent before it: the original, late.
    pub fn late_original(&mut self, s: &Sent, known: &Run, out: &mut Out<'_>) -> Option<SentOutcome> {
        let (before, evidence) = self.sent_before(s, known.tsval_last, known.order).filter(|_| !known.merged)?;
        if !before || (known.copies > 1 && !known.first_missing) {
            return None;
        }
        self.doubt(s.start, s.end, Some(true), out);
        let i = self.past.partition_point(|r| r.end <= s.start);
        self.past.range_mut(i..).take_while(|r| r.start < s.end).for_each(|r| r.first_missing = false);
        for r in self.scoreboard.range_mut(s.start, s.end) {
            r.first_missing = false;
        }
        let mut o = SentOutcome::new(Transmission::Reordered, Some(evidence));
        o.t_first = Some(known.t_first);
        o.t_previous = Some(known.t_last);
        Some(o)
    }
}

//! The trigger of a retransmission: from the ACKs before it; from times only if no ACK can have caused it.

use super::kinds::{Evidence, Phase, Trigger};
use super::send::{Sent, SentOutcome};
use super::sender_state::{Probe, SenderState};

const MS: i64 = 1_000_000;
/// A sender reacts to an ACK within its own reaction time; schedulers add a few ms (Linux ticks at 4 ms).
const REACTION_SLACK_NS: i64 = 3 * MS;
/// No timer is longer: it may be bounded by this (RFC 6298 section 2.5).
const LONGEST_PATH_NS: i64 = 60_000 * MS;

impl SenderState {
    /// Determine the trigger of a retransmission; changes the phase (RFC 5681, 6298, 6582, 6675, 8985).
    pub fn name_trigger(&mut self, s: &Sent, o: &mut SentOutcome) {
        let head = s.start <= self.una;
        let since_ack = self.last_ack.map_or(i64::MAX, |a| s.t - a);
        let clocked = since_ack <= self.reaction.unwrap_or(0).saturating_add(REACTION_SLACK_NS);
        let base = [self.last_advance, self.head_sent].into_iter().flatten().max();
        let waited = base.map_or(0, |b| s.t - b);
        let sack_hole = self.sacked_hi > s.end;
        // Without SACK, Linux keeps counting duplicate ACKs over partial progress. With SACK, RACK (RFC 8985) needs no block above:
        // a delivered segment that was sent later suffices.
        let dups = if s.sack_ok { self.dupacks } else { self.dupacks.max(self.unspent_dupacks) };
        let told = dups >= 3 || sack_hole || (s.sack_ok && clocked && o.hole);
        // Near the receiver an ACK needs the path to restart the timer, and the timer, which includes an RTT, adds another.
        let away = self.rtt_whole.filter(|_| self.near_receiver).map_or(0, |whole| 2 * whole.clamp(0, LONGEST_PATH_NS));
        let model = self.rto().unwrap_or(1000 * MS).saturating_add(away);
        // The models differ in their floors, so an expiry is a retransmission without an ACK as cause after at least the smallest timeout.
        let least = self.timer.least().unwrap_or(200 * MS).saturating_add(away);
        let late = waited >= model * 7 / 10 || (!clocked && waited >= least && !told);

        let resent = self.scoreboard.range(s.start, s.end).next().is_some_and(|r| r.copies > 1);

        let (trigger, evidence) = match self.phase {
            // A SYN+ACK retransmitted at once answers a repeated SYN; no timer is that short (RFC 6298 section 2.1).
            _ if s.start == 0 && waited >= 180 * MS => (Trigger::Rto, Evidence::TimerExpired),
            _ if s.start == 0 => (Trigger::Undecided, Evidence::SameBytes),
            // It crossed the ACK that ended the recovery: it was queued between TCP and the tap when the ACK came.
            Phase::Open | Phase::Disorder if o.acked_before && s.start < self.recover => match self.left {
                Phase::Loss => (Trigger::GoBackN, Evidence::AfterTimeout),
                _ if s.sack_ok => (Trigger::Sack, Evidence::SackBlocks),
                _ => (Trigger::PartialAck, Evidence::PartialAck),
            },
            // Far from the sender: the bytes that the timer sent last and these had all arrived, so a delayed ACK between the two advanced
            // the sender, which reacts to it at once (RFC 5681 section 3.1).
            Phase::Loss if o.acked_before && (0..s.start).contains(&self.expired_at) => {
                (Trigger::GoBackN, Evidence::AfterTimeout)
            }
            Phase::Loss if head && late && !clocked => (Trigger::Rto, Evidence::TimerExpired),
            Phase::Loss if head && waited >= model * 9 / 10 => (Trigger::Rto, Evidence::TimerExpired),
            Phase::Loss => (Trigger::GoBackN, Evidence::AfterTimeout),
            Phase::Recovery if head && !clocked && waited >= model * 7 / 10 => (Trigger::Rto, Evidence::TimerExpired),
            // The loss of a retransmission shows after about an RTT (RFC 8985); after the time of a timeout the timer is the cause, even if
            // an ACK arrives just before by chance.
            Phase::Recovery if head && resent && waited >= model * 9 / 10 => (Trigger::Rto, Evidence::TimerExpired),
            Phase::Recovery if s.sack_ok => (Trigger::Sack, Evidence::SackBlocks),
            Phase::Recovery if head => (Trigger::PartialAck, Evidence::PartialAck),
            Phase::Recovery => (Trigger::Fast, Evidence::DuplicateAcks),
            _ if told && (clocked || waited < model * 7 / 10) => {
                (Trigger::Fast, if dups >= 3 { Evidence::DuplicateAcks } else { Evidence::SackBlocks })
            }
            _ if self.is_probe(s, clocked, head) => (Trigger::TailLossProbe, Evidence::ProbeTimer),
            _ if head && late => (Trigger::Rto, Evidence::TimerExpired),
            _ if self.dupacks > 0 && clocked => (Trigger::Fast, Evidence::DuplicateAcks),
            _ => (Trigger::Undecided, Evidence::NoAckSeen),
        };
        if trigger == Trigger::Rto {
            let same = self.expired_at == s.start;
            o.backoff = Some(if same { self.expiries } else { 0 });
            o.silent_from = Some(self.last_send.unwrap_or(s.t).min(s.t));
            // A sender with probes would have sent one for the tail first: this sender sends none.
            if !same && s.sack_ok && self.phase == Phase::Open && self.probe.is_none() && self.flight() > self.mss() {
                self.no_probes = true;
            }
        }
        if trigger == Trigger::TailLossProbe {
            o.silent_from = Some(self.last_send.unwrap_or(s.t).min(s.t));
        }
        o.trigger = Some(trigger);
        o.evidence = Some(evidence);
        o.waited = waited;
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
        self.probe = Some(Probe {
            row,
            t: s.t,
            start: s.start,
            end: s.end,
            packet: s.packet,
            waited: o.waited,
            silent_from: o.silent_from.unwrap_or(s.t),
            len: s.len,
            alone: s.start <= self.una,
        });
    }

    /// After a probe the timer restarts; after an expiry it runs twice as long. True if the probe was an expiry.
    pub fn probe_was_expiry(&self, s: &Sent) -> bool {
        let (Some(p), Some(rto)) = (self.probe, self.timer.rto(0, self.cwnd_segments())) else {
            return false;
        };
        // The middle between one and two timeouts, on a logarithmic scale.
        p.alone && p.start == s.start && (s.t - p.t) as f64 > rto as f64 * std::f64::consts::SQRT_2
    }
}

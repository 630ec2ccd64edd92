//! Reading an ACK: the peer's window, SACK blocks, RTT samples, and how many segments it delivers.

use super::{Event, Facts, Sender, State, THRESHOLD_MOST};
use crate::engine::{Ns, MS};
use crate::tcp::config::TcpConfig;
use crate::tcp::scoreboard::Acked;
use crate::tcp::segment::Segment;

impl Sender {
    /// Process an ACK. `stamp` is this host's current timestamp clock.
    pub fn on_ack(&mut self, config: &TcpConfig, now: Ns, stamp: u32, s: &Segment, ack: u64, sack: bool) {
        let pure = s.span() == 0;
        if ack > self.next || ack < self.una {
            return;
        }
        let prior_una = self.una;
        let advanced = ack > prior_una;
        let window_update = self.take_window(s, ack);
        let dsack = self.dsack(s, ack);
        let (mut newly_sacked, mut original_sacked) = (0, false);
        if sack {
            for &(left, right) in &s.sack[usize::from(dsack)..usize::from(s.sack_blocks)] {
                let (n, original) = self.scoreboard.sack(left, right, self.high);
                newly_sacked += n;
                original_sacked |= original;
            }
            if config.lost_retransmissions && self.state == State::Recovery {
                let margin =
                    if config.fack { 0 } else { u64::from(config.dupack_threshold) * u64::from(config.mss_bytes) };
                for &(_, right) in &s.sack[usize::from(dsack)..usize::from(s.sack_blocks)] {
                    self.scoreboard.lost_again(ack, right, margin);
                }
            }
        }
        if dsack && self.undo_retransmissions > 0 {
            self.undo_retransmissions -= 1;
        }
        let outstanding = !self.scoreboard.is_empty();
        let acked = if advanced {
            self.una = ack;
            let acked = self.scoreboard.acked(ack);
            // Linux 2.2 counts on until nothing is outstanding.
            if !config.repairs_all_first || self.scoreboard.is_empty() {
                self.expiries = 0;
            }
            acked
        } else {
            Acked::default()
        };
        if !outstanding {
            self.arm_idle_timer(config, now);
            return;
        }
        let duplicate = !advanced && pure && !window_update;
        // With SACK, an ACK that reports only what came twice is no duplicate ACK (RFC 6675 section 2).
        let reports_twice = sack && dsack && newly_sacked == 0;
        self.consecutive_dupacks = if duplicate { self.consecutive_dupacks + u32::from(!reports_twice) } else { 0 };
        // One that also reports a hole shows it again. Window updates and old ACKs in between show nothing.
        let shows_hole = !(sack && dsack && s.sack_blocks == 1);
        self.repeated_acks = if advanced { 0 } else { self.repeated_acks + u32::from(duplicate && shows_hole) };
        if advanced {
            self.sample_rtt(config, now, stamp, s, &acked);
            self.probed = self.probed.filter(|end| *end > ack);
        }
        let mut facts = Facts {
            advanced,
            duplicate,
            delivered: 0,
            acked,
            original_sacked,
            sack,
            newly_sacked,
            newly_lost: false,
            dsack,
        };
        facts.delivered = self.delivered(&facts);
        self.update_state(config, s, &mut facts);
        self.update_cwnd(config, &facts);
        // In fast recovery a segment is retransmitted once; after a timeout not for duplicate ACKs.
        let after_timeout = self.state == State::Loss;
        if duplicate
            && shows_hole
            && self.repeated_acks == 3
            && self.scoreboard.first().is_some_and(|e| !e.retransmitted || after_timeout)
        {
            self.events.push(Event::ThirdDuplicate { seq: self.una });
        }
        if advanced {
            self.arm(config, now, sack);
            if self.state == State::Loss {
                self.events.push(Event::Loss { una: self.una, variables: self.variables() });
            }
        }
    }

    /// RFC 9293 section 3.10.7.4: newer segments update the window, and among equally new ones those with a larger window.
    pub(super) fn take_window(&mut self, s: &Segment, ack: u64) -> bool {
        let offered = self.window_end.saturating_sub(self.una);
        // The window in a SYN has 16 bits and no scale (RFC 7323 section 2.2).
        let window = u64::from(if s.syn { s.window.min(0xffff) } else { s.window });
        let newer = ack > self.una
            || s.seq > self.window_updated_by
            || (s.seq == self.window_updated_by && (window > offered || window == 0 && offered > 0));
        if newer {
            self.window_updated_by = s.seq;
            self.window_end = ack + window;
            self.window_most = self.window_most.max(s.window);
        }
        newer
    }

    /// RFC 2883: the first block lies below the ACK or inside the second.
    pub(super) fn dsack(&self, s: &Segment, ack: u64) -> bool {
        if s.sack_blocks == 0 {
            return false;
        }
        let first = s.sack[0];
        first.1 <= ack || (s.sack_blocks > 1 && s.sack[1].0 <= first.0 && first.1 <= s.sack[1].1)
    }

    /// Karn's algorithm, or the echoed timestamp (RFC 7323); a valid sample resets the backoff (RFC 6298 section 5.7).
    pub(super) fn sample_rtt(&mut self, config: &TcpConfig, now: Ns, stamp: u32, s: &Segment, acked: &Acked) {
        let by_stamp = s.timestamps.filter(|t| config.timestamps && t.1 != 0).map(|t| {
            let ticks = stamp.wrapping_sub(t.1);
            Ns::from(ticks) * MS
        });
        let rtt = if acked.retransmitted { by_stamp } else { acked.oldest_once.map(|t| now - t).or(by_stamp) };
        if let Some(rtt) = rtt {
            self.rto.sample(rtt, self.una, self.next);
            if !self.rto.keeps_backoff() {
                self.rto.backoff = 0;
            }
        }
        if self.rto.keeps_backoff() && self.scoreboard.is_empty() {
            self.rto.backoff = 0;
        }
    }

    /// Segments delivered according to this ACK. Without SACK those already counted by duplicate ACKs do not count again.
    pub(super) fn delivered(&self, f: &Facts) -> u32 {
        if f.sack {
            f.acked.fresh + f.newly_sacked
        } else if f.advanced {
            f.acked.segments.saturating_sub(self.dupacks).max(u32::from(f.acked.segments > 0))
        } else {
            0
        }
    }

    /// Without SACK: one of the segments acknowledged was the hole, the others were counted before.
    pub(super) fn subtract_acked_dupacks(&mut self, f: &Facts) {
        if !f.sack && f.acked.segments > 0 {
            self.dupacks = self.dupacks.saturating_sub(f.acked.segments - 1);
            self.limit_dupacks(f.acked.segments);
        }
    }

    /// Without SACK every duplicate ACK means that a segment has left the network.
    pub(super) fn count_dupack(&mut self, f: &mut Facts) {
        if !f.sack && f.duplicate {
            let before = self.dupacks;
            self.dupacks += 1;
            self.limit_dupacks(0);
            f.delivered += self.dupacks.saturating_sub(before);
        }
    }

    /// More duplicate ACKs than segments other than the holes: the network reorders or duplicates.
    pub(super) fn limit_dupacks(&mut self, acked: u32) {
        let out = self.scoreboard.len();
        let holes = self.scoreboard.lost.max(1).min(out);
        if self.dupacks + holes > out {
            self.dupacks = out - holes;
            self.threshold = self.threshold.max((out + acked).min(THRESHOLD_MOST));
        }
    }
}

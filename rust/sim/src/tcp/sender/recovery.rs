//! Loss detection, fast recovery, recovery after a timeout, and undo.

use super::{inflates, Event, Facts, Sender, State};
use crate::tcp::config::{Recovery, TcpConfig};
use crate::tcp::segment::Segment;

impl Sender {
    pub(super) fn update_state(&mut self, config: &TcpConfig, s: &Segment, f: &mut Facts) {
        self.subtract_acked_dupacks(f);
        if self.state == State::Recovery && self.una >= self.high && !self.leave_recovery(config, s, f) {
            return;
        }
        match self.state {
            State::Loss => {
                self.in_loss(config, s, f);
                if self.state == State::Open {
                    let stale = config.stale_dupacks && !f.sack && self.dupacks >= self.threshold;
                    self.in_order(config, f);
                    if stale && self.una < self.next && self.state != State::Recovery {
                        self.enter_recovery(config, f);
                    }
                }
            }
            State::Recovery => self.in_recovery(config, s, f),
            State::Open | State::Disorder => self.in_order(config, f),
        }
    }

    pub(super) fn in_order(&mut self, config: &TcpConfig, f: &mut Facts) {
        if f.dsack && self.undo_cwnd.is_some() && self.undo_retransmissions == 0 {
            // Every retransmission was reported as a duplicate (RFC 3708).
            let event = if self.undo_of_timeout { Event::TimeoutUndone } else { Event::RecoveryUndone };
            self.undo(false, event);
        }
        if f.advanced && !f.sack {
            // New data acknowledged outside recovery: earlier duplicate ACKs no longer count.
            self.dupacks = 0;
        }
        self.count_dupack(f);
        if self.state == State::Open && !f.advanced {
            self.retransmit_timestamp = 0;
        }
        let signs = if f.sack { self.scoreboard.sacked } else { self.dupacks };
        if self.una < self.next && self.is_lost(config, f.sack, signs) {
            return self.enter_recovery(config, f);
        }
        let state = if signs > 0 || self.scoreboard.retransmitted > 0 { State::Disorder } else { State::Open };
        if state != self.state {
            self.state = state;
            self.high = self.next;
        }
    }

    /// RFC 5681's threshold, RFC 6675's count of SACKed segments, or FACK's distance.
    pub(super) fn is_lost(&self, config: &TcpConfig, sack: bool, signs: u32) -> bool {
        let by_distance = sack
            && config.fack
            && self.scoreboard.sacked_end().is_some_and(|end| {
                end.saturating_sub(self.una) > u64::from(config.dupack_threshold) * u64::from(config.mss_bytes)
            });
        signs >= if sack { config.dupack_threshold } else { self.threshold } || by_distance
    }

    pub(super) fn enter_recovery(&mut self, config: &TcpConfig, f: &mut Facts) {
        self.save_for_undo();
        self.undo_of_timeout = false;
        self.prior_cwnd = self.cwnd;
        self.ssthresh = (self.cwnd / 2).max(2);
        (self.prr_delivered, self.prr_out, self.grown) = (0, 0, 0);
        self.high = self.next;
        (self.state, self.has_retransmitted) = (State::Recovery, false);
        self.events.push(Event::RecoveryBegan { seq: self.una });
        f.newly_lost = self.mark_holes(config, f.sack) > 0;
        if inflates(config) {
            self.cwnd = self.ssthresh + if f.sack { 0 } else { config.dupack_threshold };
        }
    }

    /// Mark lost segments; returns how many are new.
    pub(super) fn mark_holes(&mut self, config: &TcpConfig, sack: bool) -> u32 {
        let una = self.una;
        let Some(end) = self.scoreboard.sacked_end().filter(|_| sack) else {
            return self.scoreboard.mark_lost(una + 1, |_| true);
        };
        // A segment is lost when three SACKed ones lie above it (RFC 6675), or as far as FACK reaches.
        let threshold = config.dupack_threshold;
        let reach = if config.fack {
            end.saturating_sub(u64::from(threshold) * u64::from(config.mss_bytes))
        } else {
            self.scoreboard.iter().rev().filter(|e| e.sacked).nth(threshold as usize - 1).map_or(0, |e| e.start)
        };
        let high = if config.linux24_scoreboard { self.high } else { u64::MAX };
        self.scoreboard.mark_lost(reach.max(una + 1), |e| (e.end <= reach || e.start == una) && e.end <= high)
    }

    /// Everything sent before the recovery is acknowledged. False: the state is kept, and this ACK has no further effect.
    pub(super) fn leave_recovery(&mut self, config: &TcpConfig, s: &Segment, f: &Facts) -> bool {
        self.dupacks = 0;
        if self.may_undo(config, s) {
            self.undo(false, Event::RecoveryUndone);
        }
        let careful = !f.sack && config.recovery != Recovery::NewRenoCareless;
        if careful && self.una == self.high {
            // RFC 6582 section 4: duplicate ACKs caused by the recovery itself show no loss.
            return false;
        }
        self.end_recovery(config);
        true
    }

    pub(super) fn end_recovery(&mut self, config: &TcpConfig) {
        if self.undo_cwnd.is_some() {
            self.cwnd = if config.rate_halving { self.cwnd.min(self.ssthresh) } else { self.ssthresh };
        }
        (self.state, self.retransmit_timestamp) = (State::Open, 0);
        self.events.push(Event::RecoveryEnded);
    }

    pub(super) fn in_recovery(&mut self, config: &TcpConfig, s: &Segment, f: &mut Facts) {
        if !f.advanced {
            self.count_dupack(f);
        } else if self.spurious_by_timestamp(config, s) || (self.undo_retransmissions == 0 && f.sack) {
            self.undo(true, Event::RecoveryUndone);
            self.state = if self.scoreboard.retransmitted > 0 { State::Disorder } else { State::Open };
            return;
        } else if config.recovery == Recovery::Reno && !f.sack {
            self.dupacks = 0;
            return self.end_recovery(config);
        }
        let few = config.linux24_scoreboard
            && f.sack
            && self.scoreboard.segments_to_highest_sack() <= config.dupack_threshold;
        if (f.sack || f.advanced) && !(few && f.advanced) {
            // A partial ACK: the next hole is at the left edge (RFC 6582).
            f.newly_lost = self.mark_holes(config, f.sack) > 0;
        }
    }

    pub(super) fn in_loss(&mut self, config: &TcpConfig, s: &Segment, f: &mut Facts) {
        let recovered = self.una >= self.high;
        if f.advanced && self.may_undo(config, s) {
            self.undo(true, Event::TimeoutUndone);
            if f.sack || self.una > self.high {
                self.leave_loss();
            }
            return;
        }
        if self.frto {
            let original =
                f.original_sacked || (!f.acked.retransmitted && f.acked.original.is_some_and(|end| end <= self.high));
            if original {
                // Step 3b: an original that was never retransmitted arrived, so the timeout was spurious.
                self.frto = false;
                self.undo(true, Event::TimeoutUndone);
                self.leave_loss();
                return;
            }
            if self.next > self.high {
                if f.duplicate || f.newly_sacked > 0 {
                    // Step 3a: the loss was real.
                    self.frto = false;
                }
            } else if f.advanced && !recovered {
                // Step 2b: send two new segments.
                self.high = self.next;
                if self.next < self.written.min(self.window_end) {
                    self.new_first = true;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            let all = config.repairs_all_first && self.scoreboard.is_empty();
            if f.sack || all || self.una > self.high || config.recovery == Recovery::NewRenoCareless {
                self.leave_loss();
            }
            return;
        }
        if !f.sack {
            if self.next > self.high && f.duplicate {
                self.count_dupack(f);
            } else if f.advanced {
                self.dupacks = 0;
            }
        }
    }

    pub(super) fn leave_loss(&mut self) {
        (self.state, self.retransmit_timestamp, self.frto) = (State::Open, 0, false);
    }

    pub(super) fn may_undo(&self, config: &TcpConfig, s: &Segment) -> bool {
        self.undo_cwnd.is_some() && (self.undo_retransmissions == 0 || self.spurious_by_timestamp(config, s))
    }

    /// The echo is older than the first retransmission: the original was acknowledged (RFC 3522).
    pub(super) fn spurious_by_timestamp(&self, config: &TcpConfig, s: &Segment) -> bool {
        let Some((_, echo)) = s.timestamps.filter(|_| config.timestamps && config.eifel) else { return false };
        self.undo_cwnd.is_some()
            && self.retransmit_timestamp != 0
            && echo != 0
            && (echo.wrapping_sub(self.retransmit_timestamp) as i32) < 0
    }

    pub(super) fn save_for_undo(&mut self) {
        self.undo_cwnd = Some((self.cwnd, self.ssthresh));
        self.undo_retransmissions = self.scoreboard.retransmitted;
    }

    pub(super) fn undo(&mut self, unmark: bool, event: Event) {
        if let Some((cwnd, ssthresh)) = self.undo_cwnd.take() {
            (self.cwnd, self.ssthresh) = (cwnd.max(self.cwnd), ssthresh.max(self.ssthresh));
        }
        self.retransmit_timestamp = 0;
        if unmark {
            self.dupacks = 0;
            self.scoreboard.clear_lost();
        }
        self.events.push(event);
    }
}

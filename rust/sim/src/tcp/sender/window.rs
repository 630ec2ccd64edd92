//! The congestion window, and what limits the sender: that window or the peer's.

use super::{Event, Facts, Sender, State, CWND_MOST};
use crate::tcp::config::TcpConfig;

impl Sender {
    /// The effect of an ACK on the congestion window.
    pub(super) fn update_cwnd(&mut self, config: &TcpConfig, f: &Facts) {
        if self.state != State::Recovery {
            if f.advanced {
                self.grow(config, f.delivered);
            }
            if config.burst_segments > 0 && matches!(self.state, State::Loss | State::Disorder) {
                self.cwnd = self.cwnd.min(self.pipe(config, f.sack) + config.burst_segments);
            }
        } else if config.rate_halving {
            self.rate_halving_step(config, f);
        } else if config.prr {
            self.proportional_rate_reduction(config, f);
        } else if !f.sack {
            if f.advanced {
                // Partial window deflation.
                self.cwnd = self.cwnd.saturating_sub(f.acked.segments).max(1) + u32::from(f.acked.segments > 0);
            } else if f.duplicate && self.consecutive_dupacks > self.threshold {
                self.cwnd = (self.cwnd + 1).min(CWND_MOST);
            }
        }
    }

    /// One segment less for every second ACK (Linux 2.4, after Mathis and Mahdavi's rate halving).
    pub(super) fn rate_halving_step(&mut self, config: &TcpConfig, f: &Facts) {
        self.grown += 1;
        if self.grown >= 2 {
            self.grown = 0;
            self.cwnd -= u32::from(self.cwnd > self.ssthresh / 2);
        }
        self.cwnd = self.cwnd.min(self.pipe(config, f.sack) + 1);
    }

    /// RFC 6937, as in Linux.
    pub(super) fn proportional_rate_reduction(&mut self, config: &TcpConfig, f: &Facts) {
        if self.prior_cwnd == 0 || f.delivered == 0 {
            return;
        }
        self.prr_delivered += f.delivered;
        let pipe = i64::from(self.pipe(config, f.sack));
        let delta = i64::from(self.ssthresh) - pipe;
        let send = if delta < 0 {
            let share = u64::from(self.ssthresh) * u64::from(self.prr_delivered) + u64::from(self.prior_cwnd) - 1;
            (share / u64::from(self.prior_cwnd)) as i64 - i64::from(self.prr_out)
        } else {
            let most = (i64::from(self.prr_delivered) - i64::from(self.prr_out)).max(i64::from(f.delivered));
            (most + i64::from(f.advanced && !f.newly_lost)).min(delta)
        };
        let send = send.max(i64::from(self.prr_out == 0));
        self.cwnd = u32::try_from(pipe + send).unwrap_or(1).max(1);
    }

    /// Slow start, then one segment per window (RFC 5681 section 3.1, counted in segments as in Linux); only if the window was
    /// filled.
    pub(super) fn grow(&mut self, config: &TcpConfig, delivered: u32) {
        let slow_start = self.cwnd < self.ssthresh;
        if config.cwnd_validation && !self.filled && !(slow_start && self.cwnd < 2 * self.most_out) {
            return;
        }
        let mut left = if config.counts_segments { delivered } else { 1 };
        if slow_start {
            let step = left.min(self.ssthresh - self.cwnd);
            self.cwnd = (self.cwnd + step).min(CWND_MOST);
            left -= step;
        }
        if left == 0 {
            return;
        }
        if self.grown >= self.cwnd {
            self.grown = 0;
            self.cwnd = (self.cwnd + 1).min(CWND_MOST);
        }
        self.grown += left;
        if self.grown >= self.cwnd {
            let steps = self.grown / self.cwnd;
            self.grown -= steps * self.cwnd;
            self.cwnd = (self.cwnd + steps).min(CWND_MOST);
        }
    }

    /// After sending or trying to: whether only the peer's window limits the sender.
    pub fn watch_window(&mut self, config: &TcpConfig, sack: bool) {
        let unsent = self.written.saturating_sub(self.next);
        let least = unsent.min(u64::from(config.mss_bytes));
        let room = self.window_end.saturating_sub(self.next);
        let limited = unsent > 0 && room < least && self.pipe(config, sack) < self.cwnd;
        let state = match () {
            () if !limited => Event::WindowFreed,
            () if self.window_end - self.una < least => Event::WindowClosed,
            () => Event::WindowFilled,
        };
        if state != self.window_state {
            self.window_state = state;
            self.events.push(state);
        }
    }

    /// After sending or trying to: whether the window was filled.
    pub fn validate(&mut self, config: &TcpConfig, sack: bool, sent: bool) {
        let limited = self.pipe(config, sack) >= self.cwnd;
        let out = self.scoreboard.len();
        if (sent || limited) && (self.una >= self.usage_until || limited || (!self.filled && out > self.most_out)) {
            (self.filled, self.most_out, self.usage_until) = (limited, out, self.next);
        }
    }
}

//! The timers: retransmission, tail loss probe, window probe, keep-alive.

use super::{Event, Fired, Sender, State, Timer};
use crate::engine::{Ns, MS};
use crate::tcp::config::TcpConfig;
use crate::tcp::segment::Trigger;

impl Sender {
    /// (Re)start the timer, or stop it when nothing is outstanding.
    pub fn arm(&mut self, config: &TcpConfig, now: Ns, sack: bool) {
        self.timer_is = Timer::Retransmission;
        self.window_probes = 0;
        if self.scoreboard.is_empty() {
            self.timer = None;
            return;
        }
        let rto = self.rto.current(self.cwnd);
        self.timer = Some(config.wheel.fires(now, rto));
        if config.tail_loss_probe
            && sack
            && matches!(self.state, State::Open | State::Disorder)
            && self.probed.is_none()
        {
            if let Some(srtt) = self.rto.srtt() {
                let wait =
                    2 * srtt + if self.scoreboard.len() == 1 { config.delayed_ack_timer.max(2 * MS) } else { 2 * MS };
                if self.scoreboard.sacked == 0 {
                    // No later than the timeout, in whose place it is sent (RFC 8985 section 7.2).
                    self.timer = self.timer.map(|expiry| expiry.min(now + wait));
                    self.timer_is = Timer::TailLossProbe;
                }
            }
        }
    }

    /// Nothing is outstanding: if data waits for a closed window, start window probes (RFC 9293 section
    /// 3.8.6.1); else keep-alives, if configured.
    pub fn arm_idle_timer(&mut self, config: &TcpConfig, now: Ns) {
        if !self.scoreboard.is_empty() {
            return;
        }
        if self.next >= self.written || self.next < self.window_end {
            (self.timer, self.window_probes) = (None, 0);
            if config.keep_alive > 0 && self.una >= 1 {
                self.timer_is = Timer::KeepAlive;
                self.timer = Some(now + config.keep_alive);
            }
            return;
        }
        if self.timer_is == Timer::WindowProbe && self.timer.is_some() {
            return;
        }
        self.timer_is = Timer::WindowProbe;
        self.timer = Some(now + self.rto.backed_off(self.cwnd, self.window_probes));
    }

    /// The timer fired.
    pub fn on_timer(&mut self, config: &TcpConfig, now: Ns, sack: bool) -> Option<Fired> {
        self.timer = None;
        if self.timer_is == Timer::KeepAlive {
            self.arm_idle_timer(config, now);
            return Some(Fired::Probe);
        }
        if self.timer_is == Timer::WindowProbe {
            let wait = self.rto.backed_off(self.cwnd, self.window_probes);
            self.events.push(Event::WindowProbe { wait });
            self.window_probes += 1;
            self.arm_idle_timer(config, now);
            return Some(Fired::Probe);
        }
        let first = *self.scoreboard.first()?;
        if self.timer_is == Timer::TailLossProbe {
            self.probed = Some(self.next);
            self.timer_is = Timer::Retransmission;
            let last = self.scoreboard.iter().next_back().map(|e| e.start)?;
            self.timer = Some(config.wheel.fires(now, self.rto.current(self.cwnd)));
            return Some(Fired::Retransmit(last, Trigger::TailLossProbe));
        }
        self.events.push(Event::Timeout { seq: first.start, variables: self.variables() });
        self.rto.expired(self.cwnd);
        let calm = matches!(self.state, State::Open | State::Disorder);
        if !sack {
            self.dupacks = 0;
        }
        self.scoreboard.all_lost(!sack);
        let repairing = self.state == State::Loss && config.repairs_all_first;
        if calm || self.una >= self.high || (self.state == State::Loss && self.expiries == 0 && !repairing) {
            self.save_for_undo();
            self.undo_of_timeout = true;
            self.prior_cwnd = self.cwnd;
            if !first.syn {
                // That of a lost SYN does not outlast the handshake (Linux: `tcp_init_metrics`).
                self.ssthresh = (self.cwnd / 2).max(2);
            }
            if !config.eifel_first_stamp_defect {
                self.retransmit_timestamp = 0;
            }
        }
        self.frto = config.frto && !first.syn && (calm || self.expiries > 0);
        self.new_first = false;
        if !repairing {
            self.cwnd = 1;
        }
        (self.grown, self.prr_out) = (0, 0);
        self.expiries += 1;
        self.high = self.next;
        self.state = State::Loss;
        self.events.push(Event::Loss { una: self.una, variables: self.variables() });
        Some(Fired::Retransmit(first.start, Trigger::Rto))
    }
}

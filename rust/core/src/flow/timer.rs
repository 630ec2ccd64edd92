//! Models of the retransmission timer, fed with the RTT samples at the tap.

/// The models in the order of `table::tcp::TIMERS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Flavour {
    /// RFC 6298: floor 1 s, clock granularity taken as 0.
    Rfc6298 = 0,
    /// Linux since 2.4: deviation floored at 200 ms over a window of one round trip, 4 ms ticks, at most 120 s.
    Linux = 1,
    /// Linux 2.2: smoothed by 1/8 and 1/4, a window-dependent factor, floor 200 ms, at most 120 s, backoff kept.
    Linux22 = 2,
}

const MS: i64 = 1_000_000;
/// The smallest retransmission timeout of a sender by default (Linux), and half of what RFC 6298 section 2.4 asks for is more; the RTT
/// adds to it.
pub const FIRST_TIMEOUT_NS: i64 = 200 * MS;
/// No timer of a sender is shorter, less the 10 % by which ticks round.
pub const LEAST_TIMEOUT_NS: i64 = FIRST_TIMEOUT_NS / 10 * 9;
/// No timer is longer: it may be bounded by this (RFC 6298 section 2.5).
pub const LONGEST_TIMEOUT_NS: i64 = 60_000 * MS;
/// The first timer of a SYN (RFC 6298 section 2.1), and the longest in use: 3 s (RFC 1122 section 4.2.3.1), and a tenth for ticks.
pub const SYN_TIMEOUT_NS: i64 = 1_000 * MS;
pub const SYN_TIMEOUT_MAX_NS: i64 = 3_300 * MS;
/// The timer after a SYN whose own expired, until a round trip is measured (RFC 6298 section 5.7).
pub const AFTER_LOST_SYN_NS: i64 = 3_000 * MS;
/// A receiver delays an ACK by less than this (RFC 9293 section 3.8.6.3).
pub const MOST_ACK_DELAY_NS: i64 = 500 * MS;
/// Shortest delayed-ACK stall: half of the minimum delay of Linux, 40 ms, and far above any processing time.
pub const DELAYED_ACK_NS: i64 = 25 * MS;
/// The same at the receiver's own tap, where no path is in the way: an ACK that nothing delays leaves in the interrupt of its data.
pub const HOST_DELAY_NS: i64 = 5 * MS;
/// Longest delayed-ACK stall: RFC 1122 section 4.2.3.2 allows 500 ms.
pub const DELAYED_ACK_MAX_NS: i64 = 550 * MS;
/// No path is longer than an hour; a larger sample is a clock error.
const LONGEST_RTT_NS: i64 = 3_600_000 * MS;
const FLAVOURS: [Flavour; 3] = [Flavour::Rfc6298, Flavour::Linux, Flavour::Linux22];

/// Smoothed RTT, its variation, and the timeouts that follow.
#[derive(Debug, Clone, Copy)]
pub struct Timer {
    srtt: Option<i64>,
    rttvar: i64,
    /// Linux: deviation, its maximum in this round trip, and the smoothed maximum.
    mdev: i64,
    mdev_max: i64,
    linux_var: i64,
    /// Linux: the round trip ends when this sequence number is acknowledged.
    round_end: i64,
    /// Sum of |ln(observed / model)| per flavour, and the number of expiries compared.
    misfit: [f64; 3],
    compared: u32,
}

impl Default for Timer {
    fn default() -> Self {
        Timer { srtt: None, rttvar: 0, mdev: 0, mdev_max: 0, linux_var: 0, round_end: 0, misfit: [0.0; 3], compared: 0 }
    }
}

impl Timer {
    pub fn srtt(&self) -> Option<i64> {
        self.srtt
    }

    pub fn rttvar(&self) -> Option<i64> {
        self.srtt.map(|_| self.rttvar)
    }

    /// A round trip of `rtt` ns, whose ACK covers up to `una` while `end` had been sent.
    pub fn sample(&mut self, rtt: i64, una: i64, end: i64) {
        let rtt = rtt.clamp(1, LONGEST_RTT_NS);
        let Some(srtt) = self.srtt else {
            self.srtt = Some(rtt);
            self.rttvar = rtt / 2;
            self.mdev = rtt / 2;
            self.mdev_max = self.mdev.max(200 * MS / 4);
            self.linux_var = self.mdev_max;
            self.round_end = end;
            return;
        };
        let error = rtt - srtt;
        self.rttvar += (error.abs() - self.rttvar) / 4;
        // Linux weighs the deviation of a falling RTT by a further 1/8, so that a shorter path does not raise the timeout.
        if error < 0 {
            let less = -error - self.mdev;
            self.mdev += if less > 0 { less / 32 } else { less / 4 };
        } else {
            self.mdev += (error - self.mdev) / 4;
        }
        self.mdev_max = self.mdev_max.max(self.mdev);
        self.linux_var = self.linux_var.max(self.mdev_max);
        if una > self.round_end {
            if self.mdev_max < self.linux_var {
                self.linux_var -= (self.linux_var - self.mdev_max) / 4;
            }
            self.round_end = end;
            self.mdev_max = 200 * MS / 4;
        }
        self.srtt = Some(srtt + error / 8);
    }

    /// The timeout of one flavour after `backoff` expiries; `cwnd` in segments matters to Linux 2.2 only.
    pub fn rto_of(&self, flavour: Flavour, backoff: u16, cwnd: i64) -> Option<i64> {
        let srtt = self.srtt?;
        let (base, max) = match flavour {
            Flavour::Rfc6298 => ((srtt + 4 * self.rttvar).max(1000 * MS), 60_000 * MS),
            Flavour::Linux => {
                // Rounded up to the 4 ms tick at which its timers run.
                let rto = srtt + 4 * self.linux_var;
                ((rto + 4 * MS - 1) / (4 * MS) * (4 * MS), 120_000 * MS)
            }
            Flavour::Linux22 => {
                let rto = srtt + 4 * self.mdev;
                let factor = rto / 4 + (rto >> (cwnd - 1).clamp(0, 40));
                ((rto + factor).max(200 * MS), 120_000 * MS)
            }
        };
        let shift = u32::from(backoff.min(20));
        Some(base.saturating_mul(1 << shift).min(max))
    }

    /// The flavour that fits the expiries so far; Linux before the first, the most common sender.
    pub fn flavour(&self) -> Flavour {
        if self.compared == 0 {
            return Flavour::Linux;
        }
        let mut best = Flavour::Linux;
        for f in FLAVOURS {
            if self.misfit[f as usize] < self.misfit[best as usize] * 0.999 {
                best = f;
            }
        }
        best
    }

    /// Whether an expiry has been compared with the models.
    pub fn fitted(&self) -> bool {
        self.compared > 0
    }

    /// An expiry was observed after `waited` ns: compare it with the models.
    pub fn observe_expiry(&mut self, waited: i64, backoff: u16, cwnd: i64) {
        if waited <= 0 || self.srtt.is_none() {
            return;
        }
        for f in FLAVOURS {
            if let Some(rto) = self.rto_of(f, backoff, cwnd) {
                self.misfit[f as usize] += (waited as f64 / rto as f64).ln().abs();
            }
        }
        self.compared += 1;
    }

    /// The timeout by the fitting flavour.
    pub fn rto(&self, backoff: u16, cwnd: i64) -> Option<i64> {
        self.rto_of(self.flavour(), backoff, cwnd)
    }

    /// The timeout without any floor, by the smaller of the deviations.
    pub fn shortest(&self) -> Option<i64> {
        self.srtt.map(|s| s + 4 * self.rttvar.min(self.mdev))
    }

    /// The minimum timeout of any known sender: no floor above the RTT itself.
    pub fn least(&self) -> Option<i64> {
        self.srtt.map(|s| s + self.rttvar.max(s / 8))
    }
}

//! Retransmission timeouts: the standard's and Linux's.

use crate::engine::{Ns, MS, S};

/// How a sender computes its timeout from RTT samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RtoFlavour {
    /// RFC 6298 with clock granularity and floor.
    Rfc6298 { floor: Ns, granularity: Ns },
    /// Linux since 2.6: the variance term has the floor, not the sum; slowly falling deviation; whole ticks of the
    /// timer's clock (0: none).
    Linux { floor: Ns, tick: Ns },
    /// Linux 2.4: the same, with every RTT sample measured in jiffies of 10 ms, at least one.
    Linux24,
    /// Linux 2.2: (srtt + 4 mdev)(1 + 1/4 + 2^-(cwnd-1)), at least 200 ms, at most 120 s (the idle-time study's equation).
    /// It keeps its backoff until nothing is outstanding; the study proposes to reset it with the first ACK of new data.
    Linux22 { keeps_backoff: bool },
}

impl RtoFlavour {
    pub fn linux() -> Self {
        RtoFlavour::Linux { floor: 200 * MS, tick: 0 }
    }
}

/// Linux 2.4's clock.
const JIFFY: Ns = 10 * MS;
/// Linux's minimum timeout (TCP_RTO_MIN).
const LINUX_FLOOR: Ns = 200 * MS;
/// No timeout is longer.
const CEILING: Ns = 120 * S;
/// Before the first sample (RFC 6298 section 2.1).
const INITIAL: Ns = S;

/// The estimator of one sender.
#[derive(Debug, Clone)]
pub struct Rto {
    flavour: RtoFlavour,
    srtt: Option<i64>,
    mdev: i64,
    /// Linux: the maximum deviation of this round trip, and the one in use.
    mdev_max: i64,
    rttvar: i64,
    /// Linux: the current round trip ends when this is acknowledged.
    round_ends: u64,
    /// Current backoff.
    pub backoff: u32,
    /// Linux 2.2: the timeout as doubled by its last expiry; the formula is not used before the next sample.
    running: Option<Ns>,
}

impl Rto {
    pub fn new(flavour: RtoFlavour) -> Self {
        Rto { flavour, srtt: None, mdev: 0, mdev_max: 0, rttvar: 0, round_ends: 0, backoff: 0, running: None }
    }

    pub fn srtt(&self) -> Option<Ns> {
        self.srtt.map(|s| s as Ns)
    }

    pub fn mdev(&self) -> Ns {
        self.mdev as Ns
    }

    /// A valid sample; `una` and `next` bound the window at its time.
    pub fn sample(&mut self, rtt: Ns, una: u64, next: u64) {
        self.running = None;
        let rtt = match self.flavour {
            RtoFlavour::Linux24 => (rtt / JIFFY).max(1) * JIFFY,
            _ => rtt,
        } as i64;
        let floor = match self.flavour {
            RtoFlavour::Linux { floor, .. } => floor as i64 / 4,
            RtoFlavour::Linux24 => LINUX_FLOOR as i64 / 4,
            _ => 0,
        };
        let bounded = floor > 0;
        let Some(srtt) = &mut self.srtt else {
            self.srtt = Some(rtt);
            self.mdev = rtt / 2;
            self.mdev_max = self.mdev.max(floor);
            self.rttvar = self.mdev_max;
            self.round_ends = next;
            return;
        };
        let error = rtt - *srtt;
        *srtt += error / 8;
        let mut step = error.abs() - self.mdev;
        if bounded {
            // A falling RTT must not raise the timeout: a falling deviation has a weight of an eighth.
            if error < 0 && step > 0 {
                step /= 8;
            }
        }
        self.mdev += step / 4;
        if bounded {
            if self.mdev > self.mdev_max {
                self.mdev_max = self.mdev;
                self.rttvar = self.rttvar.max(self.mdev_max);
            }
            if una > self.round_ends {
                if self.mdev_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.mdev_max) / 4;
                }
                self.round_ends = next;
                self.mdev_max = floor;
            }
        }
    }

    /// The timeout without backoff; `cwnd` in segments.
    pub fn fresh(&self, cwnd: u32) -> Ns {
        let Some(srtt) = self.srtt else { return INITIAL };
        let rto = match self.flavour {
            RtoFlavour::Rfc6298 { floor, granularity } => {
                (srtt + (4 * self.mdev).max(granularity as i64)).max(floor as i64)
            }
            RtoFlavour::Linux { tick, .. } => whole_ticks(srtt + 4 * self.rttvar, tick),
            RtoFlavour::Linux24 => whole_ticks(srtt + 4 * self.rttvar, JIFFY),
            RtoFlavour::Linux22 { .. } => {
                let base = srtt + 4 * self.mdev;
                // The shift by the window was not limited; from 32 segments on it adds nothing.
                let small = base.checked_shr(cwnd.saturating_sub(1)).unwrap_or(0);
                base + base / 4 + small
            }
        };
        (rto.max(0) as Ns).min(CEILING)
    }

    /// The current timeout.
    pub fn current(&self, cwnd: u32) -> Ns {
        self.running.unwrap_or_else(|| self.backed_off(cwnd, self.backoff))
    }

    /// The timer fired: the timeout doubles. Linux 2.2 doubles the running timer, not the formula's value for the new window.
    pub fn expired(&mut self, cwnd: u32) {
        if matches!(self.flavour, RtoFlavour::Linux22 { .. }) {
            self.running = Some((2 * self.current(cwnd)).min(CEILING));
        }
        self.backoff = (self.backoff + 1).min(16);
    }

    /// The timeout after this backoff.
    pub fn backed_off(&self, cwnd: u32, doublings: u32) -> Ns {
        let doubled = self.fresh(cwnd).checked_shl(doublings.min(16)).unwrap_or(CEILING).min(CEILING);
        match self.flavour {
            // The formula's value is doubled first and then limited.
            RtoFlavour::Linux22 { .. } => doubled.max(LINUX_FLOOR),
            _ => doubled,
        }
    }

    /// Whether the first ACK of new data after a timeout resets the backoff: not in Linux 2.2, which keeps it until
    /// nothing is outstanding.
    pub fn keeps_backoff(&self) -> bool {
        self.flavour == RtoFlavour::Linux22 { keeps_backoff: true }
    }
}

/// Rounded up to whole ticks of a clock.
fn whole_ticks(timeout: i64, tick: Ns) -> i64 {
    match tick as i64 {
        0 => timeout,
        tick => (timeout + tick - 1) / tick * tick,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The idle-time study's Table 2: the timeout for (srtt, mdev, cwnd, backoff).
    #[test]
    fn the_idle_time_studys_table() {
        let rto = |srtt: i64, mdev: i64, cwnd, backoff| {
            let r = Rto {
                srtt: Some(srtt * MS as i64),
                mdev: mdev * MS as i64,
                backoff,
                ..Rto::new(RtoFlavour::Linux22 { keeps_backoff: true })
            };
            r.current(cwnd) as f64 / 1e9
        };
        for (srtt, mdev, cwnd, backoff, printed) in
            [(400, 750, 2, 4, 95.2), (350, 660, 3, 4, 71.8), (310, 580, 4, 4, 57.9), (30, 10, 8, 0, 0.2)]
        {
            assert!((rto(srtt, mdev, cwnd, backoff) - printed).abs() < 0.05, "{}", rto(srtt, mdev, cwnd, backoff));
        }
        assert_eq!(rto(10_000, 10_000, 1, 10), 120.0);
        // The limit comes after the doublings: slightly above 87.5 ms, sixteen times.
        assert!((rto(30, 10, 8, 4) - 1.409).abs() < 0.001, "{}", rto(30, 10, 8, 4));
    }

    /// Rows 1 to 5: an expiry doubles the running timer, not the formula's value for a window of one; a sample uses it again.
    #[test]
    fn an_expiry_doubles_the_running_timer() {
        let mut r =
            Rto { srtt: Some(310_000_000), mdev: 580_000_000, ..Rto::new(RtoFlavour::Linux22 { keeps_backoff: true }) };
        let first = r.current(4);
        r.expired(4);
        assert_eq!((r.current(1), r.backoff), (2 * first, 1));
        r.sample(310 * MS, 0, 0);
        assert!(r.current(1) != 2 * first);
        (0..10).for_each(|_| r.expired(1));
        assert_eq!(r.current(1), CEILING);
    }

    /// One sample of three seconds changes 30/10 to 401/750 (the study's rows 5 and 6).
    #[test]
    fn one_late_sample() {
        let mut r =
            Rto { srtt: Some(30_000_000), mdev: 10_000_000, ..Rto::new(RtoFlavour::Linux22 { keeps_backoff: true }) };
        r.sample(3000 * MS, 0, 0);
        assert_eq!((r.srtt.unwrap() / 1_000_000, r.mdev / 1_000_000), (401, 750));
    }

    #[test]
    fn the_standards() {
        let mut r = Rto::new(RtoFlavour::Rfc6298 { floor: S, granularity: MS });
        assert_eq!(r.current(1), S);
        r.sample(100 * MS, 0, 0);
        // 100 + 4 * 50 = 300 ms, below the floor.
        assert_eq!((r.fresh(1), r.srtt()), (S, Some(100 * MS)));
        r.backoff = 3;
        assert_eq!(r.current(1), 8 * S);
        let mut l = Rto::new(RtoFlavour::linux());
        (0..50).for_each(|i| l.sample(20 * MS, i, i + 10));
        assert_eq!(l.fresh(1), 220 * MS);
        let mut ticking = Rto::new(RtoFlavour::Linux { floor: 200 * MS, tick: 4 * MS });
        ticking.sample(21 * MS, 0, 1);
        assert_eq!(ticking.fresh(1), 224 * MS);
    }

    /// Linux 2.4 measures in jiffies of 10 ms: 1 ms and 19 ms are both one of them.
    #[test]
    fn linux_24_counts_jiffies() {
        for rtt in [MS, 19 * MS] {
            let mut r = Rto::new(RtoFlavour::Linux24);
            (0..50).for_each(|i| r.sample(rtt, i, i + 10));
            assert_eq!((r.srtt(), r.fresh(1)), (Some(10 * MS), 210 * MS));
        }
    }
}

//! The least times of the path. What the bytes of a segment add is not part of them: few round trips tell it from waiting for the air.

use super::sender_state::SenderState;

/// The next of n + 1 equal draws is the least of all in one of n + 1 cases: fewer round trips than this say little of the least.
const STEADY_SAMPLES: u64 = 10;

impl SenderState {
    /// Whether so many round trips were measured that the least of them is near that of the path.
    pub fn is_steady(&self) -> bool {
        self.tally.rtt_samples >= STEADY_SAMPLES
    }

    /// Whether the capture shows between which ends the tap is: by the handshake, by echoed timestamps, or by a sender that answers at once.
    pub fn tap_is_known(&self) -> bool {
        let answers = || self.reaction.zip(self.rtt_least).is_some_and(|(there, back)| there.saturating_mul(10) < back);
        self.rtt_whole.is_some() || self.loop_least.is_some() || answers()
    }

    /// How long data is outstanding by `t`: a round trip takes that at least.
    pub fn outstanding_ns(&self, t: i64) -> i64 {
        self.head_sent.filter(|_| self.flight() > 0).map_or(0, |sent| t - sent)
    }

    /// The minimum RTT, where it is that of a path. With the tap near the receiver it is the receiver's ACK delay, and a segment that
    /// fills a hole is acknowledged at once (RFC 5681 section 4.2).
    pub fn least_path(&self) -> Option<i64> {
        // A queue that stood when this connection was measured may have drained: other connections of the hosts show it.
        let known = |least: i64| if self.pair_now > 0 { least.min(self.pair_now) } else { least };
        self.rtt_least.filter(|_| !self.near_receiver && self.tap_is_known()).map(known)
    }

    /// The minimum RTT of a packet without payload: without the time that the bytes of a full segment took.
    pub fn least_small(&self) -> Option<i64> {
        let payload = if self.rtt_least_small { 0 } else { self.segment };
        self.least_path().map(|l| (l - self.ns_per_kib.unwrap_or(0).saturating_mul(payload) / 1024).max(0))
    }
}

//! The least times of the path, for segments of any size.

use super::sender_state::SenderState;

/// The next of n + 1 equal draws is the least of all in one of n + 1 cases: fewer round trips than this say little of the least.
const STEADY_SAMPLES: u64 = 10;

impl SenderState {
    /// Whether so many round trips were measured that the least of them is near that of the path.
    pub fn is_steady(&self) -> bool {
        self.tally.rtt_samples >= STEADY_SAMPLES
    }

    /// The minimum time in which a segment of this many bytes can be acknowledged.
    pub fn least_for(&self, bytes: i64) -> Option<i64> {
        self.least_path().map(|l| l + self.spare_ns_per_kib().saturating_mul(bytes) / 1024)
    }

    /// Whether the capture shows between which ends the tap is: by the handshake, by echoed timestamps, or by a sender that answers at once.
    pub fn tap_is_known(&self) -> bool {
        let answers = || self.reaction.zip(self.rtt_least).is_some_and(|(there, back)| there.saturating_mul(10) < back);
        self.rtt_whole.is_some() || self.loop_least.is_some() || answers()
    }

    /// The minimum RTT, where it is that of a path. With the tap near the receiver it is the receiver's ACK delay, and a segment that
    /// fills a hole is acknowledged at once (RFC 5681 section 4.2).
    pub fn least_path(&self) -> Option<i64> {
        self.rtt_least.filter(|_| !self.near_receiver && self.tap_is_known())
    }

    /// The minimum RTT of a packet without payload: without the time that the bytes of a full segment took.
    pub fn least_small(&self) -> Option<i64> {
        let payload = if self.rtt_least_small { 0 } else { self.segment };
        self.least_path().map(|l| (l - self.ns_per_kib.unwrap_or(0).saturating_mul(payload) / 1024).max(0))
    }

    /// What each KiB of a segment adds to the minimum RTT: half of the measured value, since queues may be part of it, and nothing
    /// if the minimum RTT was itself measured with a full segment.
    pub fn spare_ns_per_kib(&self) -> i64 {
        if self.rtt_least_small && self.is_steady() {
            self.prompt_ns_per_kib.unwrap_or(0) / 2
        } else {
            0
        }
    }
}

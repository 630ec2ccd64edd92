//! Frames that wait for their exchange, which shows whether the transmission failed.

use super::purpose::{DELIVERED, RETRY, UNPROVEN};

/// Result of one transmission: the code of the exchange's outcome.
pub const ARRIVED: u8 = 0;
pub const FAILED: u8 = 1;

/// A frame, as far as the sums need it.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    pub station: u32,
    pub t_ns: Option<i64>,
    pub airtime_ns: i64,
    pub packet: u64,
    /// Its purpose if its transmission succeeds.
    pub base: u8,
    pub retry: bool,
}

/// Frames without their exchange, and exchanges without their frames, in file order.
#[derive(Debug, Default)]
pub struct Pending {
    pub frames: Vec<Waiting>,
    /// Transmissions whose result is known: packet and result.
    pub answers: Vec<(u64, u8)>,
}

impl Pending {
    /// Take out the frames that are decided, with their purpose; of the others the latest `keep` go on waiting.
    ///
    /// A frame that ends its wait without an exchange is a retry if its Retry bit is set, else its arrival is unproven.
    pub fn settle(&mut self, keep: usize, mut decided: impl FnMut(&Waiting, u8)) {
        let mut answers = std::mem::take(&mut self.answers);
        answers.sort_by_key(|answer| answer.0);
        let until = self.frames.len().saturating_sub(keep);
        let mut place = 0;
        self.frames.retain({
            let mut at = 0;
            move |frame| {
                // Packet numbers rise as a rule: the search goes on where the last one ended.
                if at > 0 && answers[at - 1].0 >= frame.packet {
                    at = answers.partition_point(|a| a.0 < frame.packet);
                }
                while answers.get(at).is_some_and(|a| a.0 < frame.packet) {
                    at += 1;
                }
                let result = answers.get(at).filter(|a| a.0 == frame.packet).map(|a| a.1);
                place += 1;
                if result.is_none() && place > until {
                    return true;
                }
                let purpose = match result {
                    Some(FAILED) => RETRY,
                    None if frame.retry => RETRY,
                    Some(ARRIVED) => frame.base,
                    _ if frame.base == DELIVERED => UNPROVEN,
                    _ => frame.base,
                };
                decided(frame, purpose);
                false
            }
        });
    }
}

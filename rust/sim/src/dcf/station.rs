//! One station: its configuration, queue, backoff and current frame.

use std::collections::VecDeque;

use super::frame::{Msdu, StationId};
use crate::engine::Ns;
use crate::phy::{Preamble, Rate};
use crate::rate::RateControl;
use crate::rng::Rng;

/// The configuration of one station's MAC.
#[derive(Debug, Clone)]
pub struct MacConfig {
    pub cw_min: u16,
    pub cw_max: u16,
    /// Transmissions of an RTS, or of a frame without RTS; and of a frame after its CTS (clause 10.3.4.4).
    pub short_retry_limit: u32,
    pub long_retry_limit: u32,
    /// Frames longer than this are preceded by RTS.
    pub rts_threshold_bytes: u32,
    pub preamble: Preamble,
    /// Rate of RTS, CTS and ACK.
    pub control_rate: Rate,
    /// Frames in the queue, including the one in transmission.
    pub queue_frames: usize,
    /// Back off after every transmission, not only if the medium is busy before the next.
    pub post_backoff: bool,
}

impl Default for MacConfig {
    fn default() -> Self {
        MacConfig {
            cw_min: 31,
            cw_max: 1023,
            short_retry_limit: 7,
            long_retry_limit: 4,
            rts_threshold_bytes: u32::MAX,
            preamble: Preamble::Long,
            control_rate: Rate::R2,
            queue_frames: 100,
            post_backoff: true,
        }
    }
}

#[derive(Debug)]
pub(super) struct Current {
    pub(super) msdu: Msdu,
    pub(super) seq: u16,
    pub(super) attempts: u32,
    /// The MPDU itself was transmitted.
    pub(super) aired: bool,
    pub(super) short_retries: u32,
    pub(super) long_retries: u32,
}

#[derive(Debug)]
pub(super) struct Station {
    pub(super) config: MacConfig,
    pub(super) rates: Box<dyn RateControl>,
    pub(super) rng: Rng,
    pub(super) queue: VecDeque<Msdu>,
    pub(super) current: Option<Current>,
    /// An MSDU is in transmission until then and still occupies its place in the queue.
    pub(super) finishing_until: Ns,
    pub(super) next_seq: u16,
    pub(super) cw: u16,
    /// Slots left to count down; None: no backoff.
    pub(super) backoff: Option<u32>,
    /// When it starts to count slots: the end of the busy medium plus its interframe space.
    pub(super) count_from: Ns,
    /// It starts no transmission before: a stalled access point.
    pub(super) stalled_until: Ns,
    /// The latest sequence number received from each station: a second copy is not handed up.
    pub(super) last_seq: Vec<Option<u16>>,
}

impl Station {
    /// A station with an empty queue that counts slots from `count_from` on.
    pub(super) fn new(config: MacConfig, rates: Box<dyn RateControl>, rng: Rng, count_from: Ns) -> Self {
        Station {
            cw: config.cw_min,
            config,
            rates,
            rng,
            queue: VecDeque::new(),
            current: None,
            finishing_until: 0,
            next_seq: 0,
            backoff: None,
            count_from,
            stalled_until: 0,
            last_seq: Vec::new(),
        }
    }

    /// Take the next MSDU from the queue.
    pub(super) fn load(&mut self) {
        let Some(msdu) = self.queue.pop_front() else { return };
        let seq = self.next_seq;
        self.next_seq = (seq + 1) % 4096;
        self.current = Some(Current { msdu, seq, attempts: 0, aired: false, short_retries: 0, long_retries: 0 });
    }

    pub(super) fn draw_backoff(&mut self) {
        self.backoff = Some(self.rng.below(u32::from(self.cw) + 1));
    }

    /// When it will start to send, if nothing comes between.
    pub(super) fn starts(&self, slot: Ns) -> Option<Ns> {
        self.current.as_ref()?;
        let at = self.count_from + u64::from(self.backoff.unwrap_or(0)) * slot;
        Some(at.max(self.stalled_until))
    }

    /// The medium is taken: keep what is left of the backoff.
    pub(super) fn freeze(&mut self, now: Ns, slot: Ns) {
        let counted = now.saturating_sub(self.count_from) / slot;
        if let Some(b) = self.backoff {
            let left = u64::from(b).saturating_sub(counted);
            // A backoff that ran out without a frame to send is over; one with a frame was kept by a stall.
            self.backoff = if left == 0 && self.current.is_none() { None } else { Some(left as u32) };
        }
    }

    pub(super) fn wait_from(&mut self, at: Ns, space: Ns) {
        self.count_from = at + space;
    }

    /// Whether this sequence number is not a second copy.
    pub(super) fn is_new(&mut self, from: StationId, seq: u16) -> bool {
        if self.last_seq.len() <= from {
            self.last_seq.resize(from + 1, None);
        }
        self.last_seq[from].replace(seq) != Some(seq)
    }
}

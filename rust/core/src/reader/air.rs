//! The tables of 802.11 captures.

use super::decoded::{Decoded, Held};
use crate::airtime::Timing;
use crate::exchange;
use crate::frame::Frame;
use crate::networks::Networks;
use crate::table::frames::FrameTable;

/// Frames passed on at a time, because the instructions of all trackers together do not fit into a first-level cache.
const BLOCK: usize = 64;

#[derive(Default)]
pub struct Air {
    pub timing: Timing,
    pub frames: FrameTable,
    pub exchanges: exchange::Tracker,
    pub networks: Networks,
}

impl Air {
    /// Pass on the frames of some records, whose packets are tracked; `track`: beyond their own rows.
    pub fn pass_on(&mut self, decoded: &mut Decoded, track: bool) {
        let Decoded { frames, bodies, rows, start_ns, .. } = decoded;
        for block in frames.chunks_mut(BLOCK) {
            for Held { frame, .. } in &mut *block {
                self.push(frame, *start_ns);
            }
            for Held { frame, body, row } in block.iter().filter(|_| track) {
                let body = &bodies[body.clone()];
                let flow = row.and_then(|row| rows[row].flow);
                self.exchanges.observe(frame, body, flow, *start_ns);
                self.networks.observe(frame, body, *start_ns);
            }
        }
    }

    fn push(&mut self, frame: &mut Frame, start_ns: i64) {
        self.timing.observe(frame, self.frames.len());
        self.frames.push(frame, start_ns);
        self.settle();
    }

    /// Set values that became known after their rows were pushed.
    pub fn settle(&mut self) {
        for (row, ifs_ns) in self.timing.settled() {
            self.frames.set_ifs(row, ifs_ns);
        }
    }
}

//! The tables of 802.11 captures, and the frames that wait for them.
//!
//! Frames and their packets are passed on some at a time, because the instructions of the decoders, of the TCP tracker and of the
//! exchange tracker together do not fit into a first-level cache.

use std::ops::Range;

use crate::airtime::Timing;
use crate::exchange;
use crate::flow::FlowId;
use crate::frame::Frame;
use crate::networks::Networks;
use crate::table::frames::FrameTable;

/// Frames that wait at most.
const WAITING: usize = 64;

/// The connection of the last packet of a record, or the row of the packets' block in which it will be.
#[derive(Debug, Clone, Copy)]
pub enum LastFlow {
    Known(Option<FlowId>),
    Row(usize),
}

struct Waiting {
    frame: Frame,
    /// Its place in `bodies`.
    body: Range<usize>,
    flow: LastFlow,
    start_ns: i64,
}

/// The tables of 802.11 captures.
#[derive(Default)]
pub struct Air {
    pub timing: Timing,
    pub frames: FrameTable,
    pub exchanges: exchange::Tracker,
    pub networks: Networks,
    waiting: Vec<Waiting>,
    bodies: Vec<u8>,
}

impl Air {
    /// Hold a frame; returns whether those that wait must be passed on. `body`: what was captured after its MAC header.
    pub fn hold(&mut self, frame: &Frame, body: &[u8], flow: LastFlow, start_ns: i64) -> bool {
        // The trackers read nothing in the bodies of data frames.
        let body = if frame.is_data() { &[] } else { body };
        let begin = self.bodies.len();
        self.bodies.extend_from_slice(body);
        self.waiting.push(Waiting { frame: *frame, body: begin..self.bodies.len(), flow, start_ns });
        self.waiting.len() >= WAITING
    }

    /// Pass on the frames that wait. `flow_of`: the connection in a row of the packets' block; `track`: beyond their own rows.
    pub fn pass_on(&mut self, flow_of: impl Fn(usize) -> Option<FlowId>, track: bool) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for Waiting { frame, start_ns, .. } in &mut waiting {
            self.timing.observe(frame, self.frames.len());
            self.frames.push(frame, *start_ns);
            self.settle();
        }
        for Waiting { frame, body, flow, start_ns } in waiting.drain(..).filter(|_| track) {
            let body = &self.bodies[body];
            let flow = match flow {
                LastFlow::Known(flow) => flow,
                LastFlow::Row(row) => flow_of(row),
            };
            self.exchanges.observe(&frame, body, flow, start_ns);
            self.networks.observe(&frame, body, start_ns);
        }
        self.bodies.clear();
        self.waiting = waiting;
    }

    /// Set values that became known after their rows were pushed.
    pub fn settle(&mut self) {
        for (row, ifs_ns) in self.timing.settled() {
            self.frames.set_ifs(row, ifs_ns);
        }
    }
}

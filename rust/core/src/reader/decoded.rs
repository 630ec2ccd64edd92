//! What some records of a capture hold, in their order, before anything is tracked.

use std::ops::Range;

use crate::frame::Frame;
use crate::packet::Packet;
use crate::table::packets::Row;
use crate::urb::UrbEvent;
use crate::wire::Sink;

/// An 802.11 frame, with the place of what was captured after its MAC header, and the row of its last packet.
pub struct Held {
    pub frame: Frame,
    pub body: Range<usize>,
    pub row: Option<usize>,
}

/// Packets, frames and URBs of some records: none needs more of the others than the connection of a frame's last packet.
#[derive(Default)]
pub struct Decoded {
    /// How many records it is.
    pub records: usize,
    pub start_ns: i64,
    pub rows: Vec<Row>,
    pub frames: Vec<Held>,
    pub bodies: Vec<u8>,
    pub urbs: Vec<UrbEvent>,
    /// Rows before the record that is being decoded.
    before: usize,
}

impl Decoded {
    /// A record that can be decoded follows; `start_ns` is the trace's start.
    #[inline]
    pub fn begin_record(&mut self, start_ns: i64) {
        (self.start_ns, self.before) = (start_ns, self.rows.len());
    }

    /// Whether the latest record held a packet.
    #[inline]
    pub fn has_packet(&self) -> bool {
        self.rows.len() > self.before
    }

    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    pub fn clear(&mut self) {
        self.records = 0;
        self.rows.clear();
        self.frames.clear();
        self.bodies.clear();
        self.urbs.clear();
    }
}

impl Sink for Decoded {
    fn packet(&mut self, p: &Packet) {
        self.rows.push(Row::new(p, self.start_ns));
    }

    fn frame(&mut self, frame: &mut Frame, body: &[u8]) {
        // The trackers read nothing in the bodies of data frames.
        let body = if frame.is_data() { &[] } else { body };
        let begin = self.bodies.len();
        self.bodies.extend_from_slice(body);
        let row = self.has_packet().then(|| self.rows.len() - 1);
        self.frames.push(Held { frame: *frame, body: begin..self.bodies.len(), row });
    }

    fn urb(&mut self, event: &UrbEvent) {
        self.urbs.push(*event);
    }
}

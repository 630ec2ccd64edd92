//! The receiver of what is decoded.

use crate::frame::Frame;
use crate::packet::Packet;
use crate::urb::UrbEvent;

/// Takes the results of a record.
pub trait Sink {
    /// Every IP packet; an A-MSDU holds several.
    fn packet(&mut self, packet: &Packet);

    /// The 802.11 frame that the record is, after its packets; `body` is what was captured after the MAC header,
    /// without the FCS. The sink sets what it knows about the frame's time.
    fn frame(&mut self, _frame: &mut Frame, _body: &[u8]) {}

    /// The USB record, after its packets.
    fn urb(&mut self, _event: &UrbEvent) {}
}

/// A closure takes only the packets.
impl<F: FnMut(&Packet)> Sink for F {
    fn packet(&mut self, packet: &Packet) {
        self(packet);
    }
}

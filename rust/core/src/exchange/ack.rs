//! ACKs. An ACK has only a receiver address: it belongs to the frame right before it, or to a frame that was missed.

use super::air::Kind;
use super::open::inference;
use super::station::bits;
use super::Tracker;
use crate::frame::Frame;
use crate::notes::NoteKind;

impl Tracker {
    pub(super) fn ack(&mut self, f: &Frame) {
        let Some(to) = f.ra() else {
            self.air.note(f, Kind::Other);
            return;
        };
        let before = *self.air.before(f);
        let answers = before.ta == bits(to) && before.answered_by(f);
        match before.kind {
            Kind::Sent if answers => {
                if let Some(e) = self.queue.get_mut(before.id) {
                    e.acknowledge(f.number, f.time_ns);
                    if let (Some(s), Some(number)) = (self.streams.get_mut(before.stream), e.number) {
                        s.window.answered(number, before.id);
                    }
                }
            }
            Kind::Asked if answers => {}
            // Captured by a second radio.
            Kind::Ack if before.ra == bits(to) && before.answered_by(f) => {}
            kind => {
                let ra = (kind == Kind::Cts && bits(before.rts_ta) == bits(to)).then_some(before.rts_ra);
                self.notes.add(NoteKind::LoneAck, f.number, 0);
                self.unnumbered(f, to, ra, inference::LONE_ACK);
            }
        }
        self.air.note(f, Kind::Ack);
    }
}

//! From frames to exchanges: every attempt to bring one MPDU from station to station, and what became of it.
//!
//! A sniffer misses frames and ACKs, so a row says what was seen and what follows from it, and is silent on the rest:
//!
//! * A frame belongs to the exchange of its transmitter, receiver, kind of counter (TID, non-QoS data, management, QoS
//!   Null) and sequence and fragment number, as long as that is open: at most `limits::EXCHANGE_NS` of silence, and
//!   until its number is a window after. Without the Retry bit and of another length it is the next use of a number.
//! * A frame whose FCS is wrong belongs to none: nothing vouches for its addresses. It parts the frames around it, so
//!   that an ACK after it is the ACK of a frame not seen.
//! * Group-addressed frames, Action No Ack and the No Ack policy have no answer: `acked` is null, the outcome unknown.
//! * What was not seen is inferred where a sign of it was seen (`infer`); the outcome is judged when the exchange is
//!   over (`outcome`).

mod ack;
mod air;
mod block_ack;
mod infer;
mod open;
mod outcome;
mod rows;
mod sequenced;
mod station;
mod stream;
#[cfg(test)]
mod tests;

use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use crate::frame::{control, subtype, Frame};
use crate::limits;
use crate::notes::{NoteKind, Notes};
use air::{Air, Kind};
use open::Queue;
use rows::Rows;
use station::Stations;
use stream::Streams;

/// Follows the stations of one capture.
#[derive(Debug, Default)]
pub struct Tracker {
    stations: Stations,
    streams: Streams,
    queue: Queue,
    air: Air,
    /// Station of an access point's association identifier.
    associations: FxHashMap<(u64, u16), crate::frame::Mac>,
    /// The capture's time, as far as its frames tell.
    now_ns: i64,
    /// Rows made of missing frames since the last hand-out.
    inferred_rows: usize,
    rows: Rows,
    notes: Notes,
}

impl Tracker {
    /// The next frame of the capture; `body` is what was captured after its MAC header, `flow` the TCP connection of
    /// the segment it carries and whether that goes from b to a. `start_ns` is the trace's start.
    pub fn observe(&mut self, frame: &Frame, body: &[u8], flow: Option<(u32, bool)>, start_ns: i64) {
        self.rows.start_ns = start_ns;
        self.now_ns = frame.time_ns.unwrap_or(self.now_ns);
        self.settle();
        if frame.fcs_ok == Some(false) {
            self.damaged(frame);
            return;
        }
        self.reservation_over(frame);
        match frame.kind() {
            Some(control::DATA | control::MANAGEMENT) => self.sequenced(frame, body, flow),
            Some(control::CONTROL) => self.control(frame, body),
            _ => {
                self.air.note(frame, Kind::Other);
            }
        }
    }

    fn control(&mut self, f: &Frame, body: &[u8]) {
        match f.subtype() {
            Some(subtype::ACK) => self.ack(f),
            Some(subtype::BLOCK_ACK) => self.block_ack(f, body),
            Some(subtype::BLOCK_ACK_REQUEST) => self.block_ack_request(f, body),
            Some(subtype::PS_POLL) => {
                self.air.note(f, Kind::Asked);
            }
            Some(subtype::RTS) => self.rts(f),
            Some(subtype::CTS) => self.cts(f),
            _ => {
                self.air.note(f, Kind::Other);
            }
        }
    }

    /// A frame with a wrong FCS: it tells that something was sent, and nothing else.
    fn damaged(&mut self, f: &Frame) {
        let before = self.air.before(f);
        if before.kind != Kind::Cts && !before.shares_ppdu(f) {
            self.air.note(f, Kind::Damaged);
        }
    }

    /// Write the exchanges that are over, the oldest first.
    fn settle(&mut self) {
        while let Some((_, e)) = self.queue.oldest() {
            let over = e.closed
                || self.now_ns.saturating_sub(e.heard_ns) > limits::EXCHANGE_NS
                || self.now_ns.saturating_sub(e.opened_ns) > limits::EXCHANGE_LIFE_NS;
            if !over {
                if self.queue.len() <= limits::OPEN_EXCHANGES {
                    break;
                }
                self.notes.add(NoteKind::ExchangesEvicted, e.first_packet, 0);
            }
            self.write_oldest();
        }
    }

    fn write_oldest(&mut self) {
        let Some((id, e)) = self.queue.oldest() else { return };
        if let (Some(stream), Some(number)) = (self.streams.get_mut(e.stream), e.number) {
            stream.window.remove(number, id);
            let outcome = outcome::judge(e, number, stream);
            self.rows.push(e, outcome, &self.queue, &mut self.stations);
            if e.seen == 0 {
                self.notes.add(NoteKind::MissingSequence, e.first_packet, 0);
            }
        } else if !e.withdrawn {
            self.rows.push(e, outcome::of_unnumbered(e), &self.queue, &mut self.stations);
        }
        self.queue.drop_oldest();
    }

    /// Too many stations to follow: settle everything and start again.
    fn start_again(&mut self, packet: u64) {
        self.notes.add_many(NoteKind::ExchangesEvicted, self.queue.len() as u64, packet, 0);
        while self.queue.len() > 0 {
            self.write_oldest();
        }
        self.streams.clear();
        self.stations.clear();
        self.air = Air::default();
    }

    fn make_room(&mut self, packet: u64) {
        if self.streams.len() >= limits::AIR_STREAMS || self.stations.len() >= limits::AIR_STATIONS {
            self.start_again(packet);
        }
    }

    /// Emit the rows that are settled.
    pub fn drain(&mut self, out: &mut Vec<(&'static str, RecordBatch)>) {
        self.inferred_rows = 0;
        self.rows.hand_out(out);
    }

    /// The capture has ended: emit everything.
    pub fn finish(&mut self, out: &mut Vec<(&'static str, RecordBatch)>) {
        while self.queue.len() > 0 {
            self.write_oldest();
        }
        self.rows.hand_out(out);
    }

    pub fn notes(&self) -> &Notes {
        &self.notes
    }
}

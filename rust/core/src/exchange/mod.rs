//! From frames to exchanges: all transmissions of one MPDU between two stations, and the outcome.
//!
//! A sniffer misses frames and ACKs, so a row contains what was captured and what can be inferred, and null otherwise:
//!
//! * A frame belongs to the exchange with its transmitter, receiver, kind of counter (TID, non-QoS data, management, QoS
//!   Null), sequence and fragment number, as long as that is open: until `limits::EXCHANGE_NS` without a frame, or
//!   until the counter is a window ahead. Without the Retry bit and with another length it is the next use of a number.
//! * A frame with a wrong FCS belongs to none: its addresses are uncertain. It separates the frames around it, so
//!   an ACK after it is the ACK of a missed frame.
//! * Group-addressed frames, Action No Ack and the No Ack policy have no response: `acked` is null, the outcome unknown.
//! * Missed frames are inferred from evidence (`infer`); the outcome is decided when the exchange
//!   ends (`outcome`).

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

/// Tracks the stations of one capture.
#[derive(Debug, Default)]
pub struct Tracker {
    stations: Stations,
    streams: Streams,
    queue: Queue,
    air: Air,
    /// Station of an access point's association identifier.
    associations: FxHashMap<(u64, u16), crate::frame::Mac>,
    /// The time of the capture according to its frames.
    now_ns: i64,
    /// Rows inferred for missed frames since the last batch.
    inferred_rows: usize,
    rows: Rows,
    notes: Notes,
}

impl Tracker {
    /// Process the next frame; `body` is what was captured after its MAC header, `flow` the TCP connection of its segment
    /// and whether that goes from b to a. `start_ns` is the trace's start.
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

    /// A frame with a wrong FCS: it shows only that something was sent.
    fn damaged(&mut self, f: &Frame) {
        let before = self.air.before(f);
        if before.kind != Kind::Cts && !before.shares_ppdu(f) {
            self.air.note(f, Kind::Damaged);
        }
    }

    /// Write the exchanges that have ended, the oldest first.
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

    /// Too many stations: end all exchanges and start again.
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

    /// Emit the rows of ended exchanges.
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

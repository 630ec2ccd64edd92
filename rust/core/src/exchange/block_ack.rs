//! Block Acks joined with the MPDUs that they acknowledge (IEEE 802.11-2020 clause 10.25).

use super::air::Kind;
use super::open::{inference, Id};
use super::station::{bits, is_group};
use super::stream::{ahead, past, Class, NUMBERS};
use super::Tracker;
use crate::frame::{Frame, Mac};
use crate::limits;
use crate::notes::NoteKind;
use crate::wire::block_ack::{self, Bits, Said, To};

/// TID of the Ack of a management frame.
const TID_MANAGEMENT: u8 = 15;

impl Tracker {
    pub(super) fn block_ack(&mut self, f: &Frame, body: &[u8]) {
        let before = *self.air.before(f);
        let (Some(ra), Some(ta)) = (f.ra(), f.ta()) else {
            self.air.note(f, Kind::Other);
            return;
        };
        self.make_room(f.number);
        let whole = block_ack::read(body, |to, said| {
            let originator = match to {
                To::Receiver => Some(ra),
                To::Station(mac) => Some(mac),
                To::Aid(_) if !is_group(ra) => Some(ra),
                To::Aid(aid) => self.associations.get(&(bits(ta), aid)).copied(),
            };
            let Some(originator) = originator.filter(|mac| !is_group(*mac)) else { return };
            // The PPDU to which it responds immediately, if that was captured.
            let direct = before.kind == Kind::Sent
                && before.ta == bits(originator)
                && before.ra == bits(ta)
                && before.answered_by(f);
            let ppdu = direct.then_some(before.ppdu);
            match said {
                Said::Bitmap { tid, first_seq, bits } => self.bitmap(f, originator, ta, tid, first_seq, bits, ppdu),
                Said::Ack { tid: TID_MANAGEMENT } => self.ack_of_ppdu(f, originator, ta, Class::MANAGEMENT, ppdu),
                Said::Ack { tid } => self.ack_of_ppdu(f, originator, ta, Class::qos(tid), ppdu),
                Said::AllAck => {
                    for tid in 0..8 {
                        self.ack_of_ppdu(f, originator, ta, Class::qos(tid), ppdu);
                    }
                    self.ack_of_ppdu(f, originator, ta, Class::MANAGEMENT, ppdu);
                }
            }
        });
        if !whole {
            self.notes.add(NoteKind::BlockAckMalformed, f.number, 0);
        }
        self.air.note(f, Kind::Other);
    }

    /// Everything in the previous PPDU arrived.
    fn ack_of_ppdu(&mut self, f: &Frame, from: Mac, to: Mac, class: Class, ppdu: Option<u32>) {
        let (Some(stream), Some(ppdu)) = (self.streams.find(from, to, class), ppdu) else { return };
        let mut slot = 0;
        while let Some((at, id)) = self.waiting(stream, slot) {
            slot = at + 1;
            if self.queue.get(id).is_some_and(|e| e.seen > 0 && e.ppdu == ppdu) {
                self.deliver(stream, id, f);
            }
        }
    }

    /// The next exchange of a stream that waits for its acknowledgment.
    fn waiting(&self, stream: u32, slot: usize) -> Option<(usize, Id)> {
        self.streams.get(stream)?.window.next_waiting(slot)
    }

    /// A bit is set for this exchange.
    fn deliver(&mut self, stream: u32, id: Id, f: &Frame) {
        let Some(e) = self.queue.get_mut(id) else { return };
        if e.refused && e.seen > 0 {
            // The last captured transmission did not arrive: another one did.
            e.infer(inference::BLOCK_ACK);
        }
        if e.seen == 0 {
            e.inferred_by = inference::BLOCK_ACK;
        }
        e.acknowledge(f.number, f.time_ns);
        if let (Some(s), Some(number)) = (self.streams.get_mut(stream), e.number) {
            s.window.answered(number, id);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn bitmap(&mut self, f: &Frame, from: Mac, to: Mac, tid: u8, first_seq: u16, bits: Bits<'_>, ppdu: Option<u32>) {
        let stream = self.streams.intern(from, to, Class::qos(tid), &mut self.stations);
        let Some(s) = self.streams.get_mut(stream) else { return };
        let queue = &self.queue;
        s.window.grow(usize::from(bits.len()), |id| queue.get(id).and_then(|e| e.number));
        let Some(head) = s.head else {
            // The bits may be of frames before the capture: only the counter's position is new.
            if let Some(last) = bits.last() {
                s.anchor(first_seq.wrapping_add(last) & (NUMBERS - 1) as u16);
            }
            return;
        };
        let d = ahead(first_seq, head);
        if d < -(2 * s.window.len() as i32) {
            // The counter restarted.
            if let Some(last) = bits.last() {
                s.anchor(first_seq.wrapping_add(last) & (NUMBERS - 1) as u16);
            }
            return;
        }
        let first = head.wrapping_add_signed(d);
        if let Some(last) = bits.last().map(|last| first.wrapping_add(u32::from(last))) {
            if past(last, head) > 0 {
                self.beyond(f, stream, head, first, last, bits);
            }
        }
        let mut slot = 0;
        while let Some((next, id)) = self.waiting(stream, slot) {
            slot = next + 1;
            let Some(e) = self.queue.get_mut(id) else { continue };
            let at = e.number.map_or(-1, |n| past(n, first));
            if !(0..i32::from(bits.len())).contains(&at) {
                continue;
            }
            let at = at as u16;
            let arrived = if e.seen == 0 { bits.any(at) } else { bits.get(at, e.fragment) };
            if arrived {
                self.deliver(stream, id, f);
            } else if e.seen > 0 && ppdu == Some(e.ppdu) {
                e.refused = true;
            }
        }
    }

    /// Numbers without earlier evidence: those that arrived, and those that must have been sent between them.
    fn beyond(&mut self, f: &Frame, stream: u32, head: u32, first: u32, last: u32, bits: Bits<'_>) {
        let Some(s) = self.streams.get_mut(stream) else { return };
        s.head = Some(last);
        let before = past(first, head) - 1;
        let mut missing = 0;
        if before > limits::SEQUENCE_GAP as i32 {
            self.notes.add(NoteKind::SequenceSkipped, f.number, 0);
        } else if before > 0 {
            missing += self.miss(stream, head.wrapping_add(1), before as u32, f.number, inference::SEQUENCE_GAP);
        }
        for at in 0..bits.len() {
            let number = first.wrapping_add(u32::from(at));
            if past(number, head) <= 0 || past(number, last) > 0 {
                continue;
            }
            let by = if bits.any(at) { inference::BLOCK_ACK } else { inference::SEQUENCE_GAP };
            missing += u32::from(self.miss_one(stream, number, f.number, by).is_some());
        }
        self.explain_reservations(stream, missing);
    }

    /// The sender requests the state from a number on: everything below is done (clause 10.25.3).
    pub(super) fn block_ack_request(&mut self, f: &Frame, body: &[u8]) {
        if let (Some(ra), Some(ta)) = (f.ra().filter(|ra| !is_group(*ra)), f.ta()) {
            self.make_room(f.number);
            let whole = block_ack::read_request(body, |r| self.moved_to(f, ta, ra, r.tid, r.first_seq));
            if !whole {
                self.notes.add(NoteKind::BlockAckMalformed, f.number, 0);
            }
        }
        self.air.note(f, Kind::Asked);
    }

    fn moved_to(&mut self, f: &Frame, ta: Mac, ra: Mac, tid: u8, seq: u16) {
        let stream = self.streams.intern(ta, ra, Class::qos(tid), &mut self.stations);
        let Some(s) = self.streams.get_mut(stream) else { return };
        let newest = seq.wrapping_sub(1) & (NUMBERS - 1) as u16;
        let Some(head) = s.head else {
            s.anchor(newest);
            return;
        };
        let d = ahead(newest, head);
        if d < -(2 * s.window.len() as i32) {
            s.anchor(newest);
            return;
        }
        s.floor = Some(head.wrapping_add_signed(d).wrapping_add(1));
        if d <= 0 {
            return;
        }
        s.head = Some(head.wrapping_add_signed(d));
        if d as u32 > limits::SEQUENCE_GAP {
            self.notes.add(NoteKind::SequenceSkipped, f.number, 0);
        } else {
            let missing = self.miss(stream, head.wrapping_add(1), d as u32, f.number, inference::SEQUENCE_GAP);
            self.explain_reservations(stream, missing);
        }
    }
}

//! Frames with a sequence number: each joins the exchange that it repeats, or opens one.

use super::air::Kind;
use super::open::{inference, Exchange, Id, NEVER, NONE};
use super::station::{bits, is_group};
use super::stream::{ahead, past, window_span, Class, NUMBERS};
use super::Tracker;
use crate::frame::{control, qos, Carries, Frame, Mac};
use crate::limits;
use crate::notes::NoteKind;

/// QoS control: the receiver sends no response (Table 9-13).
const NO_ACK: u16 = 0x0020;
/// HT Control may be present in one transmission and absent in the next.
const HT_CONTROL_BYTES: u32 = 4;

/// Subtypes of management frames (Table 9-1).
mod management {
    pub const ASSOC_REQUEST: u8 = 0;
    pub const ASSOC_RESPONSE: u8 = 1;
    pub const REASSOC_REQUEST: u8 = 2;
    pub const REASSOC_RESPONSE: u8 = 3;
    pub const DISASSOC: u8 = 10;
    pub const AUTH: u8 = 11;
    pub const DEAUTH: u8 = 12;
    pub const ACTION_NO_ACK: u8 = 14;
}

impl Tracker {
    /// A data or management frame.
    pub(super) fn sequenced(&mut self, f: &Frame, body: &[u8], flow: Option<(u32, bool)>) {
        let (Some(ta), Some(ra), Some(seq), Some(fragment), Some(class)) =
            (f.ta(), f.ra(), f.seq(), f.fragment(), Class::of(f))
        else {
            self.notes.add(NoteKind::NoSequence, f.number, 0);
            self.air.note(f, Kind::Other);
            return;
        };
        self.make_room(f.number);
        if class == Class::MANAGEMENT {
            self.association(f, ta, ra, body);
        }
        let stream = self.streams.intern(ta, ra, class, &mut self.stations);
        let (number, missing) = self.count(f, stream, ta, ra, seq);
        let ppdu = self.air.ppdu(f, bits(ta));
        self.fragment_follows(stream, number, fragment);
        let (id, opened) = self.join(f, stream, number, fragment);
        if opened && !is_group(ra) {
            self.assign_numbers(stream, number, missing);
        }
        let expects = expects_answer(f, ra);
        self.attempt(f, id, ppdu, flow);
        let kind = if expects { Kind::Sent } else { Kind::Other };
        let before = self.air.note(f, kind);
        (before.id, before.stream, before.ppdu) = (id, stream, ppdu);
        if let Some(station) = self.streams.get(stream).and_then(|s| self.stations.get_mut(s.ta)) {
            if expects {
                station.last = id;
            }
        }
    }

    /// Advance the counter of `seq`, open exchanges for the numbers that it skipped, and return the frame's number and how
    /// many are missing.
    fn count(&mut self, f: &Frame, stream: u32, ta: Mac, ra: Mac, seq: u16) -> (u32, u32) {
        let Some(s) = self.streams.get_mut(stream) else { return (u32::from(seq), 0) };
        let Some(station) = self.stations.get_mut(s.ta) else { return (u32::from(seq), 0) };
        if s.class.is_null() {
            // A QoS Null may have any number (clause 10.3.2.14.2); some use the next of their data.
            let repeated = s.head.filter(|head| f.retry() && ahead(seq, *head) == 0);
            let number = repeated.unwrap_or_else(|| s.anchor(seq));
            let data = s.class.tid().and_then(|tid| self.streams.find(ta, ra, Class::qos(tid)));
            if let Some(data) = data.and_then(|d| self.streams.get_mut(d)) {
                data.head = data.head.map(|head| head.wrapping_add(u32::from(ahead(seq, head) == 1)));
            }
            return (number, 0);
        }
        let individual = s.class.is_qos_data() && !s.group;
        if individual && station.any_stream != stream && station.any_stream != NONE {
            // With one counter for all TIDs, the last number of another stream comes right before.
            let one = seq.wrapping_sub(1) & 0xfff == station.any_head;
            let own = s.head.is_some_and(|head| ahead(seq, head) == 1);
            station.one_counter = match (one, own) {
                (true, false) => (station.one_counter + 1).min(8),
                (false, true) => (station.one_counter - 1).max(-8),
                _ => station.one_counter,
            };
        }
        (station.any_head, station.any_stream) = (seq, stream);
        let own_counter = individual && station.one_counter < 3;
        let to_ds = f.has(control::TO_DS) && !f.has(control::FROM_DS);
        // Numbers of a shared counter belong to this receiver only if the sender has no other: a station in a BSS.
        let mut countable = own_counter;
        let mut step = 1;
        if !own_counter {
            if let Some(head) = station.shared_head {
                step = ahead(seq, u32::from(head));
                countable = to_ds && station.shared_stream == stream && s.to_ds;
            }
            if step > 0 || step < -window_span(&s.window) {
                (station.shared_head, station.shared_stream) = (Some(seq), stream);
            }
        }
        s.to_ds = to_ds;
        let Some(head) = s.head else { return (s.anchor(seq), 0) };
        let d = ahead(seq, head);
        if !own_counter && countable {
            countable = step == d;
        }
        let span = window_span(&s.window);
        if d < -span {
            // Long ago, or a restarted counter.
            if f.retry() {
                return (head.wrapping_add_signed(d), 0);
            }
            if countable {
                self.notes.add(NoteKind::SequenceSkipped, f.number, 0);
            }
            let number = head.wrapping_add_signed(d + NUMBERS as i32);
            s.head = Some(number);
            return (number, 0);
        }
        let number = head.wrapping_add_signed(d);
        if d <= 0 {
            return (number, 0);
        }
        s.head = Some(number);
        if d == 1 || !countable {
            return (number, 0);
        }
        if d as u32 > limits::SEQUENCE_GAP {
            self.notes.add(NoteKind::SequenceSkipped, f.number, 0);
            return (number, 0);
        }
        (number, self.miss(stream, head.wrapping_add(1), d as u32 - 1, f.number, inference::SEQUENCE_GAP))
    }

    /// The next fragment is sent only after the ACK of the previous one (clause 10.4).
    fn fragment_follows(&mut self, stream: u32, number: u32, fragment: u8) {
        let Some(s) = self.streams.get_mut(stream).filter(|_| fragment > 0) else { return };
        let id = s.window.at(number);
        let Some(e) = self.queue.get_mut(id) else { return };
        if e.stream == stream && e.number == Some(number) && e.fragment.wrapping_add(1) == fragment && !e.acked {
            e.acked = true;
            e.useful_ns = e.last_airtime_ns;
            s.window.answered(number, id);
        }
    }

    /// The exchange of the frame, and whether this is its first evidence.
    fn join(&mut self, f: &Frame, stream: u32, number: u32, fragment: u8) -> (Id, bool) {
        let Some(s) = self.streams.get_mut(stream) else { return (NONE, false) };
        let (bytes, expects) = (plain_bytes(f), expects_answer(f, f.ra().unwrap_or_default()));
        let there = s.window.at(number);
        let mut older = true;
        if let Some(e) = self.queue.get_mut(there).filter(|e| e.stream == stream) {
            if e.number == Some(number) && e.seen == 0 && !s.class.is_null() {
                // It was missing, and arrives after all.
                e.mpdu_bytes = bytes;
                e.fragment = fragment;
                e.expects = expects;
                if f.retry() {
                    e.inferred_by = inference::RETRY_BIT;
                } else if !e.acked {
                    (e.inferred, e.inferred_by) = (0, inference::NOTHING);
                }
                return (there, false);
            }
            let again = f.retry() || !s.class.is_null();
            if e.number == Some(number)
                && e.fragment == fragment
                && e.mpdu_bytes == bytes
                && again
                && !e.closed
                && e.seen < limits::ATTEMPTS
            {
                return (there, false);
            }
            older = e.number.is_none_or(|n| past(number, n) >= 0);
            if older {
                e.closed = true;
            }
        }
        let mut e = Exchange::new(s.ta, s.ra, f.number, self.now_ns);
        e.stream = stream;
        e.number = Some(number);
        e.fragment = fragment;
        e.tid = s.class.tid();
        e.mpdu_bytes = bytes;
        e.expects = expects;
        e.closed = !older;
        if f.retry() {
            e.infer(inference::RETRY_BIT);
        }
        let id = self.queue.push(e);
        if older {
            s.window.put(number, id, expects);
        }
        (id, true)
    }

    /// Add the frame as a transmission of its exchange.
    fn attempt(&mut self, f: &Frame, id: Id, ppdu: u32, flow: Option<(u32, bool)>) {
        let rate = f.radio.ppdu.rate_mbps.unwrap_or(f64::NAN);
        let (now, time) = (self.now_ns, f.time_ns.unwrap_or(NEVER));
        let Some(e) = self.queue.get_mut(id) else { return };
        let first = e.seen == 0;
        if first {
            (e.first_packet, e.first_rate_mbps, e.first_ns) = (f.number, rate, time);
        }
        (e.last_packet, e.last_ns, e.heard_ns, e.ppdu) = (f.number, time, now, ppdu);
        e.seen += 1;
        e.refused = false;
        e.add_airtime(f.airtime_ns);
        if e.carries < 0 || e.carries == Carries::Protected as i8 && f.carries != Carries::Unknown {
            e.carries = f.carries as i8;
        }
        if let Some((flow, b_to_a)) = flow.filter(|_| e.flow == NONE) {
            (e.flow, e.b_to_a) = (flow, b_to_a);
        }
        if !first {
            self.queue.add_attempt(id, f.number, rate);
        }
    }

    /// After frames that open or close an association the counters between the two may restart.
    fn association(&mut self, f: &Frame, ta: Mac, ra: Mac, body: &[u8]) {
        match f.subtype() {
            Some(management::ASSOC_RESPONSE | management::REASSOC_RESPONSE) => {
                // Capabilities, status, association identifier.
                if let Some(aid) = body.get(4..6).filter(|_| !f.has(control::PROTECTED)) {
                    let aid = u16::from_le_bytes([aid[0], aid[1]]) & 0x3fff;
                    if self.associations.len() >= limits::ASSOCIATIONS {
                        self.associations.clear();
                    }
                    self.associations.insert((bits(ta), aid), ra);
                }
                self.streams.restart(ta, ra);
            }
            Some(
                management::ASSOC_REQUEST
                | management::REASSOC_REQUEST
                | management::DISASSOC
                | management::AUTH
                | management::DEAUTH,
            ) if !f.retry() => self.streams.restart(ta, ra),
            _ => {}
        }
    }
}

/// Length without the field that may differ between transmissions.
fn plain_bytes(f: &Frame) -> u32 {
    let ht_control = f.has(control::ORDER) && (f.kind() == Some(control::MANAGEMENT) || f.qos.is_some());
    f.mpdu_bytes.saturating_sub(if ht_control { HT_CONTROL_BYTES } else { 0 })
}

/// Whether the receiver must respond (clause 10.3.2.11).
fn expects_answer(f: &Frame, ra: Mac) -> bool {
    let no_ack = f.qos.is_some_and(|q| q & qos::ACK_POLICY == NO_ACK);
    let action_no_ack = f.kind() == Some(control::MANAGEMENT) && f.subtype() == Some(management::ACTION_NO_ACK);
    !is_group(ra) && !no_ack && !action_no_ack
}

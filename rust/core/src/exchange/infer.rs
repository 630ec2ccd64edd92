//! What can be inferred about frames that were missed.
//!
//! * A skipped sequence number was used: an exchange without packets (`sequence_gap`). QoS data have
//!   a counter per receiver and TID. All other frames share one counter for all receivers, so its missing numbers
//!   identify a receiver only if both neighbours go from a station to its access point. A station whose QoS
//!   numbers follow the shared counter is treated the same.
//! * A Block Ack bit for a number that was not captured (`block_ack`).
//! * An ACK without a captured frame (`lone_ack`) and with a known receiver, because its receiver sends only to its access
//!   point or an RTS named both: if the next number shows as many missing numbers as there are such ACKs, they belong
//!   together; if none is missing and the last exchange lacks a response, it was retransmitted. Any other ACK is an
//!   exchange of its own, without a number.
//! * RTS and CTS, and no frame until their reservation ends (`nav`): at least one transmission was missed, unless a
//!   missing number explains it.

use super::air::Kind;
use super::open::{inference, Exchange, Id, NEVER, NONE};
use super::station::bits;
use super::stream::past;
use super::Tracker;
use crate::frame::{control, subtype, Frame, Mac};
use crate::limits;
use crate::notes::NoteKind;

impl Tracker {
    /// Open an exchange for each of `count` missed numbers from `first` on; returns how many.
    pub(super) fn miss(&mut self, stream: u32, first: u32, count: u32, packet: u64, by: i8) -> u32 {
        let mut missing = 0;
        for number in (0..count).map(|i| first.wrapping_add(i)) {
            missing += u32::from(self.miss_one(stream, number, packet, by).is_some());
        }
        missing
    }

    /// Open an exchange for one such number, unless it is known.
    pub(super) fn miss_one(&mut self, stream: u32, number: u32, packet: u64, by: i8) -> Option<Id> {
        let s = self.streams.get_mut(stream)?;
        if let Some(e) = self.queue.get_mut(s.window.at(number)).filter(|e| e.stream == stream) {
            if e.number.is_some_and(|n| past(number, n) <= 0) {
                return None;
            }
            e.closed = true;
        }
        if self.inferred_rows >= limits::INFERRED_ROWS {
            self.notes.add(NoteKind::ExchangesEvicted, packet, 0);
            return None;
        }
        self.inferred_rows += 1;
        let mut e = Exchange::new(s.ta, s.ra, packet, self.now_ns);
        e.stream = stream;
        e.number = Some(number);
        e.tid = s.class.tid();
        e.infer(by);
        let id = self.queue.push(e);
        s.window.put(number, id, true);
        Some(id)
    }

    /// Evidence of missed frames without a number is explained by missing numbers, or by one more transmission of the
    /// station's last exchange. `missing` numbers come right before `number`.
    pub(super) fn assign_numbers(&mut self, stream: u32, number: u32, missing: u32) {
        let Some(s) = self.streams.get(stream) else { return };
        let (ta, ra, to_ds) = (s.ta, s.ra, s.to_ds);
        let Some(station) = self.stations.get_mut(ta).filter(|s| !s.unnumbered.is_empty()) else { return };
        let signs = std::mem::take(&mut station.unnumbered);
        let last = station.last;
        let (mine, mut others): (Vec<Id>, Vec<Id>) = signs
            .into_iter()
            .filter(|id| self.queue.get(*id).is_some_and(|e| e.inferred > 0 && !e.withdrawn))
            .partition(|id| self.queue.get(*id).is_some_and(|e| e.ra == ra || e.ra == NONE && to_ds));
        if missing > 0 {
            let acks = mine.iter().filter(|id| self.queue.get(**id).is_some_and(|e| e.acked)).count();
            let each = acks == missing as usize && acks == mine.len();
            for (i, id) in mine.iter().enumerate() {
                if i >= missing as usize {
                    others.push(*id);
                    continue;
                }
                let of = each.then(|| number.wrapping_sub(missing).wrapping_add(i as u32));
                self.withdraw(*id, stream, of);
            }
        } else {
            let silent = self.queue.get(last).filter(|e| e.stream == stream && !e.acked && e.expects && e.seen > 0);
            let since = silent.map(|e| e.last_packet);
            let ack = mine.iter().find(|id| {
                self.queue.get(**id).zip(since).is_some_and(|(sign, since)| sign.acked && sign.first_packet > since)
            });
            let ack = ack.copied();
            if let Some((id, e)) = ack.zip(self.queue.get_mut(last)) {
                e.infer(inference::LONE_ACK);
                let of = e.number;
                self.withdraw(id, stream, of);
            }
            others.extend(mine.into_iter().filter(|id| Some(*id) != ack));
        }
        if let Some(station) = self.stations.get_mut(ta) {
            station.unnumbered = others;
        }
    }

    /// The evidence belongs to another exchange: its ACK is the ACK of number `of`, if that is known.
    fn withdraw(&mut self, sign: Id, stream: u32, of: Option<u32>) {
        let Some(e) = self.queue.get_mut(sign) else { return };
        e.withdrawn = true;
        e.closed = true;
        let (packet, time) = (e.ack_packet, e.ack_ns);
        if let Some(number) = of {
            self.deliver_number(stream, number, packet, time);
        }
    }

    /// The exchange of this number was acknowledged.
    pub(super) fn deliver_number(&mut self, stream: u32, number: u32, packet: u64, time_ns: i64) {
        let Some(s) = self.streams.get_mut(stream) else { return };
        let id = s.window.at(number);
        if let Some(e) = self.queue.get_mut(id).filter(|e| e.stream == stream && e.number == Some(number)) {
            e.acknowledge(packet, Some(time_ns).filter(|t| *t != NEVER));
            s.window.answered(number, id);
        }
    }

    /// Missing numbers of a stream explain the reservations of its sender.
    pub(super) fn explain_reservations(&mut self, stream: u32, missing: u32) {
        let Some(s) = self.streams.get(stream) else { return };
        let (ra, station) = (s.ra, self.stations.get_mut(s.ta));
        let Some(station) = station.filter(|s| missing > 0 && !s.unnumbered.is_empty()) else { return };
        let mut left = missing;
        let queue = &mut self.queue;
        station.unnumbered.retain(|id| {
            let Some(e) = queue.get_mut(*id).filter(|e| !e.withdrawn) else { return false };
            if left == 0 || e.ra != ra || e.acked {
                return true;
            }
            left -= 1;
            (e.withdrawn, e.closed) = (true, true);
            false
        });
    }

    /// An exchange with a single piece of evidence: an ACK to `ta`, or its reservation.
    pub(super) fn unnumbered(&mut self, f: &Frame, ta: Mac, ra: Option<Mac>, by: i8) {
        self.make_room(f.number);
        if self.inferred_rows >= limits::INFERRED_ROWS {
            self.notes.add(NoteKind::ExchangesEvicted, f.number, 0);
            return;
        }
        self.inferred_rows += 1;
        let from = self.stations.intern(ta);
        let to = ra.map_or(NONE, |ra| self.stations.intern(ra));
        let mut e = Exchange::new(from, to, f.number, self.now_ns);
        e.infer(by);
        if by == inference::LONE_ACK {
            e.acknowledge(f.number, f.time_ns);
        }
        let id = self.queue.push(e);
        if let Some(station) = self.stations.get_mut(from) {
            station.add_unnumbered(id);
        }
    }

    pub(super) fn rts(&mut self, f: &Frame) {
        let before = self.air.note(f, Kind::Rts);
        (before.rts_ta, before.rts_ra) = (f.ta().unwrap_or_default(), f.ra().unwrap_or_default());
    }

    pub(super) fn cts(&mut self, f: &Frame) {
        let rts = *self.air.before(f);
        let answers = rts.kind == Kind::Rts && f.ra().is_some_and(|ra| bits(ra) == rts.ta) && rts.answered_by(f);
        if !answers {
            // To itself, or to an RTS that was missed.
            self.air.note(f, Kind::Other);
            return;
        }
        let reserved_ns = i64::from(f.duration.unwrap_or(0) & 0x7fff) * 1000;
        let now = self.now_ns;
        let before = self.air.note(f, Kind::Cts);
        (before.rts_ta, before.rts_ra) = (rts.rts_ta, rts.rts_ra);
        before.until_ns = now.saturating_add(reserved_ns);
    }

    /// Before frame `f`: if RTS and CTS reserved the medium, and `f` comes after that without being part of the exchange,
    /// a frame in between was missed.
    pub(super) fn reservation_over(&mut self, f: &Frame) {
        let before = *self.air.before(f);
        if before.kind != Kind::Cts || self.now_ns < before.until_ns || f.time_ns.is_none() {
            return;
        }
        let (ta, ra) = (before.rts_ta, before.rts_ra);
        let from_ta = f.ta() == Some(ta) && f.kind() != Some(control::CONTROL);
        let to_ta = f.ra() == Some(ta) && matches!(f.subtype(), Some(subtype::ACK | subtype::BLOCK_ACK));
        if from_ta || to_ta && f.kind() == Some(control::CONTROL) {
            return;
        }
        self.air.before(f).kind = Kind::Other;
        self.unnumbered(f, ta, Some(ra), inference::NAV);
    }
}

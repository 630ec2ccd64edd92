//! Which packets may change a connection: impossible numbers are not believed until a second packet confirms them.
//!
//! A receiver drops an ACK of data that was never sent (RFC 9293 section 3.10.7.4) and data outside its window. A tap that
//! misses packets sees both rightly: then the next packets continue there. So one packet with such numbers is held back. The
//! next one of the connection confirms or refutes it.

use super::ack::{Ack, AckOutcome};
use super::kinds::{Evidence, Transmission};
use super::output::Out;
use super::sender_state::SenderState;
use super::seq::newer;
use super::undecided::HeldAck;
use crate::packet::Tcp;

/// The least reach: a window without scale (RFC 9293 section 3.1).
const LEAST_REACH: i64 = 0xffff;
/// The reach while the window's scale is unknown: a large window.
const UNKNOWN_REACH: i64 = 1 << 20;
/// Segments that an ACK can cover at once (RFC 9293 section 3.8.6.3): a tap that misses them is no reason for doubt.
const ACKED_AT_ONCE: i64 = 2;

impl SenderState {
    /// The farthest that this sender's numbers can be apart: the largest window of its receiver.
    fn reach(&self) -> i64 {
        match i64::from(self.tally.window_max) {
            0 => UNKNOWN_REACH,
            window => window.max(LEAST_REACH),
        }
    }

    /// Whether a segment of this sender can be believed; `intact`: a checksum verified it.
    #[inline]
    pub fn admits_segment(&mut self, start: i64, end: i64, intact: bool) -> bool {
        let next = start <= self.end && end >= self.una;
        (next && self.doubted_segment.is_none()) || self.admits_far_segment(start, end, intact || next)
    }

    #[inline(never)]
    fn admits_far_segment(&mut self, start: i64, end: i64, intact: bool) -> bool {
        let reach = self.reach();
        if intact || self.captured_from.is_none() || (start <= self.end + reach && end >= self.una - reach) {
            self.doubted_segment = None;
            return true;
        }
        // Twice at the same far place: the tap missed what was between.
        let before = self.doubted_segment.replace(start);
        before.is_some_and(|b| (start - b).abs() <= reach)
    }

    /// What a segment is that was not believed. Acknowledged bytes, more than a window ago, with an older timestamp than others that
    /// passed: the path kept them back.
    #[cold]
    pub fn what_was_rejected(&self, start: Option<i64>, span: i64, tcp: &Tcp) -> (Transmission, Option<Evidence>) {
        let old = self.latest_stamp.zip(tcp.timestamps).is_some_and(|((latest, ..), (own, _))| newer(latest, own));
        let known = |start: i64| start + span <= self.una && self.captured_from.is_some_and(|from| start >= from);
        if old && span > 0 && start.is_some_and(known) {
            return (Transmission::Reordered, Some(Evidence::Tsval));
        }
        (Transmission::First, None)
    }

    /// Whether an ACK of this sender's data can be believed. If not, it is held back.
    #[inline]
    pub fn admits_ack(&mut self, a: &Ack<'_>, intact: bool) -> bool {
        (a.ack <= self.end && self.held_ack.is_none()) || self.admits_far_ack(a, intact)
    }

    #[inline(never)]
    fn admits_far_ack(&mut self, a: &Ack<'_>, intact: bool) -> bool {
        let reach = self.reach();
        // What the window allows is believed of an intact ACK, or where the tap has missed data before.
        let window = if intact || self.tally.acks_unseen > 0 { self.una + reach } else { self.end };
        if self.captured_from.is_none() || a.syn || a.ack <= window.max(self.end) + ACKED_AT_ONCE * self.mss() {
            self.held_ack = None;
            return true;
        }
        let confirmed = self.held_ack.take().is_some_and(|h| (0..=reach).contains(&(a.ack - h.ack)));
        if !confirmed {
            self.held_ack = Some(Box::new(HeldAck {
                packet: a.packet,
                t: a.t,
                ack: a.ack,
                raw_window: a.raw_window,
                window: a.window,
                timestamps: a.timestamps,
                sack_ok: a.sack_ok,
            }));
        }
        confirmed
    }

    /// Take the ACK held back if this sender's segment shows that it was right: the segment continues there, or everything up
    /// to there was captured by now.
    #[cold]
    pub fn settle_held_ack(&mut self, start: i64, out: &mut Out<'_>) {
        let Some(h) = self.held_ack.take() else { return };
        if h.ack > self.end && !(h.ack..=h.ack + self.reach()).contains(&start) {
            self.held_ack = Some(h);
            return;
        }
        let a = Ack {
            packet: h.packet,
            t: h.t,
            ack: h.ack,
            raw_window: h.raw_window,
            window: h.window,
            sack: &[],
            timestamps: h.timestamps,
            pure: true,
            syn: false,
            sack_ok: h.sack_ok,
        };
        let mut outcome = AckOutcome::NONE;
        self.on_ack(&a, &mut outcome, out);
    }
}

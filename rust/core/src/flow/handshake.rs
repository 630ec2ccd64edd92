//! The times of the handshake, from which the tap's position follows.

use super::host_queue::HostQueues;
use super::sender_state::SenderState;
use super::timestamp_clock::was_made_then;

/// The times of the handshake at the tap.
#[derive(Debug, Clone, Copy, Default)]
pub struct Handshake {
    /// The first and the last expiry of the timer of each end: of the SYN, and of the SYN+ACK.
    expiries: [Option<(i64, i64)>; 2],
    /// SYNs, less SYN+ACKs.
    unanswered: i32,
    /// The first SYN and its TSval, and whether the first SYN+ACK echoes it; the TSval of the last SYN before that.
    first_syn: Option<i64>,
    first_stamp: Option<u32>,
    stamp: Option<u32>,
    pub first_answered: bool,
    /// The last SYN before the first SYN+ACK, or the first one if that echoes it; and the SYN+ACK.
    pub syn: Option<i64>,
    pub answered: Option<i64>,
    /// The last SYN+ACK, and the ACK that ends the handshake.
    pub synack: Option<i64>,
    pub ack: Option<i64>,
    /// When that was made, if by its timestamp its sender is near the tap and a queue kept it.
    made: Option<i64>,
}

impl Handshake {
    /// The two parts of the round trip, split at the tap: SYN to SYN+ACK, SYN+ACK to ACK.
    pub fn parts(&self) -> Option<(i64, i64)> {
        Some((self.answered? - self.syn?, self.made.or(self.ack)? - self.synack?))
    }

    /// From the tap to the sender and back, at most: of several SYN+ACKs the first may be the one that the ACK answers.
    pub fn longest_loop(&self, passive: bool) -> Option<i64> {
        if passive {
            Some(self.answered? - self.syn?)
        } else {
            Some(self.made.or(self.ack)? - self.answered?)
        }
    }

    /// When the timer of either end first expired, and last. The active end does not know when the other's did.
    pub fn timers(&self, passive: bool) -> Option<(i64, i64)> {
        match (self.expiries[0], self.expiries[1].filter(|_| passive)) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        }
    }

    /// By its timestamp the answer is that to a repeated SYN.
    pub fn later_answered(&self) -> bool {
        self.first_stamp.is_some() && !self.first_answered
    }

    /// The round trip of a SYN that was repeated, unless a timestamp shows which one was answered: it is longer than this if that is the first.
    pub fn longest_trip(&self) -> Option<i64> {
        Some(self.answered? - self.expiries[0].filter(|_| self.first_stamp.is_none())?.0)
    }

    /// From the first SYN, or SYN+ACK of the `passive` end, until its answer is acknowledged.
    pub fn took(&self, passive: bool) -> Option<i64> {
        Some(self.made.or(self.ack)? - if passive { self.answered? } else { self.first_syn? })
    }

    /// When the SYN+ACK's timer first expired, and last.
    pub fn answer_timers(&self) -> Option<(i64, i64)> {
        self.expiries[1]
    }

    /// The ACK that ends the handshake. By a clock of 1000 Hz that both its SYN and this read, it was made when the SYN+ACK passed: no path
    /// is between, and what passes later waited in the queue of its host.
    pub fn done(&mut self, t: i64, timestamps: Option<(u32, u32)>) {
        self.ack = Some(t);
        let (Some((stamp, _)), Some(before), Some(syn)) = (timestamps, self.stamp, self.syn) else { return };
        let ticks = i64::from(stamp.wrapping_sub(before));
        self.made = self.answered.filter(|at| self.answered == self.synack && was_made_then(ticks, syn, *at, t));
    }

    /// A SYN, or a SYN+ACK. Each SYN is answered once: more SYN+ACKs are the timer's.
    pub fn opening(&mut self, t: i64, ack: bool, timestamps: Option<(u32, u32)>) {
        if ack && self.answered.is_none() {
            self.first_answered =
                self.first_stamp.is_some_and(|first| timestamps.is_some_and(|(_, echo)| echo == first));
            if self.first_answered {
                (self.syn, self.stamp) = (self.first_syn, self.first_stamp);
            }
        } else if !ack && self.syn.is_none() {
            (self.first_syn, self.first_stamp) = (Some(t), timestamps.map(|(stamp, _)| stamp));
        }
        let by_timer = if ack { self.synack.is_some() && self.unanswered <= 0 } else { self.syn.is_some() };
        self.unanswered += if ack { -1 } else { 1 };
        if by_timer {
            let expiries = &mut self.expiries[usize::from(ack)];
            *expiries = Some((expiries.map_or(t, |e| e.0), t));
        }
        match (ack, self.ack, self.answered) {
            (false, None, None) => (self.syn, self.stamp) = (Some(t), timestamps.map(|(stamp, _)| stamp)),
            (true, None, _) => (self.answered, self.synack) = (self.answered.or(Some(t)), Some(t)),
            // It is answered, or over: its times stay.
            _ => {}
        }
    }
}

impl SenderState {
    /// It sends a SYN, or a SYN+ACK, which answers a SYN of the peer or is sent by its timer.
    #[cold]
    pub fn open(&mut self, peer: &mut SenderState, t: i64, ack: bool, hosts: &mut HostQueues) {
        peer.asked = Some(t);
        if ack {
            let took = self.asked.map(|at| t - at);
            self.answered_in = self.answered_in.into_iter().chain(took).min();
            // A host answers a SYN at once.
            if let Some(delay) = took.filter(|_| hosts.is_near(self.host, peer.host)) {
                hosts.note_delay(self.host, t, delay, true);
            }
        } else {
            peer.syns_of_peer = peer.syns_of_peer.saturating_add(1);
        }
    }
}

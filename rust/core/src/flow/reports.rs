//! Whether a receiver with SACK reports segments that arrive twice (DSACK, RFC 2883): RFC 2018 alone does not ask for it.

use super::ack::Ack;
use super::sender_state::SenderState;

impl SenderState {
    /// An ACK that acknowledges nothing new and reports nothing, although a copy can have arrived: this receiver sends no DSACK, and the bytes
    /// of the copy arrived twice.
    pub fn note_unreported(&mut self, a: &Ack<'_>, window_same: bool) {
        // Without the handshake only a SACK shows that SACK is in use.
        let sacks = a.sack_ok && (self.syn_seen || self.tally.sack_acks > 0);
        let plain = sacks && a.pure && a.sack.is_empty() && window_same && a.raw_window != 0;
        if !plain || self.reports == Some(true) || self.keepalive_open {
            return;
        }
        let (latest, una) = (self.latest_cause(a.t), self.una);
        let mut meant: Vec<_> = self
            .pending
            .iter_mut()
            .filter(|p| p.start > 0 && p.covered.is_some() && p.end <= una && p.verdict != Some(true))
            .filter(|p| p.t <= latest)
            .collect();
        let certain = meant.len() == 1;
        meant.iter_mut().for_each(|p| p.arrived_twice(certain, a.packet));
        if !meant.is_empty() {
            self.reports = Some(false);
        }
    }
}

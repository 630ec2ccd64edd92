//! A queue that stands still keeps what the sender sends: behind it, the sender's timestamps show what it did meanwhile.

use super::sender_state::SenderState;
use super::timer::LEAST_TIMEOUT_NS;

/// How late the sender's packets pass, beyond its earliest ones.
#[derive(Debug, Clone, Copy)]
struct Late {
    t: i64,
    by: i64,
}

/// The delay of a queue, and the time in which it stood still for as long as a timer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stall {
    /// The packet since which the queue has grown.
    before: Option<Late>,
    /// That packet and the latest one so late, until what was sent after these has passed.
    spell: Option<(i64, i64)>,
}

impl Stall {
    /// A packet passes at `t`, late by `by`. In slow start a queue grows by half of the time at most (RFC 5681 section 3.1): one that grows
    /// by more than two thirds of it stands still.
    fn note(&mut self, t: i64, by: i64) {
        let Some(before) = self.before.filter(|b| (t - b.t) / 3 <= (by - b.by) / 2) else {
            self.before = Some(Late { t, by });
            return;
        };
        if by - before.by >= LEAST_TIMEOUT_NS {
            self.spell = Some((self.spell.map_or(before.t, |spell| spell.0), t));
        }
    }

    /// The sender may have waited for its timer meanwhile: what it sent then is still to come.
    pub fn is_open(&self) -> bool {
        self.spell.is_some()
    }
}

impl SenderState {
    /// Data passes at `t`.
    pub fn note_stall(&mut self, t: i64) {
        let Some(sent) = self.sent_at.filter(|_| self.view.is_some()) else { return };
        let before = self.sent_before_at;
        self.stall.spell = self.stall.spell.filter(|(_, until)| before.is_none_or(|before| before < *until));
        self.stall.note(t, t - sent);
    }

    /// Since when it had sent nothing; by the tap since `from`. What leaves a queue that stood still passes closer together than it was
    /// sent; on a path that has become longer it does not.
    pub fn stalled_from(&self, t: i64, from: i64) -> i64 {
        let spell = self.stall.spell.zip(self.sent_before_at.zip(self.sent_at));
        spell
            .filter(|(_, (before, sent))| t - from < (sent - before) / 2)
            .map_or(from, |((since, _), (before, _))| before.max(since).min(from))
    }
}

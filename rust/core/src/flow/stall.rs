//! A queue that stands still keeps what the sender sends: behind it, the sender's timestamps show what it did meanwhile.

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
    /// A packet passes at `t` that was sent at this time, and the one before it at that, by the sender's own clock and the fastest path.
    pub fn passes(&mut self, t: i64, sent: i64, before: Option<i64>) {
        self.spell = self.spell.filter(|(_, until)| before.is_none_or(|before| before < *until));
        self.note(t, t - sent);
    }

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

    /// Since when the sender had sent nothing before what passes at `t`; by the tap since `from`. `sent`: when it sent the two latest
    /// packets. What leaves a queue that stood still passes closer together than it was sent; on a path that has become longer it does not.
    pub fn silent_from(&self, t: i64, from: i64, sent: Option<(i64, i64)>) -> i64 {
        self.spell
            .zip(sent)
            .filter(|(_, (before, sent))| t - from < (sent - before) / 2)
            .map_or(from, |((since, _), (before, _))| before.max(since).min(from))
    }
}

//! What a link that data and ACKs share, as the air, needs for a round trip: it may be busy all the time although no data is outstanding
//! when an ACK arrives. Bursts that one ACK answers show it, and handshakes.

use super::timer::{DELAYED_ACK_MAX_NS, DELAYED_ACK_NS};

/// A path that idles for no larger part of a round trip is the limit: a larger window would gain no more than that. Each packet waits for
/// the air as long as chance has it, so that few round trips show less than a quarter of one.
const IDLE_PART: i64 = 10;
const IDLE_PART_OF_AIR: i64 = 4;
/// A packet without data takes this part of the time of a full segment on the air (preamble, waiting, acknowledgment), and less on a line.
const EMPTY_PART: i64 = 4;
/// Round trips differ by no larger part of what more bytes take on a line; a delayed ACK, by all of it.
const ALIKE_PART: i64 = 16;
/// 18 minutes: no link needs longer, and products of times stay far below 2^63.
const LONGEST_NS: i64 = 1 << 40;
/// Round trips that show the time of a burst and of a larger one, or never will: slow start doubles the window in each.
const ROUNDS: u8 = 3;

/// Least round trips between two hosts of bursts that met an empty path, each answered by one ACK: bytes, and ns.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkTimes {
    /// Of packets without data.
    handshake: Option<i64>,
    smallest: Option<(i64, i64)>,
    largest: Option<(i64, i64)>,
    is_line: bool,
}

impl LinkTimes {
    /// One ACK answered `bytes` sent at once, all that was outstanding. `handshake`: the round trip of the connection's.
    pub fn note(&mut self, bytes: i64, rtt: i64, handshake: Option<i64>) {
        let handshake = handshake.filter(|handshake| (0..LONGEST_NS).contains(handshake));
        self.handshake = match (self.handshake, handshake) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if rtt >= LONGEST_NS {
            return;
        }
        let shorter = |known: (i64, i64)| bytes == known.0 && rtt < known.1;
        if self.smallest.is_none_or(|known| bytes < known.0 || shorter(known)) {
            self.smallest = Some((bytes, rtt));
        }
        if self.largest.is_none_or(|known| bytes > known.0 || shorter(known)) {
            self.largest = Some((bytes, rtt));
        }
    }

    /// A burst of a third size that takes as much longer than the smallest as its bytes let expect shows a line.
    pub fn compare(&mut self, bytes: i64, rtt: i64) {
        let (Some((few, took)), Some((many, longer)), Some(expected)) =
            (self.smallest, self.largest, self.on_line(bytes))
        else {
            return;
        };
        let is_between = longer > took && (few + 1..many).contains(&bytes);
        self.is_line |= is_between && (rtt - expected).abs() <= (longer - took) / ALIKE_PART;
    }

    /// The round trip of a burst on such a line. Where no bytes at all would take so much longer than the `least` round trip, a timer of the
    /// receiver, which is the same each time, is in all of them.
    pub fn of_line(&self, bytes: i64, least: i64) -> Option<i64> {
        let by_timer = self.on_line(0).is_none_or(|empty| empty - least >= DELAYED_ACK_NS);
        self.on_line(bytes).filter(|_| self.is_line && !by_timer)
    }

    fn on_line(&self, bytes: i64) -> Option<i64> {
        let (few, took) = self.smallest?;
        Some(took + self.needs(bytes - few)?)
    }

    /// What so many bytes take, where bursts of two sizes were answered; no longer than any link needs.
    fn needs(&self, bytes: i64) -> Option<i64> {
        let ((few, took), (many, longer)) = self.smallest.zip(self.largest)?;
        (many > few).then(|| ((longer - took).saturating_mul(bytes) / (many - few)).clamp(-LONGEST_NS, LONGEST_NS))
    }

    /// Whether packets are on the link all the time while a burst of so many bytes is answered in this time.
    fn is_busy(&self, bytes: i64, rtt: i64, segment: i64) -> bool {
        let (Some(handshake), Some((few, took)), Some((_, longer))) = (self.handshake, self.smallest, self.largest)
        else {
            return false;
        };
        let [Some(first), Some(whole), Some(one)] = [few, bytes, segment].map(|bytes| self.needs(bytes)) else {
            return false;
        };
        if longer <= took || rtt >= LONGEST_NS {
            return false;
        }
        // The ACK, and the path's own delay. A handshake is two such packets, and that delay once.
        let answer = took - first;
        let idle = (2 * answer - handshake).max(0);
        let on_air = (handshake - answer) * EMPTY_PART >= one;
        let round = answer + whole;
        // Otherwise a timer of the receiver delayed some of the answers.
        let alike = (handshake / 4..=handshake + handshake / 4).contains(&answer);
        alike && rtt - round < DELAYED_ACK_NS && idle * if on_air { IDLE_PART_OF_AIR } else { IDLE_PART } <= round
    }
}

/// Whether a burst takes so much longer than the `least` round trip that its bytes are on a line for all but a tenth of that time, whatever
/// timer of the receiver is in it.
fn fills_line(rtt: i64, least: i64) -> bool {
    let idle = least.saturating_add(DELAYED_ACK_MAX_NS);
    (1..=rtt).contains(&least) && rtt < LONGEST_NS && idle.saturating_mul(IDLE_PART) <= rtt - idle
}

/// Bursts each of which followed the ACK of the one before at once.
#[derive(Debug, Clone, Copy)]
pub struct Bursts {
    /// When the first one was sent and answered, and the latest answer.
    since: i64,
    answered: i64,
    latest: i64,
    rounds: u8,
}

impl Bursts {
    /// The ACK of another one at `t`, after those `before`. `at_once`: the sender reacts to an ACK within this time.
    pub fn follow(before: Option<Bursts>, t: i64, rtt: i64, at_once: i64) -> Bursts {
        let sent = t - rtt;
        let first = Bursts { since: sent, answered: t, latest: t, rounds: 0 };
        let bursts = before.filter(|before| sent - before.latest <= at_once).unwrap_or(first);
        Bursts { latest: t, rounds: bursts.rounds.saturating_add(1), ..bursts }
    }

    /// The next round trips may show that the link has been busy since before the one that ended at `t`.
    pub fn may_be_busy(&self, t: i64) -> bool {
        self.latest == t && self.rounds <= ROUNDS
    }

    /// Since when the link has been busy, and when the first data since then was answered, as the round trip that ends at `t` shows.
    pub fn busy_since(&self, t: i64, (bytes, rtt): (i64, i64), times: &LinkTimes, segment: i64) -> Option<(i64, i64)> {
        (self.latest == t && times.is_busy(bytes, rtt, segment)).then_some((self.since, self.answered))
    }

    /// The same of a line, of which the `least` round trip is known, but not that of another burst.
    pub fn fill_line_since(&self, t: i64, rtt: i64, least: i64) -> Option<(i64, i64)> {
        (self.latest == t && fills_line(rtt, least)).then_some((self.since, self.answered))
    }
}

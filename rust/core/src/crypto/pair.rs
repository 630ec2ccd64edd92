//! The state of one station at one access point: nonces, verified sessions.

use std::collections::VecDeque;

use crate::frame::Mac;
use crate::limits;

use super::elements::Suites;
use super::pmks::Candidates;
use super::session::{Second, Session};

#[derive(Default)]
pub(super) struct Pair {
    /// Nonces of the authenticator, newest first.
    anonces: VecDeque<[u8; 32]>,
    /// Messages of the supplicant, newest first.
    seconds: VecDeque<Second>,
    /// Newest first; delayed frames after a rekeying use an older key.
    pub sessions: Vec<Session>,
    /// As the station chose.
    pub suites: Option<Suites>,
    /// The result of the last complete handshake.
    pub tried: Tried,
}

/// The result of trying keys on a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tried {
    /// No complete handshake yet.
    #[default]
    Not,
    Fits,
    /// No key matches.
    Unfit,
    /// The given keys are for other networks.
    NotMeant,
    /// The network's name is not known.
    Nameless,
}

impl Pair {
    /// Store a nonce of the authenticator; returns whether it is new.
    pub fn hear_anonce(&mut self, nonce: [u8; 32]) -> bool {
        let news = !self.anonces.contains(&nonce);
        if news {
            self.anonces.push_front(nonce);
            self.anonces.truncate(limits::NONCES);
        }
        news
    }

    /// Store a message of the supplicant; returns whether it is new.
    pub fn hear_second(&mut self, second: Second) -> bool {
        if self.seconds.iter().any(|s| s.mic == second.mic) {
            return false;
        }
        self.suites = second.suites.or(self.suites);
        self.seconds.push_front(second);
        self.seconds.truncate(limits::NONCES);
        true
    }

    /// Whether both sides of a handshake were captured.
    pub fn is_whole(&self) -> bool {
        !self.anonces.is_empty() && !self.seconds.is_empty()
    }

    /// Try PMKs on the captured messages; `trials` limits the attempts. A verified message is removed from the list.
    pub fn try_all(&mut self, aa: &Mac, spa: &Mac, candidates: &Candidates, trials: &mut u64) {
        let Pair { anonces, seconds, sessions, tried, .. } = self;
        let mut found = None;
        'all: for (i, second) in seconds.iter().enumerate() {
            for anonce in anonces.iter() {
                for pmk in &candidates.pmks {
                    if *trials == 0 {
                        return;
                    }
                    *trials -= 1;
                    if let Some(session) = Session::verified(pmk, aa, spa, anonce, second) {
                        found = Some((i, session));
                        break 'all;
                    }
                }
            }
        }
        *tried = match candidates {
            _ if found.is_some() || !sessions.is_empty() => Tried::Fits,
            c if c.pmks.is_empty() && c.nameless => Tried::Nameless,
            // Too many networks: no PMK was derived.
            c if c.pmks.is_empty() && c.meant => Tried::Not,
            c if c.meant => Tried::Unfit,
            _ => Tried::NotMeant,
        };
        if let Some((i, session)) = found {
            seconds.remove(i);
            // A retransmitted message verifies the same keys again.
            if !sessions.iter().any(|s| s.anonce == session.anonce && s.snonce == session.snonce) {
                sessions.insert(0, session);
                sessions.truncate(limits::SESSIONS);
            }
        }
    }
}

//! What a sender waits for: its state between two actions, for the true ledger.

use super::{Event, Sender, State, Wait};
use crate::tcp::config::TcpConfig;

impl Sender {
    /// After an action: what the sender waits for now.
    pub fn waits(&self, config: &TcpConfig, sack: bool, established: bool) -> Wait {
        if !established {
            return Wait::Handshake;
        }
        let unsent = self.next < self.written;
        if self.scoreboard.is_empty() {
            return match () {
                () if self.closed && self.una > self.written => Wait::Closed,
                () if unsent && self.next >= self.window_end => Wait::ClosedWindow,
                () => Wait::Application,
            };
        }
        match self.state {
            // Later it only keeps the state (RFC 6582 section 4), and so without SACK after it undid a timeout (`tcp_try_undo_loss`):
            // nothing is left to repair.
            State::Loss if self.una < self.high && self.scoreboard.lost > 0 => Wait::Loss,
            State::Recovery if self.una < self.high => Wait::Recovery,
            _ if matches!(self.window_state, Event::WindowFilled | Event::WindowClosed) => Wait::Window,
            _ if !unsent => Wait::LastAcks,
            _ if self.pipe(config, sack) < self.cwnd => Wait::SmallSegment,
            _ if self.cwnd < self.ssthresh => Wait::SlowStart,
            _ => Wait::Congestion,
        }
    }
}

//! A period of a direction in which its sender was in one state.

use super::kinds::State;
use crate::table::tcp::IntervalRows;

/// A long window has an interval for each of so many parts of a round trip: more than a pace needs (ledger/pace.py, `PACED_ACKS`).
const PARTS: i64 = 8;

/// A period in one state.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    pub start: i64,
    pub end: i64,
    pub state: State,
    pub timeout: Option<u64>,
    pub first_packet: u64,
    pub last_packet: u64,
    pub packets: u32,
    pub acked: u64,
    pub flight: u32,
    pub window: Option<u32>,
    pub rtt_sum: i64,
    pub rtt_count: i64,
    /// ns; i64::MAX for none, so that a copy is one store.
    pub rtt_least: i64,
}

/// The counters of a piece.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub packets: u32,
    pub acked: u64,
    pub rtt_sum: i64,
    pub rtt_count: i64,
    pub last_packet: u64,
    /// Bytes in flight when it was sent.
    pub flight: u32,
}

impl Piece {
    /// Keep the part after `since`, counted separately, and return the part before it.
    pub fn cut(&mut self, since: i64, after: &Counts) -> Piece {
        let before = Piece {
            end: since,
            last_packet: after.last_packet.max(self.first_packet),
            packets: self.packets.saturating_sub(after.packets),
            acked: self.acked.saturating_sub(after.acked),
            rtt_sum: self.rtt_sum.saturating_sub(after.rtt_sum),
            rtt_count: self.rtt_count - after.rtt_count,
            ..*self
        };
        self.start = since;
        self.first_packet = after.last_packet;
        (self.packets, self.acked) = (after.packets, after.acked);
        (self.rtt_sum, self.rtt_count) = (after.rtt_sum, after.rtt_count);
        self.flight = after.flight;
        before
    }

    /// Whether the next piece is more of the same. Whether a window kept the path busy shows in the pauses between ACKs, within a round
    /// trip or, `away` from the sender, wherever.
    pub fn goes_on(&self, next: &Piece, away: bool) -> bool {
        let part = (self.end - self.start).saturating_mul(PARTS * self.rtt_count) >= self.rtt_sum;
        let paced = self.state == State::WindowLimited && self.acked > 0 && next.end > next.start;
        self.state == next.state && self.timeout == next.timeout && !(paced && (away || part))
    }

    pub fn merge(&mut self, later: &Piece) {
        self.end = self.end.max(later.end);
        self.last_packet = later.last_packet;
        self.packets = self.packets.saturating_add(later.packets);
        self.acked += later.acked;
        self.flight = self.flight.max(later.flight);
        self.window = later.window;
        self.rtt_sum = self.rtt_sum.saturating_add(later.rtt_sum);
        self.rtt_count += later.rtt_count;
        self.rtt_least = later.rtt_least;
    }

    pub fn write(&self, rows: &mut IntervalRows, flow: u32, reverse: bool) {
        if self.end <= self.start {
            return;
        }
        rows.flow.push(flow);
        rows.direction.push(i8::from(reverse));
        rows.t_start_ns.push(self.start);
        rows.t_end_ns.push(self.end);
        rows.state.push(self.state as i8);
        rows.timeout_packet.push_opt(self.timeout);
        rows.first_packet.push(self.first_packet);
        rows.last_packet.push(self.last_packet);
        rows.packets.push(self.packets);
        rows.acked_bytes.push(self.acked);
        rows.flight_bytes.push(self.flight);
        rows.window_bytes.push_opt(self.window);
        rows.rtt_ns.push_opt((self.rtt_count > 0).then(|| self.rtt_sum / self.rtt_count.max(1)));
        rows.rtt_min_ns.push_opt((self.rtt_least < i64::MAX).then_some(self.rtt_least));
    }
}

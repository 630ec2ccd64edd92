//! Exchanges that have not ended, in the order of their first evidence.

use std::collections::VecDeque;

/// Identifies an exchange until it is emitted.
pub type Id = u32;
/// No exchange, no stream, no station, no flow.
pub const NONE: u32 = u32::MAX;
/// No time.
pub const NEVER: i64 = i64::MIN;

/// Positions in `table::exchanges::INFERENCES`.
pub mod inference {
    pub const NOTHING: i8 = -1;
    pub const RETRY_BIT: i8 = 0;
    pub const SEQUENCE_GAP: i8 = 1;
    pub const LONE_ACK: i8 = 2;
    pub const BLOCK_ACK: i8 = 3;
    pub const NAV: i8 = 4;
}

/// One exchange: small, since those of a second are kept. A time is `NEVER` if there is none.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// Record of the first captured transmission; until then of the first evidence.
    pub first_packet: u64,
    pub last_packet: u64,
    /// 0: none.
    pub ack_packet: u64,
    pub first_rate_mbps: f64,
    pub first_ns: i64,
    pub last_ns: i64,
    pub ack_ns: i64,
    /// Time of its last evidence, on the tracker's clock.
    pub heard_ns: i64,
    pub opened_ns: i64,
    /// Stations that send and receive.
    pub ta: u32,
    pub ra: u32,
    pub stream: u32,
    /// Sequence number, unwrapped within its stream; null if only an ACK or an RTS shows the exchange.
    pub number: Option<u32>,
    /// The other transmissions: head and tail of a list in the queue.
    pub more: u32,
    pub more_last: u32,
    pub airtime_ns: u32,
    pub last_airtime_ns: u32,
    /// Of the transmission that was acknowledged.
    pub useful_ns: u32,
    /// The PPDU of the last transmission.
    pub ppdu: u32,
    pub mpdu_bytes: u32,
    pub flow: u32,
    pub seen: u16,
    pub inferred: u16,
    pub fragment: u8,
    pub tid: Option<u8>,
    pub inferred_by: i8,
    pub carries: i8,
    pub b_to_a: bool,
    /// The airtime of every transmission is known.
    pub timed: bool,
    /// An acknowledgment is due: addressed to one station, and not under the No Ack policy.
    pub expects: bool,
    pub acked: bool,
    /// The Block Ack for the last transmission does not contain it.
    pub refused: bool,
    /// No frame can join it any more.
    pub closed: bool,
    /// It was merged into another exchange.
    pub withdrawn: bool,
}

impl Exchange {
    /// An exchange without evidence yet.
    pub fn new(ta: u32, ra: u32, packet: u64, now: i64) -> Self {
        Exchange {
            first_packet: packet,
            last_packet: packet,
            ack_packet: 0,
            first_rate_mbps: f64::NAN,
            first_ns: NEVER,
            last_ns: NEVER,
            ack_ns: NEVER,
            heard_ns: now,
            opened_ns: now,
            ta,
            ra,
            stream: NONE,
            number: None,
            more: NONE,
            more_last: NONE,
            airtime_ns: 0,
            last_airtime_ns: 0,
            useful_ns: 0,
            ppdu: 0,
            mpdu_bytes: 0,
            flow: NONE,
            seen: 0,
            inferred: 0,
            fragment: 0,
            tid: None,
            inferred_by: inference::NOTHING,
            carries: -1,
            b_to_a: false,
            timed: true,
            expects: true,
            acked: false,
            refused: false,
            closed: false,
            withdrawn: false,
        }
    }

    /// Add a missed transmission, and its evidence.
    pub fn infer(&mut self, by: i8) {
        self.inferred = self.inferred.saturating_add(1);
        self.inferred_by = by;
    }

    /// Add the airtime of one more transmission.
    pub fn add_airtime(&mut self, ns: Option<u32>) {
        match ns.and_then(|ns| self.airtime_ns.checked_add(ns)) {
            Some(sum) => self.airtime_ns = sum,
            None => self.timed = false,
        }
        self.last_airtime_ns = ns.unwrap_or(0);
    }

    /// An ACK or a Block Ack bit for it was captured.
    pub fn acknowledge(&mut self, packet: u64, time_ns: Option<i64>) {
        if !self.acked {
            self.acked = true;
            self.refused = false;
            self.ack_packet = packet;
            self.ack_ns = time_ns.unwrap_or(NEVER);
            self.useful_ns = self.last_airtime_ns;
        }
    }
}

/// A transmission after the first.
#[derive(Debug, Clone, Copy)]
struct More {
    packet: u64,
    rate_mbps: f64,
    next: u32,
}

/// Exchanges in order; ids count up and wrap at 2^32.
#[derive(Debug, Default)]
pub struct Queue {
    exchanges: VecDeque<Exchange>,
    base: Id,
    more: Vec<More>,
    free: Option<u32>,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    pub fn push(&mut self, exchange: Exchange) -> Id {
        let id = self.base.wrapping_add(self.exchanges.len() as u32);
        self.exchanges.push_back(exchange);
        id
    }

    pub fn get(&self, id: Id) -> Option<&Exchange> {
        self.exchanges.get(id.wrapping_sub(self.base) as usize)
    }

    pub fn get_mut(&mut self, id: Id) -> Option<&mut Exchange> {
        self.exchanges.get_mut(id.wrapping_sub(self.base) as usize)
    }

    /// The oldest exchange and its id.
    pub fn oldest(&self) -> Option<(Id, &Exchange)> {
        Some((self.base, self.exchanges.front()?))
    }

    /// Remove the oldest exchange and its transmissions.
    pub fn drop_oldest(&mut self) {
        let Some(e) = self.exchanges.front() else { return };
        if e.more != NONE {
            self.more[e.more_last as usize].next = self.free.unwrap_or(NONE);
            self.free = Some(e.more);
        }
        self.exchanges.pop_front();
        self.base = self.base.wrapping_add(1);
    }

    /// Add one more transmission to an exchange in the queue.
    pub fn add_attempt(&mut self, id: Id, packet: u64, rate_mbps: f64) {
        let at = match self.free {
            Some(at) => {
                self.free = Some(self.more[at as usize].next).filter(|n| *n != NONE);
                self.more[at as usize] = More { packet, rate_mbps, next: NONE };
                at
            }
            None => {
                self.more.push(More { packet, rate_mbps, next: NONE });
                self.more.len() as u32 - 1
            }
        };
        let Some(e) = self.exchanges.get_mut(id.wrapping_sub(self.base) as usize) else { return };
        let before = std::mem::replace(&mut e.more_last, at);
        if before == NONE {
            e.more = at;
        } else {
            self.more[before as usize].next = at;
        }
    }

    /// Pass the records and rates of all captured transmissions to `each`, in order.
    pub fn attempts(&self, e: &Exchange, mut each: impl FnMut(u64, f64)) {
        if e.seen > 0 {
            each(e.first_packet, e.first_rate_mbps);
        }
        let mut at = e.more;
        while at != NONE {
            let attempt = &self.more[at as usize];
            each(attempt.packet, attempt.rate_mbps);
            at = attempt.next;
        }
    }
}

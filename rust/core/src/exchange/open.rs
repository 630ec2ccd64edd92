//! Exchanges that are not settled yet, in the order in which the first sign of each was seen.

use std::collections::VecDeque;

/// Names an exchange until it is handed out.
pub type Id = u32;
/// No exchange, no stream, no station.
pub const NONE: u32 = u32::MAX;

/// Positions in `table::exchanges::INFERENCES`.
pub mod inference {
    pub const NOTHING: i8 = -1;
    pub const RETRY_BIT: i8 = 0;
    pub const SEQUENCE_GAP: i8 = 1;
    pub const LONE_ACK: i8 = 2;
    pub const BLOCK_ACK: i8 = 3;
    pub const NAV: i8 = 4;
}

/// One exchange.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// Stations that send and receive.
    pub ta: u32,
    pub ra: u32,
    pub stream: u32,
    /// Sequence number, counted on beyond 4095 within its stream; None where only an ACK or an RTS tells of it.
    pub number: Option<u32>,
    pub fragment: u8,
    pub tid: Option<u8>,
    /// Record of the first attempt seen; before one is, of the sign that it was made.
    pub first_packet: u64,
    pub last_packet: u64,
    pub first_rate_mbps: f64,
    /// The other attempts: head and tail of a list in the queue.
    pub more: u32,
    pub more_last: u32,
    pub seen: u16,
    pub inferred: u16,
    pub inferred_by: i8,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    /// When the last sign of it was seen, by the tracker's clock.
    pub heard_ns: i64,
    pub opened_ns: i64,
    pub ack_ns: Option<i64>,
    pub ack_packet: Option<u64>,
    pub airtime_ns: u64,
    pub last_airtime_ns: u64,
    /// Of the attempt that was acknowledged.
    pub useful_ns: u64,
    /// Every attempt's airtime is known.
    pub timed: bool,
    /// The PPDU of the last attempt.
    pub ppdu: u32,
    pub mpdu_bytes: u32,
    pub carries: i8,
    pub flow: Option<(u32, bool)>,
    /// An acknowledgment is due: addressed to one station, and not under the No Ack policy.
    pub expects: bool,
    pub acked: bool,
    /// The Block Ack that answered the last attempt lacks it.
    pub refused: bool,
    /// Nothing can join it any more.
    pub closed: bool,
    /// It turned out to be the sign of another exchange.
    pub withdrawn: bool,
}

impl Exchange {
    /// One of which nothing was seen yet.
    pub fn new(ta: u32, ra: u32, packet: u64, now: i64) -> Self {
        Exchange {
            ta,
            ra,
            stream: NONE,
            number: None,
            fragment: 0,
            tid: None,
            first_packet: packet,
            last_packet: packet,
            first_rate_mbps: f64::NAN,
            more: NONE,
            more_last: NONE,
            seen: 0,
            inferred: 0,
            inferred_by: inference::NOTHING,
            first_ns: None,
            last_ns: None,
            heard_ns: now,
            opened_ns: now,
            ack_ns: None,
            ack_packet: None,
            airtime_ns: 0,
            last_airtime_ns: 0,
            useful_ns: 0,
            timed: true,
            ppdu: 0,
            mpdu_bytes: 0,
            carries: -1,
            flow: None,
            expects: true,
            acked: false,
            refused: false,
            closed: false,
            withdrawn: false,
        }
    }

    /// An attempt that was not seen, and what it follows from.
    pub fn infer(&mut self, by: i8) {
        self.inferred = self.inferred.saturating_add(1);
        self.inferred_by = by;
    }

    /// An ACK or a Block Ack bit for it was seen.
    pub fn acknowledge(&mut self, packet: u64, time_ns: Option<i64>) {
        if !self.acked {
            self.acked = true;
            self.refused = false;
            self.ack_packet = Some(packet);
            self.ack_ns = time_ns;
            self.useful_ns = self.last_airtime_ns;
        }
    }
}

/// An attempt after the first.
#[derive(Debug, Clone, Copy)]
struct More {
    packet: u64,
    rate_mbps: f64,
    next: u32,
}

/// Exchanges in order; ids go up by one and come round at 2^32.
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

    pub fn front(&self) -> Option<&Exchange> {
        self.exchanges.front()
    }

    /// The oldest exchange and its id; its list of attempts stays until `forget_attempts`.
    pub fn pop(&mut self) -> Option<(Id, Exchange)> {
        let exchange = self.exchanges.pop_front()?;
        let id = self.base;
        self.base = self.base.wrapping_add(1);
        Some((id, exchange))
    }

    /// Note one more attempt of an exchange that is in the queue.
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

    /// The records and rates of all attempts seen, in order.
    pub fn attempts(&self, e: &Exchange, packets: &mut Vec<u64>, rates: &mut Vec<f64>) {
        packets.clear();
        rates.clear();
        if e.seen == 0 {
            return;
        }
        packets.push(e.first_packet);
        rates.push(e.first_rate_mbps);
        let mut at = e.more;
        while at != NONE {
            let attempt = self.more[at as usize];
            packets.push(attempt.packet);
            rates.push(attempt.rate_mbps);
            at = attempt.next;
        }
    }

    /// Give the list of an exchange's attempts back.
    pub fn forget_attempts(&mut self, e: &Exchange) {
        if e.more != NONE {
            self.more[e.more_last as usize].next = self.free.unwrap_or(NONE);
            self.free = Some(e.more);
        }
    }
}

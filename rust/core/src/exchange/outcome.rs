//! The outcome of an exchange, decided when it ends.
//!
//! *Delivered*: an ACK or a Block Ack bit for it was captured, or its next fragment was sent (clause 10.4: only after the
//! ACK of the previous one). Certain, except for an ACK of a missed frame within the same few microseconds.
//!
//! *Dropped*, by one of three rules:
//! * The Block Ack for its last transmission does not contain it, no later Block Ack does, and the sender moved its window
//!   beyond it: numbers a whole window further, or a BlockAckReq that starts after it. Wrong only if a retransmission and
//!   its Block Ack were both missed.
//! * At least `RETRY_LIMIT` transmissions without a response, and the sender continued with later numbers, in a stream whose
//!   responses the sniffer captures. All transmissions but the last certainly failed, since they were repeated; for a delivery,
//!   the last must have arrived, which after n failures in a row has a probability of about 1/n, and its ACK must have been
//!   missed, which happened to a share m of the exchanges that ended before the limit without a response (they were
//!   delivered, since no default limit is lower). The rule needs m / n to be at most 1 in `WRONG_ONE_IN`, and m itself
//!   at most 1 in `MISSED_ONE_IN`, because a last transmission at a lower rate may succeed more often.
//!
//! * The same, if the sniffer captures at least every second response but the sender's limit is visible: `LIMIT_LEAST` earlier
//!   exchanges ended without a response after as many transmissions (within an eighth), and at most one in
//!   `LIMIT_ACKED_ONE_IN` with as many was acknowledged. If the last transmissions had been delivered, half would be.
//!
//! *Unknown*: everything else.

use super::open::Exchange;
use super::stream::{past, window_span, Stream};

/// The smaller one of the two default retry limits (dot11LongRetryLimit; dot11ShortRetryLimit is 7).
const RETRY_LIMIT: u16 = 4;
/// Exchanges needed before the sniffer's share of captured responses is used.
const HEARD_LEAST: u8 = 8;
const MISSED_ONE_IN: u32 = 4;
const WRONG_ONE_IN: u32 = 40;
const LIMIT_LEAST: u16 = 3;
const LIMIT_ACKED_ONE_IN: u16 = 4;

/// In the order of `table::exchanges::OUTCOMES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum End {
    Delivered = 0,
    Dropped = 1,
    Unknown = 2,
}

#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    pub end: End,
    pub acked: Option<bool>,
    pub wasted_ns: u32,
}

/// Decide the outcome of an exchange that has ended.
pub fn judge(e: &Exchange, number: u32, stream: &mut Stream) -> Outcome {
    let beyond = stream.head.map_or(0, |head| past(head, number));
    let went_on = beyond > 0;
    let attempts = e.seen.saturating_add(e.inferred);
    let mut dropped = false;
    if e.expects && e.seen > 0 {
        let window_past = beyond >= window_span(&stream.window) || stream.floor.is_some_and(|f| past(f, number) > 0);
        let unanswered = !e.acked && went_on && attempts >= RETRY_LIMIT;
        let one_in = (WRONG_ONE_IN / u32::from(attempts.max(1))).max(MISSED_ONE_IN);
        let gave_up = stream.hearing.is_good(HEARD_LEAST, one_in)
            || stream.hearing.is_good(HEARD_LEAST, 2)
                && stream.limit.is_reached(attempts, LIMIT_LEAST, LIMIT_ACKED_ONE_IN);
        dropped = !e.acked && e.refused && window_past || unanswered && gave_up;
        if attempts >= RETRY_LIMIT && (e.acked || went_on) {
            stream.limit.add(attempts, e.acked);
        }
        if went_on && !e.refused && !unanswered {
            stream.hearing.add(e.acked);
        }
    }
    Outcome {
        end: match (e.acked, dropped) {
            (true, _) => End::Delivered,
            (false, true) => End::Dropped,
            (false, false) => End::Unknown,
        },
        acked: if e.acked { Some(true) } else { (dropped || e.refused).then_some(false) },
        wasted_ns: wasted(e, dropped),
    }
}

/// For an exchange of which only an ACK or a reservation was captured.
pub fn of_unnumbered(e: &Exchange) -> Outcome {
    Outcome { end: if e.acked { End::Delivered } else { End::Unknown }, acked: e.acked.then_some(true), wasted_ns: 0 }
}

/// Airtime of the failed transmissions: all but the acknowledged one; without evidence, all but the last; none if no
/// response is expected, since every copy is intended.
fn wasted(e: &Exchange, dropped: bool) -> u32 {
    if dropped {
        e.airtime_ns
    } else if !e.expects {
        0
    } else if e.acked {
        e.airtime_ns.saturating_sub(e.useful_ns)
    } else if e.refused {
        e.airtime_ns
    } else {
        e.airtime_ns.saturating_sub(e.last_airtime_ns)
    }
}

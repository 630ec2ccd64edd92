//! Where the tap sits between sender and receiver, from the capture alone.

use super::connection::Connection;

/// The places, in the order of `table::flow_facts::TAPS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Tap {
    NearSender,
    NearReceiver,
    Middle,
    Unknown,
}

/// An end is near when its part of the round trip is below a tenth of the whole: ten times nearer than the other.
pub const NEAR: i64 = 10;

/// Place of the tap for the data of one direction.
///
/// First the capture's own word (cooked packet type, pcapng flags), then the two halves of the handshake
/// (SYN to SYN+ACK, SYN+ACK to ACK), then how quickly this sender answers ACKs beside the tap's round trip.
pub fn tap(c: &Connection, reverse: bool) -> Tap {
    let place = |near_a: bool| {
        if near_a == reverse {
            Tap::NearReceiver
        } else {
            Tap::NearSender
        }
    };
    let [not_a, a] = c.local_votes;
    if a != not_a {
        return place(a > not_a);
    }
    let h = &c.handshake;
    if let (Some(syn), Some(synack), Some(ack)) = (h.syn, h.synack, h.ack) {
        let (to_b, to_a) = (synack - syn, ack - synack);
        return match () {
            () if to_a.saturating_mul(NEAR) < to_b => place(true),
            () if to_b.saturating_mul(NEAR) < to_a => place(false),
            () => Tap::Middle,
        };
    }
    let half = &c.halves[usize::from(reverse)];
    match (half.reaction, half.rtt_least) {
        (Some(reaction), Some(rtt)) if reaction.saturating_mul(NEAR) < rtt => Tap::NearSender,
        (Some(reaction), Some(rtt)) if rtt.saturating_mul(NEAR) < reaction => Tap::NearReceiver,
        _ => Tap::Unknown,
    }
}

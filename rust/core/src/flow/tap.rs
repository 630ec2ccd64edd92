//! Where the tap sits between sender and receiver, from the capture alone.

use super::half::Half;
use super::handshake::Handshake;

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
const NEAR: i64 = 10;

/// Place, for the data of one direction, of a tap beside a or beside b.
fn place(near_a: bool, reverse: bool) -> Tap {
    if near_a == reverse {
        Tap::NearReceiver
    } else {
        Tap::NearSender
    }
}

/// Place of the tap by the two halves of the handshake.
pub fn by_handshake(h: &Handshake, reverse: bool) -> Option<Tap> {
    let (to_b, to_a) = h.parts()?;
    Some(match () {
        () if to_a.saturating_mul(NEAR) < to_b => place(true, reverse),
        () if to_b.saturating_mul(NEAR) < to_a => place(false, reverse),
        () => Tap::Middle,
    })
}

/// Place of the tap for the data of one direction.
///
/// First the capture's own word (cooked packet type, pcapng flags), then the two halves of the handshake
/// (SYN to SYN+ACK, SYN+ACK to ACK), then, of what no radio heard, how quickly this sender answers ACKs beside the tap's
/// round trip.
pub fn tap(local_votes: [u32; 2], handshake: &Handshake, on_air: bool, half: &Half, reverse: bool) -> Tap {
    let [not_a, a] = local_votes;
    if a != not_a {
        return place(a > not_a, reverse);
    }
    if let Some(tap) = by_handshake(handshake, reverse) {
        return tap;
    }
    // A radio stands at neither end, and of what it missed no reaction tells.
    if on_air {
        return Tap::Middle;
    }
    match (half.reaction, half.rtt_least) {
        (Some(reaction), Some(rtt)) if reaction.saturating_mul(NEAR) < rtt => Tap::NearSender,
        (Some(reaction), Some(rtt)) if rtt.saturating_mul(NEAR) < reaction => Tap::NearReceiver,
        _ => Tap::Unknown,
    }
}

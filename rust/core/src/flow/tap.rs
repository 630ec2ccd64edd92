//! The position of the tap between sender and receiver, from one capture alone.

use super::handshake::Handshake;
use super::sender_state::SenderState;

/// The positions, in the order of `table::flow_facts::TAPS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Tap {
    NearSender,
    NearReceiver,
    Middle,
    Unknown,
}

/// An end is near if its part of the round trip is below a tenth of the other part.
const NEAR: i64 = 10;

/// Position, for the data of one direction, of a tap near a or near b.
fn place(near_a: bool, reverse: bool) -> Tap {
    if near_a == reverse {
        Tap::NearReceiver
    } else {
        Tap::NearSender
    }
}

/// Position of the tap by the two parts of the handshake.
pub fn by_handshake(h: &Handshake, reverse: bool) -> Option<Tap> {
    let (to_b, to_a) = h.parts()?;
    Some(match () {
        () if to_a.saturating_mul(NEAR) < to_b => place(true, reverse),
        () if to_b.saturating_mul(NEAR) < to_a => place(false, reverse),
        () => Tap::Middle,
    })
}

/// Position of the tap for the data of one direction.
///
/// The evidence in order: the direction in the capture (cooked packet type, pcapng flags), the two parts of the handshake
/// (SYN to SYN+ACK, SYN+ACK to ACK), and, except for sniffers, this sender's reaction time to ACKs compared with the RTT at the
/// tap.
pub fn tap(local_votes: [u32; 2], handshake: &Handshake, on_air: bool, sender: &SenderState, reverse: bool) -> Tap {
    let [not_a, a] = local_votes;
    if a != not_a {
        return place(a > not_a, reverse);
    }
    if let Some(tap) = by_handshake(handshake, reverse) {
        return tap;
    }
    // A sniffer is at neither end, and it misses packets, so reaction times prove nothing.
    if on_air {
        return Tap::Middle;
    }
    match (sender.reaction, sender.rtt_least) {
        (Some(reaction), Some(rtt)) if reaction.saturating_mul(NEAR) < rtt => Tap::NearSender,
        (Some(reaction), Some(rtt)) if rtt.saturating_mul(NEAR) < reaction => Tap::NearReceiver,
        _ => Tap::Unknown,
    }
}

//! The position of the tap between sender and receiver, from one capture alone.
//!
//! The two parts of the round trip decide: the least time from a packet to its ACK, of the handshake and of all data, in both
//! directions. An end that was slow once (a busy server, a delayed ACK) makes a sample longer, never shorter. How soon a sender
//! answers ACKs is a weaker sign: in a stream the next segment follows an ACK by chance, and an application may be slow each
//! time. The TTL counts hops, not time: it excludes an end and decides between the other two, never alone. Where the round trips of
//! this connection show neither end, those of others between its hosts may.

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

/// The times to live with which hosts send (30 and 60: old systems): a packet that has another passed a router.
const INITIAL_TTLS: [u8; 6] = [30, 32, 60, 64, 128, 255];

/// What one sign says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Near {
    A,
    B,
    Neither,
}

/// Position, for the data of one direction, of a tap near a or near b.
fn place(near_a: bool, reverse: bool) -> Tap {
    if near_a == reverse {
        Tap::NearReceiver
    } else {
        Tap::NearSender
    }
}

/// The two parts of the round trip compared: from the tap to b, and to a.
fn nearer(to_b: i64, to_a: i64) -> Near {
    match () {
        () if to_a.saturating_mul(NEAR) < to_b => Near::A,
        () if to_b.saturating_mul(NEAR) < to_a => Near::B,
        () => Near::Neither,
    }
}

/// The least of each part, in the handshake and of all data.
fn round_trips_say(h: &Handshake, [a, b]: &[SenderState; 2]) -> Option<Near> {
    let parts = h.parts();
    let least = |part: Option<i64>, of_data: Option<i64>| part.into_iter().chain(of_data).min();
    Some(nearer(least(parts.map(|p| p.0), a.rtt_least)?, least(parts.map(|p| p.1), b.rtt_least)?))
}

/// Position of the tap by the two parts of the handshake.
pub fn by_handshake(h: &Handshake, reverse: bool) -> Option<Tap> {
    let (to_b, to_a) = h.parts()?;
    Some(by_loops(if reverse { [to_b, to_a] } else { [to_a, to_b] }))
}

/// Position of the tap by the least times to the sender and to the receiver, over all connections of these hosts.
pub fn by_loops([to_sender, to_receiver]: [i64; 2]) -> Tap {
    match nearer(to_receiver, to_sender) {
        Near::A => Tap::NearSender,
        Near::B => Tap::NearReceiver,
        Near::Neither => Tap::Middle,
    }
}

/// What both ends say; `says` is given a sender, its own end and the other one. They must agree.
fn both_say(senders: &[SenderState; 2], says: impl Fn(&SenderState, Near, Near) -> Option<Near>) -> Option<Near> {
    let [a, b] = senders;
    match (says(a, Near::A, Near::B), says(b, Near::B, Near::A)) {
        (Some(x), Some(y)) if x != y => Some(Near::Neither),
        (x, y) => x.or(y),
    }
}

/// How soon an end answers ACKs compared with the round trip of its data at the tap. Both ends may send data: they must agree.
fn reactions_say(senders: &[SenderState; 2]) -> Option<Near> {
    both_say(senders, |sender, own, other| match (sender.reaction, sender.rtt_least) {
        (Some(reaction), Some(rtt)) if reaction.saturating_mul(NEAR) < rtt => Some(own),
        (Some(reaction), Some(rtt)) if rtt.saturating_mul(NEAR) < reaction => Some(other),
        _ => None,
    })
}

/// What the connection learned from others of its hosts as its data began, which corrects a handshake that waited in a queue.
fn hosts_say(senders: &[SenderState; 2]) -> Option<Near> {
    both_say(senders, |sender, own, other| match (sender.near_sender, sender.near_receiver) {
        (true, false) => Some(own),
        (false, true) => Some(other),
        _ => None,
    })
}

/// The end from which packets come without passing a router, while those of the other end passed one.
fn ttl_says(senders: &[SenderState; 2]) -> Option<Near> {
    if senders.iter().any(|s| s.tally.ttl == 0) {
        return None;
    }
    match senders.each_ref().map(came_from_link) {
        [true, false] => Some(Near::A),
        [false, true] => Some(Near::B),
        _ => None,
    }
}

/// No router decremented the TTL of its packets.
pub fn came_from_link(sender: &SenderState) -> bool {
    INITIAL_TTLS.contains(&sender.tally.ttl)
}

/// Packets of this end come without passing a router, and those of the other end passed one: the tap is on its link.
pub fn on_link_of(senders: &[SenderState; 2], reverse: bool) -> bool {
    ttl_says(senders) == Some(if reverse { Near::B } else { Near::A })
}

/// Position of the tap for the data of one direction: as the capture states it (cooked packet type, pcapng flags), else by the
/// signs above. Where they contradict each other the tap is called between the ends.
pub fn tap(
    local_votes: [u32; 2],
    handshake: &Handshake,
    on_air: bool,
    senders: &[SenderState; 2],
    reverse: bool,
) -> Tap {
    let [not_a, a] = local_votes;
    if a != not_a {
        return place(a > not_a, reverse);
    }
    // A sniffer is at neither end, and it misses packets, so reaction times prove nothing.
    let reactions = if on_air { None } else { reactions_say(senders) };
    let ttl = ttl_says(senders);
    let near = match (round_trips_say(handshake, senders), reactions) {
        (Some(Near::Neither), reaction) => reaction.filter(|end| ttl == Some(*end)).or_else(|| hosts_say(senders)),
        (Some(end), _) | (None, Some(end)) => Some(end),
        (None, None) if on_air => None,
        (None, None) => return Tap::Unknown,
    };
    match near {
        Some(end) if end != Near::Neither && ttl.is_none_or(|t| t == end) => place(end == Near::A, reverse),
        _ => Tap::Middle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// The place for the data of a, with these parts of the handshake, this reaction and least round trip of a, and the TTLs.
    fn place_of(parts: Option<(i64, i64)>, reaction: Option<(i64, i64)>, ttls: (u8, u8), on_air: bool) -> Tap {
        let mut h = Handshake::default();
        if let Some((to_b, to_a)) = parts {
            h.syn = Some(0);
            (h.answered, h.synack, h.ack) = (Some(to_b), Some(to_b), Some(to_b + to_a));
        }
        let mut senders = [SenderState::default(), SenderState::default()];
        if let Some((reaction, rtt)) = reaction {
            (senders[0].reaction, senders[0].rtt_least) = (Some(reaction), Some(rtt));
        }
        (senders[0].tally.ttl, senders[1].tally.ttl) = ttls;
        tap([0, 0], &h, on_air, &senders, false)
    }

    const NEAR_A: Option<(i64, i64)> = Some((20 * MS, MS));
    const NEAR_B: Option<(i64, i64)> = Some((MS, 20 * MS));
    const BETWEEN: Option<(i64, i64)> = Some((20 * MS, 15 * MS));
    const SOON: Option<(i64, i64)> = Some((MS / 10, 20 * MS));
    const LATE: Option<(i64, i64)> = Some((20 * MS, MS / 10));

    #[test]
    fn signs_that_agree() {
        assert_eq!(place_of(NEAR_A, SOON, (64, 57), false), Tap::NearSender);
        assert_eq!(place_of(NEAR_B, LATE, (57, 128), false), Tap::NearReceiver);
        assert_eq!(place_of(BETWEEN, None, (60, 60), false), Tap::Middle);
    }

    #[test]
    fn one_sign_alone() {
        assert_eq!(place_of(NEAR_A, None, (0, 0), false), Tap::NearSender);
        assert_eq!(place_of(None, LATE, (60, 60), false), Tap::NearReceiver);
        // Hops say nothing about time.
        assert_eq!(place_of(None, None, (64, 57), false), Tap::Unknown);
        assert_eq!(place_of(None, SOON, (64, 57), true), Tap::Middle);
    }

    #[test]
    fn signs_that_disagree() {
        for ttls in [(0, 0), (64, 64), (62, 61)] {
            assert_eq!(place_of(BETWEEN, SOON, ttls, false), Tap::Middle);
        }
        // The TTL decides between two signs.
        assert_eq!(place_of(BETWEEN, SOON, (64, 57), false), Tap::NearSender);
        assert_eq!(place_of(BETWEEN, SOON, (57, 64), false), Tap::Middle);
        // It contradicts both: the tap is at the link of the other end.
        assert_eq!(place_of(NEAR_A, SOON, (57, 64), false), Tap::Middle);
        assert_eq!(place_of(NEAR_B, None, (128, 50), false), Tap::Middle);
    }

    #[test]
    fn loops_of_hosts() {
        assert_eq!(by_loops([MS, 20 * MS]), Tap::NearSender);
        assert_eq!(by_loops([20 * MS, MS]), Tap::NearReceiver);
        assert_eq!(by_loops([MS, 2 * MS]), Tap::Middle);
    }

    #[test]
    fn other_connections_correct_a_handshake_behind_a_queue() {
        let mut h = Handshake::default();
        h.syn = Some(0);
        (h.answered, h.synack, h.ack) = (Some(20 * MS), Some(20 * MS), Some(35 * MS));
        let mut senders = [SenderState::default(), SenderState::default()];
        assert_eq!(tap([0, 0], &h, false, &senders, false), Tap::Middle);
        (senders[0].near_sender, senders[1].near_receiver) = (true, true);
        assert_eq!(tap([0, 0], &h, false, &senders, false), Tap::NearSender);
        assert_eq!(tap([0, 0], &h, false, &senders, true), Tap::NearReceiver);
        // They contradict each other, and the TTL one of them.
        senders[1].near_receiver = false;
        senders[1].near_sender = true;
        assert_eq!(tap([0, 0], &h, false, &senders, false), Tap::Middle);
        (senders[1].near_receiver, senders[1].near_sender) = (true, false);
        (senders[0].tally.ttl, senders[1].tally.ttl) = (57, 64);
        assert_eq!(tap([0, 0], &h, false, &senders, false), Tap::Middle);
    }

    #[test]
    fn the_least_round_trip_corrects_a_slow_handshake() {
        // The server accepts after 300 ms; its ACKs of data come after 0.1 ms.
        assert_eq!(place_of(Some((300 * MS, 20 * MS)), LATE, (0, 0), false), Tap::NearReceiver);
        // In a stream a segment follows an ACK by chance.
        assert_eq!(place_of(NEAR_B, SOON, (0, 0), false), Tap::NearReceiver);
        // The application answers after a second: no sign of the path.
        assert_eq!(place_of(NEAR_A, Some((1000 * MS, 20 * MS)), (0, 0), false), Tap::NearSender);
    }
}

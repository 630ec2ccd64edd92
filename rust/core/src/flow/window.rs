//! The window that a packet offers (RFC 9293 section 3.1, RFC 7323 section 2).

use super::sender_state::SenderState;
use crate::packet::{flags, Tcp};

/// The window that a packet offers, in bytes; None while its scale is unknown.
pub fn window_bytes(me: &SenderState, peer: &SenderState, tcp: &Tcp) -> Option<u32> {
    let shift = match (me.wscale, peer.wscale, me.syn_seen && peer.syn_seen) {
        _ if tcp.flags & flags::SYN != 0 => Some(0),
        (Some(s), Some(_), _) => Some(s),
        (_, _, true) => Some(0),
        _ => None,
    };
    match shift {
        Some(s) => Some(u32::from(tcp.window) << s),
        // A zero window is zero at any scale.
        None => (tcp.window == 0).then_some(0),
    }
}

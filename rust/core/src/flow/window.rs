//! The window that a packet offers (RFC 9293 section 3.1, RFC 7323 section 2).

use super::ack::Ack;
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

impl SenderState {
    /// The window of an ACK.
    #[inline]
    pub fn note_window(&mut self, a: &Ack<'_>) {
        self.closed = if a.raw_window == 0 && self.raw_window != Some(0) { Some(a.t) } else { self.closed };
        self.raw_window = Some(a.raw_window);
        self.window = a.window;
        let t = &mut self.tally;
        if let Some(w) = a.window {
            t.window_min = Some(t.window_min.map_or(w, |m| m.min(w)));
            t.window_max = t.window_max.max(w);
            if !a.syn {
                self.window_least = Some(self.window_least.map_or(w, |least| least.min(w)));
            }
        }
        t.zero_windows += u64::from(a.raw_window == 0 && !a.syn);
    }
}

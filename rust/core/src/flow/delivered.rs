//! What arrived, as an ACK shows it.

use super::scoreboard::Run;
use super::sender_state::SenderState;

/// What an ACK shows to have arrived, cumulatively or selectively.
#[derive(Default)]
pub struct Delivered {
    /// When the latest of it was sent (RACK.xmit_ts of RFC 8985).
    pub sent: Option<i64>,
    /// When the latest of it that was sent once was sent.
    pub once_sent: Option<i64>,
    /// When the first of what was newly SACKed was sent, of segments sent once.
    pub sacked_sent: Option<i64>,
    /// It includes bytes sent once and before the timeout, or bytes sent more than once.
    pub original: bool,
    pub resent: bool,
}

impl Delivered {
    /// A run has arrived. `echo`: the timestamp that the ACK echoes; `latest`: a copy sent later cannot have caused it.
    pub fn add(&mut self, r: &Run, echo: Option<u32>, latest: i64, recover: i64, sacked: bool) {
        if r.unseen || r.merged {
            return;
        }
        let sent = match echo {
            _ if r.copies == 1 => r.t_first,
            Some(echo) if echo == r.tsval_last => r.t_last,
            Some(echo) if echo == r.tsval_first => r.t_first,
            _ if r.t_last <= latest => r.t_last,
            _ => r.t_first,
        };
        self.sent = self.sent.max(Some(sent));
        self.resent |= r.copies > 1;
        if r.copies == 1 {
            self.once_sent = self.once_sent.max(Some(sent));
            self.original |= r.end <= recover;
            if sacked {
                self.sacked_sent = Some(self.sacked_sent.map_or(sent, |s| s.min(sent)));
            }
        }
    }
}

impl SenderState {
    /// What arrived: for RACK, and for the timer, which Linux restarts when data sent before the left edge's last copy is SACKed
    /// (`tcp_clean_rtx_queue`).
    #[inline]
    pub fn take_delivered(&mut self, t: i64, delivered: &Delivered) {
        if delivered.sent.is_none() {
            return;
        }
        if delivered.sent > self.delivered_sent {
            (self.delivered_sent, self.delivered_at) = (delivered.sent, Some(t));
        }
        let front = self.scoreboard.front();
        let head = front.map(|r| r.t_last);
        if let Some(r) = front.filter(|r| r.copies > 1 && delivered.sent > Some(r.t_last)) {
            if self.head_overtaken.is_none_or(|(start, at)| start != r.start || at < r.t_last) {
                self.head_overtaken = Some((r.start, t));
            }
        }
        if delivered.sacked_sent.is_some_and(|sent| head.is_some_and(|head| sent < head)) {
            self.sack_restart = Some(t);
        }
    }
}

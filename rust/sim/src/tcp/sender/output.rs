//! What is sent next: a retransmission or new data.

use super::{inflates, New, Next, Sender, State};
use crate::engine::Ns;
use crate::tcp::config::TcpConfig;
use crate::tcp::scoreboard::Entry;
use crate::tcp::segment::Trigger;

impl Sender {
    /// The next segment, if the windows allow it: a lost segment first, then new data. `nagle`: small segments wait.
    pub fn next_to_send(&mut self, config: &TcpConfig, sack: bool, nagle: bool) -> Option<Next> {
        let pipe = self.pipe(config, sack);
        if !self.new_first {
            if let Some(e) = self.scoreboard.next_lost() {
                // Whatever the window, classic recovery retransmits, and recovery with SACK its first segment (RFC 6675 section 5, 4.3).
                let forced = self.state == State::Recovery && inflates(config) && !(sack && self.has_retransmitted);
                if pipe < self.cwnd || forced {
                    let trigger = match self.state {
                        State::Loss => Trigger::GoBackN,
                        _ if sack => Trigger::Sack,
                        _ if !self.has_retransmitted => Trigger::Fast,
                        _ => Trigger::PartialAck,
                    };
                    return Some(Next::Retransmit(e.start, trigger));
                }
            }
        }
        let may = self.state != State::Loss || !config.repairs_all_first;
        let new = if may && pipe < self.cwnd { self.new_segment(config, nagle) } else { None };
        if new.is_none() && config.linux24_scoreboard && sack && self.state == State::Recovery && pipe < self.cwnd {
            // Forward retransmission: nothing new may be sent.
            return self.scoreboard.first_unmarked().map(|e| Next::Retransmit(e.start, Trigger::Sack));
        }
        if new.is_none() && std::mem::take(&mut self.new_first) && self.next <= self.high {
            // No new data was sent: conventional recovery.
            self.frto = false;
            return self.next_to_send(config, sack, nagle);
        }
        new
    }

    pub(super) fn new_segment(&self, config: &TcpConfig, nagle: bool) -> Option<Next> {
        let limit = self.written.min(self.window_end);
        if self.next < limit {
            let len = (limit - self.next).min(u64::from(config.mss_bytes)) as u32;
            let last = self.next + u64::from(len) == self.written;
            if len < config.mss_bytes && !self.scoreboard.is_empty() && !self.small_segment_allowed(config, last, nagle)
            {
                return None;
            }
            return Some(Next::New { len, fin: self.closed && last });
        }
        (self.closed && self.next == self.written).then_some(Next::New { len: 0, fin: true })
    }

    /// Whether a segment below the MSS may be sent: not if only the window makes it small (silly window, RFC 9293
    /// section 3.8.6.2.1), and not while an earlier one (Nagle), or an earlier small one (Minshall, as in Linux), is outstanding.
    pub(super) fn small_segment_allowed(&self, config: &TcpConfig, last: bool, nagle: bool) -> bool {
        let last = last || !config.silly_window_avoidance;
        let waits = config.nagle && nagle && !self.closed && (!config.minshall || self.small_end > self.una);
        last && !waits
    }

    /// Record new data as sent.
    pub fn sent_new(&mut self, config: &TcpConfig, now: Ns, sent: New) {
        let New { len, syn, fin, psh } = sent;
        let end = self.next + u64::from(len) + u64::from(syn) + u64::from(fin);
        self.scoreboard.push(Entry {
            start: self.next,
            end,
            len,
            syn,
            fin,
            first_sent: now,
            last_sent: now,
            copies: 1,
            sacked: false,
            lost: false,
            retransmitted: false,
            next_then: 0,
            psh,
        });
        if len > 0 && len < config.mss_bytes {
            self.small_end = end;
        }
        self.next = end;
        self.prr_out += u32::from(self.state == State::Recovery);
    }

    /// Use the SYN's timestamp for the first retransmission until that is set (Linux 2.4's defect).
    pub fn set_retransmit_timestamp(&mut self, stamp: u32) {
        self.retransmit_timestamp = stamp;
    }

    /// Record a retransmission; returns the segment as it was.
    pub fn sent_retransmission(&mut self, now: Ns, start: u64, stamp: u32) -> Option<Entry> {
        let e = self.scoreboard.retransmit(start, now, self.next)?;
        self.undo_retransmissions += 1;
        self.has_retransmitted = true;
        self.prr_out += u32::from(self.state == State::Recovery);
        if self.retransmit_timestamp == 0 {
            self.retransmit_timestamp = stamp;
        }
        Some(e)
    }
}

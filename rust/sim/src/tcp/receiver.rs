//! The receiver: reassembly, the application's reading, when to acknowledge, and the content of the ACK.

use super::config::TcpConfig;
use super::segment::Segment;
use crate::engine::Ns;

#[derive(Debug)]
pub struct Receiver {
    /// The next byte expected.
    pub next: u64,
    /// Data out of order: disjoint ranges, the latest first.
    ranges: Vec<(u64, u64)>,
    /// A duplicate to be reported (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// Timestamp to echo (RFC 7323 section 4.3).
    pub recent: u32,
    last_ack_sent: u64,
    /// ACKs of data.
    acks_sent: usize,
    /// The right edge of the window in the last ACK: it never moves back.
    offered_end: u64,
    /// The current size of the window.
    window: u32,
    /// Received in order and not read by the application.
    unread: u64,
    /// The application reads immediately; else only when asked to.
    pub reads_at_once: bool,
    /// Segments not yet acknowledged, and when the timer will acknowledge them.
    waiting: u32,
    pub timer: Option<Ns>,
    quick: u32,
    /// Data arrived since the last ACK.
    owed: bool,
    pub fin_at: Option<u64>,
}

/// Segments per ACK, by the segment's number in the stream (Altman and Jimenez 2003).
fn every(config: &TcpConfig, s: &Segment) -> u32 {
    let number = s.seq.saturating_sub(1) / u64::from(config.mss_bytes.max(1)) + 1;
    let step = config.delayed_ack_steps.iter().find(|(last, _)| number <= *last);
    step.map_or(config.delayed_ack_segments, |(_, every)| *every)
}

/// The reaction to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    /// It was dropped, and the current ACK is repeated.
    Outdated,
    /// The delayed-ACK timer runs.
    Later,
    Now,
}

impl Receiver {
    pub fn new(config: &TcpConfig) -> Self {
        let first = config.receive_window_first_bytes;
        Receiver {
            next: 0,
            ranges: Vec::new(),
            duplicate: None,
            recent: 0,
            last_ack_sent: 0,
            acks_sent: 0,
            offered_end: 0,
            window: if first == 0 { config.receive_window_bytes } else { first.min(config.receive_window_bytes) },
            unread: 0,
            reads_at_once: true,
            waiting: 0,
            timer: None,
            quick: config.quick_acks,
            owed: false,
            fin_at: None,
        }
    }

    /// Older than what arrived before: dropped and acknowledged (PAWS, RFC 7323 section 5.3).
    fn is_outdated(&self, s: &Segment) -> bool {
        s.timestamps.is_some_and(|(tsval, _)| s.span() > 0 && !s.syn && (tsval.wrapping_sub(self.recent) as i32) < 0)
    }

    /// It drops the segment for its timestamp, although it lacks some of its bytes.
    pub fn refuses(&self, s: &Segment) -> bool {
        let (start, end) = (s.seq.max(self.next), s.seq + s.span());
        self.is_outdated(s) && start < end && !self.ranges.iter().any(|r| r.0 <= start && end <= r.1)
    }

    /// Process a segment; returns how it must be acknowledged.
    pub fn receive(&mut self, config: &TcpConfig, now: Ns, s: &Segment) -> Answer {
        let (start, end) = (s.seq, s.seq + s.span());
        if self.is_outdated(s) {
            self.duplicate = (config.dsack && end <= self.next).then_some((start, end));
            return Answer::Outdated;
        }
        if let Some((tsval, _)) = s.timestamps {
            // Only a segment that covers the left edge updates the echo: a duplicate below it does not.
            let newer = (tsval.wrapping_sub(self.recent) as i32) >= 0;
            if newer && start <= self.last_ack_sent && (end > self.last_ack_sent || s.span() == 0) {
                self.recent = tsval;
            }
        }
        if s.span() == 0 {
            // Below the acknowledged data: a keep-alive or a window probe, which is answered (RFC 9293).
            return if end < self.last_ack_sent { Answer::Now } else { Answer::Nothing };
        }
        // A segment that ends below the last ACK is answered immediately and uses no quick ACK.
        self.owed |= s.len > 0 && end > self.last_ack_sent;
        if s.fin {
            self.fin_at = Some(end);
        }
        if end <= self.next {
            self.duplicate = config.dsack.then_some((start, end));
            // A duplicate segment shows that the sender is in recovery: Linux acknowledges the next ones immediately.
            self.quick = self.quick.max(config.quick_acks);
            return Answer::Now;
        }
        if start > self.next {
            if config.dsack && self.ranges.iter().any(|r| r.0 <= start && end <= r.1) {
                self.duplicate = Some((start, end));
            }
            self.keep(start, end);
            return Answer::Now;
        }
        let before = self.next;
        self.next = end;
        let filled = !self.ranges.is_empty();
        // The ranges after it follow.
        while let Some(i) = self.ranges.iter().position(|r| r.0 <= self.next) {
            let range = self.ranges.remove(i);
            self.next = self.next.max(range.1);
        }
        self.waiting += 1;
        if !self.reads_at_once {
            self.unread += self.next - before - u64::from(s.syn) - u64::from(s.fin);
        }
        if self.grow_window(config, s.len) {
            // Linux sets the lowest bit of the count.
            self.quick |= 1;
        }
        let quick = self.quick > 0;
        let all = self.waiting >= every(config, s).max(1);
        let pushed = config.ack_pushed && s.psh && self.reads_at_once;
        // A segment that fills a hole is acknowledged immediately (RFC 5681 section 4.2).
        if s.syn || s.fin || filled || quick || all || pushed {
            return Answer::Now;
        }
        if self.timer.is_none() {
            self.timer = Some(config.wheel.fires(now, config.delayed_ack_timer));
        }
        Answer::Later
    }

    /// In Linux the window grows by two segments with each one received, and each is acknowledged immediately while it grows.
    fn grow_window(&mut self, config: &TcpConfig, len: u32) -> bool {
        if config.receive_window_first_bytes == 0 || len == 0 {
            return false;
        }
        let received = self.next - 1;
        let step = config.receive_window_steps.iter().rev().find(|step| step.0 <= received);
        let most = step.map_or(config.receive_window_bytes, |step| step.1);
        let grown = (self.window + 2 * len).min(most).max(self.window);
        std::mem::replace(&mut self.window, grown) < grown
    }

    fn keep(&mut self, start: u64, end: u64) {
        let (mut low, mut high) = (start, end);
        self.ranges.retain(|&(l, r)| {
            let apart = r < low || l > high;
            if !apart {
                (low, high) = (low.min(l), high.max(r));
            }
            apart
        });
        self.ranges.insert(0, (low, high));
    }

    /// The application reads this many bytes; returns whether to send a window update (RFC 9293 section 3.8.6.2.2): when
    /// the usable window has doubled and a segment fits, as in Linux.
    pub fn read(&mut self, config: &TcpConfig, bytes: u64) -> bool {
        self.unread -= bytes.min(self.unread);
        let left = self.offered_end.saturating_sub(self.next);
        let room = u64::from(self.room(config));
        if !config.silly_window_avoidance {
            return room > left;
        }
        room >= 2 * left.max(1) && room >= u64::from(config.mss_bytes)
    }

    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// The window to advertise, without silly windows: less than a segment is zero, and the edge never moves back.
    fn room(&self, config: &TcpConfig) -> u32 {
        let free = u64::from(self.window).saturating_sub(self.unread);
        let free =
            if config.silly_window_avoidance && free < u64::from(config.mss_bytes).min(u64::from(self.window) / 2) {
                0
            } else {
                free
            };
        free.max(self.offered_end.saturating_sub(self.next)).min(u64::from(u32::MAX)) as u32
    }

    /// The ACK's fields; the delayed-ACK timer stops.
    pub fn acknowledge(&mut self, config: &TcpConfig, sack_agreed: bool, s: &mut Segment) {
        s.ack = Some(self.next);
        // Data out of order occupies space in the window.
        s.window = self.room(config);
        if self.next > 1 {
            s.window = config.receive_window_script.get(self.acks_sent).copied().unwrap_or(s.window);
            self.acks_sent += 1;
        }
        self.offered_end = self.offered_end.max(self.next + u64::from(s.window));
        self.last_ack_sent = self.next;
        (self.waiting, self.timer) = (0, None);
        self.quick = self.quick.saturating_sub(u32::from(std::mem::take(&mut self.owed)));
        let duplicate = self.duplicate.take();
        if !sack_agreed {
            return;
        }
        // Timestamps leave room for three blocks (RFC 2018 section 3).
        let most = if s.timestamps.is_some() { 3 } else { 4 };
        let blocks = duplicate.into_iter().chain(self.ranges.iter().copied()).take(most);
        for (slot, block) in s.sack.iter_mut().zip(blocks) {
            *slot = block;
            s.sack_blocks += 1;
        }
    }
}

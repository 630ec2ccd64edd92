//! The receiving half: reassembly, when to acknowledge, and what the ACK says.

use super::{Segment, TcpConfig};
use crate::engine::Ns;

#[derive(Debug)]
pub struct Receiver {
    /// The next byte expected.
    pub next: u64,
    /// What came out of order: disjoint ranges, the latest first.
    ranges: Vec<(u64, u64)>,
    /// A duplicate to be reported (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// Timestamp to echo (RFC 7323 section 4.3).
    pub recent: u32,
    last_ack_sent: u64,
    /// Segments not acknowledged yet, and when the timer will acknowledge them.
    waiting: u32,
    pub timer: Option<Ns>,
    quick: u32,
    pub fin_at: Option<u64>,
}

/// How many segments wait for one ACK, by the segment's place in the stream (Altman and Jimenez 2003).
fn every(config: &TcpConfig, s: &Segment) -> u32 {
    let number = s.seq.saturating_sub(1) / u64::from(config.mss_bytes.max(1)) + 1;
    let step = config.delayed_ack_steps.iter().find(|(last, _)| number <= *last);
    step.map_or(config.delayed_ack_segments, |(_, every)| *every)
}

/// What to do after a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    /// The delayed-ACK timer runs.
    Later,
    Now,
}

impl Receiver {
    pub fn new(config: &TcpConfig) -> Self {
        Receiver {
            next: 0,
            ranges: Vec::new(),
            duplicate: None,
            recent: 0,
            last_ack_sent: 0,
            waiting: 0,
            timer: None,
            quick: config.quick_acks,
            fin_at: None,
        }
    }

    /// Take a segment in; how it must be answered.
    pub fn receive(&mut self, config: &TcpConfig, now: Ns, s: &Segment) -> Answer {
        let (start, end) = (s.seq, s.seq + s.span());
        if let Some((tsval, _)) = s.timestamps {
            // Only a segment that spans the left edge renews the echo: a duplicate below it does not.
            let newer = (tsval.wrapping_sub(self.recent) as i32) >= 0;
            if newer && start <= self.last_ack_sent && (end > self.last_ack_sent || s.span() == 0) {
                self.recent = tsval;
            }
        }
        if s.span() == 0 {
            return Answer::Nothing;
        }
        if s.fin {
            self.fin_at = Some(end);
        }
        if end <= self.next {
            self.duplicate = config.dsack.then_some((start, end));
            return Answer::Now;
        }
        if start > self.next {
            if config.dsack && self.ranges.iter().any(|r| r.0 <= start && end <= r.1) {
                self.duplicate = Some((start, end));
            }
            self.keep(start, end);
            return Answer::Now;
        }
        self.next = end;
        let filled = !self.ranges.is_empty();
        // The ranges behind it follow.
        while let Some(i) = self.ranges.iter().position(|r| r.0 <= self.next) {
            let range = self.ranges.remove(i);
            self.next = self.next.max(range.1);
        }
        self.waiting += 1;
        let quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        let all = self.waiting >= every(config, s).max(1);
        // What fills a hole is acknowledged at once (RFC 5681 section 4.2).
        if s.syn || s.fin || filled || quick || all {
            return Answer::Now;
        }
        if self.timer.is_none() {
            self.timer = Some(now + config.delayed_ack_timer);
        }
        Answer::Later
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

    /// The ACK's fields; the delayed-ACK timer is satisfied.
    pub fn acknowledge(&mut self, config: &TcpConfig, sack_agreed: bool, s: &mut Segment) {
        s.ack = Some(self.next);
        // What lies out of order has its place within the window.
        s.window = config.receive_window_bytes;
        self.last_ack_sent = self.next;
        (self.waiting, self.timer) = (0, None);
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

//! The application's writes into a send buffer of finite size, as in Linux: writes block when it is full and continue when a
//! third of it is free; the push flag marks where a write ended or blocked.

use std::collections::VecDeque;

use super::config::{SendBuffer, TcpConfig};
use crate::engine::Ns;

#[derive(Debug)]
pub struct Writer {
    /// Bytes left to write, and of these in the current write.
    pub left: u64,
    in_write: u64,
    /// Part of the current write is in the buffer.
    begun: bool,
    /// The application closes when all is written.
    pub closes: bool,
    /// The current size limit of the buffer.
    bound: u64,
    blocked: bool,
    /// When a blocked application continues.
    pub wakeup: Option<Ns>,
    /// Ends of segments that carry the push flag.
    pushed: VecDeque<u64>,
    pushed_end: u64,
}

/// What the sender must do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send what the windows allow; small segments wait or not.
    Push {
        nagle: bool,
    },
    /// Send one segment.
    PushOne,
    WriteOn,
    /// Nothing more to write, or no space.
    Done,
}

/// The sender's state that the writer needs.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub next: u64,
    pub written: u64,
    /// Segments and bytes sent and not acknowledged.
    pub outstanding: u64,
    pub outstanding_bytes: u64,
    pub cwnd: u32,
    pub peer_window_most: u32,
}

impl Default for Writer {
    fn default() -> Self {
        Writer {
            left: 0,
            in_write: 0,
            begun: false,
            closes: false,
            bound: 0,
            blocked: false,
            wakeup: None,
            pushed: VecDeque::new(),
            // The data begins after the SYN.
            pushed_end: 1,
        }
    }
}

impl Writer {
    /// Memory that the buffer currently uses.
    fn held(b: SendBuffer, mss: u64, v: &View) -> u64 {
        let unsent = v.written - v.next;
        (v.outstanding + unsent.div_ceil(mss)) * b.overhead_bytes + v.outstanding_bytes + unsent
    }

    /// Write into the buffer until the sender must act; returns how many bytes and what to do.
    pub fn step(&mut self, c: &TcpConfig, v: &View) -> (u64, Step) {
        let (b, mss) = (c.send_buffer, u64::from(c.mss_bytes));
        self.bound = self.bound.max(b.bytes);
        if self.left == 0 || self.blocked {
            return (0, Step::Done);
        }
        if self.in_write == 0 {
            (self.in_write, self.begun) = (self.left.min(b.write_bytes.max(1)), false);
        }
        let partial = (v.written - v.next) % mss;
        if partial == 0 && Self::held(b, mss, v) >= self.bound {
            self.blocked = true;
            if !self.begun {
                return (0, Step::Done);
            }
            self.mark(v, 0);
            return (0, Step::Push { nagle: false });
        }
        if partial > 0 && !self.begun && self.pushed.back() == Some(&v.written) {
            // A write that continues in the last segment removes its push flag.
            self.pushed.pop_back();
        }
        let bytes = (mss - partial).min(self.in_write);
        (self.left, self.in_write, self.begun) = (self.left - bytes, self.in_write - bytes, true);
        let end = v.written + bytes;
        if self.in_write == 0 {
            self.mark(v, bytes);
            return (bytes, Step::Push { nagle: true });
        }
        // A long write is pushed every half window.
        if end > self.pushed_end + u64::from(v.peer_window_most / 2) {
            self.mark(v, bytes);
            return (bytes, Step::Push { nagle: false });
        }
        (bytes, if end - v.next == mss { Step::PushOne } else { Step::WriteOn })
    }

    /// The last segment in the buffer gets the push flag, if it is not yet sent.
    fn mark(&mut self, v: &View, bytes: u64) {
        let end = v.written + bytes;
        if end > v.next {
            self.pushed_end = end;
            self.pushed.push_back(end);
        }
    }

    /// Whether the segment that ends at `end` carries the push flag.
    pub fn push_flag(&mut self, end: u64) -> bool {
        let mut flag = false;
        while self.pushed.front().is_some_and(|p| *p <= end) {
            self.pushed.pop_front();
            flag = true;
        }
        flag
    }

    /// After an ACK: a blocked application is woken when a third of the buffer is free.
    pub fn after_ack(&mut self, c: &TcpConfig, now: Ns, v: &View) {
        if !self.blocked || self.wakeup.is_some() {
            return;
        }
        let b = c.send_buffer;
        self.bound = self.bound.max(2 * b.grows_by_bytes * u64::from(v.cwnd));
        if 3 * Self::held(b, u64::from(c.mss_bytes), v) <= 2 * self.bound {
            self.wakeup = Some(now + b.wakeup);
        }
    }

    /// The connection is established: the application writes after a delay.
    pub fn established(&mut self, c: &TcpConfig, now: Ns) {
        self.wakeup = Some(now + c.send_buffer.first_write);
    }

    /// The application continues.
    pub fn resume(&mut self) {
        (self.blocked, self.wakeup) = (false, None);
    }
}

//! One end of a connection: handshake, the two halves, and their timers.

use super::receiver::{Answer, Receiver};
use super::sender::{Event, Next, Sender};
use super::{Segment, TcpConfig, Trigger};
use crate::engine::{Ns, MS};

/// Who opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Client,
    Server,
}

/// One end of a TCP connection.
#[derive(Debug)]
pub struct Endpoint {
    pub config: TcpConfig,
    role: Role,
    established: bool,
    /// Both offered it.
    sack: bool,
    timestamps: bool,
    send: Sender,
    receive: Receiver,
    /// Timestamp clock offset: clocks of hosts differ.
    stamp_offset: u32,
}

impl Endpoint {
    pub fn new(config: TcpConfig, role: Role, stamp_offset: u32) -> Self {
        let (send, receive) = (Sender::new(&config), Receiver::new(&config));
        let (sack, timestamps) = (config.sack, config.timestamps);
        Endpoint { config, role, established: false, sack, timestamps, send, receive, stamp_offset }
    }

    pub fn established(&self) -> bool {
        self.established
    }

    /// The client's SYN.
    pub fn open(&mut self, now: Ns, out: &mut Vec<Segment>) {
        if self.role == Role::Client && self.send.next == 0 {
            let s = self.segment(now, 0, 0, Trigger::New, 0);
            out.push(Segment { syn: true, ack: None, ..s });
            self.send.sent_new(now, 0, true, false);
            self.send.arm(&self.config, now, false);
        }
    }

    /// The application writes so many bytes.
    pub fn write(&mut self, now: Ns, bytes: u64, out: &mut Vec<Segment>) {
        self.send.written = self.send.written.saturating_add(bytes);
        self.push(now, out);
    }

    /// The application has no more to write.
    pub fn close(&mut self, now: Ns, out: &mut Vec<Segment>) {
        self.send.closed = true;
        self.push(now, out);
    }

    /// Bytes received in order.
    pub fn received_bytes(&self) -> u64 {
        self.receive.next.saturating_sub(1)
    }

    /// Everything was sent and acknowledged, FIN included.
    pub fn finished(&self) -> bool {
        self.established && self.send.drained()
    }

    /// What happened in the sender since it was last asked.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.send.events)
    }

    /// When a timer fires next.
    pub fn timer(&self) -> Option<Ns> {
        [self.send.timer, self.receive.timer].into_iter().flatten().min()
    }

    /// A timer may have fired.
    pub fn on_timer(&mut self, now: Ns, out: &mut Vec<Segment>) {
        if self.receive.timer.is_some_and(|t| t <= now) {
            self.send.events.push(Event::DelayedAck { ack: self.receive.next });
            self.acknowledge(now, out);
        }
        if self.send.timer.is_some_and(|t| t <= now) {
            if let Some((start, trigger)) = self.send.on_timer(&self.config, now, self.sack) {
                self.again(now, start, trigger, out);
                if trigger == Trigger::Rto {
                    self.send.arm(&self.config, now, self.sack);
                }
                self.push(now, out);
            }
        }
    }

    /// A segment of the other end arrived; the application reads at once.
    pub fn receive(&mut self, now: Ns, s: &Segment, out: &mut Vec<Segment>) {
        if s.rst {
            self.send.timer = None;
            self.receive.timer = None;
            return;
        }
        if s.syn {
            self.sack &= s.sack_blocks > 0 || self.config.sack;
            self.timestamps &= s.timestamps.is_some();
        }
        let answer = self.receive.receive(&self.config, now, s);
        if s.syn && self.role == Role::Server && self.send.next == 0 {
            let answer = self.segment(now, 0, 0, Trigger::New, 0);
            out.push(Segment { syn: true, ..answer });
            self.send.sent_new(now, 0, true, false);
            self.send.arm(&self.config, now, false);
            return;
        }
        if let Some(ack) = s.ack {
            let stamp = self.stamp(now);
            self.send.on_ack(&self.config, now, stamp, s, ack, self.sack && self.established);
            self.established |= self.send.una >= 1;
        }
        let before = out.len();
        self.push(now, out);
        // Data carries the ACK with it.
        let carried = out[before..].iter().any(|o| o.ack.is_some());
        if answer == Answer::Now && !carried {
            self.acknowledge(now, out);
        }
    }

    fn acknowledge(&mut self, now: Ns, out: &mut Vec<Segment>) {
        let next = self.send.next;
        let s = self.segment(now, next, 0, Trigger::New, 0);
        out.push(s);
    }

    /// Send what the windows allow.
    fn push(&mut self, now: Ns, out: &mut Vec<Segment>) {
        if !self.established {
            return;
        }
        while let Some(next) = self.send.next_to_send(&self.config, self.sack) {
            match next {
                Next::Again(start, trigger) => {
                    if !self.again(now, start, trigger, out) {
                        break;
                    }
                }
                Next::New { len, fin } => {
                    let seq = self.send.next;
                    let s = self.segment(now, seq, len, Trigger::New, 0);
                    out.push(Segment { fin, ..s });
                    self.send.sent_new(now, len, false, fin);
                    if self.send.timer.is_none() || self.config.tail_loss_probe {
                        self.send.arm(&self.config, now, self.sack);
                    }
                }
            }
        }
    }

    fn again(&mut self, now: Ns, start: u64, trigger: Trigger, out: &mut Vec<Segment>) -> bool {
        let stamp = self.stamp(now);
        let Some(e) = self.send.sent_again(now, start, stamp) else { return false };
        let s = self.segment(now, e.start, e.len, trigger, e.copies - 1);
        let ack = s.ack.filter(|_| !(e.syn && self.role == Role::Client));
        out.push(Segment { syn: e.syn, fin: e.fin, ack, ..s });
        if self.send.timer.is_none() {
            self.send.arm(&self.config, now, self.sack);
        }
        true
    }

    /// The timestamp clock: milliseconds, never 0.
    fn stamp(&self, now: Ns) -> u32 {
        ((now / MS) as u32).wrapping_add(1).wrapping_add(self.stamp_offset)
    }

    fn segment(&mut self, now: Ns, seq: u64, len: u32, trigger: Trigger, copy: u16) -> Segment {
        let timestamps = self.timestamps.then(|| (self.stamp(now), self.receive.recent));
        let mut s = Segment {
            seq,
            len,
            syn: false,
            fin: false,
            rst: false,
            ack: None,
            window: self.config.receive_window_bytes,
            sack: [(0, 0); 4],
            sack_blocks: 0,
            timestamps,
            trigger,
            copy,
        };
        self.receive.acknowledge(&self.config, self.sack && self.established, &mut s);
        s
    }
}

//! One end of a connection: handshake, sender, receiver, and their timers.

use super::config::TcpConfig;
use super::receiver::{Answer, Receiver};
use super::segment::{Segment, Trigger};
use super::sender::{Event, Fired, New, Next, Sender, Wait};
use super::writer::{Step, View, Writer};
use crate::engine::{Ns, MS};

/// Which end opens the connection.
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
    /// Whether both sent the option.
    sack: bool,
    timestamps: bool,
    send: Sender,
    receive: Receiver,
    writer: Writer,
    /// Offset of the timestamp clock: it differs between hosts.
    stamp_offset: u32,
}

impl Endpoint {
    pub fn new(config: TcpConfig, role: Role, stamp_offset: u32) -> Self {
        let (send, receive) = (Sender::new(&config), Receiver::new(&config));
        let (sack, timestamps) = (config.sack, config.timestamps);
        Endpoint {
            config,
            role,
            established: false,
            sack,
            timestamps,
            send,
            receive,
            writer: Writer::default(),
            stamp_offset,
        }
    }

    pub fn established(&self) -> bool {
        self.established
    }

    /// The client's SYN.
    pub fn open(&mut self, now: Ns, out: &mut Vec<Segment>) {
        if self.role == Role::Client && self.send.next == 0 {
            let s = self.segment(now, 0, 0, Trigger::New, 0);
            out.push(Segment { syn: true, ack: None, ..s });
            self.sent_syn(now);
        }
    }

    fn sent_syn(&mut self, now: Ns) {
        self.send.sent_new(&self.config, now, New { len: 0, syn: true, fin: false, psh: false });
        self.send.arm(&self.config, now, false);
        if self.config.eifel_first_stamp_defect {
            let stamp = self.stamp(now);
            self.send.set_retransmit_timestamp(stamp);
        }
    }

    /// The application writes this many bytes.
    pub fn write(&mut self, now: Ns, bytes: u64, out: &mut Vec<Segment>) {
        if self.config.send_buffer.bytes > 0 {
            self.writer.left = self.writer.left.saturating_add(bytes);
            return self.write_on(now, out);
        }
        self.send.written = self.send.written.saturating_add(bytes);
        self.push(now, true, out);
    }

    /// The application has written everything.
    pub fn close(&mut self, now: Ns, out: &mut Vec<Segment>) {
        self.writer.closes = true;
        if self.writer.left == 0 {
            self.send.closed = true;
            self.push(now, true, out);
        }
    }

    /// From here on the application reads only by `read`.
    pub fn read_on_request(&mut self) {
        self.receive.reads_at_once = false;
    }

    /// The application reads at most this many bytes; returns how many there were.
    pub fn read(&mut self, now: Ns, bytes: u64, out: &mut Vec<Segment>) -> u64 {
        let there = self.receive.unread().min(bytes);
        if self.receive.read(&self.config, bytes) && self.established && there > 0 {
            self.acknowledge(now, out);
        }
        there
    }

    /// The application continues to write into its buffer.
    fn write_on(&mut self, now: Ns, out: &mut Vec<Segment>) {
        if !self.established {
            return;
        }
        loop {
            let (bytes, step) = self.writer.step(&self.config, &self.view());
            self.send.written += bytes;
            match step {
                Step::Done => break,
                Step::WriteOn => {}
                Step::PushOne => self.push_some(now, true, 1, out),
                Step::Push { nagle } => self.push(now, nagle, out),
            }
        }
        if self.writer.left == 0 && self.writer.closes && !self.send.closed {
            self.send.closed = true;
            self.push(now, false, out);
        }
    }

    fn view(&self) -> View {
        View {
            next: self.send.next,
            written: self.send.written,
            outstanding: u64::from(self.send.scoreboard.len()),
            outstanding_bytes: self.send.next - self.send.una,
            cwnd: self.send.cwnd,
            peer_window_most: self.send.window_most,
        }
    }

    /// Bytes received in order.
    pub fn received_bytes(&self) -> u64 {
        self.receive.next.saturating_sub(1)
    }

    /// Everything was sent and acknowledged, FIN included.
    pub fn finished(&self) -> bool {
        self.established && self.send.drained()
    }

    /// The sender's events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.send.events)
    }

    /// What its sender waits for.
    pub fn waits(&self) -> Wait {
        self.send.waits(&self.config, self.sack, self.established)
    }

    /// Whether its receiver delays an ACK.
    pub fn delays_ack(&self) -> bool {
        self.receive.timer.is_some()
    }

    /// When a timer fires next.
    pub fn timer(&self) -> Option<Ns> {
        [self.send.timer, self.receive.timer, self.writer.wakeup].into_iter().flatten().min()
    }

    /// A timer may have fired.
    pub fn on_timer(&mut self, now: Ns, out: &mut Vec<Segment>) {
        if self.receive.timer.is_some_and(|t| t <= now) {
            self.send.events.push(Event::DelayedAck { ack: self.receive.next });
            self.acknowledge(now, out);
        }
        if self.send.timer.is_some_and(|t| t <= now) {
            match self.send.on_timer(&self.config, now, self.sack) {
                Some(Fired::Retransmit(start, trigger)) => {
                    self.again(now, start, trigger, out);
                    if trigger == Trigger::Rto {
                        self.send.arm(&self.config, now, self.sack);
                    }
                    // Windows kept over a timeout wait for its ACK.
                    if trigger != Trigger::Rto || !self.config.repairs_all_first {
                        self.push(now, true, out);
                    }
                }
                Some(Fired::Probe) => {
                    // An old sequence number makes the peer respond (Linux's tcp_xmit_probe_skb).
                    let seq = self.send.una - 1;
                    let s = self.segment(now, seq, 0, Trigger::New, 0);
                    out.push(s);
                }
                None => {}
            }
        }
        if self.writer.wakeup.is_some_and(|t| t <= now) {
            self.writer.resume();
            self.write_on(now, out);
        }
    }

    /// Its stack drops this segment for its timestamp, although it lacks some of its bytes.
    pub fn refuses(&self, s: &Segment) -> bool {
        self.receive.refuses(s)
    }

    /// A segment of the other end arrived; the application reads immediately.
    pub fn receive(&mut self, now: Ns, s: &Segment, out: &mut Vec<Segment>) {
        if s.rst {
            self.send.timer = None;
            self.receive.timer = None;
            return;
        }
        // A plain ACK opens no connection (RFC 9293 section 3.10.7.3).
        if self.role == Role::Client && !self.established && !s.syn {
            return;
        }
        if s.syn {
            self.sack &= s.sack_blocks > 0 || self.config.sack;
            self.timestamps &= s.timestamps.is_some();
        }
        let answer = self.receive.receive(&self.config, now, s);
        if answer == Answer::Outdated {
            return self.acknowledge(now, out);
        }
        if s.syn && self.role == Role::Server && self.send.next == 0 {
            let answer = self.segment(now, 0, 0, Trigger::New, 0);
            out.push(Segment { syn: true, ..answer });
            self.sent_syn(now);
            return;
        }
        // Linux repeats the SYN+ACK at once (`inet_rtx_syn_ack`).
        if s.syn && self.role == Role::Server && !self.established {
            self.again(now, 0, Trigger::Answer, out);
            return;
        }
        let mut stands = false;
        if let Some(ack) = s.ack {
            let stamp = self.stamp(now);
            self.send.on_ack(&self.config, now, stamp, s, ack, self.sack && self.established);
            stands = !self.established && self.send.una >= 1;
            self.established |= stands;
        }
        let before = out.len();
        self.push(now, true, out);
        if self.config.send_buffer.bytes > 0 {
            let view = self.view();
            self.writer.after_ack(&self.config, now, &view);
            if stands && self.writer.left > 0 {
                self.writer.established(&self.config, now);
            }
        }
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
    fn push(&mut self, now: Ns, nagle: bool, out: &mut Vec<Segment>) {
        self.push_some(now, nagle, usize::MAX, out);
    }

    fn push_some(&mut self, now: Ns, nagle: bool, most: usize, out: &mut Vec<Segment>) {
        if !self.established {
            return;
        }
        let (mut sent, had) = (0, self.send.next < self.send.written);
        while sent < most {
            match self.send.next_to_send(&self.config, self.sack, nagle) {
                None => break,
                Some(Next::Retransmit(start, trigger)) => {
                    if !self.again(now, start, trigger, out) {
                        break;
                    }
                }
                Some(Next::New { len, fin }) => {
                    let seq = self.send.next;
                    let bounded = self.config.send_buffer.bytes > 0;
                    let psh = len > 0 && (!bounded || self.writer.push_flag(seq + u64::from(len)));
                    let s = self.segment(now, seq, len, Trigger::New, 0);
                    out.push(Segment { fin, psh, ..s });
                    self.send.sent_new(&self.config, now, New { len, syn: false, fin, psh });
                    if self.send.timer.is_none() || self.config.tail_loss_probe {
                        self.send.arm(&self.config, now, self.sack);
                    }
                    sent += 1;
                }
            }
        }
        self.send.watch_window(&self.config, self.sack);
        if had {
            self.send.validate(&self.config, self.sack, sent > 0);
        }
        self.send.arm_idle_timer(&self.config, now);
    }

    fn again(&mut self, now: Ns, start: u64, trigger: Trigger, out: &mut Vec<Segment>) -> bool {
        let stamp = self.stamp(now);
        let Some(e) = self.send.sent_retransmission(now, start, stamp) else { return false };
        let s = self.segment(now, e.start, e.len, trigger, e.copies - 1);
        let ack = s.ack.filter(|_| !(e.syn && self.role == Role::Client));
        out.push(Segment { syn: e.syn, fin: e.fin, psh: e.psh, ack, ..s });
        // The first outstanding segment restarts the timer (RFC 6582 section 3.2 step 5).
        if self.send.timer.is_none() || (start == self.send.una && trigger != Trigger::TailLossProbe) {
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
            psh: false,
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

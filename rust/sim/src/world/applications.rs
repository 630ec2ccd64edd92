//! Applications: their start, their writes, the end of a transfer and the flow after it.

use super::{Event, World};
use crate::application::Application;
use crate::config;
use crate::engine::Ns;
use crate::packet::Body;
use crate::truth::EventRow;

impl World {
    pub(super) fn start(&mut self, now: Ns, flow: usize) {
        if self.flows[flow].ends.is_none() {
            return self.write(now, flow);
        }
        let application = self.flows[flow].config.application.clone();
        let bytes = self.flows[flow].bytes;
        if application.size().is_some() {
            self.record_transfer(now, flow, "transfer_began", 0);
        }
        if self.flows[flow].config.reader.is_some() {
            self.with_end(now, flow, 1, |e, _| e.read_on_request());
            self.read(now, flow);
        }
        self.with_end(now, flow, 0, |e, out| {
            e.open(now, out);
            match application {
                // More than any run can send.
                Application::Bulk => e.write(now, 1 << 50, out),
                Application::File { closes, .. } => {
                    e.write(now, bytes, out);
                    if closes {
                        e.close(now, out);
                    }
                }
                Application::Request { request_bytes, .. } => e.write(now, request_bytes, out),
                Application::Paced { .. } | Application::Udp { .. } => {}
            }
        });
        if let Application::Paced { .. } = self.flows[flow].config.application {
            self.write(now, flow);
        }
    }

    /// The server's application reads, and is scheduled again.
    pub(super) fn read(&mut self, now: Ns, flow: usize) {
        let Some(reader) = self.flows[flow].config.reader.clone() else { return };
        let pauses = config::spans(&reader.pauses_s);
        let next = match pauses.iter().find(|p| (p.0..p.1).contains(&now)) {
            Some(pause) => pause.1,
            None => {
                self.with_end(now, flow, 1, |e, out| {
                    e.read(now, reader.bytes, out);
                });
                now + config::seconds(reader.every_s)
            }
        };
        self.queue.at(next, Event::Read { flow });
    }

    pub(super) fn write(&mut self, now: Ns, flow: usize) {
        match self.flows[flow].config.application {
            Application::Paced { bytes, every_s } => {
                self.with_end(now, flow, 0, |e, out| e.write(now, bytes, out));
                self.queue.at(now + config::seconds(every_s), Event::Write { flow });
            }
            Application::Udp { payload_bytes, rate_bps } => {
                let number = self.flows[flow].datagrams;
                self.flows[flow].datagrams += 1;
                self.emit(now, flow, 0, Body::Udp { len: payload_bytes, number });
                let gap = f64::from(payload_bytes) * 8.0 / rate_bps;
                self.queue.at(now + config::seconds(gap).max(1), Event::Write { flow });
            }
            Application::Bulk | Application::File { .. } | Application::Request { .. } => {}
        }
    }

    /// A segment of a flow arrived at one of its ends: a server may have its complete request, a sender its last ACK.
    pub(super) fn progressed(&mut self, now: Ns, flow: usize) {
        let f = &mut self.flows[flow];
        let Some(ends) = &f.ends else { return };
        if f.ended || f.config.application.size().is_none() {
            return;
        }
        let mut sends = true;
        if let Application::Request { request_bytes, closes, .. } = f.config.application {
            let asked = ends[1].received_bytes() >= request_bytes && ends[1].established();
            sends = f.answered;
            if asked && !f.answered {
                f.answered = true;
                let bytes = f.bytes;
                return self.with_end(now, flow, 1, |e, out| {
                    e.write(now, bytes, out);
                    if closes {
                        e.close(now, out);
                    }
                });
            }
        }
        if !sends || !ends[f.config.application.sends()].finished() {
            return;
        }
        f.ended = true;
        let bytes = f.bytes;
        self.record_transfer(now, flow, "transfer_ended", bytes);
        for next in self.flows[flow].followers.clone() {
            let think_s = self.flows[next].config.think_s;
            let waits = if think_s > 0.0 { self.flows[next].rng.exponential(think_s) } else { 0.0 };
            self.queue.at(now + config::seconds(waits), Event::Start { flow: next });
        }
    }

    fn record_transfer(&mut self, now: Ns, flow: usize, what: &'static str, seq: u64) {
        let reverse = self.flows[flow].config.application.sends() == 1;
        self.truth.events.push(EventRow {
            t: now,
            flow: flow as u32,
            reverse,
            what,
            seq,
            value_ns: 0,
            packets: 0,
            variables: None,
        });
    }
}

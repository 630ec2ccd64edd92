//! Hosts: TCP passes packets down, adapters pass them up, routers forward.

use super::{Event, Hop, World};
use crate::engine::Ns;
use crate::packet::{Body, Packet, PacketFate};
use crate::taps;
use crate::tcp::{Endpoint, Segment, Variables};
use crate::truth::{EventRow, Place};

impl World {
    /// Run an action of one end of a flow, send its segments, and set its timer.
    pub(super) fn with_end(
        &mut self,
        now: Ns,
        flow: usize,
        end: usize,
        what: impl FnOnce(&mut Endpoint, &mut Vec<Segment>),
    ) {
        let mut out = std::mem::take(&mut self.segments);
        if let Some(ends) = &mut self.flows[flow].ends {
            what(&mut ends[end], &mut out);
        }
        for s in out.drain(..) {
            self.emit(now, flow, end, Body::Tcp(s));
        }
        self.segments = out;
        let f = &mut self.flows[flow];
        let Some(ends) = &mut f.ends else { return };
        for e in ends[end].take_events() {
            let (what, seq, value_ns, variables) = described(&e);
            self.truth.events.push(EventRow {
                t: now,
                flow: flow as u32,
                reverse: end == 1,
                what,
                seq,
                value_ns,
                packets: 0,
                variables,
            });
        }
        self.truth.acted(now, (flow, end), &ends[end]);
        let timer = ends[end].timer();
        f.timers[end].set(timer, &mut self.queue, Event::Timer { flow, end });
    }

    /// A stack passes a packet down.
    pub(super) fn emit(&mut self, now: Ns, flow: usize, end: usize, body: Body) {
        let f = &self.flows[flow].config;
        let (src, dst) = if end == 0 { (f.client, f.server) } else { (f.server, f.client) };
        let node = &mut self.nodes[src];
        node.ip_id = node.ip_id.wrapping_add(1);
        let packet = Packet {
            id: self.truth.packets.len() as u64,
            flow,
            reverse: end == 1,
            src,
            dst,
            ip_id: node.ip_id,
            ttl: 64,
            ip_bytes: taps::ip_bytes(&body),
            made: now,
            body,
        };
        self.truth.made(&packet);
        self.forward(now, src, packet);
    }

    // ---- nodes

    /// A packet arrived at a node.
    pub(super) fn arrived(&mut self, now: Ns, node: usize, packet: Packet) {
        if packet.dst != node {
            if self.loses_at_tick(now, node, &packet) {
                return self.truth.ended(packet.id, now, PacketFate::Router);
            }
            return self.forward(now, node, Packet { ttl: packet.ttl.saturating_sub(1), ..packet });
        }
        let n = &mut self.nodes[node];
        if n.hold.is_some() {
            n.held.push(packet);
            return;
        }
        self.deliver(now, node, packet);
    }

    /// A driver passes a packet to its host.
    pub(super) fn handed_up(&mut self, now: Ns, node: usize, packet: Packet) {
        if packet.dst == node {
            self.deliver(now, node, packet);
        } else {
            self.forward(now, node, Packet { ttl: packet.ttl.saturating_sub(1), ..packet });
        }
    }

    /// A host's stack gets a packet.
    pub(super) fn deliver(&mut self, now: Ns, node: usize, packet: Packet) {
        self.tap_host(now, node, &packet);
        self.truth.ended(packet.id, now, PacketFate::Delivered);
        if let Body::Tcp(s) = packet.body {
            let end = usize::from(!packet.reverse);
            if self.flows[packet.flow].ends.as_ref().is_some_and(|ends| ends[end].refuses(&s)) {
                self.truth.refused(packet.id);
            }
            self.with_end(now, packet.flow, end, |e, out| e.receive(now, &s, out));
            self.progressed(now, packet.flow);
        }
    }

    /// Whether a node loses this packet, according to its script.
    fn loses_at_tick(&mut self, now: Ns, node: usize, packet: &Packet) -> bool {
        let data = match packet.body {
            Body::Tcp(s) => s.len > 0,
            Body::Udp { .. } => true,
        };
        if !data {
            return false;
        }
        let mut lost = false;
        for d in &mut self.nodes[node].drops {
            if let Some(tick) = d.next.filter(|t| *t <= now) {
                d.left = d.packets;
                d.next = now.checked_sub(tick).and_then(|s| s.checked_div(d.every)).map(|n| tick + (n + 1) * d.every);
            }
            lost |= d.left > 0;
            d.left = d.left.saturating_sub(1);
        }
        lost
    }

    /// Forward a packet towards its destination.
    pub(super) fn forward(&mut self, now: Ns, node: usize, packet: Packet) {
        match self.nodes[node].routes[packet.dst] {
            None => self.truth.ended(packet.id, now, PacketFate::Wire),
            Some(Hop::Cell { from, .. }) => match self.stations[from].queue.offer(now, packet, false) {
                Ok(()) => {
                    self.truth.enters(packet.id, Place::Station(from), now);
                    self.pump(now, from);
                }
                Err(PacketFate::WireQueue) => self.truth.ended(packet.id, now, PacketFate::DeviceQueue),
                Err(fate) => self.truth.ended(packet.id, now, fate),
            },
            Some(Hop::Wire { wire, direction }) => {
                let w = &mut self.wires[wire].directions[direction];
                match w.queue.offer(now, packet, w.sending.is_none()) {
                    Ok(()) => {
                        self.truth.enters(packet.id, Place::Wire(wire, direction), now);
                        self.wire_next(now, wire, direction);
                    }
                    Err(fate) => self.truth.ended(packet.id, now, fate),
                }
            }
        }
    }
}

fn described(e: &crate::tcp::Event) -> (&'static str, u64, Ns, Option<Variables>) {
    use crate::tcp::Event;
    let (what, seq, value) = match *e {
        Event::Timeout { seq, variables } => return ("timeout", seq, variables.rto, Some(variables)),
        Event::Loss { una, variables } => return ("loss_state", una, variables.rto, Some(variables)),
        Event::TimeoutUndone => ("timeout_undone", 0, 0),
        Event::RecoveryBegan { seq } => ("recovery_began", seq, 0),
        Event::RecoveryUndone => ("recovery_undone", 0, 0),
        Event::RecoveryEnded => ("recovery_ended", 0, 0),
        Event::ThirdDuplicate { seq } => ("third_duplicate", seq, 0),
        Event::WindowProbe { wait } => ("window_probe", 0, wait),
        Event::WindowFilled => ("window_filled", 0, 0),
        Event::WindowClosed => ("window_closed", 0, 0),
        Event::WindowFreed => ("window_freed", 0, 0),
        Event::DelayedAck { ack } => ("delayed_ack", ack, 0),
    };
    (what, seq, value, None)
}

//! Adapters that hold received packets, at given or random times, and then pass them on.

use super::{Event, World};
use crate::config::{self, Holds};
use crate::engine::Ns;
use crate::packet::Packet;
use crate::truth::EventRow;

impl World {
    /// A random hold begins; the next one is drawn.
    pub(super) fn hold_at_random(&mut self, now: Ns, node: usize, holds: Holds) {
        let rng = &mut self.nodes[node].rng;
        let lasts = holds.shortest_s + rng.unit() * (holds.longest_s - holds.shortest_s);
        let gap = rng.exponential(holds.mean_gap_s);
        self.hold(now, node, config::seconds(lasts));
        self.queue.at(now + config::seconds(lasts + gap), Event::HoldAtRandom { node });
    }

    /// A node's adapter holds received packets for at least this time.
    pub(super) fn hold(&mut self, now: Ns, node: usize, lasts: Ns) {
        let until = now + lasts;
        let (began, before) = self.nodes[node].hold.unwrap_or((now, 0));
        if until <= before {
            return;
        }
        self.nodes[node].hold = Some((began, until));
        self.queue.at(until, Event::Release { node });
        self.usb_hold(now, node, true);
    }

    /// It passes on the packets held, unless another hold lasts longer.
    pub(super) fn release_held(&mut self, now: Ns, node: usize) {
        let Some((began, _)) = self.nodes[node].hold.filter(|h| h.1 <= now) else { return };
        self.nodes[node].hold = None;
        let held = std::mem::take(&mut self.nodes[node].held);
        let on_usb = self.usb_hold(now, node, false);
        self.record_hold(began, now, held.iter().copied().chain(on_usb));
        for packet in held {
            self.deliver(now, node, packet);
        }
    }

    /// The packets held, by flow.
    fn record_hold(&mut self, began: Ns, ended: Ns, held: impl Iterator<Item = Packet>) {
        let mut flows: Vec<(usize, bool, u32)> = Vec::new();
        for p in held {
            match flows.iter_mut().find(|f| (f.0, f.1) == (p.flow, p.reverse)) {
                Some(f) => f.2 += 1,
                None => flows.push((p.flow, p.reverse, 1)),
            }
        }
        for (flow, reverse, packets) in flows {
            for (t, what) in [(began, "hold_began"), (ended, "hold_ended")] {
                let value_ns = if t == ended { ended - began } else { 0 };
                self.truth.events.push(EventRow {
                    t,
                    flow: flow as u32,
                    reverse,
                    what,
                    seq: 0,
                    value_ns,
                    packets,
                    variables: None,
                });
            }
        }
    }
}

//! Lines between two nodes.

use super::{Event, World};
use crate::config;
use crate::engine::Ns;
use crate::packet::Body;
use crate::packet::PacketFate;
use crate::truth::Place;

impl World {
    pub(super) fn wire_next(&mut self, now: Ns, wire: usize, direction: usize) {
        let w = &mut self.wires[wire];
        if w.directions[direction].sending.is_some() {
            return;
        }
        let Some(packet) = w.directions[direction].queue.take(now) else { return };
        w.directions[direction].sending = Some(packet);
        self.truth.starts(packet.id, Place::Wire(wire, direction), now);
        let bits = f64::from(packet.ip_bytes + w.config.header_bytes) * 8.0;
        let node = if direction == 0 { w.config.a } else { w.config.b };
        self.queue.at(now + config::seconds(bits / w.config.rate_bps), Event::WireSent { wire, direction });
        if packet.src == node {
            self.tap_host(now, node, &packet);
        }
    }

    pub(super) fn wire_sent(&mut self, now: Ns, wire: usize, direction: usize) {
        let w = &mut self.wires[wire];
        if let Some(packet) = w.directions[direction].sending.take() {
            self.truth.leaves(packet.id, Place::Wire(wire, direction), now, true);
            let data = matches!(packet.body, Body::Tcp(s) if s.len > 0);
            let number = w.directions[direction].counted;
            w.directions[direction].counted += u64::from(data == (direction == 0));
            let script = if direction == 0 { &w.config.lose_data } else { &w.config.lose_acks };
            let scripted = data == (direction == 0) && script.contains(&number);
            let mut black = w.blackouts.iter().any(|b| (b.0..b.1).contains(&now));
            black |= direction == 1 && !data && w.ack_blackouts.iter().any(|b| (b.0..b.1).contains(&now));
            let there = w.config.loss_rate;
            let loss = if direction == 0 { there } else { w.config.back_loss_rate.unwrap_or(there) };
            let burst = w.config.bursts_s.iter().filter(|b| in_burst(b, now)).map(|b| b.2).fold(0.0, f64::max);
            if scripted || black || w.rng.chance(burst) || w.rng.chance(loss) {
                self.truth.ended(packet.id, now, PacketFate::Wire);
            } else {
                let mut at = now + config::seconds(w.config.delay_s);
                if w.config.jitter_share > 0.0 && w.rng.chance(w.config.jitter_share) {
                    at += config::seconds(w.config.jitter_s * w.rng.unit());
                }
                if let (1, Some(hold)) = (direction, w.holds.iter().find(|h| (h.0..h.1).contains(&at))) {
                    at = hold.1;
                }
                let handle = self.keep(packet);
                self.queue.at(at, Event::WireArrives { wire, direction, handle });
            }
        }
        self.wire_next(now, wire, direction);
    }
}

/// Whether a burst (from, for, probability, again after, in s) is active.
fn in_burst(&(from, lasts, _, every): &(f64, f64, f64, f64), now: Ns) -> bool {
    let since = now.checked_sub(config::seconds(from));
    since.is_some_and(|s| s.checked_rem(config::seconds(every)).unwrap_or(s) < config::seconds(lasts))
}

//! Queues of routers, access points and hosts: contents, drops, and history of lengths.

use std::collections::VecDeque;

use serde::Deserialize;

use crate::engine::Ns;
use crate::packet::{Packet, PacketFate};
use crate::rng::Rng;

/// When a queue drops packets although it is not full.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum Discipline {
    #[default]
    TailDrop,
    Red(Red),
    /// One packet is dropped when the queue reaches `soft_packets`, as an early signal for the sender that fills it; another
    /// after `again_packets` more arrivals (0: never) if the queue has not fallen to half of that since (the Seawind
    /// study's proposal against start-up overflow).
    DualThreshold {
        soft_packets: u32,
        again_packets: u32,
    },
}

/// Random early detection (Floyd and Jacobson 1993) as in ns-2. 0 for a threshold or the weight means automatic.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Average length from which packets are dropped at random; automatic: 5, or half of the packets sent in 5 ms.
    pub min_packets: f64,
    /// Average length at which the probability reaches `most_share`; automatic: three times the minimum.
    pub max_packets: f64,
    /// Weight of the newest length in the average; automatic: from the line's rate and delay.
    pub weight: f64,
    pub most_share: f64,
    /// Above the maximum threshold the probability grows to 1 at twice that; else it is 1 immediately.
    pub gentle: bool,
    /// At least 1/probability packets pass between two drops.
    pub wait: bool,
    pub mean_packet_bytes: u32,
}

/// The line after the queue: RED derives its automatic values from it.
#[derive(Debug, Clone, Copy)]
pub struct Outlet {
    pub rate_bps: f64,
    pub delay_s: f64,
}

/// A queue's length at a time, or a packet that it dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Note {
    pub t: Ns,
    pub packets: u32,
    /// RED's average.
    pub average: Option<f64>,
    pub dropped: Option<u64>,
}

/// Most lengths that a queue records; drops are always recorded.
const NOTES_MOST: usize = 1 << 16;

/// A queue of packets.
#[derive(Debug)]
pub struct Buffer {
    packets: VecDeque<Packet>,
    most: usize,
    policy: Policy,
    /// Smaller changes are not recorded.
    step: u32,
    noted: u32,
    lengths: usize,
    pub notes: Vec<Note>,
}

#[derive(Debug)]
enum Policy {
    TailDrop,
    Red(Box<RedState>),
    DualThreshold { soft: usize, again: u32, armed: bool, passed: u32 },
}

impl Buffer {
    /// A queue of `most` packets before `outlet`. Only RED uses `rng`.
    pub fn new(most: usize, discipline: Discipline, outlet: Outlet, rng: Rng) -> Self {
        let policy = match discipline {
            Discipline::TailDrop => Policy::TailDrop,
            Discipline::Red(red) => Policy::Red(Box::new(RedState::new(red, outlet, rng))),
            Discipline::DualThreshold { soft_packets, again_packets } => {
                Policy::DualThreshold { soft: soft_packets as usize, again: again_packets, armed: true, passed: 0 }
            }
        };
        let step = (most / 32).clamp(1, 1 << 16) as u32;
        Buffer { packets: VecDeque::new(), most, policy, step, noted: 0, lengths: 0, notes: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Enqueue a packet, or return its fate. `direct`: the next stage takes it immediately, so the queue cannot be full.
    pub fn offer(&mut self, now: Ns, packet: Packet, direct: bool) -> Result<(), PacketFate> {
        let waiting = self.packets.len();
        let early = self.policy.drops(now, waiting);
        let full = !direct && waiting >= self.most;
        if full || early {
            self.note(now, Some(packet.id));
            return Err(if full { PacketFate::WireQueue } else { PacketFate::EarlyDrop });
        }
        self.packets.push_back(packet);
        self.note(now, None);
        Ok(())
    }

    /// The next packet to send.
    pub fn take(&mut self, now: Ns) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.policy.left(now, self.packets.len());
        self.note(now, None);
        Some(packet)
    }

    fn note(&mut self, now: Ns, dropped: Option<u64>) {
        let packets = self.packets.len() as u32;
        let moved = packets.abs_diff(self.noted) >= self.step || packets == 0 && self.noted > 0;
        if dropped.is_none() && (!moved || self.lengths >= NOTES_MOST) {
            return;
        }
        self.lengths += usize::from(dropped.is_none());
        self.noted = packets;
        let average = if let Policy::Red(red) = &self.policy { Some(red.average) } else { None };
        self.notes.push(Note { t: now, packets, average, dropped });
    }
}

impl Policy {
    /// Whether an arrival at a queue of this length is dropped although the queue is not full.
    fn drops(&mut self, now: Ns, waiting: usize) -> bool {
        match self {
            Policy::TailDrop => false,
            Policy::Red(red) => red.drops(now, waiting),
            Policy::DualThreshold { soft, again, armed, passed } => {
                *armed |= waiting * 2 <= *soft;
                *passed += 1;
                let due = *armed || *again > 0 && *passed > *again;
                let drop = waiting >= *soft && due;
                if drop {
                    (*armed, *passed) = (false, 0);
                }
                drop
            }
        }
    }

    fn left(&mut self, now: Ns, waiting: usize) {
        if let Policy::Red(red) = self {
            red.idle_since = (waiting == 0).then_some(now);
        }
    }
}

#[derive(Debug)]
struct RedState {
    red: Red,
    rng: Rng,
    /// Mean packets that the outlet sends per second.
    packets_per_s: f64,
    average: f64,
    /// Packets since the last drop, or since the average passed the minimum threshold; None below that.
    count: Option<u32>,
    idle_since: Option<Ns>,
}

impl RedState {
    fn new(red: Red, outlet: Outlet, rng: Rng) -> Self {
        let packets_per_s = outlet.rate_bps / (8.0 * f64::from(red.mean_packet_bytes.max(1)));
        let mut red = red;
        if red.min_packets <= 0.0 {
            red.min_packets = (0.005 * packets_per_s / 2.0).max(5.0);
        }
        if red.max_packets <= 0.0 {
            red.max_packets = 3.0 * red.min_packets;
        }
        if red.weight <= 0.0 {
            // The average follows over ten round trips, each taken as three times the line's delay.
            let round_s = (3.0 * (outlet.delay_s + 1.0 / packets_per_s)).max(0.1);
            red.weight = 1.0 - (-1.0 / (10.0 * round_s * packets_per_s)).exp();
        }
        RedState { red, rng, packets_per_s, average: 0.0, count: None, idle_since: Some(0) }
    }

    fn drops(&mut self, now: Ns, waiting: usize) -> bool {
        let idle_s = self.idle_since.take().map_or(0.0, |t| (now - t) as f64 / 1e9);
        let keep = 1.0 - self.red.weight;
        // Packets that could have been sent while the queue was empty.
        self.average *= keep.powf(1.0 + (idle_s * self.packets_per_s).floor());
        self.average += self.red.weight * waiting as f64;
        let (average, red) = (self.average, &self.red);
        if average < red.min_packets || waiting <= 1 {
            self.count = None;
            return false;
        }
        let sure = red.max_packets * if red.gentle { 2.0 } else { 1.0 };
        if average >= sure {
            self.count = Some(0);
            return true;
        }
        let Some(count) = &mut self.count else {
            self.count = Some(1);
            return false;
        };
        *count += 1;
        let span = red.max_packets - red.min_packets;
        let chance = if average < red.max_packets {
            (average - red.min_packets) / span * red.most_share
        } else {
            red.most_share + (1.0 - red.most_share) * (average - red.max_packets) / red.max_packets
        };
        // Drops come evenly, not in clusters (section 7 of the paper; `wait` is ns-2's).
        let load = f64::from(*count) * chance;
        let even = match (red.wait, load) {
            (true, l) if l < 1.0 => 0.0,
            (true, l) if l < 2.0 => chance / (2.0 - l),
            (false, l) if l < 1.0 => chance / (1.0 - l),
            _ => 1.0,
        };
        let drop = self.rng.chance(even);
        if drop {
            *count = 0;
        }
        drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Body;

    const LINE: Outlet = Outlet { rate_bps: 9600.0, delay_s: 0.2 };
    const RED: Red = Red {
        min_packets: 0.0,
        max_packets: 0.0,
        weight: 0.0,
        most_share: 0.1,
        gentle: true,
        wait: true,
        mean_packet_bytes: 304,
    };

    fn packet(id: u64) -> Packet {
        let body = Body::Udp { len: 256, number: id };
        Packet { id, flow: 0, reverse: false, src: 0, dst: 1, ip_id: 0, ttl: 64, ip_bytes: 284, made: 0, body }
    }

    fn buffer(most: usize, discipline: Discipline) -> Buffer {
        Buffer::new(most, discipline, LINE, Rng::stream(1, "queue", 0))
    }

    /// Arrivals and departures, `in_out` of each in turn; ids that were dropped, and why.
    fn load(b: &mut Buffer, turns: u64, arrivals: u64, departures: u64) -> Vec<(u64, PacketFate)> {
        let mut dropped = Vec::new();
        for turn in 0..turns {
            let now = turn * 250_000_000;
            for k in 0..arrivals {
                let id = turn * arrivals + k;
                dropped.extend(b.offer(now, packet(id), false).err().map(|fate| (id, fate)));
            }
            for _ in 0..departures {
                b.take(now + 1);
            }
        }
        dropped
    }

    #[test]
    fn a_full_queue_drops_its_tail() {
        let mut b = buffer(3, Discipline::TailDrop);
        let ends: Vec<_> = (0..5).map(|i| b.offer(i, packet(i), false).is_ok()).collect();
        assert_eq!(ends, [true, true, true, false, false]);
        assert_eq!(b.offer(5, packet(5), false), Err(PacketFate::WireQueue));
        assert_eq!(b.take(6).map(|p| p.id), Some(0));
        assert!(b.offer(7, packet(7), false).is_ok());
        // A full queue does not matter if the packet need not wait.
        assert!(buffer(0, Discipline::TailDrop).offer(0, packet(0), true).is_ok());
    }

    #[test]
    fn a_slow_start_over_two_thresholds_loses_one_packet() {
        // Two arrivals for one departure, as in slow start.
        let two = Discipline::DualThreshold { soft_packets: 10, again_packets: 0 };
        let dropped = load(&mut buffer(30, two), 20, 2, 1);
        assert_eq!(dropped.iter().map(|d| d.1).collect::<Vec<_>>(), [PacketFate::EarlyDrop]);
        assert!(load(&mut buffer(30, Discipline::TailDrop), 20, 2, 1).is_empty());
        // The load does not fall: the counter gives another signal; the hard limit applies.
        let again = Discipline::DualThreshold { soft_packets: 10, again_packets: 8 };
        assert!(load(&mut buffer(30, again), 20, 2, 1).len() >= 2);
        assert!(load(&mut buffer(12, two), 40, 2, 1).iter().any(|d| d.1 == PacketFate::WireQueue));
    }

    #[test]
    fn reds_automatic_values_are_ns_2s() {
        let state = RedState::new(RED, LINE, Rng::stream(1, "queue", 0));
        assert_eq!((state.red.min_packets, state.red.max_packets), (5.0, 15.0));
        // 1200 B/s are 3.95 packets/s; a round trip 3 (0.2 + 0.253) = 1.36 s.
        assert!((state.red.weight - 0.01845).abs() < 1e-4, "{}", state.red.weight);
        let fast = RedState::new(RED, Outlet { rate_bps: 1e9, delay_s: 0.0 }, Rng::stream(1, "queue", 0));
        assert!((fast.red.min_packets - 0.0025 * 1e9 / 2432.0).abs() < 1e-6);
    }

    #[test]
    fn red_lags_behind_a_burst_and_limits_a_standing_queue() {
        // A burst of 12 that leaves again: the average hardly changes.
        let mut b = buffer(20, Discipline::Red(RED));
        assert!((0..12).all(|i| b.offer(i, packet(i), false).is_ok()));
        // A standing queue of 12 with as many arrivals as departures is reduced evenly.
        let mut early = Vec::new();
        for i in 0..3000u64 {
            if let Err(fate) = b.offer(i * 250_000_000, packet(100 + i), false) {
                assert_eq!(fate, PacketFate::EarlyDrop);
                early.push(i);
                b.offer(i * 250_000_000, packet(90_000 + i), false).ok();
            }
            b.take(i * 250_000_000 + 1);
        }
        let share = early.len() as f64 / 3000.0;
        // At an average of 12 the probability is 0.07; `wait` halves its effect.
        assert!((0.02..0.07).contains(&share), "{share}");
        // With probability 0 nothing is dropped early.
        let never = Red { min_packets: 1e6, max_packets: 2e6, ..RED };
        assert!(load(&mut buffer(1000, Discipline::Red(never)), 300, 2, 1).is_empty());
    }

    #[test]
    fn red_without_gentle_drops_all_above_its_threshold() {
        let hard = Red { min_packets: 2.0, max_packets: 4.0, weight: 1.0, gentle: false, ..RED };
        let mut b = buffer(100, Discipline::Red(hard));
        assert_eq!(load(&mut b, 1, 12, 0).len(), 8);
        let soft = Red { gentle: true, ..hard };
        assert!(load(&mut buffer(100, Discipline::Red(soft)), 1, 12, 0).len() < 8);
    }

    #[test]
    fn an_idle_queue_lowers_the_average() {
        let mut state = RedState::new(RED, LINE, Rng::stream(1, "queue", 0));
        state.average = 10.0;
        state.idle_since = Some(0);
        state.drops(100_000_000_000, 0);
        // 394 packets could have passed.
        assert!((state.average - 10.0 * (1.0f64 - state.red.weight).powi(395)).abs() < 1e-9);
        state.average = 10.0;
        state.drops(200_000_000_000, 0);
        assert!(state.average > 9.0);
    }

    #[test]
    fn the_history_is_complete_for_short_queues_and_bounded_for_long_ones() {
        let mut b = buffer(7, Discipline::TailDrop);
        let dropped = load(&mut b, 20, 2, 1).len();
        assert_eq!(b.notes.iter().filter(|n| n.dropped.is_some()).count(), dropped);
        assert_eq!(b.notes.iter().map(|n| n.packets).max(), Some(7));
        assert!(b.notes.windows(2).all(|w| w[0].t <= w[1].t && w[0].packets.abs_diff(w[1].packets) <= 1));
        let mut long = buffer(1000, Discipline::TailDrop);
        load(&mut long, 1000, 1, 1);
        assert!(long.notes.is_empty(), "a queue that never grows says nothing");
        for i in 0..200_000 {
            // From empty to full and back, a thousand times.
            if i / 1000 % 2 == 0 {
                long.offer(i, packet(i), false).ok()
            } else {
                long.take(i).map(|_| ())
            };
        }
        assert!(long.notes.len() <= NOTES_MOST && long.notes.len() > 6000, "{}", long.notes.len());
    }
}

//! The world: nodes, their connections, the flows between them, and the taps.

mod adapter;
mod air;
mod applications;
mod build;
mod check;
mod holds;
mod hosts;
mod taps;
mod usb;
mod wires;

use std::io;

use crate::channel::Air;
use crate::config;
use crate::dcf::{Dcf, Msdu, Out, StationId};
use crate::engine::{Alarm, Ns, Queue};
use crate::limits;
use crate::packet::Packet;
use crate::rng::Rng;
use crate::router::Buffer;
use crate::taps::{Names, PcapFile, TapClock};
use crate::tcp::{Endpoint, Segment};
use crate::truth::Truth;
use crate::usb_host;

/// MAC header, LLC and SNAP, FCS around an IP packet.
const MPDU_OVERHEAD: u32 = 24 + 8 + 4;
/// Time units of 1024 us between beacons.
const BEACON_INTERVAL: Ns = 100 * 1_024_000;
const BEACON_BYTES: u32 = 24 + 12 + 60 + 4;
/// Handles of beacons: no packet has this number.
const BEACON: u64 = u64::MAX;

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A station's time to send has come, if the schedule has not changed since.
    Air,
    FromAir {
        station: StationId,
        handle: u64,
    },
    AirDone {
        station: StationId,
        handle: u64,
        acked: bool,
        attempts: u32,
    },
    Beacon {
        station: StationId,
    },
    Stall {
        station: StationId,
        stall: usize,
    },
    /// A line has sent a packet.
    WireSent {
        wire: usize,
        direction: usize,
    },
    WireArrives {
        wire: usize,
        direction: usize,
        handle: u64,
    },
    /// A host's adapter begins to hold received packets.
    Hold {
        node: usize,
        lasts: Ns,
    },
    HoldAtRandom {
        node: usize,
    },
    /// It passes on the packets held.
    Release {
        node: usize,
    },
    UsbBegin {
        adapter: usize,
    },
    UsbDescribe {
        adapter: usize,
        step: u8,
    },
    /// The driver passes a packet up.
    UsbUp {
        adapter: usize,
    },
    /// The bus has a result, if the schedule has not changed since.
    Usb {
        adapter: usize,
    },
    Start {
        flow: usize,
    },
    Write {
        flow: usize,
    },
    Read {
        flow: usize,
    },
    Timer {
        flow: usize,
        end: usize,
    },
}

/// The next hop from a node to another.
#[derive(Debug, Clone, Copy)]
enum Hop {
    Cell { from: StationId, to: StationId },
    Wire { wire: usize, direction: usize },
}

struct Node {
    drops: Vec<Ticks>,
    /// Random holds of its adapter.
    holds: Option<config::Holds>,
    /// The current hold: its start and end.
    hold: Option<(Ns, Ns)>,
    held: Vec<Packet>,
    rng: Rng,
    ip_id: u16,
    /// Next hop to each node.
    routes: Vec<Option<Hop>>,
}

/// A node's scripted losses: the next time, the interval (0: none), packets per time and packets left.
struct Ticks {
    next: Option<Ns>,
    every: Ns,
    packets: u32,
    left: u32,
}

struct Station {
    node: usize,
    /// The queue between stack and device.
    queue: Buffer,
    config: config::Station,
    adapter: Option<usize>,
}

struct LineDirection {
    queue: Buffer,
    sending: Option<Packet>,
    counted: u64,
}

struct Wire {
    config: config::Wire,
    directions: [LineDirection; 2],
    blackouts: Vec<(Ns, Ns)>,
    holds: Vec<(Ns, Ns)>,
    ack_blackouts: Vec<(Ns, Ns)>,
    rng: Rng,
}

struct Flow {
    config: config::Flow,
    /// Client and server; none for UDP.
    ends: Option<[Endpoint; 2]>,
    timers: [Alarm; 2],
    /// Addresses and ports of its packets for the taps, by direction.
    names: [Names; 2],
    datagrams: u64,
    /// The size of its transfer.
    bytes: u64,
    /// The server has its complete request.
    answered: bool,
    /// All of it has arrived and is acknowledged.
    ended: bool,
    /// Flows that begin after it.
    followers: Vec<usize>,
    rng: Rng,
}

struct Tap {
    node: usize,
    file: PcapFile,
    clock: TapClock,
}

/// A simulation under direction.
pub struct World {
    queue: Queue<Event>,
    end: Ns,
    nodes: Vec<Node>,
    stations: Vec<Station>,
    dcf: Dcf,
    air: Air,
    air_plan: Alarm,
    ad_hoc: bool,
    channel_mhz: u16,
    wires: Vec<Wire>,
    flows: Vec<Flow>,
    /// Packets in stations and on lines, by handle: this keeps events small.
    slab: Vec<Option<Packet>>,
    free: Vec<usize>,
    taps: [Option<Tap>; 2],
    air_tap: Option<Tap>,
    adapters: Vec<adapter::Adapter>,
    usb_tap: Option<Tap>,
    usb_done: Vec<usb_host::Done>,
    pub truth: Truth,
    segments: Vec<Segment>,
    outs: Vec<Out>,
    failed: Option<io::Error>,
    /// Events so far.
    events: u64,
}

impl World {
    /// Run until `until` or the end; returns whether there is more. `Err`: a capture could not be written.
    pub fn run(&mut self, until: Ns) -> io::Result<bool> {
        Ok(self.run_some(until, u64::MAX)?.is_some())
    }

    /// The same with at most this many events; returns the time reached, None when there is no more.
    pub fn run_some(&mut self, until: Ns, events: u64) -> io::Result<Option<Ns>> {
        let until = until.min(self.end);
        let mut left = events;
        while left > 0 && self.queue.peek().is_some_and(|t| t < until) {
            if let Some((now, event)) = self.queue.pop() {
                self.dispatch(now, event);
                self.plan_air();
            }
            if let Some(e) = self.failed.take() {
                return Err(e);
            }
            left -= 1;
        }
        self.events += events - left;
        Ok(self.queue.peek().filter(|next| *next < self.end).map(|next| next.min(until)))
    }

    /// The limit that this run exceeds, and the simulated time.
    pub fn excess(&self) -> Option<(String, Ns)> {
        let rows = self.truth.packets.len() + self.truth.frames.len();
        let what = if rows > limits::ROWS {
            format!("more than {} million packets and frames", limits::ROWS / 1_000_000)
        } else if self.events > limits::EVENTS {
            format!("more than {} million events", limits::EVENTS / 1_000_000)
        } else {
            return None;
        };
        Some((what, self.queue.now()))
    }

    /// Store a packet under a handle.
    fn keep(&mut self, packet: Packet) -> u64 {
        match self.free.pop() {
            Some(slot) => {
                self.slab[slot] = Some(packet);
                slot as u64
            }
            None => {
                self.slab.push(Some(packet));
                self.slab.len() as u64 - 1
            }
        }
    }

    /// Remove and return the packet under a handle.
    fn release(&mut self, handle: u64) -> Option<Packet> {
        let packet = self.slab.get_mut(handle as usize)?.take()?;
        self.free.push(handle as usize);
        Some(packet)
    }

    /// Close the captures.
    pub fn finish(mut self) -> io::Result<Truth> {
        self.collect_queues();
        for tap in self.taps.into_iter().chain([self.air_tap, self.usb_tap]).flatten() {
            tap.file.finish()?;
        }
        Ok(self.truth)
    }

    /// Collect the queues' histories, in order of time.
    fn collect_queues(&mut self) {
        for (i, wire) in self.wires.iter_mut().enumerate() {
            for (direction, name) in wire.directions.iter_mut().zip(["a2b", "b2a"]) {
                self.truth.queue(&format!("wire {i} {name}"), &mut direction.queue.notes);
            }
        }
        for (i, station) in self.stations.iter_mut().enumerate() {
            self.truth.queue(&format!("station {i}"), &mut station.queue.notes);
        }
        self.truth.queues.sort_by_key(|r| r.note.t);
    }

    fn dispatch(&mut self, now: Ns, event: Event) {
        match event {
            Event::Air => {
                if self.air_plan.rings(&mut self.queue, event) {
                    self.on_air(now);
                }
            }
            Event::FromAir { station, handle } => {
                if let Some(packet) = self.slab.get(handle as usize).copied().flatten() {
                    match self.stations[station].adapter {
                        Some(adapter) => self.usb_received(now, adapter, packet),
                        None => self.arrived(now, self.stations[station].node, packet),
                    }
                }
            }
            Event::AirDone { station, handle, acked, attempts } => self.air_done(now, station, handle, acked, attempts),
            Event::Beacon { station } => {
                let beacon = Msdu { to: None, mpdu_bytes: BEACON_BYTES, handle: BEACON };
                self.dcf.enqueue(now, station, beacon);
                self.queue.at(now + BEACON_INTERVAL, Event::Beacon { station });
            }
            Event::Stall { station, stall } => {
                if let Some((_, lasts, every)) = self.stations[station].config.stalls_s.get(stall).copied() {
                    self.dcf.stall(station, now + config::seconds(lasts));
                    self.truth.stalled(station, now, now + config::seconds(lasts));
                    if every > 0.0 {
                        self.queue.at(now + config::seconds(every), Event::Stall { station, stall });
                    }
                }
            }
            Event::WireSent { wire, direction } => self.wire_sent(now, wire, direction),
            Event::WireArrives { wire, direction, handle } => {
                let w = &self.wires[wire].config;
                let node = if direction == 0 { w.b } else { w.a };
                if let Some(packet) = self.release(handle) {
                    self.arrived(now, node, packet);
                }
            }
            Event::Release { node } => self.release_held(now, node),
            Event::Hold { node, lasts } => self.hold(now, node, lasts),
            Event::HoldAtRandom { node } => {
                if let Some(holds) = self.nodes[node].holds {
                    self.hold_at_random(now, node, holds);
                }
            }
            Event::UsbBegin { adapter } => self.usb_begin(now, adapter),
            Event::UsbDescribe { adapter, step } => self.usb_describe(now, adapter, step),
            Event::UsbUp { adapter } => self.usb_deliver(now, adapter),
            Event::Usb { adapter } => self.on_usb(now, adapter, event),
            Event::Start { flow } => self.start(now, flow),
            Event::Write { flow } => self.write(now, flow),
            Event::Read { flow } => self.read(now, flow),
            Event::Timer { flow, end } => {
                if self.flows[flow].timers[end].rings(&mut self.queue, event) {
                    self.with_end(now, flow, end, |e, out| e.on_timer(now, out));
                }
            }
        }
    }
}

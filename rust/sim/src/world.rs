//! The world: nodes, what joins them, the flows between them, and the taps. Wires the components as a description says.

use std::collections::VecDeque;
use std::io;

use crate::channel::Air;
use crate::config::{self, Application, Fault};
use crate::dcf::{AirFrame, Dcf, FrameKind, Msdu, Out, StationId};
use crate::engine::{Ns, Queue};
use crate::packet::{Body, Packet};
use crate::phy::Spaces;
use crate::rng::Rng;
use crate::taps::{self, Names, PcapFile, Reception, Roles, TapClock};
use crate::tcp::{Endpoint, Role, Segment};
use crate::truth::{EventRow, FrameRow, PacketFate, Truth};

/// MAC header, LLC and SNAP, FCS around an IP packet.
const MPDU_OVERHEAD: u32 = 24 + 8 + 4;
/// Time units of 1024 us between beacons.
const BEACON_INTERVAL: Ns = 100 * 1_024_000;
const BEACON_BYTES: u32 = 24 + 12 + 60 + 4;
/// Handles of beacons: no packet has this number.
const BEACON: u64 = u64::MAX;
const NOISE_DBM: i8 = -95;

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A station's time to send has come, if the plan has not changed since.
    Air(u64),
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
        way: usize,
    },
    WireArrives {
        wire: usize,
        way: usize,
        packet: Packet,
    },
    /// A host's adapter hands on what it kept.
    Release {
        node: usize,
    },
    Start {
        flow: usize,
    },
    Write {
        flow: usize,
    },
    Timer {
        flow: usize,
        end: usize,
        plan: u64,
    },
}

/// How a node reaches another.
#[derive(Debug, Clone, Copy)]
enum Hop {
    Cell { from: StationId, to: StationId },
    Wire { wire: usize, way: usize },
}

struct Node {
    config: config::Node,
    holds: Vec<(Ns, Ns)>,
    held: VecDeque<Packet>,
    ip_id: u16,
    /// Next hop to each node.
    routes: Vec<Option<Hop>>,
}

struct Station {
    node: usize,
    /// Waiting between stack and device.
    queue: VecDeque<Packet>,
    config: config::Station,
}

struct Way {
    queue: VecDeque<Packet>,
    sending: Option<Packet>,
    data_seen: u64,
}

struct Wire {
    config: config::Wire,
    ways: [Way; 2],
    blackouts: Vec<(Ns, Ns)>,
    holds: Vec<(Ns, Ns)>,
    rng: Rng,
}

struct Flow {
    config: config::Flow,
    /// Client and server; none for UDP.
    ends: Option<[Endpoint; 2]>,
    plans: [u64; 2],
    armed: [Option<Ns>; 2],
    isn: [u32; 2],
    datagrams: u64,
}

struct Tap {
    node: usize,
    file: PcapFile,
    clock: TapClock,
}

/// A simulation under way.
pub struct World {
    queue: Queue<Event>,
    end: Ns,
    nodes: Vec<Node>,
    stations: Vec<Station>,
    dcf: Dcf,
    air: Air,
    air_plan: (u64, Option<Ns>),
    ad_hoc: bool,
    channel_mhz: u16,
    wires: Vec<Wire>,
    flows: Vec<Flow>,
    /// Packets in the hands of stations.
    slab: Vec<Option<Packet>>,
    free: Vec<usize>,
    taps: [Option<Tap>; 2],
    air_tap: Option<Tap>,
    pub truth: Truth,
    scratch: Vec<u8>,
    body: Vec<u8>,
    segments: Vec<Segment>,
    outs: Vec<Out>,
    failed: Option<io::Error>,
}

impl World {
    /// Build a world. A description that contradicts itself is a fault in words; a file that cannot be made an error.
    pub fn new(c: config::World) -> io::Result<Result<Self, Fault>> {
        match check(&c) {
            Ok(()) => Self::build(c),
            Err(fault) => Ok(Err(fault)),
        }
    }

    fn build(c: config::World) -> io::Result<Result<Self, Fault>> {
        let seed = c.seed;
        let mut dcf = Dcf::new(Spaces::DSSS);
        let mut air = Air::new(Rng::stream(seed, "channel", 0));
        let mut stations = Vec::new();
        let (mut ad_hoc, mut channel_mhz) = (false, 2412);
        let mut queue = Queue::default();
        if let Some(cell) = &c.cell {
            (ad_hoc, channel_mhz) = (cell.ad_hoc, cell.channel_mhz);
            for (i, s) in cell.stations.iter().enumerate() {
                let rates = s.rate_control.build(Rng::stream(seed, "rate", i as u64));
                dcf.join(s.mac(), rates, Rng::stream(seed, "dcf", i as u64));
                stations.push(Station { node: s.node, queue: VecDeque::new(), config: s.clone() });
                if s.access_point && cell.beacons {
                    queue.at(
                        Rng::stream(seed, "beacon", i as u64).next_u64() % BEACON_INTERVAL,
                        Event::Beacon { station: i },
                    );
                }
                for (stall, (start, ..)) in s.stalls_s.iter().enumerate() {
                    queue.at(config::seconds(*start), Event::Stall { station: i, stall });
                }
            }
            let mut processes = Vec::new();
            for (i, b) in cell.bursts.iter().enumerate() {
                match b.build() {
                    Ok(b) => processes.push(air.burst_process(b, Rng::stream(seed, "bursts", i as u64))),
                    Err(fault) => return Ok(Err(fault)),
                }
            }
            for p in &cell.paths {
                air.disturb(p.from, p.to, p.build(), p.bursts.and_then(|b| processes.get(b).copied()));
            }
        }
        let wires: Vec<Wire> = (0u64..)
            .zip(&c.wires)
            .map(|(i, w)| Wire {
                ways: [0, 1].map(|_| Way { queue: VecDeque::new(), sending: None, data_seen: 0 }),
                blackouts: config::spans(&w.blackouts_s),
                holds: config::spans(&w.holds_s),
                rng: Rng::stream(seed, "wire", i),
                config: w.clone(),
            })
            .collect();
        let mut flows = Vec::new();
        for (i, f) in c.flows.iter().enumerate() {
            let mut rng = Rng::stream(seed, "flow", i as u64);
            let ends = match &f.tcp {
                None => None,
                Some(tcp) => match tcp.build() {
                    Err(fault) => return Ok(Err(fault)),
                    Ok(tcp) => Some(
                        [Role::Client, Role::Server]
                            .map(|role| Endpoint::new(tcp.clone(), role, rng.next_u64() as u32 >> 1)),
                    ),
                },
            };
            let isn = [rng.next_u64() as u32, rng.next_u64() as u32];
            flows.push(Flow { config: f.clone(), ends, plans: [0; 2], armed: [None; 2], isn, datagrams: 0 });
            queue.at(config::seconds(f.start_s), Event::Start { flow: i });
        }
        let routes = routes(&c);
        let nodes: Vec<Node> = (0u64..)
            .zip(&c.nodes)
            .zip(routes)
            .map(|((i, n), routes)| Node {
                holds: config::spans(&n.holds_s),
                held: VecDeque::new(),
                ip_id: Rng::stream(seed, "ip_id", i).next_u64() as u16,
                routes,
                config: n.clone(),
            })
            .collect();
        for (i, n) in nodes.iter().enumerate() {
            for (_, until) in &n.holds {
                queue.at(*until, Event::Release { node: i });
            }
        }
        let tap = |t: &Option<config::Tap>, linktype, name| -> io::Result<Option<Tap>> {
            let Some(t) = t else { return Ok(None) };
            let file = PcapFile::create(&t.path, linktype, t.clock.snaplen_bytes)?;
            Ok(Some(Tap { node: t.node, file, clock: TapClock::new(t.clock, c.epoch_ns, Rng::stream(seed, name, 0)) }))
        };
        Ok(Ok(World {
            end: config::seconds(c.duration_s),
            nodes,
            stations,
            dcf,
            air,
            air_plan: (0, None),
            ad_hoc,
            channel_mhz,
            wires,
            flows,
            slab: Vec::new(),
            free: Vec::new(),
            taps: [
                tap(&c.taps.sender, taps::LINKTYPE_ETHERNET, "tap_sender")?,
                tap(&c.taps.receiver, taps::LINKTYPE_ETHERNET, "tap_receiver")?,
            ],
            air_tap: tap(&c.taps.air, taps::LINKTYPE_RADIOTAP, "tap_air")?,
            queue,
            truth: Truth::default(),
            scratch: Vec::new(),
            body: Vec::new(),
            segments: Vec::new(),
            outs: Vec::new(),
            failed: None,
        }))
    }

    /// Go on until `until` or the end; whether there is more. `Err`: a capture could not be written.
    pub fn run(&mut self, until: Ns) -> io::Result<bool> {
        let until = until.min(self.end);
        while self.queue.peek().is_some_and(|t| t < until) {
            if let Some((now, event)) = self.queue.pop() {
                self.dispatch(now, event);
                self.plan_air();
            }
            if let Some(e) = self.failed.take() {
                return Err(e);
            }
        }
        Ok(until < self.end && self.queue.peek().is_some())
    }

    /// The captures are whole.
    pub fn finish(self) -> io::Result<Truth> {
        for tap in self.taps.into_iter().chain([self.air_tap]).flatten() {
            tap.file.finish()?;
        }
        Ok(self.truth)
    }

    fn dispatch(&mut self, now: Ns, event: Event) {
        match event {
            Event::Air(plan) if plan == self.air_plan.0 => self.on_air(now),
            Event::Air(_) => {}
            Event::FromAir { station, handle } => {
                if let Some(packet) = self.slab.get(handle as usize).copied().flatten() {
                    let node = self.stations[station].node;
                    self.arrived(now, node, packet);
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
                    if every > 0.0 {
                        self.queue.at(now + config::seconds(every), Event::Stall { station, stall });
                    }
                }
            }
            Event::WireSent { wire, way } => self.wire_sent(now, wire, way),
            Event::WireArrives { wire, way, packet } => {
                let w = &self.wires[wire].config;
                let node = if way == 0 { w.b } else { w.a };
                self.arrived(now, node, packet);
            }
            Event::Release { node } => {
                while let Some(packet) = self.nodes[node].held.pop_front() {
                    self.deliver(now, node, packet);
                }
            }
            Event::Start { flow } => self.start(now, flow),
            Event::Write { flow } => self.write(now, flow),
            Event::Timer { flow, end, plan } => {
                if self.flows[flow].plans[end] == plan {
                    self.flows[flow].armed[end] = None;
                    self.with_end(now, flow, end, |e, out| e.on_timer(now, out));
                }
            }
        }
    }

    // ---- flows

    fn start(&mut self, now: Ns, flow: usize) {
        if self.flows[flow].ends.is_none() {
            return self.write(now, flow);
        }
        let application = self.flows[flow].config.application.clone();
        self.with_end(now, flow, 0, |e, out| {
            e.open(now, out);
            match application {
                // More than any run can send.
                Application::Bulk => e.write(now, 1 << 50, out),
                Application::File { bytes } => {
                    e.write(now, bytes, out);
                    e.close(now, out);
                }
                Application::Paced { .. } | Application::Udp { .. } => {}
            }
        });
        if let Application::Paced { .. } = self.flows[flow].config.application {
            self.write(now, flow);
        }
    }

    fn write(&mut self, now: Ns, flow: usize) {
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
            Application::Bulk | Application::File { .. } => {}
        }
    }

    /// Let one end of a flow do something, send what it made, and set its timer.
    fn with_end(&mut self, now: Ns, flow: usize, end: usize, what: impl FnOnce(&mut Endpoint, &mut Vec<Segment>)) {
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
            let (what, seq, value_ns) = described(&e);
            self.truth.events.push(EventRow { t: now, flow: flow as u32, reverse: end == 1, what, seq, value_ns });
        }
        let timer = ends[end].timer();
        if timer != f.armed[end] {
            f.armed[end] = timer;
            f.plans[end] += 1;
            if let Some(t) = timer {
                self.queue.at(t, Event::Timer { flow, end, plan: f.plans[end] });
            }
        }
    }

    /// A stack hands a packet down.
    fn emit(&mut self, now: Ns, flow: usize, end: usize, body: Body) {
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

    /// A packet came in at a node.
    fn arrived(&mut self, now: Ns, node: usize, packet: Packet) {
        if packet.dst != node {
            return self.forward(now, node, Packet { ttl: packet.ttl.saturating_sub(1), ..packet });
        }
        let n = &mut self.nodes[node];
        if n.holds.iter().any(|h| (h.0..h.1).contains(&now)) {
            n.held.push_back(packet);
            return;
        }
        self.deliver(now, node, packet);
    }

    /// A host's stack gets a packet.
    fn deliver(&mut self, now: Ns, node: usize, packet: Packet) {
        self.tap_host(now, node, &packet);
        self.truth.ended(packet.id, now, PacketFate::Delivered);
        if let Body::Tcp(s) = packet.body {
            let end = usize::from(!packet.reverse);
            self.with_end(now, packet.flow, end, |e, out| e.receive(now, &s, out));
        }
    }

    /// Send a packet on towards its destination.
    fn forward(&mut self, now: Ns, node: usize, packet: Packet) {
        match self.nodes[node].routes[packet.dst] {
            None => self.truth.ended(packet.id, now, PacketFate::Wire),
            Some(Hop::Cell { from, .. }) => {
                let most = self.nodes[node].config.queue_packets;
                if self.stations[from].queue.len() >= most.max(1) {
                    return self.truth.ended(packet.id, now, PacketFate::DeviceQueue);
                }
                self.stations[from].queue.push_back(packet);
                self.pump(now, from);
            }
            Some(Hop::Wire { wire, way }) => {
                let w = &mut self.wires[wire];
                if w.ways[way].sending.is_some() && w.ways[way].queue.len() >= w.config.queue_packets {
                    return self.truth.ended(packet.id, now, PacketFate::WireQueue);
                }
                w.ways[way].queue.push_back(packet);
                self.wire_next(now, wire, way);
            }
        }
    }

    // ---- lines

    fn wire_next(&mut self, now: Ns, wire: usize, way: usize) {
        let w = &mut self.wires[wire];
        if w.ways[way].sending.is_some() {
            return;
        }
        let Some(packet) = w.ways[way].queue.pop_front() else { return };
        w.ways[way].sending = Some(packet);
        let bits = f64::from(packet.ip_bytes + w.config.header_bytes) * 8.0;
        let node = if way == 0 { w.config.a } else { w.config.b };
        self.queue.at(now + config::seconds(bits / w.config.rate_bps), Event::WireSent { wire, way });
        if packet.src == node {
            self.tap_host(now, node, &packet);
        }
    }

    fn wire_sent(&mut self, now: Ns, wire: usize, way: usize) {
        let w = &mut self.wires[wire];
        if let Some(packet) = w.ways[way].sending.take() {
            let data = matches!(packet.body, Body::Tcp(s) if s.len > 0);
            let number = w.ways[way].data_seen;
            w.ways[way].data_seen += u64::from(data);
            let scripted = way == 0 && data && w.config.lose_data.contains(&number);
            let black = w.blackouts.iter().any(|b| (b.0..b.1).contains(&now));
            let loss = w.config.loss_rate;
            if scripted || black || w.rng.chance(loss) {
                self.truth.ended(packet.id, now, PacketFate::Wire);
            } else {
                let mut at = now + config::seconds(w.config.delay_s);
                if let (1, Some(hold)) = (way, w.holds.iter().find(|h| (h.0..h.1).contains(&at))) {
                    at = hold.1;
                }
                self.queue.at(at, Event::WireArrives { wire, way, packet });
            }
        }
        self.wire_next(now, wire, way);
    }

    // ---- the air

    /// Hand packets from a host's queue to its station while that has room.
    fn pump(&mut self, now: Ns, station: StationId) {
        while self.dcf.has_room(now, station) {
            let Some(packet) = self.stations[station].queue.pop_front() else { return };
            let node = self.stations[station].node;
            let Some(Hop::Cell { to, .. }) = self.nodes[node].routes[packet.dst] else { continue };
            if packet.src == node {
                self.tap_host(now, node, &packet);
            }
            let handle = match self.free.pop() {
                Some(slot) => {
                    self.slab[slot] = Some(packet);
                    slot
                }
                None => {
                    self.slab.push(Some(packet));
                    self.slab.len() - 1
                }
            };
            let msdu = Msdu { to: Some(to), mpdu_bytes: packet.ip_bytes + MPDU_OVERHEAD, handle: handle as u64 };
            self.dcf.enqueue(now, station, msdu);
        }
    }

    /// Note when the next station will send.
    fn plan_air(&mut self) {
        let next = self.dcf.next();
        if next != self.air_plan.1 {
            self.air_plan = (self.air_plan.0 + 1, next);
            if let Some(t) = next {
                self.queue.at(t, Event::Air(self.air_plan.0));
            }
        }
    }

    fn on_air(&mut self, now: Ns) {
        self.air_plan.1 = None;
        let mut outs = std::mem::take(&mut self.outs);
        self.dcf.advance(now, &mut self.air, &mut outs);
        for out in outs.drain(..) {
            match out {
                Out::Aired(frame) => self.aired(&frame),
                Out::Delivered { msdu, .. } if msdu.handle == BEACON => {}
                Out::Delivered { at, station, msdu, .. } => {
                    self.queue.at(at, Event::FromAir { station, handle: msdu.handle });
                }
                Out::Done { at, station, msdu, acked, attempts } => {
                    self.queue.at(at, Event::AirDone { station, handle: msdu.handle, acked, attempts });
                }
            }
        }
        self.outs = outs;
    }

    fn air_done(&mut self, now: Ns, station: StationId, handle: u64, acked: bool, attempts: u32) {
        if handle != BEACON {
            if let Some(packet) = self.slab.get_mut(handle as usize).and_then(Option::take) {
                self.free.push(handle as usize);
                if let Some(row) = self.truth.row(packet.id) {
                    row.attempts += attempts;
                    // Given up; a copy may have arrived all the same.
                    if !acked && row.fate == PacketFate::UnderWay {
                        (row.fate, row.ended) = (PacketFate::Air, now);
                    }
                }
            }
        }
        self.pump(now, station);
    }

    fn aired(&mut self, frame: &AirFrame) {
        let packet = frame.msdu.and_then(|m| self.slab.get(m.handle as usize).copied().flatten());
        self.truth.frames.push(FrameRow { frame: *frame, packet: packet.map(|p| p.id) });
        let Some(tap) = &mut self.air_tap else { return };
        if tap.clock.misses() {
            return;
        }
        let beacon = frame.kind == FrameKind::Data && frame.msdu.is_some_and(|m| m.handle == BEACON);
        let roles = roles(&self.stations, self.ad_hoc, frame, packet.as_ref());
        self.body.clear();
        if let Some(p) = &packet {
            self.body.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
            taps::write_ip(p, &names(&self.flows, p), &mut self.body);
        } else if beacon {
            beacon_body(frame.start, &mut self.body);
        }
        let signal = self.stations[frame.from].config.signal_dbm;
        let stamp = tap.clock.stamp(frame.end);
        // The MAC header begins behind the PLCP preamble.
        let plcp = if frame.rate.ofdm() { 20_000 } else { 192_000 };
        let reception = Reception {
            tsf_us: (tap.clock.stamp(frame.start + plcp).max(0) as u64) / 1000,
            channel_mhz: self.channel_mhz,
            signal_dbm: signal.round() as i8,
            noise_dbm: NOISE_DBM,
            damaged: matches!(frame.fate, crate::dcf::Fate::Collision(_)),
        };
        self.scratch.clear();
        taps::air_frame(frame, &roles, &self.body, beacon, &reception, &mut self.scratch);
        if let Err(e) = tap.file.write(stamp, &self.scratch) {
            self.failed.get_or_insert(e);
        }
    }

    // ---- hosts' taps

    fn tap_host(&mut self, now: Ns, node: usize, p: &Packet) {
        if p.src == node {
            if let Some(row) = self.truth.row(p.id) {
                row.tapped.get_or_insert(now);
            }
        }
        for tap in self.taps.iter_mut().flatten().filter(|t| t.node == node) {
            if tap.clock.misses() {
                continue;
            }
            self.scratch.clear();
            taps::ethernet(mac(p.dst), mac(p.src), &mut self.scratch);
            taps::write_ip(p, &names(&self.flows, p), &mut self.scratch);
            if let Err(e) = tap.file.write(tap.clock.stamp(now), &self.scratch) {
                self.failed.get_or_insert(e);
            }
        }
    }
}

/// Locally administered, the node's number last.
fn mac(node: usize) -> [u8; 6] {
    let n = (node as u32 + 1).to_be_bytes();
    [0x02, 0, n[0], n[1], n[2], n[3]]
}

fn address(node: usize) -> [u8; 4] {
    let n = (node as u16 + 1).to_be_bytes();
    [10, 0, n[0], n[1]]
}

fn names(flows: &[Flow], p: &Packet) -> Names {
    let f = &flows[p.flow];
    let (me, peer) = (usize::from(p.reverse), usize::from(!p.reverse));
    let ports = [40_000 + (p.flow % 20_000) as u16, 5_001];
    let tcp = f.config.tcp.as_ref();
    let window = tcp.map_or(0, |t| t.receive_window_bytes);
    Names {
        src: address(p.src),
        dst: address(p.dst),
        src_port: ports[me],
        dst_port: ports[peer],
        isn: f.isn[me],
        peer_isn: f.isn[peer],
        mss: tcp.map_or(0, |t| t.mss_bytes.min(0xffff) as u16),
        wscale: (0..=14).find(|s| window >> s <= 0xffff).unwrap_or(14),
        sack_permitted: tcp.is_some_and(|t| t.sack),
    }
}

fn roles(stations: &[Station], ad_hoc: bool, f: &AirFrame, p: Option<&Packet>) -> Roles {
    let of = |s: StationId| mac(stations[s].node);
    let (ta, ra) = (of(f.from), f.to.map_or([0xff; 6], of));
    let from_ap = stations[f.from].config.access_point;
    let third = match p {
        // The cell's own number: that of its first station.
        _ if ad_hoc => of(0),
        Some(p) if from_ap => mac(p.src),
        Some(p) => mac(p.dst),
        None => ta,
    };
    let data = p.is_some() && !ad_hoc;
    Roles { ra, ta, third, to_ds: data && !from_ap, from_ds: data && from_ap }
}

/// Timestamp, interval, capabilities, SSID, rates, channel, padded to `BEACON_BYTES`.
fn beacon_body(start: Ns, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend((start / 1000).to_le_bytes());
    out.extend(100u16.to_le_bytes());
    out.extend([0x21, 0]);
    out.extend([0, 8]);
    out.extend(b"wlanlens");
    out.extend([1, 4, 0x82, 0x84, 0x8b, 0x96, 3, 1, 1]);
    // A vendor's element fills the rest.
    let rest = (BEACON_BYTES as usize - 28) - (out.len() - begin) - 2;
    out.extend([221, rest as u8]);
    out.extend(vec![0; rest]);
}

fn described(e: &crate::tcp::Event) -> (&'static str, u64, Ns) {
    use crate::tcp::Event;
    match *e {
        Event::Timeout { seq, rto, .. } => ("timeout", seq, rto),
        Event::TimeoutUndone => ("timeout_undone", 0, 0),
        Event::RecoveryBegan { seq } => ("recovery_began", seq, 0),
        Event::RecoveryUndone => ("recovery_undone", 0, 0),
        Event::RecoveryEnded => ("recovery_ended", 0, 0),
    }
}

/// Next hops by breadth-first search: fewest hops.
fn routes(c: &config::World) -> Vec<Vec<Option<Hop>>> {
    let n = c.nodes.len();
    let mut edges: Vec<Vec<(usize, Hop)>> = vec![Vec::new(); n];
    if let Some(cell) = &c.cell {
        for (i, a) in cell.stations.iter().enumerate() {
            for (j, b) in cell.stations.iter().enumerate() {
                if i != j && (cell.ad_hoc || a.access_point || b.access_point) {
                    edges[a.node].push((b.node, Hop::Cell { from: i, to: j }));
                }
            }
        }
    }
    for (i, w) in c.wires.iter().enumerate() {
        edges[w.a].push((w.b, Hop::Wire { wire: i, way: 0 }));
        edges[w.b].push((w.a, Hop::Wire { wire: i, way: 1 }));
    }
    let from = |start: usize| {
        let mut first: Vec<Option<Hop>> = vec![None; n];
        let mut seen = vec![false; n];
        seen[start] = true;
        let mut todo = VecDeque::from([(start, None)]);
        while let Some((node, hop)) = todo.pop_front() {
            for (next, edge) in &edges[node] {
                if !std::mem::replace(&mut seen[*next], true) {
                    let hop = hop.or(Some(*edge));
                    first[*next] = hop;
                    todo.push_back((*next, hop));
                }
            }
        }
        first
    };
    (0..n).map(from).collect()
}

/// Whether a number is one, and greater.
fn above(x: f64, least: f64) -> bool {
    x > least
}

/// What no world can be.
fn check(c: &config::World) -> Result<(), Fault> {
    let n = c.nodes.len();
    let node = |i: usize, what: &str| if i < n { Ok(()) } else { Err(format!("{what}: there is no node {i}")) };
    if !(c.duration_s > 0.0 && c.duration_s <= 1e6) {
        return Err(format!("duration_s must be above 0 and at most 1e6, not {}", c.duration_s));
    }
    if n == 0 || n > 60_000 {
        return Err(format!("a world has 1 to 60000 nodes, not {n}"));
    }
    for f in &c.flows {
        node(f.client, "a flow's client")?;
        node(f.server, "a flow's server")?;
        if f.client == f.server {
            return Err("a flow needs two different nodes".into());
        }
        if let Some(t) = &f.tcp {
            if !(88..=65_000).contains(&t.mss_bytes) {
                return Err(format!("mss_bytes must be 88 to 65000, not {}", t.mss_bytes));
            }
            if t.receive_window_bytes < t.mss_bytes || t.receive_window_bytes > 1 << 30 {
                return Err(format!("receive_window_bytes must be one MSS to 2^30, not {}", t.receive_window_bytes));
            }
        } else if !matches!(f.application, Application::Udp { .. }) {
            return Err("only UDP goes without TCP".into());
        }
        match f.application {
            Application::Udp { payload_bytes, rate_bps }
                if !above(rate_bps, 0.0) || payload_bytes == 0 || payload_bytes > 65_000 =>
            {
                return Err(format!(
                    "UDP needs a rate above 0 and 1 to 65000 bytes, not {rate_bps} and {payload_bytes}"
                ))
            }
            Application::Paced { every_s, .. } if !(1e-6..).contains(&every_s) => {
                return Err(format!("every_s must be at least 1e-6, not {every_s}"))
            }
            _ => {}
        }
    }
    for w in &c.wires {
        node(w.a, "a wire's end")?;
        node(w.b, "a wire's end")?;
        if !above(w.rate_bps, 0.0) || !(0.0..).contains(&w.delay_s) || !(0.0..=1.0).contains(&w.loss_rate) {
            return Err(format!(
                "a wire needs rate_bps > 0, delay_s >= 0 and loss_rate 0 to 1, not {}, {}, {}",
                w.rate_bps, w.delay_s, w.loss_rate
            ));
        }
    }
    if let Some(cell) = &c.cell {
        for s in &cell.stations {
            node(s.node, "a station's node")?;
            if s.cw_min > s.cw_max || s.queue_frames == 0 || !above(s.control_rate_mbps, 0.0) {
                return Err("a station needs cw_min <= cw_max, queue_frames >= 1 and control_rate_mbps > 0".into());
            }
        }
        for p in &cell.paths {
            if p.from >= cell.stations.len() || p.to >= cell.stations.len() {
                return Err(format!(
                    "a path between stations {} and {}: there are {}",
                    p.from,
                    p.to,
                    cell.stations.len()
                ));
            }
            if !(0.0..=1.0).contains(&p.frame_error_rate) {
                return Err(format!("frame_error_rate must be 0 to 1, not {}", p.frame_error_rate));
            }
        }
    }
    Ok(())
}

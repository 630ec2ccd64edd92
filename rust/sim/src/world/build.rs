//! Building a world from its description: what it cannot be, who reaches whom.

use std::collections::VecDeque;
use std::io;

use super::taps::{flow_names, mac};
use super::usb::Adapter;
use super::{Event, Flow, Hop, Node, Station, Tap, Ticks, Way, Wire, World, BEACON_INTERVAL};
use crate::application::{Application, Strata};
use crate::channel::Air;
use crate::config::{self, Fault, Holds};
use crate::dcf::Dcf;
use crate::engine::{Alarm, Queue};
use crate::limits;
use crate::phy::Spaces;
use crate::rng::Rng;
use crate::router::{Buffer, Discipline, Outlet};
use crate::taps::{self, PcapFile, TapClock};
use crate::tcp::{Endpoint, Role};
use crate::truth::Truth;
use crate::usb_host::UsbHost;

impl World {
    /// Build a world. A description that contradicts itself is a fault in words; a file that cannot be made an error.
    pub fn new(c: config::World) -> io::Result<Result<Self, Fault>> {
        match check(&c) {
            Ok(()) => Self::build(c),
            Err(fault) => Ok(Err(fault)),
        }
    }

    pub(super) fn build(c: config::World) -> io::Result<Result<Self, Fault>> {
        let seed = c.seed;
        let mut dcf = Dcf::new(Spaces::DSSS);
        let floor = c.cell.as_ref().map(config::Cell::floor).unwrap_or_default();
        let count = c.cell.as_ref().map_or(0, |cell| cell.stations.len());
        let fading = |link| Rng::stream(seed, "fading", link);
        let mut air = Air::new(count, floor, Rng::stream(seed, "channel", 0), fading);
        let (mut stations, mut adapters) = (Vec::new(), Vec::new());
        let (mut ad_hoc, mut channel_mhz) = (false, 2412);
        let mut queue = Queue::default();
        if let Some(cell) = &c.cell {
            (ad_hoc, channel_mhz) = (cell.ad_hoc, cell.channel_mhz);
            for (i, s) in cell.stations.iter().enumerate() {
                let rates = s.rate_control.build(Rng::stream(seed, "rate", i as u64));
                dcf.join(s.mac(), rates, Rng::stream(seed, "dcf", i as u64));
                let adapter = s.usb.as_ref().map(|usb| {
                    let host = UsbHost::new(usb.build(Rng::stream(seed, "usb", i as u64)));
                    let access_point = cell.stations.iter().find(|s| s.access_point).unwrap_or(&cell.stations[0]);
                    adapters.push(Adapter::new(i, s.node, mac(access_point.node), usb.clone(), host));
                    queue.at(0, Event::UsbBegin { adapter: adapters.len() - 1 });
                    adapters.len() - 1
                });
                let node = &c.nodes[s.node];
                // What the air takes away is no fixed rate: automatic values are those of 802.11b's 5 Mb/s.
                let outlet = Outlet { rate_bps: 5e6, delay_s: 0.0 };
                let rng = Rng::stream(seed, "node_queue", i as u64);
                let waiting = Buffer::new(node.queue_packets.max(1), node.discipline, outlet, rng);
                stations.push(Station { node: s.node, queue: waiting, config: s.clone(), adapter });
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
                ways: [0, 1].map(|way| {
                    let outlet = Outlet { rate_bps: w.rate_bps, delay_s: w.delay_s };
                    let rng = Rng::stream(seed, "wire_queue", 2 * i + way);
                    Way { queue: Buffer::new(w.queue_packets, w.discipline, outlet, rng), sending: None, counted: 0 }
                }),
                blackouts: config::spans(&w.blackouts_s),
                holds: config::spans(&w.holds_s),
                ack_blackouts: config::spans(&w.ack_blackouts_s),
                rng: Rng::stream(seed, "wire", i),
                config: w.clone(),
            })
            .collect();
        let mut flows: Vec<Flow> = Vec::new();
        let mut strata = Strata::default();
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
            flows.push(Flow {
                config: f.clone(),
                ends,
                timers: Default::default(),
                names: flow_names(i, f, isn),
                datagrams: 0,
                bytes: f.application.size().map_or(0, |s| s.bytes(seed, i as u64, &mut strata)),
                answered: false,
                ended: false,
                followers: Vec::new(),
                rng,
            });
            match f.after {
                None => queue.at(config::seconds(f.start_s), Event::Start { flow: i }),
                Some(before) => flows[before].followers.push(i),
            }
        }
        let routes = routes(&c);
        let mut nodes: Vec<Node> = (0u64..)
            .zip(&c.nodes)
            .zip(routes)
            .map(|((i, n), routes)| Node {
                drops: n.drops_s.iter().map(ticks).collect(),
                holds: n.holds,
                hold: None,
                held: Vec::new(),
                rng: Rng::stream(seed, "holds", i),
                ip_id: Rng::stream(seed, "ip_id", i).next_u64() as u16,
                routes,
            })
            .collect();
        for (i, n) in nodes.iter_mut().enumerate() {
            for (start, lasts) in &c.nodes[i].holds_s {
                queue.at(config::seconds(*start), Event::Hold { node: i, lasts: config::seconds(*lasts) });
            }
            if let Some(holds) = n.holds.filter(|h| n.rng.chance(h.run_probability)) {
                let first = n.rng.exponential(holds.mean_gap_s);
                queue.at(config::seconds(first), Event::HoldAtRandom { node: i });
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
            air_plan: Alarm::default(),
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
            adapters,
            usb_tap: tap(&c.taps.usb, taps::LINKTYPE_USBMON, "tap_usb")?,
            usb_done: Vec::new(),
            queue,
            truth: Truth::default(),
            segments: Vec::new(),
            outs: Vec::new(),
            failed: None,
            events: 0,
        }))
    }
}

/// Next hops by breadth-first search: fewest hops.
fn routes(c: &config::World) -> Vec<Vec<Option<Hop>>> {
    let n = c.nodes.len();
    let mut edges: Vec<Vec<(usize, Hop)>> = vec![Vec::new(); n];
    for (i, w) in c.wires.iter().enumerate() {
        edges[w.a].push((w.b, Hop::Wire { wire: i, way: 0 }));
        edges[w.b].push((w.a, Hop::Wire { wire: i, way: 1 }));
    }
    let mut places: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (i, s) in c.cell.iter().flat_map(|cell| &cell.stations).enumerate() {
        places[s.node].push(i);
    }
    (0..n).map(|start| routes_from(c, start, &edges, &places)).collect()
}

/// Next hops of one node. The cell is walked as a whole and once, not by pairs: it may have thousands of stations.
fn routes_from(
    c: &config::World,
    start: usize,
    edges: &[Vec<(usize, Hop)>],
    places: &[Vec<usize>],
) -> Vec<Option<Hop>> {
    let mut first: Vec<Option<Hop>> = vec![None; c.nodes.len()];
    let mut seen = vec![false; c.nodes.len()];
    seen[start] = true;
    let mut todo = VecDeque::from([(start, None)]);
    let (mut all_reached, mut access_points_reached) = (false, false);
    while let Some((node, hop)) = todo.pop_front() {
        let mut reach = |next: usize, edge: Hop| {
            if !std::mem::replace(&mut seen[next], true) {
                let hop = hop.or(Some(edge));
                first[next] = hop;
                todo.push_back((next, hop));
            }
        };
        for (cell, &i) in c.cell.iter().flat_map(|cell| places[node].iter().map(move |i| (cell, i))) {
            let all = cell.ad_hoc || cell.stations[i].access_point;
            if all_reached || (!all && access_points_reached) {
                continue;
            }
            for (j, b) in cell.stations.iter().enumerate() {
                if i != j && (all || b.access_point) {
                    reach(b.node, Hop::Cell { from: i, to: j });
                }
            }
            (all_reached, access_points_reached) = (all, true);
        }
        for (next, edge) in &edges[node] {
            reach(*next, *edge);
        }
    }
    first
}

fn ticks(&(first, every, packets): &(f64, f64, u32)) -> Ticks {
    Ticks { next: Some(config::seconds(first)), every: config::seconds(every), packets, left: 0 }
}

/// What no queue can be.
fn check_discipline(d: Discipline) -> Result<(), Fault> {
    let Discipline::Red(r) = d else { return Ok(()) };
    let (least, most) = (r.min_packets, r.max_packets);
    let ordered = above(most, least) || most == 0.0;
    if least >= 0.0 && ordered && (0.0..=1.0).contains(&r.weight) && (0.0..=1.0).contains(&r.most_share) {
        return Ok(());
    }
    Err(format!(
        "RED needs 0 <= min_packets < max_packets (or 0), weight and most_share 0 to 1, not {least}, {most}, {}, {}",
        r.weight, r.most_share
    ))
}

/// Whether a number is one, and greater.
fn above(x: f64, least: f64) -> bool {
    x > least
}

/// Whether a share or a time in seconds is one that makes sense.
fn within(x: f64, most: f64) -> bool {
    (0.0..=most).contains(&x)
}

fn check_usb(usb: &config::Usb, s: &config::Station) -> Result<(), Fault> {
    if s.access_point {
        return Err("an access point has no USB adapter".into());
    }
    if !(1..=64).contains(&usb.urbs_out) || !(1..=64).contains(&usb.urbs_in) {
        return Err(format!("urbs_out and urbs_in must be 1 to 64, not {} and {}", usb.urbs_out, usb.urbs_in));
    }
    if usb.buffer_frames == 0 || usb.buffer_frames as usize > s.queue_frames || usb.receive_buffer_frames == 0 {
        return Err(format!(
            "a USB adapter needs buffer_frames 1 to its station's queue_frames ({}) and receive_buffer_frames >= 1",
            s.queue_frames
        ));
    }
    if !within(usb.descriptor_s, 1.0) || !within(usb.interrupt_s, 0.1) {
        return Err(format!(
            "descriptor_s must be 0 to 1 and interrupt_s 0 to 0.1, not {} and {}",
            usb.descriptor_s, usb.interrupt_s
        ));
    }
    if !within(usb.driver_s, 1e-3) {
        return Err(format!("driver_s must be 0 to 0.001, not {}", usb.driver_s));
    }
    Ok(())
}

/// What no world can be.
fn check(c: &config::World) -> Result<(), Fault> {
    let n = c.nodes.len();
    let node = |i: usize, what: &str| if i < n { Ok(()) } else { Err(format!("{what}: there is no node {i}")) };
    if !(c.duration_s > 0.0 && c.duration_s <= 1e6) {
        return Err(format!("duration_s must be above 0 and at most 1e6, not {}", c.duration_s));
    }
    if n == 0 || n > limits::NODES {
        return Err(format!("a world has 1 to {} nodes, not {n}", limits::NODES));
    }
    if c.flows.len() > limits::FLOWS {
        return Err(format!("a world has at most {} flows, not {}", limits::FLOWS, c.flows.len()));
    }
    for n in &c.nodes {
        check_discipline(n.discipline)?;
        if n.drops_s.iter().any(|d| !(0.0..).contains(&d.0) || !(0.0..).contains(&d.1)) {
            return Err(format!("{}: drops_s are times of 0 s or more", n.name));
        }
    }
    for holds in c.nodes.iter().filter_map(|n| n.holds) {
        let Holds { mean_gap_s, shortest_s, longest_s, run_probability } = holds;
        if !within(run_probability, 1.0) {
            return Err(format!("run_probability must be 0 to 1, not {run_probability}"));
        }
        if !above(mean_gap_s, 0.0) || !within(shortest_s, longest_s) || !within(longest_s, 1e6) {
            return Err(format!(
                "holds need mean_gap_s > 0 and 0 <= shortest_s <= longest_s, not {mean_gap_s}, {shortest_s}, {longest_s}"
            ));
        }
    }
    if let Some(tap) = &c.taps.usb {
        let stations = c.cell.iter().flat_map(|cell| &cell.stations);
        if !stations.filter(|s| s.node == tap.node).any(|s| s.usb.is_some()) {
            return Err(format!("node {} has no USB adapter to tap", tap.node));
        }
    }
    for (i, f) in c.flows.iter().enumerate() {
        node(f.client, "a flow's client")?;
        node(f.server, "a flow's server")?;
        if f.client == f.server {
            return Err("a flow needs two different nodes".into());
        }
        if !(0.0..=1e6).contains(&f.think_s) {
            return Err(format!("think_s must be 0 to 1e6, not {}", f.think_s));
        }
        if f.after.is_some_and(|a| a >= i || c.flows[a].application.size().is_none()) {
            return Err(format!("flow {i} comes after an earlier one with an end, not after {:?}", f.after));
        }
        if let Some(fault) = f.application.size().and_then(|s| s.fault()) {
            return Err(fault);
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
        if let Some(r) = &f.reader {
            if r.bytes == 0 || !(1e-6..).contains(&r.every_s) {
                return Err(format!(
                    "a reader needs bytes >= 1 and every_s >= 1e-6, not {} and {}",
                    r.bytes, r.every_s
                ));
            }
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
        check_discipline(w.discipline)?;
        if w.bursts_s
            .iter()
            .any(|b| [b.0, b.1, b.3].iter().any(|t| !(0.0..).contains(t)) || !(0.0..=1.0).contains(&b.2))
        {
            return Err("a wire's bursts_s are times of 0 s or more, and a chance of 0 to 1".into());
        }
        node(w.a, "a wire's end")?;
        node(w.b, "a wire's end")?;
        if !above(w.rate_bps, 0.0)
            || !(0.0..).contains(&w.delay_s)
            || ![w.loss_rate, w.back_loss_rate.unwrap_or(0.0)].iter().all(|p| (0.0..=1.0).contains(p))
        {
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
            if let Some(usb) = &s.usb {
                check_usb(usb, s)?;
            }
        }
        let direct = cell.multipath.unwrap_or_default();
        let loss = cell.path_loss.map_or(0.0, |p| p.exponent);
        if !(0.0..=1e6).contains(&direct.0) || !(0.0..=1e6).contains(&direct.1) || !(0.0..=20.0).contains(&loss) {
            return Err("multipath needs two numbers of 0 to 1e6, path_loss an exponent of 0 to 20".into());
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

//! Building a world from its description: components, routes and first events.

use std::collections::VecDeque;
use std::io;

use super::adapter::Adapter;
use super::check::check;
use super::taps::{flow_names, mac};
use super::{Event, Flow, Hop, LineDirection, Node, Station, Tap, Ticks, Wire, World, BEACON_INTERVAL};
use crate::application::Strata;
use crate::channel::Air;
use crate::config::{self, Fault, Tcp};
use crate::dcf::Dcf;
use crate::engine::{Alarm, Queue};
use crate::phy::Spaces;
use crate::rng::Rng;
use crate::router::{Buffer, Outlet};
use crate::taps::{self, PcapFile, TapClock};
use crate::tcp::{Endpoint, Role};
use crate::truth::{Ledger, Truth};
use crate::usb_host::UsbHost;

impl World {
    /// Build a world. A contradiction in the description is a `Fault`; a file that cannot be created is an error.
    pub fn new(c: config::World) -> io::Result<Result<Self, Fault>> {
        match check(&c) {
            Ok(()) => Self::build(c).map(Ok),
            Err(fault) => Ok(Err(fault)),
        }
    }

    pub(super) fn build(c: config::World) -> io::Result<Self> {
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
                // The air has no fixed rate: automatic values are those for 802.11b's 5 Mb/s.
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
                processes.push(air.burst_process(b.build(), Rng::stream(seed, "bursts", i as u64)));
            }
            for p in &cell.paths {
                air.disturb(p.from, p.to, p.build(), p.bursts.and_then(|b| processes.get(b).copied()));
            }
        }
        let wires: Vec<Wire> = (0u64..)
            .zip(&c.wires)
            .map(|(i, w)| Wire {
                directions: [0, 1].map(|direction| {
                    let outlet = Outlet { rate_bps: w.rate_bps, delay_s: w.delay_s };
                    let rng = Rng::stream(seed, "wire_queue", 2 * i + direction);
                    LineDirection {
                        queue: Buffer::new(w.queue_packets, w.discipline, outlet, rng),
                        sending: None,
                        counted: 0,
                    }
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
            let ends = f.tcp.as_ref().map(Tcp::build).map(|tcp| {
                [Role::Client, Role::Server].map(|role| Endpoint::new(tcp.clone(), role, rng.next_u64() as u32 >> 1))
            });
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
        Ok(World {
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
            truth: Truth { ledger: c.ledger.then(Ledger::default), ..Truth::default() },
            segments: Vec::new(),
            outs: Vec::new(),
            failed: None,
            events: 0,
        })
    }
}

/// Next hops by breadth-first search: fewest hops.
fn routes(c: &config::World) -> Vec<Vec<Option<Hop>>> {
    let n = c.nodes.len();
    let mut edges: Vec<Vec<(usize, Hop)>> = vec![Vec::new(); n];
    for (i, w) in c.wires.iter().enumerate() {
        edges[w.a].push((w.b, Hop::Wire { wire: i, direction: 0 }));
        edges[w.b].push((w.a, Hop::Wire { wire: i, direction: 1 }));
    }
    let mut places: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (i, s) in c.cell.iter().flat_map(|cell| &cell.stations).enumerate() {
        places[s.node].push(i);
    }
    (0..n).map(|start| routes_from(c, start, &edges, &places)).collect()
}

/// Next hops of one node. The cell is visited once as a whole, not by pairs: it may have thousands of stations.
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

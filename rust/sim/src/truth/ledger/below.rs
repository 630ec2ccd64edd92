//! Where the packets of each connection were, below TCP: on the air, in a station, on the bus, in the queue of a line.

use super::spans::Spans;
use crate::engine::Ns;
use crate::packet::PacketFate;
use crate::phy::Spaces;
use crate::truth::trips::{Ledger, Place, Trip, NEVER, NO_TRIP};
use crate::truth::Truth;

/// A queue in which packets wait for no longer, or no longer than a round trip without it, keeps a line busy while windows are halved:
/// it costs nothing.
const USEFUL_QUEUE: Ns = 150_000_000;

/// One connection's packets of both directions.
#[derive(Debug, Default)]
pub(super) struct Below {
    /// The transmission that arrived, with its acknowledgment.
    pub useful: Spans,
    /// From the first transmission of a packet to its last; to the end of one that was dropped.
    pub retries: Spans,
    /// At the head of a station, before the first transmission, the station not stalled: the channel is idle, or busy.
    pub access_idle: Spans,
    pub access_busy: Spans,
    /// In a station that is not stalled.
    pub in_station: Spans,
    /// In a transfer on the bus.
    pub bus: Spans,
    /// Sent on a line; waiting for one, in a queue that is longer than useful.
    pub on_line: Spans,
    pub before_line: Spans,
    /// Each packet that waits so.
    pub waiting: Vec<(Ns, Ns)>,
    /// The trips of its packets.
    pub trips: Vec<u32>,
    /// The least round trip, without queues of lines.
    pub round_trip: Ns,
}

/// A packet's transmissions by one station.
#[derive(Debug, Clone, Copy)]
struct Aired {
    first: Ns,
    last: Ns,
}

/// All connections.
#[derive(Debug)]
pub(super) struct All(Vec<Below>);

impl All {
    pub fn entry(&mut self, flow: usize) -> &Below {
        &self.0[flow]
    }
}

impl Below {
    pub fn of_flows(truth: &Truth, ledger: &Ledger, flows: usize) -> All {
        let mut all: Vec<Below> = Vec::new();
        all.resize_with(flows, Below::default);
        let busy = busy(truth);
        let aired = aired(truth, ledger);
        let stalls = stalls(ledger);
        let loads = loads(&ledger.trips);
        let mut spans: Vec<Lists> = Vec::new();
        spans.resize_with(flows, Lists::default);
        let usb = urbs(truth, &mut spans);
        for (i, trip) in ledger.trips.iter().enumerate() {
            let Some(flow) = truth.packets.get(trip.packet as usize).map(|p| p.flow as usize).filter(|f| *f < flows)
            else {
                continue;
            };
            all[flow].trips.push(i as u32);
            let lists = &mut spans[flow];
            match trip.place {
                Place::Wire(..) => {
                    lists.before_line.push((trip.enters, trip.starts));
                    if trip.starts != NEVER {
                        lists.on_line.push((trip.starts, trip.leaves));
                    }
                }
                Place::Station(station) => {
                    // Behind a bus the host's queue is before the bus.
                    let from = if usb.contains(&station) { trip.starts } else { trip.enters };
                    let stall = stalls.get(station).filter(|s| !s.is_empty());
                    let mut add = |list: fn(&mut Lists) -> &mut Vec<(Ns, Ns)>, a: Ns, b: Ns| {
                        if a < b {
                            match stall {
                                Some(stall) => list(lists).extend(Spans(vec![(a, b)]).without(stall).0),
                                None => list(lists).push((a, b)),
                            }
                        }
                    };
                    add(|l| &mut l.in_station, from, trip.leaves);
                    let load = loads[i];
                    match aired[i] {
                        None if load != NEVER => add(|l| &mut l.access, load, trip.leaves),
                        None => {}
                        Some(a) => {
                            let first = a.first.max(load);
                            add(|l| &mut l.access, load, first);
                            if trip.through {
                                let last = a.last.max(first);
                                lists.retries.push((first, last));
                                lists.useful.push((last, trip.leaves));
                            } else {
                                lists.retries.push((first, trip.leaves));
                            }
                        }
                    }
                }
            }
        }
        let trips = least_round_trips(truth, ledger, flows);
        for ((b, mut lists), trip) in all.iter_mut().zip(spans).zip(trips) {
            lists.before_line.retain(|(a, b)| b.saturating_sub(*a) > trip.max(USEFUL_QUEUE));
            b.useful = Spans::of(lists.useful);
            b.retries = Spans::of(lists.retries);
            let access = Spans::of(lists.access);
            b.access_busy = access.and(&busy);
            b.access_idle = access.without(&busy);
            b.in_station = Spans::of(lists.in_station);
            b.bus = Spans::of(lists.bus);
            b.on_line = Spans::of(lists.on_line);
            b.round_trip = trip;
            b.before_line = Spans::of(lists.before_line.clone());
            b.waiting = lists.before_line;
        }
        All(all)
    }
}

#[derive(Debug, Default)]
struct Lists {
    useful: Vec<(Ns, Ns)>,
    retries: Vec<(Ns, Ns)>,
    access: Vec<(Ns, Ns)>,
    in_station: Vec<(Ns, Ns)>,
    bus: Vec<(Ns, Ns)>,
    on_line: Vec<(Ns, Ns)>,
    before_line: Vec<(Ns, Ns)>,
}

fn station_of(trip: &Trip) -> usize {
    match trip.place {
        Place::Station(s) => s,
        Place::Wire(..) => usize::MAX,
    }
}

/// Of each connection: the least times of its packets between the stacks, there and back, without those before lines.
fn least_round_trips(truth: &Truth, ledger: &Ledger, flows: usize) -> Vec<Ns> {
    let mut waited: Vec<Ns> = vec![0; truth.packets.len()];
    for trip in ledger.trips.iter().filter(|t| matches!(t.place, Place::Wire(..)) && t.starts != NEVER) {
        waited[trip.packet as usize] += trip.starts - trip.enters;
    }
    let mut least = vec![[NEVER; 2]; flows];
    for (p, waited) in truth.packets.iter().zip(waited).filter(|(p, _)| p.fate == PacketFate::Delivered) {
        if let Some(ways) = least.get_mut(p.flow as usize) {
            let way = &mut ways[usize::from(p.reverse)];
            *way = (*way).min(p.ended - p.made - waited);
        }
    }
    least.into_iter().map(|[there, back]| there.saturating_add(back)).collect()
}

/// The frames on the air; the pauses inside an exchange belong to it.
fn busy(truth: &Truth) -> Spans {
    let mut out: Vec<(Ns, Ns)> = Vec::with_capacity(truth.frames.len());
    for f in truth.frames.on_air() {
        match out.last_mut().filter(|last| f.start <= last.1 + Spaces::DSSS.sifs) {
            Some(last) => last.1 = last.1.max(f.end),
            None => out.push((f.start, f.end)),
        }
    }
    Spans::of(out)
}

/// By trip: its transmissions, those of the RTS included.
fn aired(truth: &Truth, ledger: &Ledger) -> Vec<Option<Aired>> {
    let mut out = vec![None; ledger.trips.len()];
    let mut reserved: Vec<Option<Aired>> = Vec::new();
    for f in truth.frames.on_air() {
        let reserved = entry(&mut reserved, f.station);
        if f.rts {
            *reserved = Some(Aired { first: reserved.map_or(f.start, |r| r.first), last: f.start });
            continue;
        }
        let Some(packet) = f.packet else { continue };
        let mut at = ledger.latest.get(packet as usize).copied().unwrap_or(NO_TRIP);
        while let Some(trip) = ledger.trips.get(at as usize) {
            if trip.place == Place::Station(f.station) {
                let own = reserved.take().unwrap_or(Aired { first: f.start, last: f.start });
                // An RTS before the packet came to the MAC was another packet's.
                let own = if own.first < trip.starts { Aired { first: f.start, last: f.start } } else { own };
                let a: &mut Option<Aired> = &mut out[at as usize];
                *a = Some(Aired { first: a.map_or(own.first, |a| a.first), last: own.last });
                break;
            }
            at = trip.before;
        }
    }
    out
}

/// By trip: when the packet came to the head of its station's MAC.
pub(super) fn loads(trips: &[Trip]) -> Vec<Ns> {
    let mut free: Vec<Ns> = Vec::new();
    let mut order: Vec<u32> =
        (0..trips.len() as u32).filter(|i| matches!(trips[*i as usize].place, Place::Station(_))).collect();
    order.sort_by_key(|i| trips[*i as usize].starts);
    let mut out = vec![NEVER; trips.len()];
    for i in order {
        let trip = &trips[i as usize];
        if trip.starts == NEVER {
            continue;
        }
        let before = entry(&mut free, station_of(trip));
        out[i as usize] = trip.starts.max(*before);
        *before = trip.leaves;
    }
    out
}

/// By station.
fn stalls(ledger: &Ledger) -> Vec<Spans> {
    let mut lists: Vec<Vec<(Ns, Ns)>> = Vec::new();
    for (station, from, to) in &ledger.stalls {
        entry(&mut lists, *station).push((*from, *to));
    }
    lists.into_iter().map(Spans::of).collect()
}

/// The value of a station; the list grows.
fn entry<T: Default>(list: &mut Vec<T>, station: usize) -> &mut T {
    if list.len() <= station {
        list.resize_with(station + 1, T::default);
    }
    &mut list[station]
}

/// The transfers of each connection; returns the stations behind a bus.
fn urbs(truth: &Truth, spans: &mut [Lists]) -> Vec<usize> {
    let mut stations: Vec<usize> = Vec::new();
    let Some(ledger) = &truth.ledger else { return stations };
    for u in &truth.urbs {
        let Some(p) = truth.packets.get(u.packet as usize) else { continue };
        let Some(lists) = spans.get_mut(p.flow as usize) else { continue };
        // A transfer to the host is posted long before there is a packet for it.
        lists.bus.push((if u.into_host { u.times.first } else { u.submitted }, u.completed));
        if !u.into_host {
            let first = ledger.latest.get(u.packet as usize).map_or(NO_TRIP, |at| *at);
            let mut at = first;
            // The first station of its path is the one behind the bus.
            let mut station = None;
            while let Some(trip) = ledger.trips.get(at as usize) {
                if let Place::Station(s) = trip.place {
                    station = Some(s);
                }
                at = trip.before;
            }
            stations.extend(station.filter(|s| !stations.contains(s)));
        }
    }
    stations
}

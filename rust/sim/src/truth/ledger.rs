//! The true ledger: what each sender waited for, nanosecond by nanosecond, and where its packets were meanwhile.
//!
//! While the simulation runs, each change of a sender's state and each packet's time at each link are recorded. At the end the
//! life of each direction that carried data is divided into categories. Their names are those of the analyser's ledger; how
//! a category is decided is not: nothing here is inferred from packets.

mod below;
mod life;
mod spans;

use super::categories::LedgerRow;
use super::trips::{Place, Trip, NEVER, NO_TRIP};
use super::Truth;
use crate::engine::Ns;
use crate::tcp::{Endpoint, Wait};
use below::Below;

impl Truth {
    /// An end has acted.
    pub fn acted(&mut self, now: Ns, (flow, end): (usize, usize), e: &Endpoint) {
        let Some(ledger) = &mut self.ledger else { return };
        let side = 2 * flow + end;
        if ledger.current.len() <= side {
            ledger.current.resize(side + 1, (Wait::Handshake, None));
        }
        let (wait, delayed) = &mut ledger.current[side];
        let waits = e.waits();
        if waits != *wait {
            *wait = waits;
            ledger.waits.push((side as u32, now, waits));
        }
        match (*delayed, e.delays_ack()) {
            (None, true) => *delayed = Some(now),
            (Some(since), false) => {
                *delayed = None;
                ledger.delays.push((side as u32, since, now));
            }
            _ => {}
        }
    }

    /// A packet enters a link's queue.
    pub fn enters(&mut self, packet: u64, place: Place, now: Ns) {
        let Some(ledger) = &mut self.ledger else { return };
        let i = packet as usize;
        if ledger.latest.len() <= i {
            ledger.latest.resize(i + 1, NO_TRIP);
        }
        let before = std::mem::replace(&mut ledger.latest[i], ledger.trips.len() as u32);
        let trip = Trip { packet, place, enters: now, starts: NEVER, leaves: NEVER, through: true, before };
        ledger.trips.push(trip);
    }

    /// A line begins to send it, or the station's MAC takes it.
    pub fn starts(&mut self, packet: u64, place: Place, now: Ns) {
        if let Some(trip) = self.ledger.as_mut().and_then(|l| l.trip(packet, place)) {
            trip.starts = now;
        }
    }

    /// It leaves the link; `through`: towards the next node.
    pub fn leaves(&mut self, packet: u64, place: Place, now: Ns, through: bool) {
        if let Some(trip) = self.ledger.as_mut().and_then(|l| l.trip(packet, place)) {
            (trip.leaves, trip.through) = (now, through);
        }
    }

    /// A station starts no transmission for some time.
    pub fn stalled(&mut self, station: usize, from: Ns, to: Ns) {
        if let Some(ledger) = &mut self.ledger {
            ledger.stalls.push((station, from, to));
        }
    }

    /// By packet: how long it waited in the queues of lines, stations and their MACs; None if it is not known, or still waits.
    pub fn queued(&self) -> Vec<Option<Ns>> {
        let Some(ledger) = &self.ledger else { return vec![None; self.packets.len()] };
        let mut out = vec![Some(0); self.packets.len()];
        let loads = below::loads(&ledger.trips);
        for (trip, load) in ledger.trips.iter().zip(loads) {
            let served = if matches!(trip.place, Place::Station(_)) { load } else { trip.starts };
            if let Some(sum) = out.get_mut(trip.packet as usize) {
                *sum = sum.filter(|_| served != NEVER).map(|sum| sum + served.saturating_sub(trip.enters));
            }
        }
        out
    }

    /// The ledger of every direction that carried data, in order of flow, direction and time.
    pub fn ledger_rows(&self) -> Vec<LedgerRow> {
        let Some(ledger) = &self.ledger else { return Vec::new() };
        let sides = ledger.current.len();
        let mut sent: Vec<Vec<u32>> = vec![Vec::new(); sides];
        for (i, p) in self.packets.iter().enumerate() {
            if let Some(mine) = sent.get_mut(p.flow as usize * 2 + usize::from(p.reverse)) {
                mine.push(i as u32);
            }
        }
        let mut below = Below::of_flows(self, ledger, sides / 2 + 1);
        let mut waits: Vec<Vec<(Ns, Wait)>> = vec![Vec::new(); sides];
        for (side, t, wait) in &ledger.waits {
            waits[*side as usize].push((*t, *wait));
        }
        let mut delays: Vec<Vec<(Ns, Ns)>> = vec![Vec::new(); sides];
        let unfinished =
            ledger.current.iter().zip(0u32..).filter_map(|(c, side)| c.1.map(|since| (side, since, NEVER)));
        for (side, from, to) in ledger.delays.iter().copied().chain(unfinished) {
            delays[side as usize].push((from, to));
        }
        let mut timeouts: Vec<Vec<(Ns, u64)>> = vec![Vec::new(); sides];
        for e in self.events.iter().filter(|e| e.what == "timeout") {
            if let Some(mine) = timeouts.get_mut(e.flow as usize * 2 + usize::from(e.reverse)) {
                mine.push((e.t, e.seq));
            }
        }
        let mut rows = Vec::new();
        for side in 0..sides {
            if !sent[side].iter().any(|p| self.packets[*p as usize].len > 0) {
                continue;
            }
            let other = side ^ 1;
            let no = Vec::new();
            let direction = life::Direction {
                packets: &self.packets,
                sent: &sent[side],
                back: sent.get(other).unwrap_or(&no),
                waits: &waits[side],
                delays: delays.get(other).map_or(&[], |d| d),
                timeouts: &timeouts[side],
                peer_timeouts: timeouts.get(other).map_or(&[], |t| t),
                trips: &ledger.trips,
                below: below.entry(side / 2),
            };
            let (flow, reverse) = ((side / 2) as u32, side % 2 == 1);
            rows.extend(direction.ledger().into_iter().map(|(category, start, end)| LedgerRow {
                flow,
                reverse,
                category,
                start,
                end,
            }));
        }
        rows
    }
}

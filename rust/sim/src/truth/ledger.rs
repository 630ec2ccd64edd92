//! The true ledger: what each sender waited for, nanosecond by nanosecond, and where its packets were meanwhile.
//!
//! While the simulation runs, each change of a sender's state and each packet's time at each link are recorded. At the end the
//! life of each direction that carried data is divided into categories. Their names are those of the analyser's ledger; how
//! a category is decided is not: nothing here is inferred from packets.

mod below;
mod life;
mod spans;

use crate::engine::Ns;
use crate::tcp::{Endpoint, Wait};

use super::Truth;
use below::Below;

/// Where a second of a direction's life went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Category {
    Handshake,
    Application,
    ReceiverWindow,
    DelayedAck,
    RtoWait,
    RtoBackoff,
    SpuriousRecovery,
    LossRecovery,
    FastRecovery,
    SlowStart,
    Usb,
    AirUseful,
    AirRetries,
    AirOthers,
    Queue,
    Path,
    Unknown,
}

/// Names of the categories, by code.
pub const CATEGORIES: [&str; 17] = [
    "handshake",
    "application",
    "receiver_window",
    "delayed_ack",
    "rto_wait",
    "rto_backoff",
    "spurious_recovery",
    "loss_recovery",
    "fast_recovery",
    "slow_start",
    "usb",
    "air_useful",
    "air_retries",
    "air_others",
    "queue",
    "path",
    "unknown",
];

/// One interval of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerRow {
    pub flow: u32,
    pub reverse: bool,
    pub category: Category,
    pub start: Ns,
    pub end: Ns,
}

/// A link: a line's direction, or a station with its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Wire(usize, usize),
    Station(usize),
}

/// Not yet.
const NEVER: Ns = Ns::MAX;
const NO_TRIP: u32 = u32::MAX;

/// A packet at a link: in its queue, then in service (on a line) or in the MAC (of a station), then gone.
#[derive(Debug, Clone, Copy)]
struct Trip {
    packet: u64,
    place: Place,
    enters: Ns,
    starts: Ns,
    leaves: Ns,
    /// It left towards the next node; false: dropped at the retry limit.
    through: bool,
    /// The packet's link before.
    before: u32,
}

/// What is recorded while the simulation runs. A side is twice the flow, plus 1 for the server's end.
#[derive(Debug, Default)]
pub struct Ledger {
    waits: Vec<(u32, Ns, Wait)>,
    /// Times in which a side's receiver delayed an ACK.
    delays: Vec<(u32, Ns, Ns)>,
    /// By side: the sender's wait, and since when the receiver delays an ACK.
    current: Vec<(Wait, Option<Ns>)>,
    trips: Vec<Trip>,
    /// By packet: its latest trip.
    latest: Vec<u32>,
    /// Station, from, to.
    stalls: Vec<(usize, Ns, Ns)>,
}

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

impl Ledger {
    /// The unfinished stay of a packet at a link. After a lost MAC ACK a packet can be at two.
    fn trip(&mut self, packet: u64, place: Place) -> Option<&mut Trip> {
        let mut at = *self.latest.get(packet as usize)?;
        while at != NO_TRIP {
            let trip = self.trips.get(at as usize)?;
            if trip.place == place {
                return self.trips.get_mut(at as usize);
            }
            at = trip.before;
        }
        None
    }
}

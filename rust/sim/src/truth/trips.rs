//! What is recorded for the true ledger while the simulation runs: senders' waits, and packets' times at each link.

use crate::engine::Ns;
use crate::tcp::Wait;

/// A link: a line's direction, or a station with its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Wire(usize, usize),
    Station(usize),
}

/// Not yet.
pub(super) const NEVER: Ns = Ns::MAX;
pub(super) const NO_TRIP: u32 = u32::MAX;

/// A packet at a link: in its queue, then in service (on a line) or in the MAC (of a station), then gone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trip {
    pub packet: u64,
    pub place: Place,
    pub enters: Ns,
    pub starts: Ns,
    pub leaves: Ns,
    /// It left towards the next node; false: dropped at the retry limit.
    pub through: bool,
    /// The packet's link before.
    pub before: u32,
}

/// What is recorded while the simulation runs. A side is twice the flow, plus 1 for the server's end.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(super) waits: Vec<(u32, Ns, Wait)>,
    /// Times in which a side's receiver delayed an ACK.
    pub(super) delays: Vec<(u32, Ns, Ns)>,
    /// By side: the sender's wait, and since when the receiver delays an ACK.
    pub(super) current: Vec<(Wait, Option<Ns>)>,
    pub(super) trips: Vec<Trip>,
    /// By packet: its latest trip.
    pub(super) latest: Vec<u32>,
    /// Station, from, to.
    pub(super) stalls: Vec<(usize, Ns, Ns)>,
}

impl Ledger {
    /// The unfinished stay of a packet at a link. After a lost MAC ACK a packet can be at two.
    pub(super) fn trip(&mut self, packet: u64, place: Place) -> Option<&mut Trip> {
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

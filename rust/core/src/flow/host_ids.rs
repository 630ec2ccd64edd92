//! Whether the flows of a host count their packets with one IP identification, as the capture shows.
//!
//! RFC 6864 and RFC 4413 section 3.2 leave the counter to the host: one for each connection (Linux), for each pair of addresses (Windows
//! since 8, Solaris), or for all packets (older Windows, BSD). Flows of one counter take turns in one increasing sequence.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::ip_order::{apart, Counters};
use crate::limits;
use crate::packet::Addr;

/// Two counters are this close by chance in one of 128 cases.
const CLOSE: u16 = 256;

/// The latest packet of a host, or of a pair of hosts.
#[derive(Debug, Default, Clone, Copy)]
struct Latest {
    id: u16,
    /// Flow and direction, from 1; 0 for none.
    flow: u32,
    /// Turns from one flow to another whose ids are close, and all turns.
    close: u16,
    turns: u16,
    /// Ids that no captured packet has, so far.
    missing: u16,
}

/// Where a direction of a flow is noted: as packets of its host and of the pair.
pub type Places = [u16; 2];

/// The latest IP ids of hosts and pairs, in a table of constant size: two in one place hide a shared counter.
#[derive(Debug)]
pub struct HostIds(Vec<Latest>);

impl Default for HostIds {
    fn default() -> Self {
        HostIds(vec![Latest::default(); limits::IP_ID_HOSTS])
    }
}

impl HostIds {
    pub fn places(src: Addr, dst: Addr) -> Places {
        let place = |hash: u64| (hash as usize % limits::IP_ID_HOSTS) as u16;
        [place(FxBuildHasher.hash_one(src)), place(FxBuildHasher.hash_one((src, dst)))]
    }

    /// Note a packet. `flow`: number of the flow and direction, or of anything else.
    #[inline]
    pub fn observe(&mut self, places: Places, flow: u32, ip_id: Option<u32>) -> Counters {
        let mut counters = Counters::default();
        let Some(id) = ip_id.map(|i| i as u16).filter(|i| *i != 0) else { return counters };
        for (place, (shared, missing)) in places.iter().zip(counters.shared.iter_mut().zip(&mut counters.missing)) {
            let Some(latest) = self.0.get_mut(usize::from(*place)) else { continue };
            if latest.flow != flow && latest.flow != 0 {
                latest.turn(id);
            }
            if id != latest.id {
                // A late packet has one of those that were missing.
                latest.missing = latest.missing.wrapping_add(id.wrapping_sub(latest.id).wrapping_sub(1));
            }
            (latest.id, latest.flow) = (id, flow);
            (*shared, *missing) = (latest.close * 2 > latest.turns, latest.missing);
        }
        counters
    }
}

impl Latest {
    fn turn(&mut self, id: u16) {
        if self.turns >= 1 << 12 {
            (self.close, self.turns) = (self.close / 2, self.turns / 2);
        }
        // Some hosts write the counter in the wrong byte order.
        self.close += u16::from(apart(id, self.id).min(apart(id.swap_bytes(), self.id.swap_bytes())) <= CLOSE);
        self.turns += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_one_counter_show_which_ids_are_missing() {
        let mut ids = HostIds::default();
        let counters: Vec<_> = [(1, 10), (2, 11), (1, 12), (2, 14), (1, 15), (2, 13), (1, 16)]
            .map(|(flow, id)| ids.observe([3, 4], flow, Some(id)))
            .into();
        let missing = |i: usize| counters[i].missing[0].wrapping_sub(counters[2].missing[0]);
        assert!(counters[2].is_shared() && !ids.observe([3, 4], 1, None).is_shared());
        // 13 is missing, and comes late.
        assert_eq!([missing(3), missing(4), missing(6)], [1, 1, 0]);
    }
}

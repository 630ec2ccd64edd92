//! The numbers of TCP connections without their facts, for who reads `packets` alone.
//!
//! They are those that `Tracker` gives. Where its choice depends on facts, nothing is guessed: `decided` becomes false, and the
//! capture is read again with all facts.

use rustc_hash::FxHashMap;

use super::ends::{End, Key};
use super::FlowId;
use crate::limits;
use crate::packet::{flags, Packet, Tcp};

/// What identifies a connection: see `Connection::is_reuse` and `Connection::set_bases`.
#[derive(Debug)]
struct Entry {
    id: u32,
    /// The higher end is a.
    swapped: bool,
    base: [Option<u32>; 2],
    syn_seen: [bool; 2],
    last_t: i64,
    /// A FIN or RST was captured: it may have ended, which only its facts show.
    ending: bool,
}

/// Numbers the TCP connections of one capture.
#[derive(Debug)]
pub struct FlowNumbers {
    index: FxHashMap<Key, usize>,
    /// The ends and the entry of the latest packet: the next one is often of the same connection.
    latest: Option<(Key, usize)>,
    entries: Vec<Entry>,
    next_flow: u32,
    last_t: i64,
    decided: bool,
}

impl Default for FlowNumbers {
    fn default() -> Self {
        FlowNumbers {
            index: FxHashMap::default(),
            latest: None,
            entries: Vec::new(),
            next_flow: 0,
            last_t: 0,
            decided: true,
        }
    }
}

impl FlowNumbers {
    /// Whether every number so far is the tracker's.
    pub fn decided(&self) -> bool {
        self.decided
    }

    /// The connection of a packet, if it is TCP.
    pub fn observe(&mut self, p: &Packet, start_ns: i64) -> Option<FlowId> {
        let tcp = p.tcp.as_ref()?;
        let (src, dst): (End, End) = ((p.src, p.src_port?), (p.dst, p.dst_port?));
        let t_ns = p.time_ns.and_then(|t| t.checked_sub(start_ns));
        self.last_t = self.last_t.max(t_ns.unwrap_or(self.last_t));
        let from_high = src > dst;
        let key = if from_high { Key { low: dst, high: src } } else { Key { low: src, high: dst } };
        let known = self.latest.filter(|(latest, _)| *latest == key).map(|(_, at)| at);
        let found = known.or_else(|| self.index.get(&key).copied());
        let reused = match found {
            Some(at) => self.is_reused(at, tcp, from_high),
            None => false,
        };
        if p.intact == Some(false) {
            let entry = &self.entries[found?];
            return Some((entry.id, from_high != entry.swapped));
        }
        let at = match found {
            Some(at) if !reused => at,
            _ => {
                let synack = tcp.flags & (flags::SYN | flags::ACK) == flags::SYN | flags::ACK;
                self.open(key, from_high != synack, found)
            }
        };
        if known != Some(at) {
            self.latest = Some((key, at));
        }
        let entry = &mut self.entries[at];
        let reverse = from_high != entry.swapped;
        entry.last_t = entry.last_t.max(t_ns.unwrap_or(entry.last_t));
        entry.ending |= tcp.flags & (flags::FIN | flags::RST) != 0;
        let (me, peer) = (usize::from(reverse), usize::from(!reverse));
        let syn = tcp.flags & flags::SYN != 0;
        entry.base[me].get_or_insert(tcp.seq.wrapping_sub(u32::from(!syn)));
        entry.syn_seen[me] |= syn;
        if tcp.flags & flags::ACK != 0 && tcp.flags & flags::RST == 0 {
            entry.base[peer].get_or_insert(tcp.ack.wrapping_sub(1));
        }
        Some((entry.id, reverse))
    }

    /// Whether a packet begins a new connection between the ends of an entry.
    fn is_reused(&mut self, at: usize, tcp: &Tcp, from_high: bool) -> bool {
        let entry = &self.entries[at];
        let idle = self.last_t.saturating_sub(entry.last_t);
        // The tracker may have closed it: that depends on when it looked, and on whether it had ended.
        let maybe_closed = idle > limits::FLOW_IDLE_NS || (idle > limits::FLOW_CLOSED_NS && entry.ending);
        let (me, peer) = (usize::from(from_high != entry.swapped), usize::from(from_high == entry.swapped));
        let differs = entry.base[me].is_some_and(|base| base != tcp.seq);
        let (syn, ack) = (tcp.flags & flags::SYN != 0, tcp.flags & flags::ACK != 0);
        let anew = differs || (entry.base[me].is_none() && entry.base[peer].is_some() && !entry.syn_seen[peer]);
        if maybe_closed || (syn && ack && differs && entry.ending) {
            self.decided = false;
        }
        syn && !ack && anew
    }

    /// A new connection, in the place of an earlier one between the same ends.
    #[cold]
    fn open(&mut self, key: Key, swapped: bool, earlier: Option<usize>) -> usize {
        let id = self.next_flow;
        self.next_flow = self.next_flow.wrapping_add(1);
        let (base, syn_seen) = ([None; 2], [false; 2]);
        let entry = Entry { id, swapped, base, syn_seen, last_t: self.last_t, ending: false };
        // Of so many connections the tracker closes some.
        self.decided &= earlier.is_some() || self.entries.len() < limits::LIVE_FLOWS;
        match earlier {
            Some(at) => {
                self.entries[at] = entry;
                at
            }
            None if self.decided => {
                self.entries.push(entry);
                self.index.insert(key, self.entries.len() - 1);
                self.entries.len() - 1
            }
            // Numbers do not count any more: memory stays bounded.
            None => {
                self.entries.clear();
                self.index.clear();
                self.entries.push(entry);
                self.index.insert(key, 0);
                0
            }
        }
    }
}

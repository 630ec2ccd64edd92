//! Stations: small numbers instead of addresses, and the state of each as a sender.

use rustc_hash::FxHashMap;

use super::open::{Id, NONE};
use crate::frame::Mac;
use crate::limits;

/// An address in the low 48 bits.
pub fn bits(mac: Mac) -> u64 {
    let [a, b, c, d, e, f] = mac;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// Whether an address names a group of stations (IEEE 802.11-2020 clause 9.2.4.3.2).
pub fn is_group(mac: Mac) -> bool {
    mac[0] & 1 != 0
}

/// One station as a sender.
#[derive(Debug)]
pub struct Station {
    pub mac: Mac,
    /// The newest number of the counter shared by its non-QoS, management and group-addressed frames, and the stream
    /// of the frame that had it.
    pub shared_head: Option<u16>,
    pub shared_stream: u32,
    /// The newest number it used in any stream, and that stream: shows a station with one counter for all.
    pub any_head: u16,
    pub any_stream: u32,
    /// Above zero: its QoS numbers follow the shared counter instead of their own.
    pub one_counter: i8,
    /// Its last exchange with one station.
    pub last: Id,
    /// Exchanges known only by an ACK without a frame or by RTS and CTS, which may turn out to be a missing number.
    pub unnumbered: Vec<Id>,
    /// Keys of its address in the dictionaries of `ta` and `ra`, and their batch.
    pub keys: [(u32, i32); 2],
}

impl Station {
    fn new(mac: Mac) -> Self {
        Station {
            mac,
            shared_head: None,
            shared_stream: NONE,
            any_head: 0,
            any_stream: NONE,
            one_counter: 0,
            last: NONE,
            unnumbered: Vec::new(),
            keys: [(0, 0); 2],
        }
    }

    /// Store evidence without a number.
    pub fn add_unnumbered(&mut self, id: Id) {
        if self.unnumbered.len() >= limits::UNNUMBERED_SIGNS {
            self.unnumbered.remove(0);
        }
        self.unnumbered.push(id);
    }
}

/// All stations by number and by address.
#[derive(Debug, Default)]
pub struct Stations {
    all: Vec<Station>,
    by_mac: FxHashMap<u64, u32>,
}

impl Stations {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of a station, new or known.
    pub fn intern(&mut self, mac: Mac) -> u32 {
        *self.by_mac.entry(bits(mac)).or_insert_with(|| {
            self.all.push(Station::new(mac));
            self.all.len() as u32 - 1
        })
    }

    pub fn get_mut(&mut self, station: u32) -> Option<&mut Station> {
        self.all.get_mut(station as usize)
    }

    pub fn clear(&mut self) {
        self.all.clear();
        self.by_mac.clear();
    }
}

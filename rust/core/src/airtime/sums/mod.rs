//! What the air was used for: every frame's airtime has exactly one purpose. Frames and exchanges in one pass and bounded memory.
//!
//! Where a frame's exchange is known, a transmission that failed is a retry and the one that arrived counts for what the
//! frame is; where it is not known, the Retry bit decides.

mod pending;
mod purpose;
mod slices;
mod stations;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, Int8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;

use super::columns::{Flags, Numbers, Texts};
use crate::pairing::BadColumn;
use pending::{Pending, Waiting, FAILED};
use purpose::{DAMAGED, DELIVERED, GROUP};
use stations::{REST, UNNAMED};

pub use purpose::{NAMES as PURPOSE_NAMES, PURPOSES};
pub use slices::{Slices, SLICES};
pub use stations::{Station, Stations};

/// Channels told apart: more than exist below 7 GHz.
const CHANNELS: usize = 256;
/// Connections whose airtime is summed.
const FLOWS: usize = 65_536;
/// Code of an exchange whose outcome is unknown.
const UNKNOWN: u8 = 2;

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Frames that wait for their exchange.
    pub pending: usize,
    /// Stations told apart.
    pub stations: usize,
}

/// Frames of some kinds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub frames: u64,
    pub no_airtime: u64,
    pub damaged: u64,
    pub encrypted: u64,
    pub data_frames: u64,
}

/// The exchanges of one connection and direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlowSums {
    pub airtime_ns: i64,
    pub wasted_ns: i64,
    pub exchanges: u64,
    pub attempts: u64,
    pub dropped: u64,
}

/// Adds up one capture, batch by batch.
#[derive(Debug)]
pub struct Sums {
    limits: Limits,
    pub counts: Counts,
    pub stations: Stations,
    pub slices: Slices,
    /// Frames on each channel, in MHz.
    pub channels: FxHashMap<u16, u64>,
    /// By connection and whether it goes from b to a.
    pub flows: FxHashMap<(u32, bool), FlowSums>,
    pending: Pending,
}

impl Sums {
    pub fn new(limits: Limits) -> Self {
        Sums {
            limits,
            counts: Counts::default(),
            stations: Stations::default(),
            slices: Slices::default(),
            channels: FxHashMap::default(),
            flows: FxHashMap::default(),
            pending: Pending::default(),
        }
    }

    /// Frames that wait for their exchange.
    pub fn waiting(&self) -> usize {
        self.pending.frames.len()
    }

    fn prune(&mut self) {
        if self.stations.named() > 2 * self.limits.stations {
            let new = self.stations.prune(self.limits.stations);
            self.pending.frames.iter_mut().for_each(|frame| frame.station = new[frame.station as usize]);
        }
    }

    /// Add a batch of `frames`.
    pub fn frames(&mut self, batch: &RecordBatch) -> Result<(), BadColumn> {
        self.prune();
        let packet = Numbers::<UInt64Type>::of(batch, "packet")?;
        let t_ns = Numbers::<Int64Type>::of(batch, "t_ns")?;
        let airtime = Numbers::<Float64Type>::of(batch, "airtime_us")?;
        let bytes = Numbers::<UInt32Type>::of(batch, "mpdu_bytes")?;
        let rate = Numbers::<Float64Type>::of(batch, "rate_mbps")?;
        let signal = Numbers::<Int8Type>::of(batch, "signal_dbm")?;
        let channel = Numbers::<UInt16Type>::of(batch, "channel_mhz")?;
        let (retry, fcs_ok) = (Flags::of(batch, "retry")?, Flags::of(batch, "fcs_ok")?);
        let from_ds = Flags::of(batch, "from_ds")?;
        let (types, subtypes) = (Texts::of(batch, "type")?, Texts::of(batch, "subtype")?);
        let (ta, ra, bssid) = (Texts::of(batch, "ta")?, Texts::of(batch, "ra")?, Texts::of(batch, "bssid")?);
        let carries = Texts::of(batch, "carries")?;

        let of_type = types.looked_up(purpose::of_types(&types.values), purpose::UNKNOWN);
        let of_subtype = subtypes.looked_up(purpose::of_subtypes(&subtypes.values), None);
        let announces = ["beacon", "probe_response"];
        let announces = subtypes.looked_up(subtypes.values.iter().map(|v| announces.contains(v)).collect(), false);
        let protected = carries.looked_up(carries.values.iter().map(|v| *v == "protected").collect(), false);
        let group = ra.looked_up(ra.values.iter().map(|v| group_addressed(v)).collect(), false);

        let unnamed = ta.values.len() as u32;
        // The addresses of a damaged frame may be wrong.
        let damaged: Vec<bool> = (0..batch.num_rows()).map(|i| !fcs_ok.get(i, true)).collect();
        let mut used = vec![false; ta.values.len() + 1];
        for (key, damaged) in ta.keys.iter().zip(&damaged) {
            used[if *damaged { unnamed } else { *key } as usize] = true;
        }
        let named = ta.values.iter().zip(used);
        let mut numbers: Vec<u32> =
            named.map(|(address, used)| if used { self.stations.number(address) } else { REST }).collect();
        numbers.push(UNNAMED);
        let networks: Vec<Option<u32>> = bssid.values.iter().map(|address| self.stations.known(address)).collect();
        let network = bssid.looked_up(networks, None);

        let mut same_channel = None;
        for (i, damaged) in damaged.into_iter().enumerate() {
            let group = group(i);
            let base = match of_subtype(i).unwrap_or_else(|| of_type(i)) {
                _ if damaged => DAMAGED,
                DELIVERED if group => GROUP,
                base => base,
            };
            let data = base == DELIVERED || base == GROUP;
            let airtime_ns = airtime.nanoseconds(i);
            let retry = retry.get(i, false);
            let counts = &mut self.counts;
            counts.frames += 1;
            counts.no_airtime += u64::from(airtime_ns < 0);
            counts.damaged += u64::from(damaged);
            counts.encrypted += u64::from(!damaged && protected(i));
            counts.data_frames += u64::from(data);
            // A sniffer stays on one channel: its frames are counted at once.
            match (channel.get(i), &mut same_channel) {
                (Some(mhz), Some((latest, frames))) if *latest == mhz => *frames += 1,
                (Some(mhz), latest) => count_channel(&mut self.channels, latest.replace((mhz, 1))),
                (None, _) => {}
            }

            let number = numbers[if damaged { unnamed } else { ta.keys[i] } as usize];
            let rate = rate.get(i).and_then(|mbps| self.stations.rate(mbps));
            let station = &mut self.stations.sums[number as usize];
            station.frames += 1;
            station.bytes += u64::from(bytes.get(i).unwrap_or_default());
            station.data_frames += u64::from(data);
            station.retry_frames += u64::from(retry);
            station.no_airtime_frames += u64::from(airtime_ns < 0);
            if let Some(dbm) = signal.get(i) {
                station.heard(dbm);
            }
            if let Some(rate) = rate {
                station.sent_at(rate);
            }
            // An access point is its own BSS; another station belongs to the BSS in which it last sent data.
            if let Some(network) = network(i) {
                station.is_ap |= network == number && (from_ds.get(i, false) || announces(i));
                if data {
                    station.bssid = Some(network);
                }
            }

            if purpose::answered(base) && ta.keys[i] != unnamed && !group {
                let frame = Waiting {
                    station: number,
                    t_ns: t_ns.get(i),
                    airtime_ns,
                    packet: packet.get(i).unwrap_or_default(),
                    base,
                    retry,
                };
                self.pending.frames.push(frame);
            } else {
                station.settle(base, airtime_ns);
                self.slices.add(t_ns.get(i), base, airtime_ns);
            }
        }
        count_channel(&mut self.channels, same_channel);
        if self.waiting() > self.limits.pending {
            self.settle(self.limits.pending / 2);
        }
        Ok(())
    }

    /// Add a batch of `exchanges`; returns the transmissions of TCP segments: packet and code of its exchange's outcome.
    pub fn exchanges(&mut self, batch: &RecordBatch) -> Result<(Vec<i64>, Vec<i8>), BadColumn> {
        self.prune();
        let ta = Texts::of(batch, "ta")?;
        let outcomes = Texts::of(batch, "outcome")?;
        let directions = Texts::of(batch, "direction")?;
        let attempts = Numbers::<UInt16Type>::of(batch, "attempts")?;
        let airtime = Numbers::<Float64Type>::of(batch, "airtime_us")?;
        let wasted = Numbers::<Float64Type>::of(batch, "wasted_us")?;
        let flow = Numbers::<UInt32Type>::of(batch, "flow")?;
        let lists = batch.column_by_name("packets").and_then(|c| c.as_list_opt::<i32>()).ok_or(BadColumn("packets"))?;
        let packets = lists.values().as_primitive_opt::<UInt64Type>().ok_or(BadColumn("packets"))?.values();

        let codes = outcomes.values.iter().map(|name| match *name {
            "delivered" => pending::ARRIVED,
            "dropped" => FAILED,
            _ => UNKNOWN,
        });
        let outcome = outcomes.looked_up(codes.collect(), UNKNOWN);
        let backwards = directions.looked_up(directions.values.iter().map(|v| *v == "b2a").collect(), false);
        let numbers: Vec<u32> = ta.values.iter().map(|address| self.stations.number(address)).collect();
        let station = ta.looked_up(numbers, UNNAMED);

        let (mut of_tcp, mut outcome_of_tcp) = (Vec::new(), Vec::new());
        let mut flows = BTreeMap::<(u32, bool), FlowSums>::new();
        for i in 0..batch.num_rows() {
            let outcome = outcome(i);
            let tries = u64::from(attempts.get(i).unwrap_or_default());
            let sums = &mut self.stations.sums[station(i) as usize];
            sums.exchanges += 1;
            sums.attempts += tries;
            sums.outcomes[usize::from(outcome)] += 1;
            // In a delivered exchange the last transmission arrived and the others failed; in a dropped one all failed.
            let offsets = lists.value_offsets();
            let packets = &packets[offsets[i] as usize..offsets[i + 1] as usize];
            if let Some((last, failed)) = packets.split_last() {
                self.pending.answers.extend(failed.iter().map(|packet| (*packet, FAILED)));
                self.pending.answers.push((*last, outcome));
            }
            if let Some(flow) = flow.get(i) {
                of_tcp.extend(packets.iter().map(|packet| *packet as i64));
                outcome_of_tcp.resize(of_tcp.len(), outcome as i8);
                let sums = flows.entry((flow, backwards(i))).or_default();
                sums.airtime_ns += airtime.nanoseconds(i).max(0);
                sums.wasted_ns += wasted.nanoseconds(i).max(0);
                sums.exchanges += 1;
                sums.attempts += tries;
                sums.dropped += u64::from(outcome == FAILED);
            }
        }
        for (key, more) in flows {
            if self.flows.len() < FLOWS || self.flows.contains_key(&key) {
                let sums = self.flows.entry(key).or_default();
                sums.airtime_ns += more.airtime_ns;
                sums.wasted_ns += more.wasted_ns;
                sums.exchanges += more.exchanges;
                sums.attempts += more.attempts;
                sums.dropped += more.dropped;
            }
        }
        Ok((of_tcp, outcome_of_tcp))
    }

    /// The capture has ended: the Retry bit decides about frames that still wait.
    pub fn finish(&mut self) {
        self.settle(0);
    }

    fn settle(&mut self, keep: usize) {
        let Sums { pending, stations, slices, .. } = self;
        pending.settle(keep, |frame, purpose| {
            stations.sums[frame.station as usize].settle(purpose, frame.airtime_ns);
            slices.add(frame.t_ns, purpose, frame.airtime_ns);
        });
    }
}

/// Count frames on a channel, unless too many channels are told apart.
fn count_channel(channels: &mut FxHashMap<u16, u64>, more: Option<(u16, u64)>) {
    if let Some((mhz, frames)) = more {
        if channels.len() < CHANNELS || channels.contains_key(&mhz) {
            *channels.entry(mhz).or_default() += frames;
        }
    }
}

/// Whether an address is a group address: the lowest bit of its first byte (IEEE 802.11-2020 clause 9.2.2).
fn group_addressed(address: &str) -> bool {
    address.as_bytes().get(1).is_some_and(|digit| b"13579bdfBDF".contains(digit))
}

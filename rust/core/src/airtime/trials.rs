//! Transmissions as trials of the channel, by station pair and packet. All MPDUs of one A-MPDU are one trial.

use arrow_array::types::{Float64Type, Int64Type, UInt8Type};
use arrow_array::RecordBatch;

use super::vectors::{values, vectors, DSSS_MBPS, NULL};
use crate::pairing::BadColumn;

/// Most inferred transmissions of one exchange that become trials: above any retry limit that devices use.
const MAX_INFERRED: i64 = 32;
/// Time of a transmission besides its own airtime, slot and smallest contention window of OFDM and of DSSS, as in `airtime.py`.
const OVERHEAD_US: [f64; 2] = [78.0, 308.0];
const SLOT_US: [f64; 2] = [9.0, 20.0];
const CW: [f64; 2] = [16.0, 32.0];
const MAX_CW: f64 = 1024.0;
/// Retries that double the window: 16 times 2^10 is more than the largest one.
const DOUBLINGS: i64 = 10;

vectors! {
    /// Trials: columns as those of `Trials` in Python.
    Trials of Trial {
        pair: i64, bad: i64, inferred: u8, exchange: i64, packet: i64, stratum: i64, took_us: f64,
    }
}

/// Exchanges and their transmissions, columns of `Exchanges` and `Transmissions` without nulls.
struct Air<'a> {
    pair: &'a [i64],
    first: &'a [i64],
    heard: &'a [i64],
    inferred: &'a [i64],
    missed_last: &'a [u8],
    first_packet: &'a [i64],
    packet: &'a [i64],
    nth: &'a [i64],
    bad: &'a [i64],
    mpdu_bytes: &'a [i64],
    ampdu: &'a [i64],
    rate_mbps: &'a [f64],
    airtime_us: &'a [f64],
    took_us: &'a [f64],
}

/// When a transmission happened relative to those heard with the same packet number.
#[derive(Clone, Copy, PartialEq, PartialOrd, Eq, Ord)]
enum Phase {
    /// The sniffer missed it before this one.
    Missed,
    Heard,
    /// Only its ACK was heard, after this one.
    Late,
}

#[derive(Clone, Copy)]
struct Entry {
    packet: i64,
    phase: Phase,
    exchange: u32,
    /// The transmission heard that it is or is next to.
    source: u32,
}

/// Every transmission as a trial: those that the sniffer missed precede the first that it heard.
pub fn read(exchanges: &RecordBatch, transmissions: &RecordBatch) -> Result<Trials, BadColumn> {
    let whole_e = |name| values::<Int64Type>(exchanges, name);
    let (whole, float) = (|n| values::<Int64Type>(transmissions, n), |n| values::<Float64Type>(transmissions, n));
    let air = Air {
        pair: whole_e("pair")?,
        first: whole_e("first")?,
        heard: whole_e("heard")?,
        inferred: whole_e("inferred")?,
        missed_last: values::<UInt8Type>(exchanges, "missed_last")?,
        first_packet: whole_e("first_packet")?,
        packet: whole("packet")?,
        nth: whole("nth")?,
        bad: whole("bad")?,
        mpdu_bytes: whole("mpdu_bytes")?,
        ampdu: whole("ampdu")?,
        rate_mbps: float("rate_mbps")?,
        airtime_us: float("airtime_us")?,
        took_us: float("took_us")?,
    };
    let mut made = Trials::with_capacity(air.packet.len());
    let (mut entries, mut block) = (Vec::new(), Vec::new());
    let mut begin = 0;
    while begin < air.pair.len() {
        let same = air.pair[begin..].iter().take_while(|pair| **pair == air.pair[begin]).count();
        air.entries(begin..begin + same, &mut entries);
        for of_trial in entries.chunk_by(|a, b| air.shares_ampdu(a, b)) {
            block.push(air.trial(air.pair[begin], of_trial));
        }
        made.take(&mut block);
        begin += same;
    }
    Ok(made)
}

impl Air<'_> {
    /// The transmissions of one pair's exchanges, heard or not, in order.
    fn entries(&self, exchanges: std::ops::Range<usize>, out: &mut Vec<Entry>) {
        out.clear();
        for i in exchanges {
            let (first, heard, exchange) = (self.first[i] as usize, self.heard[i] as usize, i as u32);
            let entry = |packet, phase, source| Entry { packet, phase, exchange, source: source as u32 };
            // MPDUs of an A-MPDU are not told apart, so those missed are not counted.
            let alone = self.ampdu[first] == NULL;
            if alone {
                let missed = (self.inferred[i] - i64::from(self.missed_last[i])).clamp(0, MAX_INFERRED);
                out.extend((0..missed).map(|_| entry(self.first_packet[i], Phase::Missed, first)));
            }
            out.extend((first..first + heard).map(|at| entry(self.packet[at], Phase::Heard, at)));
            if alone && self.missed_last[i] != 0 {
                let last = first + heard - 1;
                out.push(entry(self.packet[last], Phase::Late, last));
            }
        }
        out.sort_by_key(|e| (e.packet, e.phase));
    }

    fn shares_ampdu(&self, a: &Entry, b: &Entry) -> bool {
        let ampdu = self.ampdu[b.source as usize];
        ampdu != NULL && ampdu == self.ampdu[a.source as usize]
    }

    fn trial(&self, pair: i64, entries: &[Entry]) -> Trial {
        let (one, several) = (entries[0], entries.len() > 1);
        let first = one.source as usize;
        let fate = |e: &Entry| match e.phase {
            Phase::Missed => 1,
            Phase::Heard => self.bad[e.source as usize],
            Phase::Late => 0,
        };
        let known = entries.iter().filter(|e| fate(e) >= 0).count();
        let failed = entries.iter().filter(|e| fate(e) == 1).count();
        let rate = Some(self.rate_mbps[first]).filter(|rate| !rate.is_nan()).unwrap_or_default();
        let length = self.mpdu_bytes[first].max(1).ilog2();
        Trial {
            pair,
            bad: if known == 0 { -1 } else { i64::from(2 * failed >= known) },
            inferred: (one.phase != Phase::Heard).into(),
            exchange: one.exchange.into(),
            packet: one.packet,
            stratum: ((rate * 64.0) as i64).saturating_mul(32).saturating_add(if several { 31 } else { length.into() }),
            // An A-MPDU costs its airtime and one backoff.
            took_us: if several { self.ampdu_us(entries) } else { self.took_us[first] },
        }
    }

    fn ampdu_us(&self, entries: &[Entry]) -> f64 {
        let known = entries.iter().map(|e| self.airtime_us[e.source as usize]).filter(|us| !us.is_nan());
        let (first, airtime_us) = (entries[0].source as usize, known.sum::<f64>());
        let slow = usize::from(DSSS_MBPS.contains(&self.rate_mbps[first]));
        let doublings = self.nth[first].min(DOUBLINGS) as i32;
        let backoff_us = SLOT_US[slow] * ((CW[slow] * 2f64.powi(doublings)).min(MAX_CW) - 1.0) / 2.0;
        airtime_us + OVERHEAD_US[slow] + backoff_us
    }
}

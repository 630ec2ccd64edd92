//! Exchanges and their transmissions as vectors, in the order in which detectors read them: by station pair, then by first packet.
//!
//! One pass over the exchanges takes the place of an array operation on all of them for each value.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ListArray, RecordBatch};
use rustc_hash::{FxHashMap, FxHashSet};

use super::columns::{Numbers, Texts};
use crate::pairing::BadColumn;

/// Null in a vector of whole numbers: no time, size or packet number of a capture is so small.
pub const NULL: i64 = -(1 << 62);
/// An ACK comes no later than this after its frame, ns: SIFS, the ACK at 1 Mbit/s, and as much again for timestamps.
const ACK_NS: f64 = 600_000.0;
/// Airtime of a frame of unknown length, ns: 1500 bytes at 1 Mbit/s.
const MAX_AIRTIME_NS: f64 = 12_500_000.0;
/// Rates of the DSSS and CCK PHYs, Mbit/s, and preambles for an estimate of the airtime, us.
pub(super) const DSSS_MBPS: [f64; 4] = [1.0, 2.0, 5.5, 11.0];
const DSSS_PREAMBLE_US: f64 = 192.0;
const OFDM_PREAMBLE_US: f64 = 20.0;
/// Words of enum columns, by the codes below; -1 is another word or null.
const CARRIES: &[&str] = &["management", "control", "null", "udp", "protected"];
const KINDS: &[&str] = &["data", "ack"];
const OUTCOMES: &[&str] = &["delivered", "dropped"];
const INFERENCES: &[&str] = &["lone_ack"];
/// The first of `CARRIES` are frames without data.
const LAST_NO_DATA: i8 = 2;
const UDP: i8 = 3;
const PROTECTED: i8 = 4;
const DELIVERED: i8 = 0;
const DROPPED: i8 = 1;
/// What an exchange carries of TCP, as the codes of `Exchanges`.
const TCP_DATA: i8 = 1;
const TCP_ACK: i8 = 2;

/// The frames of a window, by capture and packet. Addresses are numbers, -1 for none.
pub struct Frames<'a> {
    /// Capture and packet as one number, rising.
    key: &'a [i64],
    t_ns: &'a [i64],
    ta: &'a [i64],
    ra: &'a [i64],
    retry: &'a [i64],
    ampdu: &'a [i64],
    mpdu_bytes: &'a [i64],
    streams: &'a [f64],
    width_mhz: &'a [f64],
    signal_dbm: &'a [f64],
    airtime_us: &'a [f64],
    /// Where every record of a capture is a frame, its number is its place.
    gapless: bool,
}

/// A column of numbers without nulls.
pub(super) fn values<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<&'a [T::Native], BadColumn> {
    let column = batch.column_by_name(name).and_then(|c| c.as_primitive_opt::<T>()).ok_or(BadColumn(name))?;
    Ok(column.values())
}

impl<'a> Frames<'a> {
    /// From columns without nulls.
    pub fn of(batch: &'a RecordBatch) -> Result<Self, BadColumn> {
        let key = values::<Int64Type>(batch, "key")?;
        Ok(Frames {
            key,
            t_ns: values::<Int64Type>(batch, "t_ns")?,
            ta: values::<Int64Type>(batch, "ta")?,
            ra: values::<Int64Type>(batch, "ra")?,
            retry: values::<Int64Type>(batch, "retry")?,
            ampdu: values::<Int64Type>(batch, "ampdu")?,
            mpdu_bytes: values::<Int64Type>(batch, "mpdu_bytes")?,
            streams: values::<Float64Type>(batch, "streams")?,
            width_mhz: values::<Float64Type>(batch, "width_mhz")?,
            signal_dbm: values::<Float64Type>(batch, "signal_dbm")?,
            airtime_us: values::<Float64Type>(batch, "airtime_us")?,
            gapless: key.windows(2).all(|two| two[1] == two[0].wrapping_add(1)),
        })
    }

    /// The row of a frame.
    fn row(&self, key: i64) -> Option<usize> {
        let first = *self.key.first()?;
        if self.gapless {
            return usize::try_from(key.wrapping_sub(first)).ok().filter(|row| *row < self.key.len());
        }
        let row = self.key.partition_point(|k| *k < key);
        (self.key.get(row) == Some(&key)).then_some(row)
    }

    /// Whether the next frame after a row is an ACK to a station, in time.
    fn answered(&self, row: Option<usize>, station: i64, within_ns: f64) -> bool {
        let Some(row) = row.filter(|row| row + 1 < self.key.len()) else { return false };
        let to_station = self.ta[row + 1] < 0 && self.ra[row + 1] == station;
        to_station && self.t_ns[row + 1].wrapping_sub(self.t_ns[row]) as f64 <= within_ns
    }
}

/// The columns of a batch of `exchanges`.
struct Batch<'a> {
    packets: Lists<'a, UInt64Type>,
    rates: Lists<'a, Float64Type>,
    carries: Words,
    kind: Words,
    outcome: Words,
    inferred_by: Words,
    t_first: Numbers<'a, Int64Type>,
    t_last: Numbers<'a, Int64Type>,
    t_ack: Numbers<'a, Int64Type>,
    first_packet: Numbers<'a, UInt64Type>,
    attempts: Numbers<'a, UInt16Type>,
    inferred: Numbers<'a, UInt16Type>,
    airtime_us: Numbers<'a, Float64Type>,
    wasted_us: Numbers<'a, Float64Type>,
    mpdu_bytes: Numbers<'a, UInt32Type>,
}

impl<'a> Batch<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self, BadColumn> {
        Ok(Batch {
            packets: Lists::of(batch, "packets")?,
            rates: Lists::of(batch, "rates_mbps")?,
            carries: Words::of(batch, "carries", CARRIES)?,
            kind: Words::of(batch, "tcp_kind", KINDS)?,
            outcome: Words::of(batch, "outcome", OUTCOMES)?,
            inferred_by: Words::of(batch, "inferred_by", INFERENCES)?,
            t_first: Numbers::of(batch, "t_first_ns")?,
            t_last: Numbers::of(batch, "t_last_ns")?,
            t_ack: Numbers::of(batch, "t_ack_ns")?,
            first_packet: Numbers::of(batch, "first_packet")?,
            attempts: Numbers::of(batch, "attempts")?,
            inferred: Numbers::of(batch, "attempts_inferred")?,
            airtime_us: Numbers::of(batch, "airtime_us")?,
            wasted_us: Numbers::of(batch, "wasted_us")?,
            mpdu_bytes: Numbers::of(batch, "mpdu_bytes")?,
        })
    }
}

/// A text column as codes: places in a list of words, -1 for other words and null.
struct Words(Vec<i8>);

impl Words {
    fn of(batch: &RecordBatch, name: &'static str, words: &[&str]) -> Result<Self, BadColumn> {
        let texts = Texts::of(batch, name)?;
        let place = |text: &&str| (0..).zip(words).find(|(_, word)| *word == text).map_or(-1, |(code, _)| code);
        let code = texts.looked_up(texts.values.iter().map(place).collect(), -1);
        Ok(Words((0..batch.num_rows()).map(code).collect()))
    }

    fn get(&self, row: usize) -> i8 {
        self.0[row]
    }
}

/// A column of lists of numbers; null is a list of none.
struct Lists<'a, T: ArrowPrimitiveType> {
    lists: &'a ListArray,
    values: &'a [T::Native],
}

impl<'a, T: ArrowPrimitiveType> Lists<'a, T> {
    fn of(batch: &'a RecordBatch, name: &'static str) -> Result<Self, BadColumn> {
        let lists = batch.column_by_name(name).and_then(|c| c.as_list_opt::<i32>()).ok_or(BadColumn(name))?;
        let values = lists.values().as_primitive_opt::<T>().ok_or(BadColumn(name))?.values();
        Ok(Lists { lists, values })
    }

    fn get(&self, i: usize) -> &'a [T::Native] {
        let offsets = self.lists.value_offsets();
        if self.lists.is_valid(i) {
            &self.values[offsets[i] as usize..offsets[i + 1] as usize]
        } else {
            &[]
        }
    }
}

/// Structs of vectors, and how rows become their columns: a column at a time is much faster than a row at a time.
macro_rules! vectors {
    ($(#[$doc:meta])* $name:ident of $row:ident { $($field:ident: $kind:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name { $(pub $field: Vec<$kind>,)+ }

        struct $row { $($field: $kind,)+ }

        impl $name {
            fn with_capacity(rows: usize) -> Self {
                $name { $($field: Vec::with_capacity(rows),)+ }
            }

            fn take(&mut self, rows: &mut Vec<$row>) {
                $(self.$field.extend(rows.iter().map(|r| r.$field));)+
                rows.clear();
            }
        }
    };
}
pub(super) use vectors;

vectors! {
    /// The exchanges: columns as those of `Exchanges` in Python; truths are 0 and 1.
    Exchanges of Exchange {
        pair: i64, t_first_ns: i64, t_last_ns: i64, t_ack_ns: i64, first: i64, heard: i64, attempts: i64, inferred: i64,
        missed_last: u8, delivered: u8, dropped: u8, failed: u8, first_heard: u8, lead: u8,
        airtime_us: f64, wasted_us: f64, mpdu_bytes: i64, tcp: i8, udp: u8, protected: u8, first_packet: i64,
    }
}

vectors! {
    /// Their transmissions: columns as those of `Transmissions` in Python.
    Transmissions of Transmission {
        exchange: i64, packet: i64, t_ns: i64, nth: i64, bad: i64, rate_mbps: f64, streams: f64, width_mhz: f64,
        airtime_us: f64, mpdu_bytes: i64, signal_dbm: f64, ampdu: i64,
    }
}

/// Rows that become columns at a time: few enough to stay in the first-level cache.
const BLOCK: usize = 64;

/// An exchange: its batch and row there.
#[derive(Clone, Copy)]
struct Place {
    first_packet: i64,
    batch: u32,
    row: u32,
}

/// Unicast exchanges with data of which a transmission was heard, and these transmissions.
///
/// `numbers` has columns without nulls for the rows of all batches: `capture`, `ta` and `ra` as numbers, -1 for none. `group`: for
/// each number of an address, whether it is a group address.
pub fn read(
    batches: &[RecordBatch],
    numbers: &RecordBatch,
    group: &[bool],
    frames: &Frames,
) -> Result<(Exchanges, Transmissions), BadColumn> {
    let columns: Vec<Batch> = batches.iter().map(Batch::of).collect::<Result<_, _>>()?;
    let [capture, ta, ra] = ["capture", "ta", "ra"].map(|name| values::<Int64Type>(numbers, name));
    let (capture, ta, ra) = (capture?, ta?, ra?);
    if capture.len() != batches.iter().map(RecordBatch::num_rows).sum::<usize>() {
        return Err(BadColumn("capture"));
    }

    let mut pairs: FxHashMap<[i64; 3], Vec<Place>> = FxHashMap::default();
    let (mut begin, mut heard) = (0, 0);
    for (number, (batch, c)) in (0..).zip(batches.iter().zip(&columns)) {
        for row in 0..batch.num_rows() {
            let pair = [capture[begin + row], ta[begin + row], ra[begin + row]];
            let to_one = pair[1] >= 0 && usize::try_from(pair[2]).is_ok_and(|ra| group.get(ra) == Some(&false));
            let count = c.packets.get(row).len();
            let rated = count > 0 && count == c.rates.get(row).len();
            if !to_one || !rated || (0..=LAST_NO_DATA).contains(&c.carries.get(row)) || c.t_first.get(row).is_none() {
                continue;
            }
            heard += count;
            let place = Place { first_packet: whole(c.first_packet.get(row)), batch: number, row: row as u32 };
            pairs.entry(pair).or_default().push(place);
        }
        begin += batch.num_rows();
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_unstable_by_key(|(pair, _)| *pair);

    let exchanges = Exchanges::with_capacity(pairs.iter().map(|(_, places)| places.len()).sum());
    let mut made = Made { exchanges, transmissions: Transmissions::with_capacity(heard), ..Made::of(frames) };
    let mut ampdus = FxHashSet::default();
    for (pair, mut places) in pairs {
        // Exchanges come in order of their ends: those of one pair nearly rise.
        places.sort_by_key(|p| p.first_packet);
        ampdus.clear();
        for place in places {
            made.push(&columns[place.batch as usize], place.row as usize, pair, &mut ampdus);
        }
    }
    made.flush();
    Ok((made.exchanges, made.transmissions))
}

fn whole<T: TryInto<i64>>(value: Option<T>) -> i64 {
    value.and_then(|v| v.try_into().ok()).unwrap_or(NULL)
}

/// NaN for values that no radio has: zero, negative or infinite.
fn positive(value: f64) -> f64 {
    if value.is_finite() && value > 0.0 {
        value
    } else {
        f64::NAN
    }
}

/// Airtime of a frame of a size at a rate, from preamble and bits; NaN where the rate is not known.
fn estimated_airtime_us(bytes: i64, rate_mbps: f64) -> f64 {
    let preamble_us = if DSSS_MBPS.contains(&rate_mbps) { DSSS_PREAMBLE_US } else { OFDM_PREAMBLE_US };
    preamble_us + bytes.wrapping_mul(8) as f64 / rate_mbps
}

/// Airtime of some transmissions.
fn total_us<'a>(of: impl Iterator<Item = &'a Transmission>) -> f64 {
    of.fold(0.0, |sum, t| sum + t.airtime_us)
}

/// What has been read so far.
struct Made<'a> {
    frames: &'a Frames<'a>,
    exchanges: Exchanges,
    transmissions: Transmissions,
    block: Vec<Exchange>,
    heard: Vec<Transmission>,
}

impl<'a> Made<'a> {
    fn of(frames: &'a Frames<'a>) -> Self {
        let (exchanges, transmissions) = Default::default();
        Made { frames, exchanges, transmissions, block: Vec::new(), heard: Vec::new() }
    }

    fn flush(&mut self) {
        self.exchanges.take(&mut self.block);
        self.transmissions.take(&mut self.heard);
    }

    /// Append one exchange. `ampdus`: A-MPDUs in which exchanges of this pair were first sent.
    fn push(&mut self, c: &Batch, row: usize, [capture, ta, ra]: [i64; 3], ampdus: &mut FxHashSet<i64>) {
        if self.heard.len() >= BLOCK || self.block.len() >= BLOCK {
            self.flush();
        }
        let f = self.frames;
        let (packets, rates) = (c.packets.get(row), c.rates.get(row));
        let exchange = (self.exchanges.pair.len() + self.block.len()) as i64;
        let (first, begin) = (self.transmissions.exchange.len() + self.heard.len(), self.heard.len());
        let mut last = None;
        for (nth, (packet, rate)) in (0..).zip(packets.iter().zip(rates)) {
            let (packet, rate_mbps) = (*packet as i64, positive(*rate));
            last = f.row((capture << 40).wrapping_add(packet));
            let frame = |values: &[f64]| last.map_or(f64::NAN, |at| values[at]);
            let (mpdu_bytes, airtime_us) = (last.map_or(0, |at| f.mpdu_bytes[at]), frame(f.airtime_us));
            self.heard.push(Transmission {
                exchange,
                packet,
                t_ns: last.map_or(NULL, |at| f.t_ns[at]),
                nth,
                bad: 1,
                rate_mbps,
                streams: frame(f.streams),
                width_mhz: frame(f.width_mhz),
                airtime_us: if airtime_us.is_nan() { estimated_airtime_us(mpdu_bytes, rate_mbps) } else { airtime_us },
                mpdu_bytes,
                signal_dbm: frame(f.signal_dbm),
                ampdu: last.map_or(NULL, |at| f.ampdu[at]),
            });
        }
        let mine = &mut self.heard[begin..];
        let (Some(ampdu), Some(latest)) = (mine.first().map(|t| t.ampdu), mine.last_mut()) else { return };
        let outcome = c.outcome.get(row);
        let (delivered, dropped) = (outcome == DELIVERED, outcome == DROPPED);
        let (t_first_ns, t_ack_ns) = (whole(c.t_first.get(row)), whole(c.t_ack.get(row)));
        let t_last_ns = c.t_last.get(row).unwrap_or(t_first_ns);
        // The sniffer may have heard only the ACK of the last transmission: it comes too late for the last one heard.
        let airtime_ns = latest.airtime_us * 1e3;
        let answer_ns = if airtime_ns.is_nan() { MAX_AIRTIME_NS } else { airtime_ns.min(f64::MAX) } + ACK_NS;
        let acked = delivered && t_ack_ns != NULL;
        let late = t_ack_ns.wrapping_sub(t_last_ns) as f64 > answer_ns;
        let missed_last = acked && late && c.inferred_by.get(row) == 0;
        // The transmitter missed the ACK of an earlier transmission: the frame after the last one shows its fate.
        let unanswered = acked && !missed_last && t_ack_ns < t_last_ns && !f.answered(last, ta, answer_ns);
        latest.bad = match () {
            () if delivered && !missed_last && !unanswered => 0,
            () if delivered || dropped => 1,
            () => -1,
        };
        let airtime_us = c.airtime_us.get(row).filter(|us| !us.is_nan());
        let wasted_us = c.wasted_us.get(row).filter(|us| !us.is_nan());
        let attempts = whole(c.attempts.get(row));
        let first_row = f.row((capture << 40).wrapping_add(packets[0] as i64));
        self.block.push(Exchange {
            pair: (capture << 48) + (ta << 24) + ra,
            t_first_ns,
            t_last_ns,
            t_ack_ns,
            first: first as i64,
            heard: packets.len() as i64,
            attempts,
            inferred: whole(c.inferred.get(row)),
            missed_last: missed_last.into(),
            delivered: delivered.into(),
            dropped: dropped.into(),
            failed: (attempts > 1 || dropped).into(),
            first_heard: first_row.is_some_and(|at| f.retry[at] == 0).into(),
            // All but the later MPDUs of each A-MPDU of a pair.
            lead: (ampdu == NULL || ampdus.insert(ampdu)).into(),
            airtime_us: airtime_us.unwrap_or_else(|| total_us(mine.iter())),
            wasted_us: wasted_us.unwrap_or_else(|| total_us(mine.iter().filter(|t| t.bad == 1))),
            mpdu_bytes: whole(c.mpdu_bytes.get(row)),
            tcp: [0, TCP_DATA, TCP_ACK][(c.kind.get(row) + 1) as usize],
            udp: (c.carries.get(row) == UDP).into(),
            protected: (c.carries.get(row) == PROTECTED).into(),
            first_packet: whole(c.first_packet.get(row)),
        });
    }
}

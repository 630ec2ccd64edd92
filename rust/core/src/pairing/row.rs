//! The parts of a packet that pairing uses: hashes of the fields that no router changes, and its place.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Int32Type, Int8Type, TimestampNanosecondType, UInt16Type, UInt32Type,
    UInt8Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use rustc_hash::FxHashMap;

use super::hash::{mix, text};

const TCP: u8 = 6;
/// Null in a hash: no field has this value.
const NOTHING: u64 = 1 << 63;

/// One packet. Keys of 0 are of packets that cannot be paired.
#[derive(Debug, Clone, Copy, Default)]
pub struct Row {
    /// Its number in the table, from 0.
    pub row: u64,
    /// By its own clock, ns; null timestamps take that of the row before.
    pub t: i64,
    /// Hash of all fields that identify it, with the payload's digest and TCP timestamps.
    pub full: u64,
    /// The same without the fields that a short snaplen cuts off.
    pub lean: u64,
    /// Hash of addresses, ports and protocol.
    pub path: u64,
    /// Hash of addresses, protocol and IP ID: shared by the fragments of a datagram. 0 without an ID.
    pub datagram: u64,
    /// For TCP: hash shared by the segments of a super-segment.
    pub train: u64,
    pub seq: u32,
    pub len: u32,
    /// IP ID; 0 does not identify a packet (Linux: SYN+ACK, and sockets that never fragment).
    pub id: u32,
    /// Digest of the payload; 0 when it is not known.
    pub digest: u32,
    pub tcp: bool,
    pub fragment: bool,
    /// A retransmitted frame: there may be others with the same bytes.
    pub again: bool,
}

/// Values that only sampling needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct More {
    /// For TCP with payload: hash of all fields but its sequence and acknowledgment numbers, which some firewalls rewrite; else 0.
    pub loose: u64,
    pub ack: u32,
    from: (u64, u64),
    to: (u64, u64),
}

impl More {
    /// Hashes of its connection, of this direction and of the other.
    pub fn connection(&self) -> (u64, u64) {
        (connection(self.from, self.to), connection(self.to, self.from))
    }
}

fn connection(from: (u64, u64), to: (u64, u64)) -> u64 {
    mix(mix(from.0, from.1), mix(to.0, to.1))
}

/// Which rows of a table are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// IP packets; `nat`: addresses and ports may change on the path.
    Packets { nat: bool },
    /// 802.11 frames.
    Frames,
}

/// By connection of the second capture: the difference of its sequence and acknowledgment numbers from the first's.
pub type Shifts = FxHashMap<u64, (u32, u32)>;

/// The column that is missing in a batch of `packets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadColumn(pub &'static str);

/// A column's values and where they are null.
struct Column<'a, T>(&'a [T], Option<&'a NullBuffer>);

impl<T: Copy> Column<'_, T> {
    // Called for every field of every row, from too many places for the compiler to inline it by itself.
    #[inline(always)]
    fn value(&self, i: usize) -> Option<T> {
        match self.1 {
            Some(nulls) if nulls.is_null(i) => None,
            _ => Some(self.0[i]),
        }
    }
}

impl<T: Copy + Into<u64>> Column<'_, T> {
    #[inline(always)]
    fn get(&self, i: usize) -> Option<u64> {
        self.value(i).map(Into::into)
    }

    /// The value in a hash.
    #[inline(always)]
    fn word(&self, i: usize) -> u64 {
        self.get(i).unwrap_or(NOTHING)
    }
}

fn column<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<Column<'a, T::Native>, BadColumn> {
    let found = batch.column_by_name(name).ok_or(BadColumn(name))?;
    let found = found.as_primitive_opt::<T>().ok_or(BadColumn(name))?;
    Ok(Column(found.values(), found.nulls()))
}

/// A column of truth values.
struct Flags<'a>(&'a BooleanBuffer, Option<&'a NullBuffer>);

impl Flags<'_> {
    #[inline(always)]
    fn get(&self, i: usize) -> Option<bool> {
        self.1.is_none_or(|nulls| nulls.is_valid(i)).then(|| self.0.value(i))
    }
}

fn flags<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<Flags<'a>, BadColumn> {
    let found = batch.column_by_name(name).and_then(|c| c.as_boolean_opt()).ok_or(BadColumn(name))?;
    Ok(Flags(found.values(), found.nulls()))
}

/// A dictionary column as hashes of its texts.
struct Texts<'a, K> {
    keys: Column<'a, K>,
    hashes: Vec<u64>,
}

impl<K: Copy + TryInto<usize>> Texts<'_, K> {
    /// Hash of a row's text; 0 for null.
    #[inline(always)]
    fn get(&self, i: usize) -> u64 {
        let key = self.keys.value(i).and_then(|k| k.try_into().ok());
        key.and_then(|k: usize| self.hashes.get(k)).copied().unwrap_or(0)
    }
}

fn texts<'a, K: ArrowDictionaryKeyType>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<Texts<'a, K::Native>, BadColumn> {
    let found = batch.column_by_name(name).ok_or(BadColumn(name))?;
    let dictionary = found.as_dictionary_opt::<K>().ok_or(BadColumn(name))?;
    let values = dictionary.values().as_string_opt::<i32>().ok_or(BadColumn(name))?;
    let hashes = (0..values.len()).map(|i| text(values.value(i).as_bytes())).collect();
    let keys = dictionary.keys();
    Ok(Texts { keys: Column(keys.values(), keys.nulls()), hashes })
}

/// Read a batch of a table row by row, its first row being number `first` and the row before it of time `t`.
pub fn read(
    batch: &RecordBatch,
    first: u64,
    t: i64,
    of: Of,
    shifts: &Shifts,
    each: impl FnMut(Row, More),
) -> Result<(), BadColumn> {
    match of {
        Of::Packets { nat } => packets(batch, first, t, nat, shifts, each),
        Of::Frames => frames(batch, first, t, each),
    }
}

/// 802.11 frames: transmitter, type, receiver, number and first bytes. Damaged ones are left out.
fn frames(batch: &RecordBatch, first: u64, mut t: i64, mut each: impl FnMut(Row, More)) -> Result<(), BadColumn> {
    let time = column::<TimestampNanosecondType>(batch, "time")?;
    let subtype = texts::<Int8Type>(batch, "subtype")?;
    let (ta, ra) = (texts::<Int32Type>(batch, "ta")?, texts::<Int32Type>(batch, "ra")?);
    let length = column::<UInt32Type>(batch, "mpdu_bytes")?;
    let (seq, fragment) = (column::<UInt16Type>(batch, "seq")?, column::<UInt8Type>(batch, "fragment")?);
    let (tid, duration) = (column::<UInt8Type>(batch, "tid")?, column::<UInt16Type>(batch, "duration_us")?);
    let digest = column::<UInt32Type>(batch, "body_digest")?;
    let (retry, fcs) = (flags(batch, "retry")?, flags(batch, "fcs_ok")?);

    for i in 0..batch.num_rows() {
        t = time.value(i).unwrap_or(t);
        let mut row = Row { row: first + i as u64, t, path: 1, ..Row::default() };
        let damaged = fcs.get(i) == Some(false);
        if subtype.get(i) != 0 && !damaged {
            row.again = retry.get(i) == Some(true);
            let number = mix(seq.word(i), fragment.word(i) << 8 | tid.word(i));
            let addresses = mix(ra.get(i), length.word(i) << 1 | u64::from(row.again));
            let sent = mix(mix(subtype.get(i), ta.get(i)), addresses);
            row.len = length.get(i).unwrap_or(0) as u32;
            row.digest = digest.get(i).map_or(0, |d| d.max(1) as u32);
            row.lean = mix(mix(sent, number), duration.word(i)).max(1);
            row.full = mix(row.lean, digest.word(i)).max(1);
        }
        each(row, More::default());
    }
    Ok(())
}

/// IP packets; `nat`: addresses and ports may change on the path.
fn packets(
    batch: &RecordBatch,
    first: u64,
    mut t: i64,
    nat: bool,
    shifts: &Shifts,
    mut each: impl FnMut(Row, More),
) -> Result<(), BadColumn> {
    let time = column::<TimestampNanosecondType>(batch, "time")?;
    let (src, dst) = (texts::<Int32Type>(batch, "ip_src")?, texts::<Int32Type>(batch, "ip_dst")?);
    let id = column::<UInt32Type>(batch, "ip_id")?;
    let protocol = column::<UInt8Type>(batch, "protocol")?;
    let fragment = flags(batch, "ip_fragment")?;
    let src_port = column::<UInt16Type>(batch, "src_port")?;
    let dst_port = column::<UInt16Type>(batch, "dst_port")?;
    let payload = column::<UInt32Type>(batch, "payload_bytes")?;
    let digest = column::<UInt32Type>(batch, "payload_digest")?;
    let seq = column::<UInt32Type>(batch, "tcp_seq")?;
    let ack = column::<UInt32Type>(batch, "tcp_ack")?;
    let flags = column::<UInt16Type>(batch, "tcp_flags")?;
    let tsval = column::<UInt32Type>(batch, "tcp_tsval")?;
    let tsecr = column::<UInt32Type>(batch, "tcp_tsecr")?;

    for i in 0..batch.num_rows() {
        t = time.value(i).unwrap_or(t);
        let mut row = Row { row: first + i as u64, t, ..Row::default() };
        let mut more = More::default();
        let (Some(proto), Some(len)) = (protocol.get(i), payload.get(i)) else {
            each(row, more);
            continue;
        };
        (more.from, more.to) = ((src.get(i), src_port.word(i)), (dst.get(i), dst_port.word(i)));
        let (from, to) = (more.from, more.to);
        row.id = id.get(i).unwrap_or(0) as u32;
        row.len = len as u32;
        row.digest = digest.get(i).map_or(0, |d| d.max(1) as u32);
        row.fragment = fragment.get(i) == Some(true);
        let hosts = if nat { proto } else { mix(mix(from.0, to.0), proto) };
        row.path = if nat { proto } else { mix(hosts, mix(from.1, to.1)) };
        if row.id != 0 {
            row.datagram = mix(hosts, u64::from(row.id)).max(1);
        }
        let base = mix(row.path, len | u64::from(row.fragment) << 40);
        match (proto == u64::from(TCP), seq.get(i), flags.get(i)) {
            (true, Some(s), Some(f)) if !row.fragment => {
                row.tcp = true;
                let shift = if shifts.is_empty() { None } else { shifts.get(&connection(from, to)) };
                let (by_seq, by_ack) = shift.copied().unwrap_or_default();
                row.seq = (s as u32).wrapping_add(by_seq);
                let acked = ack.get(i).map(|a| (a as u32).wrapping_add(by_ack));
                more.ack = acked.unwrap_or(0);
                let acked = acked.map_or(NOTHING, u64::from);
                let stamps = mix(tsval.word(i), tsecr.word(i));
                if row.digest != 0 {
                    more.loose = mix(mix(base, f), mix(u64::from(row.digest), stamps)).max(1);
                }
                row.train = mix(row.path, acked).max(1);
                row.lean = mix(base, mix(u64::from(row.seq) << 16 | f, acked)).max(1);
                row.full = mix(row.lean, stamps).max(1);
            }
            _ => {
                let of_id = if row.id != 0 { u64::from(row.id) } else { NOTHING };
                // The bytes of two fragments may be equal: the ID distinguishes them.
                let base = if row.fragment { mix(base, of_id) } else { base };
                row.full = mix(base, digest.word(i)).max(1);
                row.lean = if row.id != 0 { mix(base, of_id).max(1) } else { 0 };
            }
        }
        each(row, more);
    }
    Ok(())
}

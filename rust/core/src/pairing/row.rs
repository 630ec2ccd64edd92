//! What pairing keeps of a packet: hashes of what no router changes, and its place.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int32Type, Int8Type, TimestampNanosecondType, UInt16Type, UInt32Type, UInt8Type,
};
use arrow_array::{Array, PrimitiveArray, RecordBatch};

use rustc_hash::FxHashMap;

use super::hash::{mix, text};

const TCP: u8 = 6;
/// Null in a hash: no field has it.
const NOTHING: u64 = 1 << 63;

/// One packet. Keys of 0 are of packets that cannot be paired.
#[derive(Debug, Clone, Copy, Default)]
pub struct Row {
    /// Its number in the table, from 0.
    pub row: u64,
    /// By its own clock, ns; null stamps take that of the row before.
    pub t: i64,
    /// Hash of all that identifies it, the payload's digest and TCP timestamps too.
    pub full: u64,
    /// The same without what a short snaplen cuts off.
    pub lean: u64,
    /// Hash of addresses, ports and protocol.
    pub way: u64,
    /// Of addresses, protocol and IP id: what fragments of a datagram share. 0 without an id.
    pub datagram: u64,
    /// Of TCP: what the segments of a super-segment share.
    pub train: u64,
    pub seq: u32,
    pub len: u32,
    /// IP id; 0 tells nothing (Linux: SYN+ACK, and sockets that never fragment).
    pub id: u32,
    /// Digest of the payload; 0 when it is not known.
    pub digest: u32,
    pub tcp: bool,
    pub fragment: bool,
    /// A frame sent again: others of the same bytes may be there.
    pub again: bool,
    /// Of TCP with payload: hash of all but its sequence and acknowledgment numbers, which some firewalls rewrite; 0 else.
    pub loose: u64,
    pub ack: u32,
    /// Hashes of its connection, of this direction and of the other.
    pub conn: u64,
    pub back: u64,
}

/// What is read of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// IP packets; `nat`: addresses and ports may change on the way.
    Packets { nat: bool },
    /// 802.11 frames.
    Frames,
}

/// By connection of the second capture: what its sequence and acknowledgment numbers lack to be the first's.
pub type Shifts = FxHashMap<u64, (u32, u32)>;

/// What is missing in a batch of `packets` to pair it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadColumn(pub &'static str);

struct Column<'a, T: arrow_array::types::ArrowPrimitiveType>(&'a PrimitiveArray<T>);

impl<T: arrow_array::types::ArrowPrimitiveType> Column<'_, T>
where
    T::Native: Into<u64>,
{
    #[inline]
    fn get(&self, i: usize) -> Option<u64> {
        self.0.is_valid(i).then(|| self.0.value(i).into())
    }

    /// The value in a hash.
    #[inline]
    fn word(&self, i: usize) -> u64 {
        self.get(i).unwrap_or(NOTHING)
    }
}

fn column<'a, T: arrow_array::types::ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<Column<'a, T>, BadColumn> {
    let found = batch.column_by_name(name).ok_or(BadColumn(name))?;
    found.as_primitive_opt::<T>().map(Column).ok_or(BadColumn(name))
}

/// Hash of each row's text in a dictionary column; 0 for null.
fn texts<K: ArrowDictionaryKeyType>(batch: &RecordBatch, name: &'static str) -> Result<Vec<u64>, BadColumn>
where
    K::Native: TryInto<usize>,
{
    let found = batch.column_by_name(name).ok_or(BadColumn(name))?;
    let dictionary = found.as_dictionary_opt::<K>().ok_or(BadColumn(name))?;
    let values = dictionary.values().as_string_opt::<i32>().ok_or(BadColumn(name))?;
    let hashes: Vec<u64> = (0..values.len()).map(|i| text(values.value(i).as_bytes())).collect();
    let keys = dictionary.keys();
    Ok((0..keys.len())
        .map(|i| {
            let key = keys.is_valid(i).then(|| keys.value(i).try_into().ok()).flatten();
            key.and_then(|k: usize| hashes.get(k)).copied().unwrap_or(0)
        })
        .collect())
}

/// Read a batch of a table, its first row being number `first`.
pub fn read(batch: &RecordBatch, first: u64, of: Of, shifts: &Shifts, out: &mut Vec<Row>) -> Result<(), BadColumn> {
    match of {
        Of::Packets { nat } => packets(batch, first, nat, shifts, out),
        Of::Frames => frames(batch, first, out),
    }
}

/// A time column's value, or that of the row before.
fn stamp(time: &PrimitiveArray<TimestampNanosecondType>, i: usize, out: &[Row]) -> i64 {
    if time.is_valid(i) {
        time.value(i)
    } else {
        out.last().map_or(0, |row| row.t)
    }
}

/// 802.11 frames: who sends what kind to whom, under which number, with which first bytes. Damaged ones are nobody's.
fn frames(batch: &RecordBatch, first: u64, out: &mut Vec<Row>) -> Result<(), BadColumn> {
    let time = batch.column_by_name("time").ok_or(BadColumn("time"))?;
    let time = time.as_primitive_opt::<TimestampNanosecondType>().ok_or(BadColumn("time"))?;
    let subtype = texts::<Int8Type>(batch, "subtype")?;
    let (ta, ra) = (texts::<Int32Type>(batch, "ta")?, texts::<Int32Type>(batch, "ra")?);
    let length = column::<UInt32Type>(batch, "mpdu_bytes")?;
    let (seq, fragment) = (column::<UInt16Type>(batch, "seq")?, column::<UInt8Type>(batch, "fragment")?);
    let (tid, duration) = (column::<UInt8Type>(batch, "tid")?, column::<UInt16Type>(batch, "duration_us")?);
    let digest = column::<UInt32Type>(batch, "body_digest")?;
    let flag = |name| batch.column_by_name(name).and_then(|c| c.as_boolean_opt()).ok_or(BadColumn(name));
    let (retry, fcs) = (flag("retry")?, flag("fcs_ok")?);

    out.reserve(batch.num_rows());
    for i in 0..batch.num_rows() {
        let t = stamp(time, i, out);
        let mut row = Row { row: first + i as u64, t, way: 1, ..Row::default() };
        let damaged = fcs.is_valid(i) && !fcs.value(i);
        if subtype[i] != 0 && !damaged {
            row.again = retry.is_valid(i) && retry.value(i);
            let number = mix(seq.word(i), fragment.word(i) << 8 | tid.word(i));
            let sent = mix(mix(subtype[i], ta[i]), mix(ra[i], length.word(i) << 1 | u64::from(row.again)));
            row.len = length.get(i).unwrap_or(0) as u32;
            row.digest = digest.get(i).map_or(0, |d| d.max(1) as u32);
            row.lean = mix(mix(sent, number), duration.word(i)).max(1);
            row.full = mix(row.lean, digest.word(i)).max(1);
        }
        out.push(row);
    }
    Ok(())
}

/// IP packets; `nat`: addresses and ports may change on the way.
fn packets(batch: &RecordBatch, first: u64, nat: bool, shifts: &Shifts, out: &mut Vec<Row>) -> Result<(), BadColumn> {
    let time = batch.column_by_name("time").ok_or(BadColumn("time"))?;
    let time = time.as_primitive_opt::<TimestampNanosecondType>().ok_or(BadColumn("time"))?;
    let (src, dst) = (texts::<Int32Type>(batch, "ip_src")?, texts::<Int32Type>(batch, "ip_dst")?);
    let id = column::<UInt32Type>(batch, "ip_id")?;
    let protocol = column::<UInt8Type>(batch, "protocol")?;
    let fragment = batch.column_by_name("ip_fragment").and_then(|c| c.as_boolean_opt());
    let fragment = fragment.ok_or(BadColumn("ip_fragment"))?;
    let src_port = column::<UInt16Type>(batch, "src_port")?;
    let dst_port = column::<UInt16Type>(batch, "dst_port")?;
    let payload = column::<UInt32Type>(batch, "payload_bytes")?;
    let digest = column::<UInt32Type>(batch, "payload_digest")?;
    let seq = column::<UInt32Type>(batch, "tcp_seq")?;
    let ack = column::<UInt32Type>(batch, "tcp_ack")?;
    let flags = column::<UInt16Type>(batch, "tcp_flags")?;
    let tsval = column::<UInt32Type>(batch, "tcp_tsval")?;
    let tsecr = column::<UInt32Type>(batch, "tcp_tsecr")?;

    out.reserve(batch.num_rows());
    for i in 0..batch.num_rows() {
        let t = stamp(time, i, out);
        let mut row = Row { row: first + i as u64, t, ..Row::default() };
        let (Some(proto), Some(len)) = (protocol.get(i), payload.get(i)) else {
            out.push(row);
            continue;
        };
        let (from, to) = ((src[i], src_port.word(i)), (dst[i], dst_port.word(i)));
        row.id = id.get(i).unwrap_or(0) as u32;
        row.len = len as u32;
        row.digest = digest.get(i).map_or(0, |d| d.max(1) as u32);
        row.fragment = fragment.is_valid(i) && fragment.value(i);
        let hosts = if nat { proto } else { mix(mix(src[i], dst[i]), proto) };
        row.way = if nat { proto } else { mix(hosts, mix(from.1, to.1)) };
        if row.id != 0 {
            row.datagram = mix(hosts, u64::from(row.id)).max(1);
        }
        let base = mix(row.way, len | u64::from(row.fragment) << 40);
        match (proto == u64::from(TCP), seq.get(i), flags.get(i)) {
            (true, Some(s), Some(f)) if !row.fragment => {
                row.tcp = true;
                row.conn = mix(mix(src[i], from.1), mix(dst[i], to.1));
                row.back = mix(mix(dst[i], to.1), mix(src[i], from.1));
                let (by_seq, by_ack) = shifts.get(&row.conn).copied().unwrap_or_default();
                row.seq = (s as u32).wrapping_add(by_seq);
                row.ack = ack.get(i).map_or(0, |a| (a as u32).wrapping_add(by_ack));
                let acked = if ack.get(i).is_some() { u64::from(row.ack) } else { NOTHING };
                let stamps = mix(tsval.word(i), tsecr.word(i));
                if row.digest != 0 {
                    row.loose = mix(mix(base, f), mix(u64::from(row.digest), stamps)).max(1);
                }
                row.train = mix(row.way, acked).max(1);
                row.lean = mix(base, mix(u64::from(row.seq) << 16 | f, acked)).max(1);
                row.full = mix(row.lean, stamps).max(1);
            }
            _ => {
                let of_id = if row.id != 0 { u64::from(row.id) } else { NOTHING };
                // A fragment's bytes may look like another's: its id is part of what it is.
                let base = if row.fragment { mix(base, of_id) } else { base };
                row.full = mix(base, digest.word(i)).max(1);
                row.lean = if row.id != 0 { mix(base, of_id).max(1) } else { 0 };
            }
        }
        out.push(row);
    }
    Ok(())
}

//! Captures made in memory, for tests.

use std::io::{Cursor, Read, Write};

use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};

use super::{open, Record};
use crate::error::Result;
use crate::notes::Notes;

/// First second of every capture made here.
pub const T0: u32 = 1_700_000_000;

/// A number in either byte order.
pub fn u32s(big_endian: bool, words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| if big_endian { w.to_be_bytes() } else { w.to_le_bytes() }).collect()
}

pub fn u16s(big_endian: bool, words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|w| if big_endian { w.to_be_bytes() } else { w.to_le_bytes() }).collect()
}

/// The fields of a pcap file header.
#[derive(Clone, Copy)]
pub struct Pcap {
    pub magic: u32,
    pub version: (u16, u16),
    pub snaplen: u32,
    pub network: u32,
    pub big_endian: bool,
}

impl Default for Pcap {
    fn default() -> Self {
        Pcap { magic: 0xa1b2_c3d4, version: (2, 4), snaplen: 262_144, network: 1, big_endian: false }
    }
}

impl Pcap {
    pub fn header(&self) -> Vec<u8> {
        let e = self.big_endian;
        [
            u32s(e, &[self.magic]),
            u16s(e, &[self.version.0, self.version.1]),
            u32s(e, &[0, 0, self.snaplen, self.network]),
        ]
        .concat()
    }

    /// A record with its four numbers as given.
    pub fn raw(&self, numbers: [u32; 4], data: &[u8]) -> Vec<u8> {
        [&u32s(self.big_endian, &numbers)[..], data].concat()
    }

    /// A valid record, `i` milliseconds after T0.
    pub fn record(&self, i: u32, data: &[u8]) -> Vec<u8> {
        let len = data.len() as u32;
        self.raw([T0 + i / 1000, i % 1000 * 1000, len, len], data)
    }

    /// `n` valid records of 40 to 59 bytes.
    pub fn records(&self, n: u32) -> Vec<u8> {
        (0..n).flat_map(|i| self.record(i, &payload(i))).collect()
    }

    pub fn file(&self, n: u32) -> Vec<u8> {
        [self.header(), self.records(n)].concat()
    }
}

/// Bytes that no reader accepts as a header.
pub fn payload(i: u32) -> Vec<u8> {
    vec![0xe0 | (i % 16) as u8; 40 + (i % 20) as usize]
}

/// A pcapng block.
pub fn block(big_endian: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let total = 12 + padded as u32;
    let mut out = u32s(big_endian, &[kind, total]);
    out.extend_from_slice(body);
    out.resize(8 + padded, 0);
    out.extend(u32s(big_endian, &[total]));
    out
}

pub fn option(big_endian: bool, code: u16, value: &[u8]) -> Vec<u8> {
    let mut out = u16s(big_endian, &[code, value.len() as u16]);
    out.extend_from_slice(value);
    out.resize(4 + value.len().next_multiple_of(4), 0);
    out
}

pub fn shb(big_endian: bool, options: &[u8]) -> Vec<u8> {
    let fixed = [u32s(big_endian, &[0x1a2b_3c4d]), u16s(big_endian, &[1, 0]), vec![0xff; 8]].concat();
    block(big_endian, 0x0a0d_0d0a, &[&fixed[..], options].concat())
}

pub fn idb(big_endian: bool, link_type: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
    let fixed = [u16s(big_endian, &[link_type, 0]), u32s(big_endian, &[snaplen])].concat();
    block(big_endian, 1, &[&fixed[..], options].concat())
}

pub fn epb(big_endian: bool, interface: u32, ticks: u64, data: &[u8], options: &[u8]) -> Vec<u8> {
    let len = data.len() as u32;
    let mut body = u32s(big_endian, &[interface, (ticks >> 32) as u32, ticks as u32, len, len]);
    body.extend_from_slice(data);
    body.resize(20 + data.len().next_multiple_of(4), 0);
    body.extend_from_slice(options);
    block(big_endian, 6, &body)
}

/// Time of the `i`th packet in microseconds.
pub fn ticks(i: u32) -> u64 {
    u64::from(T0) * 1_000_000 + u64::from(i) * 1000
}

/// A pcapng file of one section, one interface and `n` packets.
pub fn pcapng(big_endian: bool, n: u32) -> Vec<u8> {
    let mut out = [shb(big_endian, &[]), idb(big_endian, 1, 0, &[])].concat();
    out.extend((0..n).flat_map(|i| epb(big_endian, 0, ticks(i), &payload(i), &[])));
    out
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    e.write_all(bytes).and_then(|()| e.finish()).expect("a Vec takes all")
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

pub fn lz4(bytes: &[u8]) -> Vec<u8> {
    let info = FrameInfo::new().content_checksum(true).block_size(BlockSize::Max64KB);
    let mut e = FrameEncoder::with_frame_info(info, Vec::new());
    e.write_all(bytes).expect("a Vec takes all");
    e.finish().expect("a Vec takes all")
}

/// A record with its own copy of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub time_ns: Option<i64>,
    pub wire_bytes: u32,
    pub data: Vec<u8>,
    pub link_type: u16,
    pub interface: u32,
    pub fcs_bytes: Option<u8>,
    pub outgoing: Option<bool>,
    pub offset: u64,
}

impl Row {
    fn of(r: &Record<'_>) -> Row {
        Row {
            time_ns: r.time_ns,
            wire_bytes: r.wire_bytes,
            data: r.data.to_vec(),
            link_type: r.link_type,
            interface: r.interface,
            fcs_bytes: r.fcs_bytes,
            outgoing: r.outgoing,
            offset: r.offset,
        }
    }
}

/// All records, and the notes as (name, count, first offset).
pub type ReadOut = (Vec<Row>, Vec<(&'static str, u64, u64)>);

/// Read to the end.
pub fn read(input: impl Read + Send + 'static) -> Result<ReadOut> {
    let mut notes = Notes::default();
    let mut source = open(Box::new(input))?;
    let mut rows = Vec::new();
    while let Some(r) = source.next_record(&mut notes)? {
        rows.push(Row::of(&r));
    }
    assert!(source.next_record(&mut notes)?.is_none(), "the end stays the end");
    Ok((rows, notes.iter().map(|(k, c)| (k.name(), c.count, c.first_offset)).collect()))
}

pub fn read_bytes(bytes: &[u8]) -> Result<ReadOut> {
    read(Cursor::new(bytes.to_vec()))
}

/// The records of bytes that must be readable.
pub fn rows(bytes: &[u8]) -> Vec<Row> {
    read_bytes(bytes).expect("readable").0
}

/// Names of the notes on bytes that must be readable.
pub fn notes(bytes: &[u8]) -> Vec<&'static str> {
    read_bytes(bytes).expect("readable").1.into_iter().map(|n| n.0).collect()
}

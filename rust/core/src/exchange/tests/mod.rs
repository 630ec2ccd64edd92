//! Every rule, with constructed frames.

mod air;
mod attempts;
mod block_ack;
mod bounds;
mod infer;
mod outcome;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, Int8Type, UInt16Type, UInt64Type, UInt8Type};
use arrow_array::{Array, RecordBatch, StringArray};

use super::Tracker;
use crate::frame::{control, subtype, Carries, Frame, Mac};
use crate::notes::NoteKind;

pub const AP: Mac = [0, 0, 0, 0, 0, 0xa];
pub const STA: Mac = [0, 0, 0, 0, 0, 0xb];
pub const ALL: Mac = [0xff; 6];

/// A constructed capture: frames are a millisecond apart unless stated otherwise.
pub struct Made {
    tracker: Tracker,
    pub number: u64,
    pub now_us: i64,
}

/// One row of `exchanges`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub ta: Option<String>,
    pub ra: Option<String>,
    pub seq: Option<u16>,
    pub fragment: Option<u8>,
    pub tid: Option<u8>,
    pub packets: Vec<u64>,
    pub attempts: u16,
    pub inferred: u16,
    pub by: Option<String>,
    pub ack: Option<u64>,
    pub acked: Option<bool>,
    pub outcome: String,
    pub airtime_us: Option<f64>,
    pub wasted_us: Option<f64>,
    pub carries: Option<String>,
    pub rates: Vec<f64>,
    pub t_first_ns: Option<i64>,
    pub t_ack_ns: Option<i64>,
}

pub fn qos(ta: Mac, ra: Mac, tid: u8, seq: u16) -> Frame {
    Frame { qos: Some(u16::from(tid)), ..data(ta, ra, seq, control::QOS) }
}

pub fn plain(ta: Mac, ra: Mac, seq: u16) -> Frame {
    data(ta, ra, seq, 0)
}

fn data(ta: Mac, ra: Mac, seq: u16, bits: u16) -> Frame {
    let way = if ra == AP { control::TO_DS } else { control::FROM_DS };
    Frame {
        mpdu_bytes: 1500,
        control: Some(control::DATA | bits | way),
        duration: Some(44),
        address_1: Some(ra),
        address_2: Some(ta),
        address_3: Some(AP),
        seq_ctl: Some(seq << 4),
        airtime_ns: Some(100_000),
        ..Frame::default()
    }
}

pub fn management(subtype: u8, ta: Mac, ra: Mac, seq: u16) -> Frame {
    Frame { control: Some(u16::from(subtype) << 4), ..plain(ta, ra, seq) }
}

pub fn answer(subtype: u8, ta: Option<Mac>, ra: Mac) -> Frame {
    Frame {
        mpdu_bytes: 14,
        control: Some(control::CONTROL | u16::from(subtype) << 4),
        duration: Some(0),
        address_1: Some(ra),
        address_2: ta,
        airtime_ns: Some(44_000),
        carries: Carries::Control,
        ..Frame::default()
    }
}

pub fn retry(f: Frame) -> Frame {
    Frame { control: f.control.map(|c| c | control::RETRY), ..f }
}

/// Compressed Block Ack body: 64 numbers from `first` on.
pub fn compressed(tid: u8, first: u16, bits: u64) -> Vec<u8> {
    let control = 0x0004 | u16::from(tid) << 12;
    [&control.to_le_bytes()[..], &(first << 4).to_le_bytes(), &bits.to_le_bytes()].concat()
}

impl Made {
    pub fn new() -> Self {
        Made { tracker: Tracker::default(), number: 0, now_us: 0 }
    }

    pub fn at(&mut self, us: i64, f: Frame, body: &[u8]) -> &mut Self {
        self.now_us = us;
        self.number += 1;
        let time_ns = Some(1_000_000_000 + us * 1000);
        self.tracker.observe(&Frame { number: self.number, time_ns, ..f }, body, None, 1_000_000_000);
        self
    }

    /// The next frame, a millisecond later.
    pub fn send(&mut self, f: Frame) -> &mut Self {
        self.at(self.now_us + 1000, f, &[])
    }

    /// An ACK to `ra` for the previous frame.
    pub fn ack(&mut self, ra: Mac) -> &mut Self {
        self.at(self.now_us + 60, answer(subtype::ACK, None, ra), &[])
    }

    /// A Block Ack from `ta` to `ra` for the previous frame.
    pub fn block_ack(&mut self, ta: Mac, ra: Mac, body: &[u8]) -> &mut Self {
        self.at(self.now_us + 60, answer(subtype::BLOCK_ACK, Some(ta), ra), body)
    }

    pub fn wait(&mut self, us: i64) -> &mut Self {
        self.now_us += us;
        self
    }

    pub fn noted(&self, kind: NoteKind) -> u64 {
        self.tracker.notes().get(kind).count
    }

    pub fn finish(&mut self) -> Vec<Row> {
        let mut out = Vec::new();
        self.tracker.finish(&mut out);
        out.iter().flat_map(|(_, batch)| rows(batch)).collect()
    }

    pub fn drain(&mut self) -> Vec<Row> {
        let mut out = Vec::new();
        self.tracker.drain(&mut out);
        out.iter().flat_map(|(_, batch)| rows(batch)).collect()
    }
}

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let text = |name: &str, i: usize| -> Option<String> {
        let c = column(name);
        let values = |values: &dyn Array, key: usize| {
            values.as_any().downcast_ref::<StringArray>().unwrap().value(key).to_owned()
        };
        c.is_valid(i).then(|| match c.as_dictionary_opt::<Int8Type>() {
            Some(d) => values(d.values(), d.key(i).unwrap()),
            None => {
                let d = c.as_dictionary::<arrow_array::types::Int32Type>();
                values(d.values(), d.key(i).unwrap())
            }
        })
    };
    macro_rules! number {
        ($name:literal, $i:expr, $ty:ty) => {
            column($name).is_valid($i).then(|| column($name).as_primitive::<$ty>().value($i))
        };
    }
    (0..batch.num_rows())
        .map(|i| Row {
            ta: text("ta", i),
            ra: text("ra", i),
            seq: number!("seq", i, UInt16Type),
            fragment: number!("fragment", i, UInt8Type),
            tid: number!("tid", i, UInt8Type),
            packets: column("packets").as_list::<i32>().value(i).as_primitive::<UInt64Type>().values().to_vec(),
            attempts: number!("attempts", i, UInt16Type).unwrap(),
            inferred: number!("attempts_inferred", i, UInt16Type).unwrap(),
            by: text("inferred_by", i),
            ack: number!("ack_packet", i, UInt64Type),
            acked: column("acked").is_valid(i).then(|| column("acked").as_boolean().value(i)),
            outcome: text("outcome", i).unwrap(),
            airtime_us: number!("airtime_us", i, Float64Type),
            wasted_us: number!("wasted_us", i, Float64Type),
            carries: text("carries", i),
            rates: column("rates_mbps").as_list::<i32>().value(i).as_primitive::<Float64Type>().values().to_vec(),
            t_first_ns: number!("t_first_ns", i, Int64Type),
            t_ack_ns: number!("t_ack_ns", i, Int64Type),
        })
        .inspect(|r| assert_eq!(usize::from(r.attempts), r.packets.len() + usize::from(r.inferred)))
        .collect()
}

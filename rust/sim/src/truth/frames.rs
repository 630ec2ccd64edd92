//! The frames of a run, column by column: they are the most numerous rows, and each is written only once.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, Int8Array, RecordBatch, UInt32Array, UInt64Array};

use super::codes::{damage, fate, kind, DAMAGES, FRAME_FATES, FRAME_KINDS};
use super::columns::{codes, table};
use crate::dcf::AirFrame;

/// Null values, which no station and no packet has.
const NO_STATION: u32 = u32::MAX;
const NO_PACKET: u64 = u64::MAX;
const NO_DAMAGE: i8 = -1;

/// A frame's time on the air.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnAir {
    pub start: u64,
    pub end: u64,
    pub station: usize,
    pub rts: bool,
    /// None: a frame without a packet.
    pub packet: Option<u64>,
}

/// One row per frame on the air: the columns of `truth_frames`.
#[derive(Debug, Default)]
pub struct Frames {
    start_ns: Vec<i64>,
    end_ns: Vec<i64>,
    /// Index in `FRAME_KINDS`.
    pub kind: Vec<i8>,
    pub station: Vec<u32>,
    to: Vec<u32>,
    seq: Vec<u32>,
    pub attempt: Vec<u32>,
    rate_mbps: Vec<f64>,
    fate: Vec<i8>,
    damage: Vec<i8>,
    signal_dbm: Vec<f64>,
    other: Vec<u32>,
    packet: Vec<u64>,
}

impl Frames {
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Each frame's start, end, transmitter, and the packet in it.
    pub(super) fn on_air(&self) -> impl Iterator<Item = OnAir> + '_ {
        (0..self.len()).map(|i| OnAir {
            start: self.start_ns[i] as u64,
            end: self.end_ns[i] as u64,
            station: self.station[i] as usize,
            rts: self.kind[i] == 0,
            packet: Some(self.packet[i]).filter(|p| *p != NO_PACKET),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Append a frame, the packet in it, and its signal at the sniffer.
    pub fn push(&mut self, f: &AirFrame, packet: Option<u64>, signal_dbm: f32) {
        let (fate, other) = fate(f);
        let place = |station: Option<usize>| station.map_or(NO_STATION, |s| s as u32);
        self.start_ns.push(f.start as i64);
        self.end_ns.push(f.end as i64);
        self.kind.push(kind(f));
        self.station.push(f.from as u32);
        self.to.push(place(f.to));
        self.seq.push(f.seq.into());
        self.attempt.push(f.attempt);
        self.rate_mbps.push(f64::from(f.rate.kbps) / 1000.0);
        self.fate.push(fate);
        self.damage.push(damage(f).unwrap_or(NO_DAMAGE));
        self.signal_dbm.push(signal_dbm.into());
        self.other.push(place(other));
        self.packet.push(packet.unwrap_or(NO_PACKET));
    }

    pub(super) fn table(self) -> RecordBatch {
        let station = |column: Vec<u32>| -> ArrayRef {
            Arc::new(column.into_iter().map(|s| (s != NO_STATION).then_some(s)).collect::<UInt32Array>())
        };
        let packet: UInt64Array = self.packet.into_iter().map(|p| (p != NO_PACKET).then_some(p)).collect();
        let damages: Int8Array = self.damage.into_iter().map(|d| (d != NO_DAMAGE).then_some(d)).collect();
        let times = |column: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(column)) };
        let small = |column: Vec<u32>| -> ArrayRef { Arc::new(UInt32Array::from(column)) };
        table(
            "truth_frames",
            "One row per frame on the air.",
            vec![
                ("t_start_ns", "First bit of its preamble.", times(self.start_ns), false),
                ("t_end_ns", "Last bit.", times(self.end_ns), false),
                ("kind", "Frame type.", codes(self.kind.into(), &FRAME_KINDS), false),
                ("station", "Number of its transmitter in the cell, from 0.", small(self.station), false),
                ("to", "Number of its receiver in the cell; null: broadcast.", station(self.to), true),
                ("seq", "Sequence number of a data frame.", small(self.seq), false),
                ("attempt", "Number of the transmission of its MSDU, from 0.", small(self.attempt), false),
                ("rate_mbps", "Data rate.", Arc::new(Float64Array::from(self.rate_mbps)), false),
                ("fate", "Fate of the frame at its receiver.", codes(self.fate.into(), &FRAME_FATES), false),
                (
                    "damaged_by",
                    "Cause of the damage; null if there was none, or a collision.",
                    codes(damages, &DAMAGES),
                    true,
                ),
                ("signal_dbm", "Signal at the sniffer.", Arc::new(Float64Array::from(self.signal_dbm)), false),
                ("collided_with", "Number in the cell of the other station of a collision.", station(self.other), true),
                ("packet", "id of the packet in it; null for frames without a packet.", Arc::new(packet), true),
            ],
        )
    }
}

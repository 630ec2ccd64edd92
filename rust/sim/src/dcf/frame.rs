//! Frames, what becomes of them, and the channel that damages them.

use crate::engine::Ns;
use crate::phy::{Preamble, Rate};

/// A station of the cell, by its place in the list.
pub type StationId = usize;

/// What a station is given to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Msdu {
    /// None: to all.
    pub to: Option<StationId>,
    /// Length of its MPDU: header, body and FCS.
    pub mpdu_bytes: u32,
    /// What it is to whoever handed it over.
    pub handle: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    Rts,
    Cts,
    Ack,
    Data,
}

/// What became of a frame at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Received,
    /// Overlapped with a frame of that station.
    Collision(StationId),
    /// The channel damaged it.
    Damaged(Damage),
}

/// What damages a frame that collides with none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The noise that is always there.
    Noise,
    /// Noise that the signal, had it not faded, would have overcome.
    Fade,
    /// One error by itself.
    Independent,
    /// A burst of errors.
    Burst,
    /// The description says so.
    Script,
}

/// A frame on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AirFrame {
    pub start: Ns,
    pub end: Ns,
    pub kind: FrameKind,
    pub from: StationId,
    pub to: Option<StationId>,
    pub rate: Rate,
    pub preamble: Preamble,
    pub mpdu_bytes: u32,
    /// The Duration field.
    pub duration_us: u16,
    /// Sequence number of data.
    pub seq: u16,
    /// Which attempt of its MSDU, from 0.
    pub attempt: u32,
    /// The Retry bit: this MPDU was on the air before, not only its RTS (clause 9.2.4.1.6).
    pub retry: bool,
    pub msdu: Option<Msdu>,
    pub fate: Fate,
}

/// What follows from an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Out {
    Aired(AirFrame),
    /// A station received an MSDU for the first time.
    Delivered {
        at: Ns,
        station: StationId,
        from: StationId,
        msdu: Msdu,
    },
    /// A station is done with an MSDU.
    Done {
        at: Ns,
        station: StationId,
        msdu: Msdu,
        acked: bool,
        attempts: u32,
    },
}

/// Decides which frames the channel damages.
pub trait Channel {
    /// What damages a frame of this many bytes on its way; None: it arrives.
    fn damage(&mut self, from: StationId, to: StationId, rate: Rate, bytes: u32, start: Ns) -> Option<Damage>;
}

/// A channel that damages nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Perfect;

impl Channel for Perfect {
    fn damage(&mut self, _: StationId, _: StationId, _: Rate, _: u32, _: Ns) -> Option<Damage> {
        None
    }
}

//! Frames, their fates, and the channel that damages them.

use crate::engine::Ns;
use crate::phy::{Preamble, Rate};

/// A station of the cell, by its number in the list.
pub type StationId = usize;

/// An MSDU for a station to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Msdu {
    /// None: broadcast.
    pub to: Option<StationId>,
    /// Length of its MPDU: header, body and FCS.
    pub mpdu_bytes: u32,
    /// The caller's identification of it.
    pub handle: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    Rts,
    Cts,
    Ack,
    Data,
}

/// The fate of a frame at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Received,
    /// Overlapped with a frame of that station.
    Collision(StationId),
    /// The channel damaged it.
    Damaged(Damage),
}

/// Causes of damage other than a collision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Thermal noise.
    Noise,
    /// Noise that would not have damaged the frame without the fade.
    Fade,
    /// A single error.
    Independent,
    /// A burst of errors.
    Burst,
    /// A script of the description.
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
    /// Number of the transmission of its MSDU, from 0.
    pub attempt: u32,
    /// The Retry bit: this MPDU was transmitted before, not only its RTS (clause 9.2.4.1.6).
    pub retry: bool,
    pub msdu: Option<Msdu>,
    pub fate: Fate,
}

/// The results of an exchange.
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
    /// A station has finished an MSDU.
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
    /// The damage to a frame of this many bytes; None: it arrives.
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

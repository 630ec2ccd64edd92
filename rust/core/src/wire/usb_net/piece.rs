//! The frames found in a transfer.

use crate::limits;
use crate::wire::view::View;

/// The kind of frame at an offset of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ethernet,
    Llc,
    Ip,
}

/// A frame in a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) at: usize,
    pub(super) bytes: usize,
}

impl Piece {
    /// The frame's bytes; it may continue in the next transfer.
    pub(super) fn of(self, v: View<'_>) -> View<'_> {
        View::new(v.skip(self.at).clip(self.bytes).data(), self.bytes)
    }
}

/// Add a frame; false when there are too many.
pub(super) fn add(pieces: &mut Vec<Piece>, kind: Kind, at: usize, bytes: usize) -> bool {
    let room = pieces.len() < limits::USB_DATAGRAMS;
    if room {
        pieces.push(Piece { kind, at, bytes });
    }
    room
}

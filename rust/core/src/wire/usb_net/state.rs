//! What is kept of each USB endpoint from transfer to transfer.

use rustc_hash::{FxHashMap, FxHashSet};

use super::piece::Piece;
use crate::urb::Framing;

/// What is known of an endpoint.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Endpoint {
    pub(super) framing: Option<Framing>,
    /// Bytes of a frame that the next transfer begins with.
    pub(super) carry: usize,
}

/// What is kept from transfer to transfer.
#[derive(Debug, Default)]
pub struct State {
    /// Byte order of the latest usbmon header.
    pub big_endian: bool,
    pub(super) endpoints: FxHashMap<u64, Endpoint>,
    /// Devices that speak the bulk-only mass storage protocol: what looks like a packet there is a file's.
    pub(super) storage: FxHashSet<u64>,
    /// Kept for its memory.
    pub(super) pieces: Vec<Piece>,
}

//! What is kept of each USB endpoint from transfer to transfer.

use rustc_hash::{FxHashMap, FxHashSet};

use super::piece::Piece;
use crate::urb::Framing;

/// The state of an endpoint.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Endpoint {
    pub(super) framing: Option<Framing>,
    /// Bytes of a frame that continue in the next transfer.
    pub(super) carry: usize,
}

/// What is kept from transfer to transfer.
#[derive(Debug, Default)]
pub struct State {
    /// Byte order of the latest usbmon header.
    pub big_endian: bool,
    pub(super) endpoints: FxHashMap<u64, Endpoint>,
    /// Devices with the bulk-only mass storage protocol: IP headers in their transfers are file contents.
    pub(super) storage: FxHashSet<u64>,
    /// A buffer that is reused.
    pub(super) pieces: Vec<Piece>,
}

//! Every cap of the crate, each with its reason. A capture is hostile input: nothing grows by its word alone.

/// Largest captured record: libpcap's MAXIMUM_SNAPLEN; more is a lie or garbage.
pub const RECORD_BYTES: usize = 262_144;

/// Rows of a batch: large enough to amortise a call, small enough that two stay in cache and flat memory holds.
pub const BATCH_ROWS: usize = 65_536;

/// Segments not acknowledged that are kept apart per direction and quadrant of sequence space: 12 MB in flight at 1 460 bytes
/// each, 200 kB of memory. Beyond it (one-way captures) the oldest count as acknowledged: no RTT sample, no resend time.
pub const UNACKED_SEGMENTS: usize = 8_192;

/// Acknowledged ranges with holes between them (data that never passed the tap) kept per direction and quadrant; beyond it
/// the lowest hole is forgotten, and what fills it later counts as sent again rather than out of order.
pub const ACKED_RANGES: usize = 1_024;

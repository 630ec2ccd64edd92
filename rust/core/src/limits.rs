//! Every cap of the crate, each with its reason. A capture is hostile input: nothing grows by its word alone.

/// Largest captured record: libpcap's MAXIMUM_SNAPLEN; more is a lie or garbage.
pub const RECORD_BYTES: usize = 262_144;

/// Rows of a batch: large enough to amortise a call, small enough that two stay in cache and flat memory holds.
pub const BATCH_ROWS: usize = 65_536;

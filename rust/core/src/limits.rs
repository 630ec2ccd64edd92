//! Every cap of the crate, each with its reason. A capture is hostile input: nothing grows by its word alone.

/// Largest captured record: libpcap's MAXIMUM_SNAPLEN; more is a lie or garbage.
pub const RECORD_BYTES: usize = 262_144;

/// Rows of a batch: large enough to amortise a call, small enough that two stay in cache and flat memory holds.
pub const BATCH_ROWS: usize = 65_536;

/// Headers inside headers of one record (VLAN tags, MPLS labels, tunnels): a provider's QinQ under MPLS with two
/// tunnels needs 8; an attacker's 300 VLAN tags end here.
pub const NESTED_HEADERS: u32 = 16;

/// IPv6 extension headers of one packet: RFC 8200 section 4.1 orders 7 at most once each, one of them twice.
pub const IPV6_EXTENSIONS: usize = 16;

/// Subframes of one A-MSDU: 11 454 bytes (IEEE 802.11-2020 table 9-25) of TCP ACKs of 76 bytes each are 150.
pub const AMSDU_SUBFRAMES: usize = 256;

/// Fields of one PPI header: a handful are defined.
pub const PPI_FIELDS: usize = 64;

/// Segments not acknowledged that are kept apart per direction and quadrant of sequence space: 12 MB in flight at 1 460 bytes
/// each, 200 kB of memory. Beyond it (one-way captures) the oldest count as acknowledged: no RTT sample, no resend time.
pub const UNACKED_SEGMENTS: usize = 8_192;

/// Acknowledged ranges with holes between them (data that never passed the tap) kept per direction and quadrant; beyond it
/// the lowest hole is forgotten, and what fills it later counts as sent again rather than out of order.
pub const ACKED_RANGES: usize = 1_024;

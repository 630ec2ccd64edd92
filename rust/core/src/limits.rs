//! Every cap of the crate, each with its reason. A capture is hostile input: nothing grows by its word alone.

/// Largest captured record: libpcap's MAXIMUM_SNAPLEN; more is a lie or garbage.
pub const RECORD_BYTES: usize = 262_144;

/// Rows of a batch: large enough to amortise a call, small enough that two stay in cache and flat memory holds.
pub const BATCH_ROWS: usize = 65_536;

/// Runs kept of what one direction has outstanding: a 64 MiB window of 16 KiB super-segments; beyond, the oldest merge.
pub const RUNS_PER_DIRECTION: usize = 4096;

/// Retransmissions of one direction whose need is not decided yet; beyond, the oldest stays undecided.
pub const PENDING_RETRANSMISSIONS: usize = 1024;

/// Blocks of segment rows held back until the need of their retransmissions is known: about 100 MiB.
pub const HELD_BLOCKS: usize = 8;

/// Connections followed at once: 512 B to 3 KiB each; beyond, the longest idle one is closed.
pub const LIVE_FLOWS: usize = 100_000;

/// A connection without FIN or RST that has been silent so long is closed: keep-alives come every 2 h at most.
pub const FLOW_IDLE_NS: i64 = 3 * 3600 * 1_000_000_000;

/// A connection that has been silent so long gives up its list of outstanding runs.
pub const FLOW_COLD_NS: i64 = 130 * 1_000_000_000;

/// Largest jump in sequence that is taken for a hole: the largest window TCP can have (RFC 7323 section 2.2).
pub const MAX_JUMP: i64 = 1 << 30;

/// Acknowledged runs remembered for copies that come after their ACK: more than a window of them is unheard of in practice.
pub const PAST_RUNS: usize = 256;

/// Packets of a direction remembered to know one that is seen again: 8 on a wire, more on the air, where an A-MPDU is repeated whole.
pub const RECENT_PACKETS: usize = 8;
pub const RECENT_MPDUS: usize = 64;

//! Every cap of the crate, each with its reason. A capture is hostile input: nothing grows by its word alone.

/// Largest captured record: libpcap's MAXIMUM_SNAPLEN; more is a lie or garbage.
pub const RECORD_BYTES: usize = 262_144;

/// Largest captured record of the USB link types: one Linux transfer is bounded by usbfs_memory_mb (16 MiB).
pub const USB_RECORD_BYTES: usize = 16 << 20;

/// A pcap record that claims more than its cap is skipped by its own length only up to here.
pub const OVERSIZED_RECORD_BYTES: usize = 16 << 20;

/// Largest wire length believed: GSO and USB transfers end far below.
pub const WIRE_BYTES: u32 = 128 << 20;

/// Rows of a batch: large enough to amortise a call, small enough that two stay in cache and flat memory holds.
pub const BATCH_ROWS: usize = 65_536;

/// One read of the input: a megabyte amortises the call and still fits into the second-level cache.
pub const BLOCK_BYTES: usize = 1 << 20;

/// One buffer between the decompressor's thread and the parser, and how many of them may wait.
pub const CHUNK_BYTES: usize = 256 << 10;
pub const CHUNKS_WAITING: usize = 4;

/// Bytes looked at to recognise a format: the last magic in use is tar's at 257.
pub const SNIFF_BYTES: usize = 512;

/// Largest gzip header: a file name and a comment; RFC 1952 sets no bound.
pub const GZIP_HEADER_BYTES: usize = 64 << 10;

/// Largest zstd window: what `zstd -d` itself accepts without being asked (2^27).
pub const ZSTD_WINDOW_BYTES: u64 = 128 << 20;

/// How far a next record is looked for after damage; beyond, the rest is taken to be no capture.
pub const RESYNC_BYTES: u64 = 64 << 20;

/// How many times one capture may lose its framing: each time costs a search.
pub const RESYNC_TIMES: u32 = 10_000;

/// Zero bytes skipped where a record should be: preallocated space; more is a bomb.
pub const ZERO_BYTES: u64 = 64 << 20;

/// Records without a byte, or blocks without a packet, in a row: more is a bomb.
pub const EMPTY_RUN: u64 = 1 << 20;

/// Largest pcapng block: libpcap's INITIAL_MAX_BLOCKSIZE.
pub const BLOCK_TOTAL_BYTES: usize = 16 << 20;

/// pcapng blocks larger than this are not believed while looking for the next sound one.
pub const RESYNC_BLOCK_BYTES: usize = 512 << 10;

/// Interfaces of one pcapng section that can carry packets; each costs 64 bytes.
pub const INTERFACES: usize = 65_536;

/// Interfaces described to the user.
pub const INTERFACES_SHOWN: usize = 256;

/// Options read of one pcapng block; real blocks have a dozen.
pub const OPTIONS: usize = 1024;

/// Texts kept of one capture (comments, hardware, filters), and bytes kept of each.
pub const TEXTS: usize = 256;
pub const TEXT_BYTES: usize = 2048;

/// Largest believed count of dropped packets: 2^48 is 89 years at 100 000 a second.
pub const DROPS: u64 = 1 << 48;
/// Headers inside headers of one record (VLAN tags, MPLS labels, tunnels): a provider's QinQ under MPLS with two
/// tunnels needs 8; an attacker's 300 VLAN tags end here.
pub const NESTED_HEADERS: u32 = 16;

/// IPv6 extension headers of one packet: RFC 8200 section 4.1 orders 7 at most once each, one of them twice.
pub const IPV6_EXTENSIONS: usize = 16;

/// Subframes of one A-MSDU: 11 454 bytes (IEEE 802.11-2020 table 9-25) of TCP ACKs of 76 bytes each are 150.
pub const AMSDU_SUBFRAMES: usize = 256;

/// Fields of one PPI header: a handful are defined.
pub const PPI_FIELDS: usize = 64;

//! Every limit of the crate, each with its reason. A capture is untrusted input: nothing may grow without a limit.

/// Largest captured record: libpcap's MAXIMUM_SNAPLEN; a larger one is invalid.
pub const RECORD_BYTES: usize = 262_144;

/// Largest captured record of the USB link types: one Linux transfer is bounded by usbfs_memory_mb (16 MiB).
pub const USB_RECORD_BYTES: usize = 16 << 20;

/// A pcap record above its limit is skipped by its own length only up to this size.
pub const OVERSIZED_RECORD_BYTES: usize = 16 << 20;

/// Largest length on the wire accepted: GSO and USB transfers are far below.
pub const WIRE_BYTES: u32 = 128 << 20;

/// Rows of a batch, 20 MB of all tables: a quarter as many cost an analysis a tenth more, for each batch is handed to Python,
/// counted, held and written on its own.
pub const BATCH_ROWS: usize = 65_536;

/// Rows of `flows` in a batch: such a row has a kilobyte.
pub const FLOW_ROWS: usize = 16_384;

/// Runs of outstanding bytes kept per direction: a 64 MiB window of 16 KiB super-segments. Above it the oldest are merged.
pub const RUNS_PER_DIRECTION: usize = 4096;

/// Retransmissions of one direction not yet decided as needed or spurious. Above it the oldest stays undecided.
pub const PENDING_RETRANSMISSIONS: usize = 1024;

/// Blocks of segment rows held back until their retransmissions are decided: about 100 MiB.
pub const HELD_BLOCKS: usize = 8;

/// Connections tracked at once, about 8 KiB each, 370 MB in all. Above it the one idle for longest is closed.
pub const LIVE_FLOWS: usize = 45_000;

/// Packets of a connection between two rows of `open_flows`: two rows of a kilobyte for a megabyte of segments.
pub const OPEN_FLOW_PACKETS: u64 = 4096;

/// A connection without FIN or RST is closed after this idle time: many times the longest backed-off timer (RFC 6298:
/// at least 60 s; Linux: 120 s). It keeps memory constant for captures of any length.
pub const FLOW_IDLE_NS: i64 = 3600 * 1_000_000_000;

/// A connection idle for this time drops its list of outstanding runs.
pub const FLOW_COLD_NS: i64 = 130 * 1_000_000_000;

/// Largest jump in sequence numbers that counts as a hole: the largest window TCP can have (RFC 7323 section 2.2).
pub const MAX_JUMP: i64 = 1 << 30;

/// Acknowledged runs kept for copies that arrive after their ACK.
pub const PAST_RUNS: usize = 128;

/// Packets of a direction kept to recognise copies: 8 on a wire, more on the air, where a whole A-MPDU is repeated.
pub const RECENT_PACKETS: usize = 8;
/// Packets kept as fingerprints for copies that a second tap delays by 50 ms: those of 60 Mbit/s.
pub const RECENT_PRINTS: usize = 256;
pub const RECENT_MPDUS: usize = 64;
/// Headers inside headers of one record (VLAN tags, MPLS labels, tunnels): a provider's QinQ under MPLS with two
/// tunnels needs 8. It stops crafted packets with hundreds of VLAN tags.
pub const NESTED_HEADERS: u32 = 16;

/// IPv6 extension headers of one packet: RFC 8200 section 4.1 lists 7, each at most once, one of them twice.
pub const IPV6_EXTENSIONS: usize = 16;

/// Subframes of one A-MSDU: 11 454 bytes (IEEE 802.11-2020 table 9-25) of TCP ACKs of 76 bytes each are 150.
pub const AMSDU_SUBFRAMES: usize = 256;

/// Networks of one capture, 200 bytes each: a city block has hundreds, a flood of forged beacons any number.
pub const NETWORKS: usize = 4096;
/// Complete frames tested for a frame check sequence that is not announced. One fits by chance with probability 2^-32; if
/// every second frame is damaged, all of these are with probability 2^-64.
pub const FCS_TRIALS: u8 = 64;

/// Attributes of one NFLOG record; the kernel has 20.
pub const NFLOG_ATTRIBUTES: usize = 64;

/// Senders of one capture whose TCP checksums are followed; those of later ones are not verified.
pub const CHECKED_SENDERS: usize = 4096;

/// Sniffers of one capture; the later ones share the last place.
pub const AIR_INTERFACES: usize = 64;

/// Items of one Prism header: ten are defined.
pub const PRISM_ITEMS: usize = 32;

/// Fields of one PPI header: a handful are defined.
pub const PPI_FIELDS: usize = 64;
/// Bytes per read of the input: a megabyte amortises the call and fits into the second-level cache.
pub const BLOCK_BYTES: usize = 1 << 20;

/// One buffer between the decompressor's thread and the parser, and how many of them may wait.
pub const CHUNK_BYTES: usize = 256 << 10;
pub const CHUNKS_WAITING: usize = 4;

/// Bytes read to recognise a format: the magic number at the highest offset is tar's, at 257.
pub const SNIFF_BYTES: usize = 512;

/// First bytes of a file that are shown to a reader outside the core: more than any format needs to be recognised.
pub const HEAD_BYTES: usize = 4096;

/// Largest piece of a file that a reader outside the core gets at once: more is a length field that is wrong.
pub const PIECE_BYTES: usize = 64 << 20;

/// Records, and bytes of them, that a reader outside the core hands over at once: enough to amortise the call, and memory
/// stays flat.
pub const HANDED_RECORDS: usize = 1024;
pub const HANDED_BYTES: usize = 1 << 20;

/// Largest gzip header: a file name and a comment; RFC 1952 sets no bound.
pub const GZIP_HEADER_BYTES: usize = 64 << 10;

/// Largest zstd window: the default limit of `zstd -d` (2^27).
pub const ZSTD_WINDOW_BYTES: u64 = 128 << 20;

/// Bytes read to recognise patched record headers: three records of any network.
pub const PATCH_BYTES: usize = 64 << 10;

/// Bytes searched for the next record after damage. Beyond it the rest is not read.
pub const RESYNC_BYTES: u64 = 64 << 20;

/// How often one capture may lose its framing: each time costs a search.
pub const RESYNC_TIMES: u32 = 10_000;

/// Largest time between the last valid record and a record found after damage: 30 days.
pub const NEAR_SECONDS: u64 = 30 * 86_400;

/// Bytes kept of a ring capture's newer half until the older one after it was read: the Windows Sniffer's largest
/// buffers were of this order.
pub const RING_BYTES: usize = 64 << 20;

/// Records about the capture itself at the front of a DOS Sniffer file: a handful.
pub const HEADER_RECORDS: usize = 1024;

/// Zero bytes skipped where a record should be: preallocated space. More of them are an attack.
pub const ZERO_BYTES: u64 = 64 << 20;

/// Records without a byte, or blocks without a packet, in a row. More of them are an attack.
pub const EMPTY_RUN: u64 = 1 << 20;

/// Largest pcapng block: libpcap's INITIAL_MAX_BLOCKSIZE.
pub const BLOCK_TOTAL_BYTES: usize = 16 << 20;

/// Larger pcapng blocks are not accepted in the search for the next valid block.
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

/// Largest count of dropped packets accepted: 2^48 is 89 years at 100 000 a second.
pub const DROPS: u64 = 1 << 48;

/// Unacknowledged segments kept per direction and quadrant of sequence space: 12 MB in flight at 1 460 bytes each, 200 kB
/// of memory. Above it (one-way captures) the oldest count as acknowledged: no RTT sample, no time to a retransmission.
pub const UNACKED_SEGMENTS: usize = 8_192;

/// Retransmissions of one direction that are on the path at once: their answers show for how long it holds data.
pub const COPIES_ON_PATH: usize = 64;

/// Acknowledged ranges with holes between them (data that never passed the tap) kept per direction and quadrant. Above it
/// the lowest hole is dropped, and bytes that fill it later count as retransmitted instead of out of order.
pub const ACKED_RANGES: usize = 1_024;

/// Segments that one retransmission can cover and that are still counted separately: 1 448 bytes written one at a time and
/// retransmitted together. Above it they count as one, which limits the work per retransmission.
pub const RESENT_SEGMENTS: usize = 1_448;
/// A closed connection is kept for its late packets: twice the maximum segment lifetime (RFC 9293 section 3.4.2).
pub const FLOW_CLOSED_NS: i64 = 240 * 1_000_000_000;

/// Largest step of an IP ID that counts as missing packets: a window of them. A larger step is another counter.
pub const SKIPPED_PACKETS: u16 = 2000;

/// Places for the latest IP ids of hosts and of pairs of hosts, 12 bytes each.
pub const IP_ID_HOSTS: usize = 2048;

/// Pairs of hosts whose least round trips are kept, 80 bytes each.
pub const HOST_PAIRS: usize = 2048;

/// Keys given for one capture: Wireshark takes 64; each WEP frame is tried with every WEP key, each handshake with every other key.
pub const KEYS: usize = 256;

/// Longest EAPOL-Key frame accepted: the standard's largest key data (several KDEs and elements) is under 600 bytes.
pub const EAPOL_BYTES: usize = 1024;

/// Networks whose names and ciphers are kept, and names of each: 3 MiB. More BSSIDs are a flood of forged beacons.
pub const KNOWN_NETWORKS: usize = 16_384;
pub const NETWORK_NAMES: usize = 4;

/// Pairs of access point and station whose handshakes are tracked: at most 8 KiB each before the keys are proved.
pub const PAIRS: usize = 8192;

/// Nonces of each side kept until their handshake is verified: messages are retransmitted a few times.
pub const NONCES: usize = 4;

/// Pairwise keys kept of two stations: frames in flight and retransmissions still use the key before the last.
pub const SESSIONS: usize = 4;

/// Group keys kept per access point: two of four identifiers are in use at a time; some access points use one per station.
pub const GROUP_KEYS: usize = 64;

/// PMKs derived from passphrases, 2 ms each (4096 rounds of PBKDF2): at most five seconds for a hostile capture.
pub const PMKS: usize = 2048;

/// PMKs tried on handshakes, 2 us each: ten seconds.
pub const HANDSHAKE_TRIALS: u64 = 4_000_000;

/// MSDUs with fragments still missing: one per transmitter and TID that is sending.
pub const FRAGMENTED_MSDUS: usize = 64;

/// Longest MSDU reassembled from fragments: the longest A-MSDU of an HT station (clause 9.2.4.7.1).
pub const MSDU_BYTES: usize = 11_454;

/// Longest lifetime of a fragmented MSDU: twice the time that receivers wait (aMaxReceiveLifetime, 512 TU).
pub const FRAGMENT_LIFE_NS: i64 = 1_048_576_000;
/// An exchange ends after this idle time: twice the default lifetime of an MSDU (dot11EDCATableMSDULifetime,
/// 500 TU), and far less than a sequence counter of 4096 needs to wrap without A-MPDUs.
pub const EXCHANGE_NS: i64 = 1_000_000_000;

/// An exchange older than this becomes a row even if it is still retransmitted, so that it does not delay other rows.
pub const EXCHANGE_LIFE_NS: i64 = 10_000_000_000;

/// Exchanges not yet written: more than a second of the busiest channel; about 150 bytes each.
pub const OPEN_EXCHANGES: usize = 65_536;

/// Transmissions of one exchange: the largest retry limit is 255 (dot11ShortRetryLimit); later ones are another exchange.
pub const ATTEMPTS: u16 = 255;

/// Streams (transmitter, receiver, TID) and stations tracked at once: about 400 bytes each. Above it all are cleared.
pub const AIR_STREAMS: usize = 32_768;
pub const AIR_STATIONS: usize = 32_768;

/// Largest step of a sequence number whose missing numbers become rows: the Block Ack window of 802.11n and ac. A larger
/// step is a gap of the sniffer, or another counter.
pub const SEQUENCE_GAP: u32 = 64;

/// Inferred rows per batch: it limits the rows that crafted sequence numbers can cause.
pub const INFERRED_ROWS: usize = 65_536;

/// Evidence of missed frames (ACKs without a frame, RTS and CTS) per station, until its sequence number is known.
pub const UNNUMBERED_SIGNS: usize = 16;

/// Association identifiers kept: an access point has up to 2007.
pub const ASSOCIATIONS: usize = 8_192;
/// URBs outstanding at once: the widest host controller queue in use is some hundreds an endpoint, times the endpoints of a
/// few devices; each costs 200 bytes. Above it the oldest quarter become rows without a completion.
pub const OPEN_URBS: usize = 8192;

/// Endpoints whose queue is tracked; above it the idle ones are dropped. It is twice the URBs outstanding, so that dropping
/// always removes at least half.
pub const USB_ENDPOINTS: usize = 2 * OPEN_URBS;

/// Endpoints whose framing of IP packets is kept: 128 devices of 32 endpoints on one bus are 4096.
pub const USB_FRAMINGS: usize = 4096;

/// Frames in one bulk transfer: a 64 KiB transfer block of TCP ACKs of 76 bytes each holds 860.
pub const USB_DATAGRAMS: usize = 1024;

/// NCM pointer blocks chained in one transfer block: devices write one, MBIM one per session.
pub const NCM_POINTERS: usize = 16;

/// Bytes searched for an IP header at the start of a bulk transfer of unknown framing and after each packet found in it: the
/// longest descriptor in use is Prism 2's with LLC, 68 bytes.
pub const USB_SEARCH_BYTES: usize = 128;

/// Longest line of usbmon text: an isochronous transfer with all its descriptors has 250 characters.
pub const USBMON_LINE_BYTES: usize = 4096;

/// MPDUs of one A-MPDU: the largest Block Ack window, of IEEE 802.11be.
pub const AMPDU_MPDUS: u32 = 1024;

/// Frames whose rows wait until responses show which instant the capture's timestamps mark: a batch.
pub const HELD_FRAMES: usize = 16_384;

/// Sample of packets of each capture for finding what two captures have in common: those with the lowest hashes, the same
/// packets in both. One in 300 of ten million, and a few thousand common ones if one in ten is in both; 10 MiB in total.
pub const PAIR_SAMPLES: usize = 32_768;

/// Rows of the first capture paired at once, and rows on both sides of them that are compared too, so that all copies of a
/// packet are compared together: several TCP windows.
pub const PAIR_ROWS: usize = 65_536;
pub const PAIR_CONTEXT_ROWS: usize = 8_192;

/// Rows of the second capture held for them: one second of delay at a million packets a second; 80 MiB.
pub const PAIR_WINDOW_ROWS: usize = 1 << 20;

/// Copies of one packet without an IP ID that are distinguished by their order: the duplicate ACKs of a large window. The
/// work grows with their square.
pub const PAIR_COPIES: usize = 256;

/// Segments of one super-segment: 64 KiB of 536 bytes each are 122, BIG TCP's 512 KiB of 1 448 bytes 362.
pub const PAIR_PARTS: usize = 512;

/// Packets of one direction of one host that are matched by length and order alone: a day of a busy station; 200 MiB.
pub const PAIR_ORDERED: usize = 4 << 20;

//! Every cap of the crate, each with its reason. A capture is hostile input: nothing grows by its word alone.

/// Largest captured record: libpcap's MAXIMUM_SNAPLEN; more is a lie or garbage.
pub const RECORD_BYTES: usize = 262_144;

/// Largest captured record of the USB link types: one Linux transfer is bounded by usbfs_memory_mb (16 MiB).
pub const USB_RECORD_BYTES: usize = 16 << 20;

/// A pcap record that claims more than its cap is skipped by its own length only up to here.
pub const OVERSIZED_RECORD_BYTES: usize = 16 << 20;

/// Largest wire length believed: GSO and USB transfers end far below.
pub const WIRE_BYTES: u32 = 128 << 20;

/// Rows of a batch: large enough to amortise a call, small enough that its columns stay in the second-level cache and the
/// allocator reuses their memory.
pub const BATCH_ROWS: usize = 16_384;

/// Runs kept of what one direction has outstanding: a 64 MiB window of 16 KiB super-segments; beyond, the oldest merge.
pub const RUNS_PER_DIRECTION: usize = 4096;

/// Retransmissions of one direction whose need is not decided yet; beyond, the oldest stays undecided.
pub const PENDING_RETRANSMISSIONS: usize = 1024;

/// Blocks of segment rows held back until the need of their retransmissions is known: about 100 MiB.
pub const HELD_BLOCKS: usize = 32;

/// Connections followed at once: 512 B to 3 KiB each; beyond, the longest idle one is closed.
pub const LIVE_FLOWS: usize = 100_000;

/// A connection without FIN or RST that has been silent so long is closed: beyond the longest backed-off timer (RFC 6298:
/// 64 s and more; Linux: 120 s) many times over, and it keeps memory flat however long the capture is.
pub const FLOW_IDLE_NS: i64 = 3600 * 1_000_000_000;

/// A connection that has been silent so long gives up its list of outstanding runs.
pub const FLOW_COLD_NS: i64 = 130 * 1_000_000_000;

/// Largest jump in sequence that is taken for a hole: the largest window TCP can have (RFC 7323 section 2.2).
pub const MAX_JUMP: i64 = 1 << 30;

/// Acknowledged runs remembered for copies that come after their ACK: more than a window of them is unheard of in practice.
pub const PAST_RUNS: usize = 128;

/// Packets of a direction remembered to know one that is seen again: 8 on a wire, more on the air, where an A-MPDU is repeated whole.
pub const RECENT_PACKETS: usize = 8;
pub const RECENT_MPDUS: usize = 64;
/// Headers inside headers of one record (VLAN tags, MPLS labels, tunnels): a provider's QinQ under MPLS with two
/// tunnels needs 8; an attacker's 300 VLAN tags end here.
pub const NESTED_HEADERS: u32 = 16;

/// IPv6 extension headers of one packet: RFC 8200 section 4.1 orders 7 at most once each, one of them twice.
pub const IPV6_EXTENSIONS: usize = 16;

/// Subframes of one A-MSDU: 11 454 bytes (IEEE 802.11-2020 table 9-25) of TCP ACKs of 76 bytes each are 150.
pub const AMSDU_SUBFRAMES: usize = 256;

/// Networks told apart in one capture, 200 bytes each: a city block has hundreds, a flood of invented beacons any number.
pub const NETWORKS: usize = 4096;
/// Whole frames tried for a frame check sequence that nobody announces. One that fits by chance is one in 2^32; that all of
/// these are damaged where one in two is, one in 2^64.
pub const FCS_TRIALS: u8 = 64;

/// Sniffers of one capture that are told apart; the later ones share the last place.
pub const AIR_INTERFACES: usize = 64;

/// Items of one Prism header: ten are defined.
pub const PRISM_ITEMS: usize = 32;

/// Fields of one PPI header: a handful are defined.
pub const PPI_FIELDS: usize = 64;
/// One read of the input: a megabyte amortises the call and still fits into the second-level cache.
pub const BLOCK_BYTES: usize = 1 << 20;

/// One buffer between the decompressor's thread and the parser, and how many of them may wait.
pub const CHUNK_BYTES: usize = 256 << 10;
pub const CHUNKS_WAITING: usize = 4;

/// Bytes looked at to recognise a format: the last magic in use is tar's at 257.
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

/// Largest zstd window: what `zstd -d` itself accepts without being asked (2^27).
pub const ZSTD_WINDOW_BYTES: u64 = 128 << 20;

/// Bytes looked at to tell patched record headers: three records of any network.
pub const PATCH_BYTES: usize = 64 << 10;

/// How far a next record is looked for after damage; beyond, the rest is taken to be no capture.
pub const RESYNC_BYTES: u64 = 64 << 20;

/// How many times one capture may lose its framing: each time costs a search.
pub const RESYNC_TIMES: u32 = 10_000;

/// How far in time a record found after damage may lie from the last sound one: 30 days.
pub const NEAR_SECONDS: u64 = 30 * 86_400;

/// Bytes kept of a ring capture's newer half until the older one behind it was read: the Windows Sniffer's largest
/// buffers were of this order.
pub const RING_BYTES: usize = 64 << 20;

/// Records about the capture itself at the front of a DOS Sniffer file: a handful.
pub const HEADER_RECORDS: usize = 1024;

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

/// Segments not acknowledged that are kept apart per direction and quadrant of sequence space: 12 MB in flight at 1 460 bytes
/// each, 200 kB of memory. Beyond it (one-way captures) the oldest count as acknowledged: no RTT sample, no resend time.
pub const UNACKED_SEGMENTS: usize = 8_192;

/// Acknowledged ranges with holes between them (data that never passed the tap) kept per direction and quadrant; beyond it
/// the lowest hole is forgotten, and what fills it later counts as sent again rather than out of order.
pub const ACKED_RANGES: usize = 1_024;

/// Segments that one later segment may cover and still be told apart: 1 448 bytes written one at a time and resent in one
/// are that many. Beyond it they count as one, so that covering them again and again stays cheap.
pub const RESENT_SEGMENTS: usize = 1_448;
/// A closed connection is remembered for its late packets: twice the maximum segment lifetime (RFC 9293 section 3.4.2).
pub const FLOW_CLOSED_NS: i64 = 240 * 1_000_000_000;

/// Largest step of an IP id that is read as so many missing packets: a window of them; more is another counter.
pub const SKIPPED_PACKETS: u16 = 2000;

/// Keys given for one capture: Wireshark takes 64; each WEP frame tries every WEP key, each handshake every other.
pub const KEYS: usize = 256;

/// Longest EAPOL-Key frame believed: the standard's largest key data (several KDEs and elements) is under 600 bytes.
pub const EAPOL_BYTES: usize = 1024;

/// Networks whose names and ciphers are remembered, and names of each: 3 MiB. More BSSIDs are a flood of made-up ones.
pub const KNOWN_NETWORKS: usize = 16_384;
pub const NETWORK_NAMES: usize = 4;

/// Pairs of access point and station whose handshakes are followed: at most 8 KiB each before the keys are proved.
pub const PAIRS: usize = 8192;

/// Nonces of each side kept until their handshake is proved: messages are sent again, a few times.
pub const NONCES: usize = 4;

/// Pairwise keys kept of two stations: frames in flight and sent again still use the key before the last.
pub const SESSIONS: usize = 4;

/// Group keys kept of an access point: two of four identifiers in use at a time; some give each station its own.
pub const GROUP_KEYS: usize = 64;

/// PMKs derived from passphrases, 2 ms each (4096 rounds of PBKDF2): five seconds of a hostile capture's wishes.
pub const PMKS: usize = 2048;

/// PMKs tried on handshakes, 2 us each: ten seconds.
pub const HANDSHAKE_TRIALS: u64 = 4_000_000;

/// MSDUs of which a fragment is waiting for the next: one for each transmitter and TID that is sending at the moment.
pub const FRAGMENTED_MSDUS: usize = 64;

/// Longest MSDU put together of fragments: the longest A-MSDU of an HT station (clause 9.2.4.7.1).
pub const MSDU_BYTES: usize = 11_454;

/// Longest life of a fragmented MSDU: twice what receivers wait (aMaxReceiveLifetime, 512 TU).
pub const FRAGMENT_LIFE_NS: i64 = 1_048_576_000;
/// An exchange that has been silent so long is over: twice the default lifetime of an MSDU (dot11EDCATableMSDULifetime,
/// 500 TU), and far less than a counter of 4096 takes to come round where A-MPDUs do not move it along.
pub const EXCHANGE_NS: i64 = 1_000_000_000;

/// An exchange that goes on so long is handed out although it is repeated still, so that it holds nothing back.
pub const EXCHANGE_LIFE_NS: i64 = 10_000_000_000;

/// Exchanges waiting to be handed out: more than a second of the densest air has frames; about 150 bytes each.
pub const OPEN_EXCHANGES: usize = 65_536;

/// Attempts of one exchange: retry limits end at 255 (dot11ShortRetryLimit); what comes after is another exchange.
pub const ATTEMPTS: u16 = 255;

/// Senders with their receiver and TID, and stations, followed at once: about 400 bytes each; beyond, all start again.
pub const AIR_STREAMS: usize = 32_768;
pub const AIR_STATIONS: usize = 32_768;

/// Largest step of a sequence number whose missing numbers become rows: the Block Ack window of 802.11n and ac. More is a
/// sniffer that was away, or another counter.
pub const SEQUENCE_GAP: u32 = 64;

/// Rows made of frames that were never seen, a batch: an attacker's numbers that jump make no more.
pub const INFERRED_ROWS: usize = 65_536;

/// Signs of frames never seen (lone ACKs, RTS and CTS) of one station that wait for the number they belong to.
pub const UNNUMBERED_SIGNS: usize = 16;

/// Association identifiers remembered: an access point has up to 2007.
pub const ASSOCIATIONS: usize = 8_192;
/// URBs outstanding at once: the widest host controller queue in use is some hundreds an endpoint, times the endpoints of a
/// few devices; each costs 200 bytes. Beyond, the oldest quarter becomes rows without a completion.
pub const OPEN_URBS: usize = 8192;

/// Endpoints whose queue is followed; when there are more, the idle ones are forgotten. Twice the URBs outstanding, so that
/// forgetting always halves it.
pub const USB_ENDPOINTS: usize = 2 * OPEN_URBS;

/// Endpoints whose framing of IP packets is remembered: 128 devices of 32 endpoints on one bus are 4096.
pub const USB_FRAMINGS: usize = 4096;

/// Frames in one bulk transfer: a 64 KiB transfer block of TCP ACKs of 76 bytes each holds 860.
pub const USB_DATAGRAMS: usize = 1024;

/// NCM pointer blocks chained in one transfer block: devices write one, MBIM one a session.
pub const NCM_POINTERS: usize = 16;

/// How far into a bulk transfer of unknown framing, and behind each packet found in it, an IP header is searched for: the
/// longest descriptor in use is Prism 2's with LLC, 68 bytes.
pub const USB_SEARCH_BYTES: usize = 128;

/// Longest line of usbmon text: an isochronous transfer with all its descriptors has 250 characters.
pub const USBMON_LINE_BYTES: usize = 4096;

/// MPDUs of one A-MPDU: the largest Block Ack window, of IEEE 802.11be.
pub const AMPDU_MPDUS: u32 = 1024;

/// Frames whose rows wait until responses have told which instant the capture's stamps name: a batch.
pub const HELD_FRAMES: usize = 16_384;

/// Packets of each capture by which two captures get to know each other: those whose keys hash lowest, the same in both.
/// One in 300 of ten million, and a few thousand where one in ten is in both; 10 MiB for both captures.
pub const PAIR_SAMPLES: usize = 32_768;

/// Rows of the first capture paired at once, and rows behind them that are looked at too, so that all copies of a
/// packet are seen together: a window of TCP several times over.
pub const PAIR_ROWS: usize = 65_536;
pub const PAIR_CONTEXT_ROWS: usize = 8_192;

/// Rows of the second capture held for them: one second of delay at a million packets a second; 80 MiB.
pub const PAIR_WINDOW_ROWS: usize = 1 << 20;

/// Copies of one packet without an IP id that are told apart by their order: the duplicate ACKs of a large window; the
/// work grows with their square.
pub const PAIR_COPIES: usize = 256;

/// Segments of one super-segment: 64 KiB of 536 bytes each are 122, BIG TCP's 512 KiB of 1 448 bytes 362.
pub const PAIR_PARTS: usize = 512;

/// Packets that are matched by length and order alone, of one direction of one host: a day of a busy station; 200 MiB.
pub const PAIR_ORDERED: usize = 4 << 20;

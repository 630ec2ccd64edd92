//! One decoded IP packet: the decoders fill it; the tables and the flow tracker read it.

/// An IPv4 or IPv6 address; IPv4 sits in the low 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Addr {
    pub bits: u128,
    pub v6: bool,
}

impl Addr {
    pub fn v4(bytes: [u8; 4]) -> Self {
        Addr { bits: u128::from(u32::from_be_bytes(bytes)), v6: false }
    }

    pub fn v6(bytes: [u8; 16]) -> Self {
        Addr { bits: u128::from_be_bytes(bytes), v6: true }
    }
}

impl std::fmt::Display for Addr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.v6 {
            std::net::Ipv6Addr::from(self.bits).fmt(f)
        } else {
            std::net::Ipv4Addr::from(self.bits as u32).fmt(f)
        }
    }
}

/// Why decoding ended before the transport header was complete, or why a length is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(i8)]
pub enum Stop {
    #[default]
    None = -1,
    /// The capture kept too few bytes.
    SnaplenCut = 0,
    /// A length field contradicts the bytes around it: an error of the sender, or an attack.
    LengthLies = 1,
    /// A header length below its minimum or an impossible field.
    BadHeader = 2,
    /// Headers nested more deeply than `limits::NESTED_HEADERS`.
    TooDeep = 3,
    /// A protocol for which there is no decoder.
    UnknownType = 4,
    /// A later fragment: its transport header is in the first one.
    Fragment = 5,
    /// The payload is encrypted at the link layer.
    Encrypted = 6,
    /// The 802.11 frame is damaged. The IPv4 header checksum is right, so the addresses, the identification and
    /// the length are right; ports, TCP fields and those of the MPDU may be wrong.
    BadFcs = 7,
    /// The TCP checksum is wrong, and this sender's are computed where the capture was taken.
    BadChecksum = 8,
}

/// The layer at which decoding stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(i8)]
pub enum Layer {
    #[default]
    None = -1,
    Link = 0,
    Ip = 1,
    IpOptions = 2,
    Transport = 3,
    TcpOptions = 4,
}

/// The 802.11 header of the MPDU with the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mpdu {
    /// Transmitter and receiver address (address 2 and 1).
    pub ta: [u8; 6],
    pub ra: [u8; 6],
    /// Sequence control: sequence number << 4 | fragment number.
    pub seq_ctl: u16,
    pub tid: u8,
    pub retry: bool,
}

/// TCP flag bits, as Wireshark's tcp.flags (AE is bit 8).
pub mod flags {
    pub const FIN: u16 = 0x01;
    pub const SYN: u16 = 0x02;
    pub const RST: u16 = 0x04;
    pub const PSH: u16 = 0x08;
    pub const ACK: u16 = 0x10;
    pub const URG: u16 = 0x20;
    pub const ECE: u16 = 0x40;
    pub const CWR: u16 = 0x80;
    pub const AE: u16 = 0x100;
}

/// The TCP header and its options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp {
    pub seq: u32,
    pub ack: u32,
    pub flags: u16,
    /// As in the header, unscaled.
    pub window: u16,
    pub urgent: u16,
    pub mss: Option<u16>,
    /// Capped at 14 (RFC 7323 section 2.3).
    pub wscale: Option<u8>,
    pub sack_permitted: bool,
    /// SACK blocks as (left edge, right edge), the first `sack_blocks` of them.
    pub sack: [(u32, u32); 4],
    pub sack_blocks: u8,
    /// TSval and TSecr (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// The options extend beyond the captured bytes or are malformed: the options above may be incomplete.
    pub options_cut: bool,
}

/// One IP packet of a record; a record may hold several (A-MSDU) or none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Packet {
    /// 1-based number of the record in its file (Wireshark's frame.number).
    pub number: u64,
    /// Nanoseconds since 1970 in the capture's own clock; None when not representable.
    pub time_ns: Option<i64>,
    pub wire_bytes: u32,
    pub captured_bytes: u32,
    /// 0 when there is no readable IP header.
    pub ip_version: u8,
    pub src: Addr,
    pub dst: Addr,
    /// IPv4 identification; for IPv6 that of a fragment header.
    pub ip_id: Option<u32>,
    pub ip_ttl: Option<u8>,
    pub ip_dscp: Option<u8>,
    pub ip_ecn: Option<u8>,
    /// Part of a fragmented datagram (offset > 0 or more fragments follow).
    pub ip_fragment: bool,
    /// The IP protocol of the transport header (after IPv6 extension headers).
    pub protocol: Option<u8>,
    pub src_port: Option<u16>,
    pub dst_port: Option<u16>,
    /// Transport payload by the IP length, captured or not; by the record's length if the IP length exceeds it.
    pub payload_bytes: Option<u32>,
    /// How many of these bytes were captured; only valid with `tcp`.
    pub payload_captured_bytes: u32,
    /// Hash of the payload's first bytes; None without payload or where not all of these were captured.
    pub payload_digest: Option<u32>,
    /// None when not TCP or the fixed 20-byte header is not complete.
    pub tcp: Option<Tcp>,
    /// The outermost VLAN id.
    pub vlan: Option<u16>,
    pub stop: Stop,
    pub stop_layer: Layer,
    /// Whether a checksum over the whole packet is right (FCS, message integrity code, TCP checksum); None: nothing verifies it.
    pub intact: Option<bool>,
    /// The 802.11 MPDU with the packet.
    pub mpdu: Option<Mpdu>,
    /// The capture marks it as sent (true) or received (false) by the capturing host: SLL packet type, pcapng EPB flags.
    pub outgoing: Option<bool>,
}

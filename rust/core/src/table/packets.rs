//! `packets`: one row per IP packet, at any capture point.

use super::column::DictCol;
use super::keys::Keys;
use crate::packet::{Addr, Packet};

pub const STOPS: &[&str] = &[
    "snaplen_cut",
    "length_lies",
    "bad_header_len",
    "too_deep",
    "unknown_type",
    "fragment",
    "encrypted",
    "bad_fcs",
    "bad_checksum",
];
pub const LAYERS: &[&str] = &["link", "ip", "ip_options", "transport", "tcp_options"];
/// a opened the connection, or sent the first packet captured.
pub const DIRECTIONS: &[&str] = &["a2b", "b2a"];

define_table! {
    PacketRows, PACKETS, "packets",
    "One row per IP packet at any capture point, also inside 802.11 data frames and USB transfers.", {
    packet: U64, "", "Number of the record in its file, from 1: Wireshark's frame.number.";
    time: Time ? null, "", "Timestamp of the capture in its own clock; null when it cannot be represented.";
    t_ns: I64 ? null, "ns", "Time since the trace's start on its common axis.";
    wire_bytes: U32, "bytes", "Length of the frame on the wire.";
    captured_bytes: U32, "bytes", "Bytes of it that were captured.";
    ip_version: U8 ? null, "", "4 or 6; null when no IP header could be read.";
    ip_src: Dict ? null, "", "Source address.";
    ip_dst: Dict ? null, "", "Destination address.";
    ip_id: U32 ? null, "", "IPv4 identification, or the identification of an IPv6 fragment header.";
    ip_ttl: U8 ? null, "", "Time to live, or IPv6 hop limit.";
    ip_dscp: U8 ? null, "", "Differentiated services code point (RFC 2474).";
    ip_ecn: U8 ? null, "", "ECN codepoint (RFC 3168).";
    ip_fragment: Bool ? null, "", "Part of a fragmented datagram.";
    protocol: U8 ? null, "", "IP protocol number of the transport header.";
    src_port: U16 ? null, "", "TCP or UDP source port.";
    dst_port: U16 ? null, "", "TCP or UDP destination port.";
    payload_bytes: U32 ? null, "bytes", "Transport payload by the IP length, captured or not.";
    payload_digest: U32 ? null, "", "Hash of the first 16 bytes of the payload (of ICMP: of the message), which identifies a packet in two captures; null without payload or where these bytes were not captured.";
    tcp_seq: U32 ? null, "", "Sequence number as on the wire.";
    tcp_ack: U32 ? null, "", "Acknowledgment number as on the wire; null without the ACK flag.";
    tcp_flags: U16 ? null, "", "Flag bits as in Wireshark's tcp.flags, AE at 0x100.";
    tcp_window: U16 ? null, "", "Window field as on the wire, unscaled.";
    tcp_mss: U16 ? null, "bytes", "MSS option.";
    tcp_wscale: U8 ? null, "", "Window scale option, capped at 14 (RFC 7323 section 2.3).";
    tcp_sack_permitted: Bool ? null, "", "SACK-permitted option (RFC 2018).";
    tcp_sack: Ranges ? null, "", "SACK blocks, left and right edge as on the wire.";
    tcp_tsval: U32 ? null, "", "Timestamp value (RFC 7323).";
    tcp_tsecr: U32 ? null, "", "Timestamp echo reply.";
    vlan: U16 ? null, "", "Outermost VLAN id.";
    flow: U32 ? null, "", "Number of the TCP connection in this capture, from 0.";
    direction: Enum(DIRECTIONS) ? null, "", "Direction of the segment: a2b or b2a; a opened the connection, or sent the first packet captured.";
    stop: Enum(STOPS) ? null, "", "Why decoding ended early; null when it did not.";
    stop_layer: Enum(LAYERS) ? null, "", "The layer at which decoding ended.";
} }

/// Packets converted to columns at a time: few enough to stay in the first-level cache.
pub const BLOCK: usize = 64;

/// A packet with the values that the table adds.
#[derive(Debug)]
pub struct Row {
    pub packet: Packet,
    t_ns: Option<i64>,
    /// Number of its connection, and whether it goes from b to a.
    pub flow: Option<(u32, bool)>,
    /// Keys of its addresses in the batch's dictionaries.
    src: Option<i32>,
    dst: Option<i32>,
}

impl Row {
    /// `start_ns` is the trace's start.
    #[inline]
    pub fn new(packet: &Packet, start_ns: i64) -> Self {
        let t_ns = packet.time_ns.and_then(|t| t.checked_sub(start_ns));
        Row { packet: *packet, t_ns, flow: None, src: None, dst: None }
    }
}

/// Turns packets into columns, keeping each address's key in the batch's dictionary.
#[derive(Debug, Default)]
pub struct PacketTable {
    columns: PacketRows,
    src_keys: Keys<Addr>,
    dst_keys: Keys<Addr>,
    len: usize,
    /// Rows are counted, and not kept.
    unwanted: bool,
}

impl PacketTable {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Keep no rows: only facts are wanted.
    pub fn leave_out(&mut self) {
        self.unwanted = true;
    }

    /// Append rows, `BLOCK` of them at most.
    pub fn append(&mut self, rows: &mut [Row]) {
        let before = self.len;
        self.len += rows.len();
        if self.unwanted {
            return;
        }
        if before == 0 {
            self.columns.reserve(crate::limits::BATCH_ROWS);
        }
        for row in rows.iter_mut().filter(|row| row.packet.ip_version != 0) {
            row.src = Some(key(&mut self.src_keys, row.packet.src, &mut self.columns.ip_src));
            row.dst = Some(key(&mut self.dst_keys, row.packet.dst, &mut self.columns.ip_dst));
        }
        self.write(rows);
    }

    /// Turn rows into columns.
    fn write(&mut self, rows: &[Row]) {
        let c = &mut self.columns;
        c.packet.fill(rows, |r| r.packet.number);
        c.time.fill_opt(rows, |r| r.packet.time_ns);
        c.t_ns.fill_opt(rows, |r| r.t_ns);
        c.wire_bytes.fill(rows, |r| r.packet.wire_bytes);
        c.captured_bytes.fill(rows, |r| r.packet.captured_bytes);
        c.ip_version.fill_opt(rows, |r| Some(r.packet.ip_version).filter(|v| *v != 0));
        c.ip_src.fill_keys(rows, |r| r.src);
        c.ip_dst.fill_keys(rows, |r| r.dst);
        c.ip_id.fill_opt(rows, |r| r.packet.ip_id);
        c.ip_ttl.fill_opt(rows, |r| r.packet.ip_ttl);
        c.ip_dscp.fill_opt(rows, |r| r.packet.ip_dscp);
        c.ip_ecn.fill_opt(rows, |r| r.packet.ip_ecn);
        c.ip_fragment.fill_opt(rows, |r| (r.packet.ip_version != 0).then_some(r.packet.ip_fragment));
        c.protocol.fill_opt(rows, |r| r.packet.protocol);
        c.src_port.fill_opt(rows, |r| r.packet.src_port);
        c.dst_port.fill_opt(rows, |r| r.packet.dst_port);
        c.payload_bytes.fill_opt(rows, |r| r.packet.payload_bytes);
        c.payload_digest.fill_opt(rows, |r| r.packet.payload_digest);
        c.tcp_seq.fill_opt(rows, |r| r.packet.tcp.as_ref().map(|t| t.seq));
        c.tcp_ack.fill_opt(rows, |r| {
            r.packet.tcp.as_ref().filter(|t| t.flags & crate::packet::flags::ACK != 0).map(|t| t.ack)
        });
        c.tcp_flags.fill_opt(rows, |r| r.packet.tcp.as_ref().map(|t| t.flags));
        c.tcp_window.fill_opt(rows, |r| r.packet.tcp.as_ref().map(|t| t.window));
        c.tcp_mss.fill_opt(rows, |r| r.packet.tcp.as_ref().and_then(|t| t.mss));
        c.tcp_wscale.fill_opt(rows, |r| r.packet.tcp.as_ref().and_then(|t| t.wscale));
        c.tcp_sack_permitted.fill_opt(rows, |r| r.packet.tcp.as_ref().map(|t| t.sack_permitted));
        for r in rows {
            c.tcp_sack.push(
                r.packet.tcp.as_ref().filter(|t| t.sack_blocks > 0).map(|t| &t.sack[..usize::from(t.sack_blocks)]),
            );
        }
        c.tcp_tsval.fill_opt(rows, |r| r.packet.tcp.as_ref().and_then(|t| t.timestamps).map(|t| t.0));
        c.tcp_tsecr.fill_opt(rows, |r| r.packet.tcp.as_ref().and_then(|t| t.timestamps).map(|t| t.1));
        c.vlan.fill_opt(rows, |r| r.packet.vlan);
        c.flow.fill_opt(rows, |r| r.flow.map(|f| f.0));
        c.direction.fill_enum(rows, |r| r.flow.map_or(-1, |f| i8::from(f.1)));
        c.stop.fill_enum(rows, |r| r.packet.stop as i8);
        c.stop_layer.fill_enum(rows, |r| r.packet.stop_layer as i8);
    }

    /// The rows as one batch, if there are any and they are wanted; the table is empty afterwards.
    pub fn finish(&mut self) -> Option<arrow_array::RecordBatch> {
        let rows = std::mem::take(&mut self.len);
        self.src_keys.clear();
        self.dst_keys.clear();
        (rows > 0 && !self.unwanted).then(|| self.columns.finish())
    }
}

#[inline]
fn key(keys: &mut Keys<Addr>, addr: Addr, column: &mut DictCol) -> i32 {
    keys.get(addr, addr.bits as u32, column, |a| a.to_string())
}

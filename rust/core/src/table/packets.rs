//! `packets`: one row an IP packet, at any vantage.

use rustc_hash::FxHashMap;

use crate::packet::{Addr, Packet};

pub const STOPS: &[&str] =
    &["snaplen_cut", "length_lies", "bad_header_len", "too_deep", "unknown_type", "fragment", "encrypted", "bad_fcs"];
pub const LAYERS: &[&str] = &["link", "ip", "ip_options", "transport", "tcp_options"];
/// a is the side that opened the connection, or the first seen to send.
pub const DIRECTIONS: &[&str] = &["a2b", "b2a"];

define_table! {
    PacketRows, PACKETS, "packets",
    "One row an IP packet, at any vantage, also inside 802.11 data frames and USB transfers.", {
    packet: U64, "", "Number of the record in its file, from 1: Wireshark's frame.number.";
    time: Time ? null, "", "When the tap stamped it, in the capture's own clock; null when the stamp cannot be represented.";
    t_ns: I64 ? null, "ns", "Time since the trace's start on its common axis.";
    wire_bytes: U32, "bytes", "Length of the frame on the wire.";
    captured_bytes: U32, "bytes", "How much of it was captured.";
    ip_version: U8 ? null, "", "4 or 6; null when no IP header could be read.";
    ip_src: Dict ? null, "", "Source address.";
    ip_dst: Dict ? null, "", "Destination address.";
    ip_id: U32 ? null, "", "IPv4 identification, or that of an IPv6 fragment header.";
    ip_ttl: U8 ? null, "", "Time to live, or IPv6 hop limit.";
    ip_dscp: U8 ? null, "", "Differentiated services code point (RFC 2474).";
    ip_ecn: U8 ? null, "", "ECN codepoint (RFC 3168).";
    ip_fragment: Bool ? null, "", "Part of a fragmented datagram.";
    protocol: U8 ? null, "", "IP protocol number of the transport header.";
    src_port: U16 ? null, "", "TCP or UDP source port.";
    dst_port: U16 ? null, "", "TCP or UDP destination port.";
    payload_bytes: U32 ? null, "bytes", "Transport payload by the IP length, captured or not.";
    tcp_seq: U32 ? null, "", "Sequence number as on the wire.";
    tcp_ack: U32 ? null, "", "Acknowledgment number as on the wire; null without the ACK flag.";
    tcp_flags: U16 ? null, "", "Flag bits as Wireshark's tcp.flags, AE at 0x100.";
    tcp_window: U16 ? null, "", "Window field as on the wire, unscaled.";
    tcp_mss: U16 ? null, "bytes", "MSS option.";
    tcp_wscale: U8 ? null, "", "Window scale option, capped at 14 (RFC 7323 section 2.3).";
    tcp_sack_permitted: Bool ? null, "", "SACK-permitted option (RFC 2018).";
    tcp_sack: Ranges ? null, "", "SACK blocks, left and right edge as on the wire.";
    tcp_tsval: U32 ? null, "", "Timestamp value (RFC 7323).";
    tcp_tsecr: U32 ? null, "", "Timestamp echo reply.";
    vlan: U16 ? null, "", "Outermost VLAN id.";
    flow: U32 ? null, "", "Number of the TCP connection in this capture, from 0.";
    direction: Enum(DIRECTIONS) ? null, "", "Which way: a is the side that opened the connection, or the first seen to send.";
    stop: Enum(STOPS) ? null, "", "Why decoding ended early; null when it did not.";
    stop_layer: Enum(LAYERS) ? null, "", "The layer at which decoding ended.";
} }

/// Pushes packets into rows, remembering each address's key in the batch's dictionary.
#[derive(Debug, Default)]
pub struct PacketTable {
    pub rows: PacketRows,
    src_keys: FxHashMap<Addr, i32>,
    dst_keys: FxHashMap<Addr, i32>,
    len: usize,
}

impl PacketTable {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Append one packet; `start_ns` is the trace's start, `flow` its connection and whether it goes from b to a.
    pub fn push(&mut self, p: &Packet, start_ns: i64, flow: Option<(u32, bool)>) {
        if self.len == 0 {
            self.rows.reserve(crate::limits::BATCH_ROWS);
        }
        self.len += 1;
        let r = &mut self.rows;
        let has_ip = p.ip_version != 0;
        r.packet.push(p.number);
        r.time.push_opt(p.time_ns);
        r.t_ns.push_opt(p.time_ns.and_then(|t| t.checked_sub(start_ns)));
        r.wire_bytes.push(p.wire_bytes);
        r.captured_bytes.push(p.captured_bytes);
        r.ip_version.push_opt(has_ip.then_some(p.ip_version));
        let src = has_ip.then(|| *self.src_keys.entry(p.src).or_insert_with(|| r.ip_src.intern(p.src.to_string())));
        let dst = has_ip.then(|| *self.dst_keys.entry(p.dst).or_insert_with(|| r.ip_dst.intern(p.dst.to_string())));
        r.ip_src.push_key(src);
        r.ip_dst.push_key(dst);
        r.ip_id.push_opt(p.ip_id);
        r.ip_ttl.push_opt(p.ip_ttl);
        r.ip_dscp.push_opt(p.ip_dscp);
        r.ip_ecn.push_opt(p.ip_ecn);
        r.ip_fragment.push_opt(has_ip.then_some(p.ip_fragment));
        r.protocol.push_opt(p.protocol);
        r.src_port.push_opt(p.src_port);
        r.dst_port.push_opt(p.dst_port);
        r.payload_bytes.push_opt(p.payload_bytes);
        let t = p.tcp.as_ref();
        r.tcp_seq.push_opt(t.map(|t| t.seq));
        r.tcp_ack.push_opt(t.filter(|t| t.flags & crate::packet::flags::ACK != 0).map(|t| t.ack));
        r.tcp_flags.push_opt(t.map(|t| t.flags));
        r.tcp_window.push_opt(t.map(|t| t.window));
        r.tcp_mss.push_opt(t.and_then(|t| t.mss));
        r.tcp_wscale.push_opt(t.and_then(|t| t.wscale));
        r.tcp_sack_permitted.push_opt(t.map(|t| t.sack_permitted));
        r.tcp_sack.push(t.filter(|t| t.sack_blocks > 0).map(|t| &t.sack[..usize::from(t.sack_blocks)]));
        r.tcp_tsval.push_opt(t.and_then(|t| t.timestamps).map(|t| t.0));
        r.tcp_tsecr.push_opt(t.and_then(|t| t.timestamps).map(|t| t.1));
        r.vlan.push_opt(p.vlan);
        r.flow.push_opt(flow.map(|f| f.0));
        r.direction.push_enum(flow.map_or(-1, |f| i8::from(f.1)));
        r.stop.push_enum(p.stop as i8);
        r.stop_layer.push_enum(p.stop_layer as i8);
    }

    /// The rows as one batch; the table is empty afterwards.
    pub fn finish(&mut self) -> arrow_array::RecordBatch {
        self.src_keys.clear();
        self.dst_keys.clear();
        self.len = 0;
        self.rows.finish()
    }
}

//! tcptrace's counters (`tcptrace -l -r -W`) of both directions of a connection, one call per packet.
//!
//! The definitions are those of tcptrace 6.6.7. Where its arithmetic fails on 64-bit hosts or at the end of sequence space, or where
//! it rounds, the intended value is used instead; tests/flow/test_tcptrace.py lists each such case.

pub mod queue;
mod row;

use self::queue::Counted;
use super::duration_stats::elapsed_ns;
use super::sent_ranges::{AckCounters, ResendCounters, SentRanges};
use crate::packet::{flags, Tcp};

/// A copy with the IP identification and sequence number of one of this many packets before it is a hardware duplicate.
const HARDWARE_DUPLICATE_REACH: usize = 8;

/// What one direction of a connection sent, and how the other side acknowledged it.
#[derive(Debug, Default)]
pub struct DirectionCounters {
    ranges: SentRanges,
    acks: AckCounters,
    resends: ResendCounters,

    last_ns: Option<i64>,
    idle_max_ns: i64,
    first_data_ns: Option<i64>,
    last_data_ns: i64,

    packets: u64,
    rst_packets: u64,
    syn_packets: u64,
    fin_packets: u64,
    ack_packets: u64,
    pure_ack_packets: u64,
    sack_ack_packets: u64,
    sack_option_packets: u64,
    dsack_packets: u64,
    sack_blocks_max: u8,

    data_packets: u64,
    data_bytes: u64,
    pushed_packets: u64,
    urgent_packets: u64,
    urgent_bytes: u64,
    unique_bytes: u64,
    rexmt_packets: u64,
    rexmt_bytes: u64,
    out_of_order_packets: u64,
    probe_packets: u64,
    probe_bytes: u64,
    truncated_packets: u64,
    truncated_bytes: u64,
    segment_max: u32,
    segment_min: Option<u32>,
    mss: Option<u16>,

    scale_requested: bool,
    timestamps_requested: bool,
    sack_requested: bool,
    scale: u8,
    /// The latest window, scaled; 0 where the segment had no ACK.
    window_last: u64,
    window_max: u64,
    window_min: u64,
    window_sum: u64,
    zero_windows: u64,
    /// Packets since windows are scaled; `None` before the first of them.
    scaled_packets: Option<u64>,

    /// First sequence numbers of the latest SYN and of the FIN, the latest segment's end, the latest ACK sent.
    syn: u32,
    fin: u32,
    latest: u32,
    ack: u32,
    quadrants_seen: u8,
    wraps: u64,

    owin_max: u32,
    owin_min: Option<u32>,
    owin_sum: u64,
    owin_count: u64,
    owin_last: u32,
    owin_last_ns: i64,
    owin_byte_ns: u128,

    data_acked: bool,
    initial_packets: u64,
    initial_bytes: u64,
    handshake_rtt_ns: Option<i64>,

    /// Sequence number << 16 | IP identification of the latest packets, oldest overwritten first.
    identities: [u64; HARDWARE_DUPLICATE_REACH],
    identity_next: u8,
    hardware_duplicates: u64,
}

/// The counters of a connection: `dir[0]` of the side that sent the first packet captured.
#[derive(Debug, Default)]
pub struct ConnectionCounters {
    dir: [DirectionCounters; 2],
    first_ns: i64,
    last_ns: i64,
}

impl ConnectionCounters {
    /// Count one packet with a readable TCP header; `reverse`: opposite to the connection's first packet.
    ///
    /// A packet without a time counts as sent with the one before it.
    pub fn observe(&mut self, p: &Counted, reverse: bool) {
        let (tcp, now_ns) = (&p.tcp, p.time_ns.unwrap_or(self.last_ns));
        if self.dir[0].packets + self.dir[1].packets == 0 {
            self.first_ns = now_ns;
        }
        self.last_ns = now_ns;
        let [a, b] = &mut self.dir;
        let (own, other) = if reverse { (b, a) } else { (a, b) };
        let s = Segment::new(own, other, p, now_ns);

        own.count_packet(&s);
        own.follow_sequence(&s);
        if s.syn {
            other.ack = tcp.seq;
        }
        own.read_options(&s);
        let scaling = own.scale_requested && other.scale_requested;
        if !(s.syn || scaling) {
            own.scale = 0;
            other.scale = 0;
        }
        own.count_data(&s);
        own.find_hardware_duplicate(&s);
        let (resent, out_of_order) = own.count_sent(&s, other.window_last == 0 && other.packets > 0);
        if s.ack {
            let duplicate = tcp.ack == own.ack && s.payload == 0 && s.window == own.window_last && other.owin_count > 0;
            other.ranges.ack(tcp.ack, duplicate, now_ns, &mut other.acks);
            if other.syn_packets == 1 && tcp.ack == other.syn.wrapping_add(1) {
                other.handshake_rtt_ns = other.acks.rtt_latest_ns;
            }
            own.ack_packets += 1;
        }
        if s.rst {
            return;
        }
        own.count_window(&s, other.scale_requested);
        if s.ack {
            own.count_ack(&s);
            other.data_acked |= tcp.ack != other.syn.wrapping_add(1);
        }
        if s.payload > 0 && !own.data_acked && !resent {
            own.initial_packets += 1;
            own.initial_bytes += u64::from(s.payload);
        }
        if !s.syn && !out_of_order && !resent {
            own.count_outstanding(&s, other.ack);
        }
    }

    /// Drop what only an active connection needs.
    pub fn compact(&mut self) {
        for direction in &mut self.dir {
            direction.ranges.compact();
        }
    }
}

/// A packet with what its headers mean on this connection.
struct Segment<'a> {
    packet: &'a Counted,
    tcp: &'a Tcp,
    now_ns: i64,
    payload: u32,
    /// Advertised window, scaled where both sides agreed to; 0 without ACK and SYN.
    window: u64,
    syn: bool,
    fin: bool,
    rst: bool,
    ack: bool,
}

impl<'a> Segment<'a> {
    fn new(own: &DirectionCounters, other: &DirectionCounters, packet: &'a Counted, now_ns: i64) -> Self {
        let (tcp, payload) = (&packet.tcp, packet.payload_bytes);
        let has = |flag: u16| tcp.flags & flag != 0;
        let (syn, ack) = (has(flags::SYN), has(flags::ACK));
        let scaled = own.scale_requested && other.scale_requested && !syn;
        let window = if syn || ack { u64::from(tcp.window) << if scaled { own.scale } else { 0 } } else { 0 };
        Segment { packet, tcp, now_ns, payload, window, syn, fin: has(flags::FIN), rst: has(flags::RST), ack }
    }
}

impl DirectionCounters {
    fn count_packet(&mut self, s: &Segment) {
        self.packets += 1;
        self.syn_packets += u64::from(s.syn);
        self.fin_packets += u64::from(s.fin);
        self.rst_packets += u64::from(s.rst);
        if let Some(last) = self.last_ns {
            self.idle_max_ns = self.idle_max_ns.max(elapsed_ns(last, s.now_ns));
        }
        self.last_ns = Some(s.now_ns);
        if let Some(packets) = &mut self.scaled_packets {
            *packets += 1;
        }
    }

    /// The segment's position in sequence space, and how often the space has wrapped since the SYN.
    fn follow_sequence(&mut self, s: &Segment) {
        let start = s.tcp.seq;
        let end = u64::from(start) + u64::from(s.payload);
        let quadrant = |seq: u64| if seq >> 32 == 0 { 1u8 << (seq >> 30) } else { 0 };
        let syn = u64::from(self.syn);
        if self.quadrants_seen == 0b1111 && quadrant(syn) & quadrant(end) != 0 && end >= syn {
            self.wraps += 1;
            self.quadrants_seen = 0;
        }
        self.quadrants_seen |= quadrant(u64::from(start)) | quadrant(end);
        self.latest = end as u32;
        if s.syn {
            self.syn = start;
        }
        if s.fin {
            self.fin = end as u32;
        }
    }

    fn read_options(&mut self, s: &Segment) {
        if let Some(mss) = s.tcp.mss {
            self.mss = Some(mss);
        }
        if let Some(scale) = s.tcp.wscale {
            // A shift above 14 is not allowed (RFC 7323 section 2.3).
            self.scale = scale.min(14);
            self.scale_requested = true;
        }
        self.timestamps_requested |= s.tcp.timestamps.is_some();
        self.sack_requested |= s.tcp.sack_permitted;
        self.sack_option_packets += u64::from(s.tcp.sack_blocks > 0);
    }

    fn count_data(&mut self, s: &Segment) {
        if s.payload == 0 {
            return;
        }
        let bytes = u64::from(s.payload);
        self.data_packets += 1;
        self.data_bytes += bytes;
        self.pushed_packets += u64::from(s.tcp.flags & flags::PSH != 0);
        if s.tcp.flags & flags::URG != 0 {
            self.urgent_packets += 1;
            self.urgent_bytes += u64::from(s.tcp.urgent);
        }
        self.segment_max = self.segment_max.max(s.payload);
        self.segment_min = Some(self.segment_min.map_or(s.payload, |least| least.min(s.payload)));
        self.first_data_ns.get_or_insert(s.now_ns);
        self.last_data_ns = s.now_ns;
        let cut = s.payload.saturating_sub(s.packet.payload_captured_bytes);
        self.truncated_bytes += u64::from(cut);
        self.truncated_packets += u64::from(cut > 0);
    }

    /// The same sequence number and IPv4 identification within the last few packets: copied below TCP.
    fn find_hardware_duplicate(&mut self, s: &Segment) {
        let Some(id) = s.packet.ip_id else { return };
        let identity = u64::from(s.tcp.seq) << 16 | u64::from(id & 0xffff);
        if s.tcp.seq != 0 && id != 0 && self.identities.contains(&identity) {
            self.hardware_duplicates += 1;
            return;
        }
        self.identities[usize::from(self.identity_next)] = identity;
        self.identity_next = (self.identity_next + 1) % HARDWARE_DUPLICATE_REACH as u8;
    }

    /// Add what the segment sends to the ranges; returns whether some of it was retransmitted, and whether it is out of order.
    fn count_sent(&mut self, s: &Segment, peer_closed_window: bool) -> (bool, bool) {
        if !(s.syn || s.fin || s.payload > 0) {
            return (false, false);
        }
        if peer_closed_window && !s.syn {
            self.probe_packets += 1;
            self.probe_bytes += u64::from(s.payload);
            return (false, false);
        }
        let len = s.payload.saturating_add(u32::from(s.syn) + u32::from(s.fin));
        let added = self.ranges.add(s.tcp.seq, len, s.now_ns, &mut self.resends);
        self.out_of_order_packets += u64::from(added.out_of_order);
        let again = u32::from(s.syn && self.syn_packets > 1) + u32::from(s.fin && self.fin_packets > 1);
        // A retransmitted SYN or FIN is no retransmitted data.
        let resent_data = added.resent_bytes.saturating_sub(again);
        self.unique_bytes += u64::from(s.payload.saturating_sub(resent_data));
        self.rexmt_packets += u64::from(added.resent_bytes > 0);
        self.rexmt_bytes += u64::from(added.resent_bytes);
        (added.resent_bytes > 0, added.out_of_order)
    }

    fn count_window(&mut self, s: &Segment, peer_scales: bool) {
        self.window_last = s.window;
        if !(s.ack || s.syn) {
            return;
        }
        self.window_max = self.window_max.max(s.window);
        if s.window > 0 {
            if self.scale_requested && peer_scales && !s.syn && self.scaled_packets.is_none() {
                // The SYN's window was not scaled: start again.
                self.scaled_packets = Some(1);
                self.window_min = s.window;
                self.window_max = s.window;
                self.window_sum = 0;
            } else if self.window_min == 0 || s.window < self.window_min {
                self.window_min = s.window;
            }
        }
        self.window_sum += s.window;
    }

    fn count_ack(&mut self, s: &Segment) {
        self.zero_windows += u64::from(s.window == 0);
        self.pure_ack_packets += u64::from(s.payload == 0 && !s.syn && !s.fin);
        if s.tcp.sack_blocks > 0 {
            self.sack_ack_packets += 1;
            self.sack_blocks_max = self.sack_blocks_max.max(s.tcp.sack_blocks);
            self.dsack_packets += u64::from(is_dsack(s.tcp));
        }
        self.ack = s.tcp.ack;
    }

    /// A sample of the bytes outstanding after this segment, the one that the next ACK names included.
    fn count_outstanding(&mut self, s: &Segment, acked: u32) {
        let end = s.tcp.seq.wrapping_add(s.payload);
        let owin = if acked == 0 { s.payload } else { end.wrapping_sub(acked).wrapping_add(1) };
        if owin > i32::MAX as u32 {
            // It ends below the highest ACK: delayed or stray, it adds no outstanding bytes.
            return;
        }
        if self.owin_count > 0 {
            let held_ns = elapsed_ns(self.owin_last_ns, s.now_ns) as u128;
            self.owin_byte_ns = self.owin_byte_ns.saturating_add(u128::from(self.owin_last) * held_ns);
        }
        self.owin_last = owin;
        self.owin_last_ns = s.now_ns;
        self.owin_max = self.owin_max.max(owin);
        if owin > 0 {
            self.owin_min = Some(self.owin_min.map_or(owin, |least| least.min(owin)));
        }
        self.owin_sum += u64::from(owin);
        self.owin_count += 1;
    }

    /// Bytes between SYN and FIN (or the last segment before a reset), `None` unless both were seen.
    fn stream_bytes(&self) -> Option<u64> {
        if self.syn_packets == 0 || self.fin_packets == 0 {
            return None;
        }
        let last = if self.rst_packets > 0 { self.latest } else { self.fin };
        let rounds = self.wraps + u64::from(last <= self.syn);
        Some((rounds << 32) + u64::from(last) - u64::from(self.syn) - 1)
    }
}

/// Whether the first SACK block reports a duplicate (RFC 2883 section 4): below the ACK, or overlapping the second block.
fn is_dsack(tcp: &Tcp) -> bool {
    let before_or_at = |a: u32, b: u32| b.wrapping_sub(a) as i32 >= 0;
    let (left, right) = tcp.sack[0];
    if before_or_at(right, tcp.ack) {
        return true;
    }
    let (left2, right2) = tcp.sack[1];
    tcp.sack_blocks > 1 && !before_or_at(right, left2) && !before_or_at(right2, left)
}

#[cfg(test)]
mod tests;

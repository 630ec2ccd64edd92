//! The facts that the tracker establishes for a direction: the first part of the `flows` table.

use super::packets::DIRECTIONS;
use super::tcp::TIMERS;

pub const TAPS: &[&str] = &["near_sender", "near_receiver", "middle", "unknown"];
pub const CLOSES: &[&str] = &["fin", "rst", "open", "reused", "evicted"];

define_table! {
    FactRows, FACTS, "flows",
    "One row per direction of a TCP connection: first the facts of its sender, then the columns of tcptrace -l -r -W.", {
    flow: U32, "", "Number of the TCP connection in this capture, from 0.";
    direction: Enum(DIRECTIONS), "", "Direction of the segments: a2b or b2a; a opened the connection, or sent the first packet captured.";
    ip_src: Dict, "", "Source address.";
    ip_dst: Dict, "", "Destination address.";
    src_port: U16, "", "TCP source port.";
    dst_port: U16, "", "TCP destination port.";
    first_packet: U64 ? null, "", "First packet of this direction; null when none was captured.";
    t_first_ns: I64 ? null, "ns", "Time of the first packet of this direction, since the trace's start.";
    t_last_ns: I64 ? null, "ns", "Time of the last packet of this direction, since the trace's start.";
    t_start_ns: I64, "ns", "Time of the connection's first packet in either direction, since the trace's start.";
    t_end_ns: I64, "ns", "Time of the connection's last packet in either direction, since the trace's start.";
    payload_bytes: U64, "bytes", "TCP payload sent, retransmissions included.";
    wire_bytes: U64, "bytes", "Length of the frames on the wire.";
    goodput_bps: F64 ? null, "bit/s", "Payload, each byte counted once, divided by the connection's duration.";
    throughput_bps: F64 ? null, "bit/s", "Payload with retransmissions, divided by the connection's duration.";
    retransmissions: U64, "", "Segments that TCP retransmitted.";
    retransmissions_rto: U64, "", "Retransmissions sent when the retransmission timer expired.";
    retransmissions_go_back_n: U64, "", "Retransmissions sent in the recovery after a timeout.";
    retransmissions_fast: U64, "", "Of these: on duplicate ACKs, partial ACKs or SACK.";
    retransmissions_tail_loss_probe: U64, "", "Retransmissions that are tail loss probes (RFC 8985).";
    retransmissions_undecided: U64, "", "Retransmissions with an unknown trigger.";
    spurious_retransmissions: U64, "", "Retransmissions proved spurious.";
    needed_retransmissions: U64, "", "Retransmissions proved necessary.";
    rto_genuine: U64, "", "Timer expiries for a segment that had been lost.";
    rto_spurious: U64, "", "Timer expiries for a segment that was delayed, or whose ACK was delayed.";
    rto_ack_lost: U64, "", "Timer expiries for a segment that had arrived and whose ACKs were lost.";
    rto_undecided: U64, "", "Timer expiries of undetermined cause.";
    fast_recoveries: U64, "", "Entries into fast recovery.";
    lost_before_tap: U64, "", "Retransmissions of segments whose original never passed the tap.";
    missing_packets: U64 ? null, "", "Packets that the IP identifications of the sender, or of its host, count and the capture does not hold, beyond those whose data is missing. Null where they count nothing, or other packets.";
    reordered_packets: U64, "", "Segments that arrived out of the order in which they were sent.";
    network_duplicates: U64, "", "Segments that the network duplicated.";
    capture_duplicates: U64, "", "Packets that are in the capture twice.";
    mac_copies: U64, "", "MAC retransmissions of an MPDU that a sniffer captured more than once.";
    acked_unseen: U64, "", "ACKs of bytes that are not in the capture.";
    tap_rtt_samples: U64, "", "RTT samples at the tap, ambiguous ones excluded (Karn's algorithm).";
    tap_rtt_min_ns: I64 ? null, "ns", "Minimum RTT from the tap to the receiver and back.";
    tap_rtt_mean_ns: F64 ? null, "ns", "Mean RTT from the tap to the receiver and back.";
    tap_rtt_sd_ns: F64 ? null, "ns", "Standard deviation of the RTT from the tap to the receiver and back.";
    tap_rtt_max_ns: I64 ? null, "ns", "Maximum RTT from the tap to the receiver and back.";
    handshake_rtt_ns: I64 ? null, "ns", "Time from the SYN to the ACK that ends the handshake: the RTT of the whole path. Null if a timer may have sent that ACK.";
    longest_idle_ns: I64, "ns", "Longest time between two segments with data.";
    flight_max_bytes: U64, "bytes", "Maximum of the bytes outstanding.";
    peer_window_min_bytes: U32 ? null, "bytes", "Smallest window that the receiver advertised.";
    peer_window_max_bytes: U32, "bytes", "Largest window that the receiver advertised.";
    zero_window_acks: U64, "", "ACKs with a zero window.";
    window_probes: U64, "", "Zero-window probes.";
    keepalives: U64, "", "Keep-alives.";
    dupacks: U64, "", "Duplicate ACKs received.";
    sack_agreed: Bool ? null, "", "Whether both sides sent SACK-permitted; null when the handshake was not captured.";
    timestamps_agreed: Bool, "", "Whether both sides send timestamps (RFC 7323).";
    timer: Enum(TIMERS) ? null, "", "Model of the retransmission timer that fits the observed expiries.";
    tap: Enum(TAPS), "", "Position of the tap for this direction: near the sender, near the receiver, between them, or unknown.";
    closed_by: Enum(CLOSES), "", "End of the connection in this capture: FIN, RST, still open, addresses reused, or evicted to limit memory.";
} }

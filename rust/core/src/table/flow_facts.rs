//! What the tracker itself knows of a direction: the first part of the `flows` table.

use super::packets::DIRECTIONS;
use super::tcp::TIMERS;

pub const TAPS: &[&str] = &["near_sender", "near_receiver", "middle", "unknown"];
pub const CLOSES: &[&str] = &["fin", "rst", "open", "reused", "evicted"];

define_table! {
    FactRows, FACTS, "flows",
    "One row a direction of a TCP connection: the facts of its sender first, then the columns of tcptrace -l -r -W.", {
    flow: U32, "", "Number of the TCP connection in this capture, from 0.";
    direction: Enum(DIRECTIONS), "", "Which way: a is the side that opened the connection, or the first seen to send.";
    ip_src: Dict, "", "Source address.";
    ip_dst: Dict, "", "Destination address.";
    src_port: U16, "", "TCP source port.";
    dst_port: U16, "", "TCP destination port.";
    first_packet: U64 ? null, "", "First packet of this direction; null when none was captured.";
    t_first_ns: I64 ? null, "ns", "When it was seen, since the trace's start.";
    t_last_ns: I64 ? null, "ns", "When the last packet of this direction was seen.";
    t_start_ns: I64, "ns", "First packet of the connection, either way.";
    t_end_ns: I64, "ns", "Last packet of the connection, either way.";
    payload_bytes: U64, "bytes", "TCP payload as often as TCP sent it.";
    wire_bytes: U64, "bytes", "Frames on the wire.";
    goodput_bps: F64 ? null, "bit/s", "Payload, each byte once, over the connection's time.";
    throughput_bps: F64 ? null, "bit/s", "Payload with its resends, over the connection's time.";
    retransmissions: U64, "", "Segments that TCP sent again.";
    retransmissions_rto: U64, "", "Of these: by the timer itself.";
    retransmissions_go_back_n: U64, "", "Of these: in the recovery after a timeout.";
    retransmissions_fast: U64, "", "Of these: on duplicate ACKs, partial ACKs or SACK.";
    retransmissions_tail_loss_probe: U64, "", "Of these: tail loss probes (RFC 8985).";
    retransmissions_undecided: U64, "", "Of these: of unknown cause.";
    spurious_retransmissions: U64, "", "Of the retransmissions: proved superfluous.";
    needed_retransmissions: U64, "", "Of the retransmissions: proved necessary.";
    rto_genuine: U64, "", "Timer expiries for a segment that had been lost.";
    rto_spurious: U64, "", "Timer expiries for a segment that was merely late, or its ACK.";
    rto_ack_lost: U64, "", "Timer expiries for a segment that had arrived, its ACKs lost.";
    rto_undecided: U64, "", "Timer expiries of which this capture cannot tell.";
    fast_recoveries: U64, "", "Entries into fast recovery.";
    lost_before_tap: U64, "", "Retransmissions of segments whose first copy never passed the tap.";
    reordered_packets: U64, "", "Segments that came later than they were sent.";
    network_duplicates: U64, "", "Segments that the network delivered twice.";
    capture_duplicates: U64, "", "Packets that the capture holds twice.";
    mac_copies: U64, "", "MPDUs heard again by a sniffer.";
    acked_unseen: U64, "", "ACKs of bytes that the capture never held.";
    tap_rtt_samples: U64, "", "Round trips sampled at the tap, ambiguous ones left out.";
    tap_rtt_min_ns: I64 ? null, "ns", "Least round trip from the tap to the receiver and back.";
    tap_rtt_mean_ns: F64 ? null, "ns", "Mean of it.";
    tap_rtt_sd_ns: F64 ? null, "ns", "Standard deviation of it.";
    tap_rtt_max_ns: I64 ? null, "ns", "Greatest of it.";
    handshake_rtt_ns: I64 ? null, "ns", "SYN to the ACK that ends the handshake: the whole path.";
    longest_idle_ns: I64, "ns", "Longest time between two segments with data.";
    flight_max_bytes: U64, "bytes", "Most bytes outstanding.";
    peer_window_min_bytes: U32 ? null, "bytes", "Least window that the receiver offered.";
    peer_window_max_bytes: U32, "bytes", "Greatest window that the receiver offered.";
    zero_window_acks: U64, "", "ACKs that closed the window.";
    window_probes: U64, "", "Probes into a closed window.";
    keepalives: U64, "", "Keep-alives.";
    dupacks: U64, "", "Duplicate ACKs received.";
    sack_agreed: Bool ? null, "", "Both sides offered SACK; null when the handshake was not captured.";
    timestamps_agreed: Bool, "", "Both sides send timestamps.";
    timer: Enum(TIMERS) ? null, "", "The retransmission timer model that fits the expiries seen.";
    tap: Enum(TAPS), "", "Where the tap sits for this direction.";
    closed_by: Enum(CLOSES), "", "How the connection ended in this capture.";
} }

//! The TCP tables: `segments`, `timeouts`, `recoveries`, `intervals`.

use super::packets::DIRECTIONS;

pub const KINDS: &[&str] = &[
    "syn",
    "synack",
    "data",
    "ack",
    "dupack",
    "window_update",
    "keepalive",
    "keepalive_ack",
    "window_probe",
    "fin",
    "rst",
];
pub const TRANSMISSIONS: &[&str] =
    &["first", "retransmission", "reordered", "network_duplicate", "capture_duplicate", "mac_copy"];
pub const TRIGGERS: &[&str] = &["rto", "go_back_n", "fast", "partial_ack", "sack", "tail_loss_probe", "undecided"];
pub const EVIDENCE: &[&str] = &[
    "timer_expired",
    "after_timeout",
    "duplicate_acks",
    "sack_blocks",
    "partial_ack",
    "probe_timer",
    "no_ack_seen",
    "ip_id",
    "tsval",
    "fills_hole",
    "same_bytes",
    "timing",
];
pub const SPURIOUS_EVIDENCE: &[&str] = &["timestamp", "dsack", "other_capture", "min_rtt", "acked", "original"];
pub const PHASES: &[&str] = &["open", "disorder", "recovery", "loss"];
pub const TIMEOUT_KINDS: &[&str] = &["genuine", "spurious", "ack_lost", "undecided"];
pub const TIMERS: &[&str] = &["rfc6298", "linux", "linux22"];
pub const RECOVERY_ENDS: &[&str] = &["acked", "timeout", "capture_end"];
pub const STATES: &[&str] = &[
    "handshake",
    "idle",
    "zero_window",
    "window_limited",
    "delayed_ack",
    "rto_wait",
    "backoff_wait",
    "loss_recovery",
    "fast_recovery",
    "slow_start",
    "transfer",
    "full_path",
    "full_path_window_limited",
    "full_path_slow_start",
    "closing",
    "not_captured",
    "undecided",
];

define_table! {
    SegmentRows, SEGMENTS, "segments",
    "One row per TCP segment: its kind, and the state of its flow just after it. The sender's columns (flight, timer, phase) are those of its own direction on a row with payload, SYN or FIN, and those of the acknowledged direction on a pure ACK.", {
    packet: U64, "", "Number of the record in its file, from 1: Wireshark's frame.number.";
    time: Time ? null, "", "Timestamp of the capture in its own clock; null when it cannot be represented.";
    t_ns: I64 ? null, "ns", "Time since the trace's start on its common axis.";
    flow: U32, "", "Number of the TCP connection in this capture, from 0.";
    direction: Enum(DIRECTIONS), "", "Direction of the segment: a2b or b2a; a opened the connection, or sent the first packet captured.";
    kind: Enum(KINDS), "", "Kind of segment.";
    rel_seq: I64 ? null, "bytes", "Sequence number relative to the SYN's, unwrapped: the first data byte is 1.";
    rel_ack: I64 ? null, "bytes", "Acknowledgment number relative to the other side's SYN, unwrapped.";
    len: U32, "bytes", "Payload by the IP length.";
    tsval: U32 ? null, "", "Timestamp value (RFC 7323).";
    tsecr: U32 ? null, "", "Timestamp echo reply.";
    transmission: Enum(TRANSMISSIONS), "", "Whether TCP sent these bytes for the first time or retransmitted them, or they are a copy that the network, the capture or the MAC made.";
    lost_before_tap: Bool, "", "An earlier copy was sent but did not pass this tap.";
    trigger: Enum(TRIGGERS) ? null, "", "Trigger of a retransmission; null for anything else.";
    trigger_evidence: Enum(EVIDENCE) ? null, "", "Evidence for transmission and trigger.";
    backoff: U16 ? null, "", "Earlier timer expiries for the same segment; null unless trigger is rto, and where the tap may have missed some.";
    copy: U16 ? null, "", "Number of earlier transmissions of its first byte by TCP (0: none). Null: some may not have passed the tap.";
    since_first_ns: I64 ? null, "ns", "Time since the first copy, if it was captured.";
    since_previous_ns: I64 ? null, "ns", "Time since the latest copy, if it was captured.";
    spurious: Bool ? null, "", "Whether a retransmission was spurious: an earlier copy had arrived, or loss was not the reason. False: it was needed. Null: undetermined in this capture.";
    spurious_evidence: Enum(SPURIOUS_EVIDENCE) ? null, "", "Evidence for `spurious`; null where that is null or follows from the loss itself.";
    rtt_ns: I64 ? null, "ns", "Round-trip time sampled by this ACK at the tap (RFC 7323 echo, or Karn's rule).";
    rtt_ambiguous: Bool ? null, "", "Whether this ACK covers bytes sent more than once whose copies timestamps cannot distinguish.";
    flight_bytes: U32 ? null, "bytes", "Bytes sent and not acknowledged, as seen at the tap.";
    peer_window_bytes: U32 ? null, "bytes", "Latest window that the receiver advertised, scaled.";
    dupacks: U16, "", "Consecutive duplicate ACKs, this one included; 0 on data.";
    srtt_ns: I64 ? null, "ns", "Smoothed round-trip time (RFC 6298).";
    rttvar_ns: I64 ? null, "ns", "Round-trip time variation (RFC 6298).";
    rto_ns: I64 ? null, "ns", "Retransmission timeout of the sender by the timer model that fits this flow, backoff included.";
    phase: Enum(PHASES) ? null, "", "Congestion state of the sender: open, disorder (duplicate ACKs), recovery (fast), loss (after a timeout).";
} }

define_table! {
    TimeoutRows, TIMEOUTS, "timeouts",
    "One row per expiry of the retransmission timer (RFC 6298).", {
    flow: U32, "", "The connection.";
    direction: Enum(DIRECTIONS), "", "Direction of the data: a2b or b2a.";
    packet: U64, "", "Segment that the timer retransmitted.";
    t_ns: I64, "ns", "Time of this retransmission, since the trace's start.";
    rel_seq: I64, "bytes", "Sequence number of this segment relative to the SYN's.";
    len: U32, "bytes", "Its payload.";
    kind: Enum(TIMEOUT_KINDS), "", "genuine: the segment had been lost; spurious: it or its ACK was only delayed; ack_lost: it had arrived and its ACKs were lost.";
    kind_evidence: Enum(SPURIOUS_EVIDENCE) ? null, "", "Evidence that the segment had arrived: of kind spurious or ack_lost, or of one of them where kind is undecided.";
    evidence_packet: U64 ? null, "", "Packet that proves the kind: the ACK with the old echo, the DSACK, the delayed ACKs.";
    backoff: U16, "", "Earlier timer expiries for the same segment.";
    rto_ns: I64 ? null, "ns", "Timeout by the timer model, backoff included.";
    fresh_rto_ns: I64 ? null, "ns", "Timeout by the timer model without backoff.";
    waited_ns: I64, "ns", "Time from the last (re)start of the timer to the expiry, as observed.";
    silent_from_ns: I64, "ns", "Time of the last data sent before it, since the trace's start.";
    progress_ns: I64 ? null, "ns", "Time of the first ACK of new data after it, since the trace's start; null: none came. Before `t_ns` where the packet then waited in a queue before the tap.";
    progress_packet: U64 ? null, "", "That ACK.";
    flight_bytes: U32, "bytes", "Bytes outstanding at the expiry.";
    tail: Bool, "", "Whether it concerns the end of a transfer: no new data was sent before the ACK that ended the run of expiries.";
    timer: Enum(TIMERS) ? null, "", "Timer model that fits this flow.";
} }

define_table! {
    RecoveryRows, RECOVERIES, "recoveries",
    "One row per episode of fast recovery (RFC 6582, RFC 6675).", {
    flow: U32, "", "The connection.";
    direction: Enum(DIRECTIONS), "", "Direction of the data: a2b or b2a.";
    packet: U64, "", "First segment retransmitted.";
    t_start_ns: I64, "ns", "Time of the third duplicate ACK that caused it, else of this retransmission, since the trace's start.";
    t_end_ns: I64, "ns", "Time at which the recovery point was acknowledged, a timeout took over, or the capture ended.";
    ended_by: Enum(RECOVERY_ENDS) ? null, "", "Event that ended it.";
    dupacks: U16, "", "Duplicate ACKs before it.";
    retransmissions: U32, "", "Segments retransmitted.";
    spurious_retransmissions: U32, "", "Segments retransmitted spuriously.";
    undecided: U32, "", "Retransmissions for which it is undetermined whether they were needed.";
    recover_rel_seq: I64, "bytes", "Recovery point: the highest sequence number sent when it began.";
    spurious: Bool ? null, "", "Whether nothing had been lost: the first retransmission was spurious, and none was needed.";
} }

define_table! {
    IntervalRows, INTERVALS, "intervals",
    "One row per interval of a direction with data, from its SYN to its last ACK. A new interval begins when the sender's state changes; the intervals of one direction have no gaps and no overlaps.", {
    flow: U32, "", "The connection.";
    direction: Enum(DIRECTIONS), "", "Direction of the data: a2b or b2a.";
    t_start_ns: I64, "ns", "Start.";
    t_end_ns: I64, "ns", "Time of its end, which is the start of the next interval.";
    state: Enum(STATES), "", "State of the sender: what it waited for.";
    timeout_packet: U64 ? null, "", "Timer expiry (packet in `timeouts`) that this wait or recovery belongs to.";
    first_packet: U64, "", "First packet of the connection inside it.";
    last_packet: U64, "", "Packet that ended it.";
    packets: U32, "", "Packets of both directions.";
    acked_bytes: U64, "bytes", "Newly acknowledged.";
    flight_bytes: U32, "bytes", "Maximum of the bytes outstanding inside it.";
    window_bytes: U32 ? null, "bytes", "Window that the receiver advertised at its end.";
    rtt_ns: I64 ? null, "ns", "Mean of the RTT samples inside it.";
    rtt_min_ns: I64 ? null, "ns", "Minimum RTT until its end, of the flow and of others between the same hosts.";
} }

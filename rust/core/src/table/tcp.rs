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
pub const SPURIOUS_EVIDENCE: &[&str] = &["timestamp", "dsack", "other_capture", "min_rtt", "acked"];
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
    "closing",
    "not_captured",
];

define_table! {
    SegmentRows, SEGMENTS, "segments",
    "One row a TCP segment: what it is, and the state of its flow just after it. On a row with payload, SYN or FIN the sender's columns (flight, timer, phase) tell of its own direction, on a pure ACK of the direction that it acknowledges.", {
    packet: U64, "", "Number of the record in its file, from 1: Wireshark's frame.number.";
    time: Time ? null, "", "When the tap stamped it, in the capture's own clock.";
    t_ns: I64 ? null, "ns", "Time since the trace's start on its common axis.";
    flow: U32, "", "Number of the TCP connection in this capture, from 0.";
    direction: Enum(DIRECTIONS), "", "Which way: a is the side that opened the connection, or the first seen to send.";
    kind: Enum(KINDS), "", "What the segment is for.";
    rel_seq: I64 ? null, "bytes", "Sequence number relative to the SYN's, unwrapped: the first data byte is 1.";
    rel_ack: I64 ? null, "bytes", "Acknowledgment number relative to the other side's SYN, unwrapped.";
    len: U32, "bytes", "Payload by the IP length.";
    tsval: U32 ? null, "", "Timestamp value (RFC 7323).";
    tsecr: U32 ? null, "", "Timestamp echo reply.";
    transmission: Enum(TRANSMISSIONS), "", "Whether these bytes were sent for the first time, again by TCP, or merely seen again.";
    lost_before_tap: Bool, "", "An earlier copy was sent, but never passed this tap.";
    trigger: Enum(TRIGGERS) ? null, "", "Why TCP sent a retransmission; null for anything else.";
    trigger_evidence: Enum(EVIDENCE) ? null, "", "The fact that decided transmission and trigger.";
    backoff: U16 ? null, "", "Timer expiries before for the same segment; null unless trigger is rto.";
    copy: U16, "", "How often TCP had sent its first byte before (0: never).";
    since_first_ns: I64 ? null, "ns", "Time since the first copy, if it was captured.";
    since_previous_ns: I64 ? null, "ns", "Time since the latest copy, if it was captured.";
    spurious: Bool ? null, "", "An earlier copy arrived, or its loss had not been the reason: true; it was needed: false; null: this capture cannot tell.";
    spurious_evidence: Enum(SPURIOUS_EVIDENCE) ? null, "", "The evidence that decided `spurious`; null where it is null or follows from the loss itself.";
    rtt_ns: I64 ? null, "ns", "Round-trip time sampled by this ACK at the tap (RFC 7323 echo, or Karn's rule).";
    rtt_ambiguous: Bool ? null, "", "This ACK covers bytes sent more than once and timestamps cannot tell the copies apart.";
    flight_bytes: U32 ? null, "bytes", "Sent and not acknowledged, as the tap saw it.";
    peer_window_bytes: U32 ? null, "bytes", "The receiver's latest window, scaled.";
    dupacks: U16, "", "Duplicate ACKs in a row, this one included; 0 on data.";
    srtt_ns: I64 ? null, "ns", "Smoothed round-trip time (RFC 6298).";
    rttvar_ns: I64 ? null, "ns", "Round-trip time variation (RFC 6298).";
    rto_ns: I64 ? null, "ns", "The sender's retransmission timeout by the timer model that fits this flow, backoff included.";
    phase: Enum(PHASES) ? null, "", "Congestion state of the sender: open, disorder (duplicate ACKs), recovery (fast), loss (after a timeout).";
} }

define_table! {
    TimeoutRows, TIMEOUTS, "timeouts",
    "One row a retransmission timer expiry (RFC 6298).", {
    flow: U32, "", "The connection.";
    direction: Enum(DIRECTIONS), "", "The direction of the data.";
    packet: U64, "", "The segment that the timer sent again.";
    t_ns: I64, "ns", "When it was sent, since the trace's start.";
    rel_seq: I64, "bytes", "Its sequence number relative to the SYN's.";
    len: U32, "bytes", "Its payload.";
    kind: Enum(TIMEOUT_KINDS), "", "genuine: the segment had been lost; spurious: it or its ACK was only late; ack_lost: it had arrived, its ACKs were lost.";
    kind_evidence: Enum(SPURIOUS_EVIDENCE) ? null, "", "The evidence that decided a spurious or ack_lost kind.";
    evidence_packet: U64 ? null, "", "The packet that proves the kind: the ACK with the old echo, the DSACK, the late burst.";
    backoff: U16, "", "Timer expiries before for the same segment.";
    rto_ns: I64 ? null, "ns", "The timeout by the model, backoff included.";
    fresh_rto_ns: I64 ? null, "ns", "The timeout without backoff: what it would be had the backoff been reset.";
    waited_ns: I64, "ns", "From the last (re)start of the timer to the expiry, as observed.";
    silent_from_ns: I64, "ns", "When the last data was sent before it.";
    progress_ns: I64 ? null, "ns", "When the first ACK of new data arrived after it; null: never.";
    progress_packet: U64 ? null, "", "That ACK.";
    flight_bytes: U32, "bytes", "Outstanding at the expiry.";
    tail: Bool, "", "The last data of a transfer: nothing newer was sent before the ACK that ended the run.";
    timer: Enum(TIMERS) ? null, "", "The timer model that fits this flow.";
} }

define_table! {
    RecoveryRows, RECOVERIES, "recoveries",
    "One row an episode of fast recovery (RFC 6582, RFC 6675).", {
    flow: U32, "", "The connection.";
    direction: Enum(DIRECTIONS), "", "The direction of the data.";
    packet: U64, "", "The first segment sent again.";
    t_start_ns: I64, "ns", "When it was sent.";
    t_end_ns: I64, "ns", "When the recovery point was acknowledged, a timeout took over, or the capture ended.";
    ended_by: Enum(RECOVERY_ENDS), "", "What ended it.";
    dupacks: U16, "", "Duplicate ACKs before it.";
    retransmissions: U32, "", "Segments sent again.";
    spurious_retransmissions: U32, "", "Those that were not needed.";
    undecided: U32, "", "Those of which this capture cannot tell.";
    recover_rel_seq: I64, "bytes", "The recovery point: the highest sequence sent when it began.";
    spurious: Bool ? null, "", "Nothing had been lost: the first segment sent again was not needed.";
} }

define_table! {
    IntervalRows, INTERVALS, "intervals",
    "The life of each direction with data, from its SYN to its last ACK, cut where what it waited for changed: intervals of one direction follow each other without gap or overlap.", {
    flow: U32, "", "The connection.";
    direction: Enum(DIRECTIONS), "", "The direction of the data.";
    t_start_ns: I64, "ns", "Start.";
    t_end_ns: I64, "ns", "End, the next interval's start.";
    state: Enum(STATES), "", "What the sender waited for.";
    timeout_packet: U64 ? null, "", "The expiry (packet in `timeouts`) that this wait or recovery belongs to.";
    first_packet: U64, "", "First packet of the connection inside it.";
    last_packet: U64, "", "The packet that ended it.";
    packets: U32, "", "Packets of both directions.";
    acked_bytes: U64, "bytes", "Newly acknowledged.";
    flight_bytes: U32, "bytes", "Greatest flight inside it.";
    window_bytes: U32 ? null, "bytes", "The receiver's window at its end.";
    rtt_ns: I64 ? null, "ns", "Mean of the RTT samples inside it.";
    rtt_min_ns: I64 ? null, "ns", "Least RTT of the flow so far.";
} }

//! `exchanges`: one row per MSDU or management frame, with all its transmissions.

use super::frames::CARRIES;

pub const OUTCOMES: &[&str] = &["delivered", "dropped", "unknown"];

define_table! {
    ExchangeRows, EXCHANGES, "exchanges",
    "One row per MPDU on the air: all its transmissions from one station to another, in the order of their first evidence. Frames with a wrong FCS are left out.", {
    ta: Dict, "", "Transmitter address.";
    ra: Dict ? null, "", "Receiver address; null where only its ACK was captured.";
    seq: U16 ? null, "", "Sequence number; null where only an ACK or a reservation (RTS, CTS) was captured.";
    fragment: U8 ? null, "", "Fragment number.";
    tid: U8 ? null, "", "Traffic identifier of a QoS frame.";
    first_packet: U64 ? null, "", "Record of the first transmission captured; null when none was.";
    last_packet: U64 ? null, "", "Record of the last transmission captured.";
    packets: Integers, "", "Records of all transmissions captured, in order: rows of `frames`.";
    t_first_ns: I64 ? null, "ns", "Time of the first transmission captured, since the trace's start.";
    t_last_ns: I64 ? null, "ns", "Time of the last transmission captured, since the trace's start.";
    t_ack_ns: I64 ? null, "ns", "Time of the ACK or Block Ack for it, since the trace's start; null when none was captured.";
    ack_packet: U64 ? null, "", "Record of that ACK or Block Ack.";
    attempts: U16, "", "Transmissions, captured and inferred.";
    attempts_inferred: U16, "", "Transmissions that the sniffer missed and that were inferred.";
    inferred_by: Enum(INFERENCES) ? null, "", "Evidence for the last inferred transmission: the Retry bit of the first copy captured, a skipped sequence number, an ACK without its frame, a Block Ack bit, or RTS and CTS without a frame after them.";
    rates_mbps: Numbers, "Mbit/s", "Data rate of each transmission captured, in order; NaN where the capture does not contain it.";
    acked: Bool ? null, "", "Whether an ACK or a Block Ack bit for it was captured, or can be inferred; null when this is unknown.";
    outcome: Enum(OUTCOMES), "", "Outcome: delivered, dropped (given up at the retry limit) or unknown.";
    airtime_us: F64 ? null, "us", "Airtime of all transmissions captured.";
    wasted_us: F64 ? null, "us", "Airtime of the failed transmissions among these.";
    mpdu_bytes: U32 ? null, "bytes", "Length of the MPDU.";
    carries: Enum(CARRIES) ? null, "", "Payload of the frame; null where it cannot be read.";
    tcp_kind: Enum(TCP_KINDS) ? null, "", "TCP data or TCP ACK; null for everything else.";
    flow: U32 ? null, "", "Number of the TCP connection of its segment, from 0.";
    direction: Enum(super::packets::DIRECTIONS) ? null, "", "Direction of that segment: a2b or b2a.";
} }

pub const TCP_KINDS: &[&str] = &["data", "ack"];
pub const INFERENCES: &[&str] = &["retry_bit", "sequence_gap", "lone_ack", "block_ack", "nav"];

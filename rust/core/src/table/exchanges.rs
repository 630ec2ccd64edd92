//! `exchanges`: one row an MSDU's (or management frame's) life on the air.

use super::frames::CARRIES;

pub const OUTCOMES: &[&str] = &["delivered", "dropped", "unknown"];

define_table! {
    ExchangeRows, EXCHANGES, "exchanges",
    "One row the life of an MPDU on the air: all attempts to send it from one station to another. In the order of the first sign of each; a frame with a wrong FCS is in none.", {
    ta: Dict, "", "Transmitter address.";
    ra: Dict ? null, "", "Receiver address; null where only its ACK was seen.";
    seq: U16 ? null, "", "Sequence number; null where only an ACK or a reservation was seen.";
    fragment: U8 ? null, "", "Fragment number.";
    tid: U8 ? null, "", "Traffic identifier of a QoS frame.";
    first_packet: U64 ? null, "", "Record of the first attempt seen; null when none was.";
    last_packet: U64 ? null, "", "Record of the last attempt seen.";
    packets: Integers, "", "Records of all attempts seen, in order: rows of `frames`.";
    t_first_ns: I64 ? null, "ns", "When the first attempt seen came, since the trace's start.";
    t_last_ns: I64 ? null, "ns", "When the last attempt seen came.";
    t_ack_ns: I64 ? null, "ns", "When the ACK or Block Ack that settled it came; null when none was seen.";
    ack_packet: U64 ? null, "", "Record of that ACK or Block Ack.";
    attempts: U16, "", "Attempts, seen and inferred.";
    attempts_inferred: U16, "", "Of these: missed by the sniffer and inferred.";
    inferred_by: Enum(INFERENCES) ? null, "", "The sign that the last inferred attempt rests on: the Retry bit of the first copy seen, a number that the counter passed over, an ACK that answers no frame seen, a Block Ack bit, or RTS and CTS with nothing behind them.";
    rates_mbps: Numbers, "Mbit/s", "Rate of every attempt seen, in order; NaN where the capture does not say.";
    acked: Bool ? null, "", "An ACK or a Block Ack bit for it was seen, or follows from what was; null when nothing tells.";
    outcome: Enum(OUTCOMES), "", "What became of it.";
    airtime_us: F64 ? null, "us", "Time on the air of all attempts seen.";
    wasted_us: F64 ? null, "us", "Of this: attempts that had to be repeated or came to nothing.";
    mpdu_bytes: U32 ? null, "bytes", "Length of the MPDU.";
    carries: Enum(CARRIES) ? null, "", "What it carries; null where it cannot be read.";
    tcp_kind: Enum(TCP_KINDS) ? null, "", "TCP data or TCP ACK; null for everything else.";
    flow: U32 ? null, "", "TCP connection of the segment it carries.";
    direction: Enum(super::packets::DIRECTIONS) ? null, "", "Direction of that connection.";
} }

pub const TCP_KINDS: &[&str] = &["data", "ack"];
pub const INFERENCES: &[&str] = &["retry_bit", "sequence_gap", "lone_ack", "block_ack", "nav"];

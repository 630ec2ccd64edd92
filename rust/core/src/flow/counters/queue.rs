//! Packets that wait to be counted. They are counted some at a time, because the instructions of these counters and of the rest of
//! the tracker together do not fit into a first-level cache: one after the other takes a tenth longer.

use crate::packet::{Packet, Tcp};

/// Packets counted at a time.
pub const BATCH: usize = 64;

/// What the counters read of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    pub time_ns: Option<i64>,
    pub payload_bytes: u32,
    pub payload_captured_bytes: u32,
    /// IPv4 identification.
    pub ip_id: Option<u32>,
    pub tcp: Tcp,
}

impl Counted {
    pub fn new(p: &Packet, tcp: &Tcp) -> Self {
        Counted {
            time_ns: p.time_ns,
            payload_bytes: p.payload_bytes.unwrap_or(0),
            payload_captured_bytes: p.payload_captured_bytes,
            ip_id: p.ip_id.filter(|_| p.ip_version == 4),
            tcp: *tcp,
        }
    }
}

/// A packet, the slot of its connection, and whether it goes from b to a.
#[derive(Debug)]
pub struct Waiting {
    pub slot: usize,
    pub reverse: bool,
    pub packet: Counted,
}

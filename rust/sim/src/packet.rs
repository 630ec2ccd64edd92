//! Packets in the simulated network.

use crate::engine::Ns;
use crate::tcp::Segment;

/// A MAC address.
pub type Mac = [u8; 6];

/// What an IP packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    Tcp(Segment),
    /// A datagram of this many bytes, counted from 0 in its flow.
    Udp {
        len: u32,
        number: u64,
    },
}

/// An IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Unique in the run: identifies it in the ground truth.
    pub id: u64,
    pub flow: usize,
    /// From the server's end to the client's.
    pub reverse: bool,
    pub src: usize,
    pub dst: usize,
    pub ip_id: u16,
    pub ttl: u8,
    pub ip_bytes: u32,
    /// When its sender's stack created it.
    pub made: Ns,
    pub body: Body,
}

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum PacketFate {
    UnderWay = 0,
    Delivered = 1,
    /// No space between stack and device.
    DeviceQueue = 2,
    /// No space in a station's or access point's queue.
    MacQueue = 3,
    /// Dropped at the retry limit.
    Air = 4,
    /// No space at the end of a line.
    WireQueue = 5,
    /// Lost on a line.
    Wire = 6,
    /// Dropped by a queue's discipline before the queue was full.
    EarlyDrop = 7,
    /// Lost by the node that should have forwarded it.
    Router = 8,
    /// No space for a received frame in a USB adapter.
    AdapterQueue = 9,
}

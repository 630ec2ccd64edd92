//! What really happened: the fate of every packet and frame, and what the senders did.

mod frames;
mod tables;

use std::sync::Arc;

use crate::dcf::{AirFrame, Damage, Fate, FrameKind};
use crate::engine::Ns;
use crate::packet::{Body, Packet};
use crate::router::Note;
use crate::tcp::Trigger;
use crate::usb_host::Times;

pub use frames::Frames;

/// Where a packet ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum PacketFate {
    UnderWay = 0,
    Delivered = 1,
    /// No room between stack and device.
    DeviceQueue = 2,
    /// No room in a station's or access point's queue.
    MacQueue = 3,
    /// Given up after its last attempt.
    Air = 4,
    /// No room at the end of a line.
    WireQueue = 5,
    /// Lost on a line.
    Wire = 6,
    /// Dropped by a queue's discipline though there was room.
    EarlyDrop = 7,
    /// Lost by the node that should have forwarded it.
    Router = 8,
    /// No room for a received frame in a USB adapter.
    AdapterQueue = 9,
}

pub const PACKET_FATES: [&str; 10] = [
    "under_way",
    "delivered",
    "device_queue",
    "mac_queue",
    "air",
    "wire_queue",
    "wire",
    "early_drop",
    "router",
    "adapter_queue",
];
pub const TRIGGERS: [&str; 7] = ["new", "rto", "go_back_n", "fast", "partial_ack", "sack", "tail_loss_probe"];
pub const FRAME_KINDS: [&str; 4] = ["rts", "cts", "ack", "data"];
pub const DAMAGES: [&str; 5] = ["noise", "fade", "independent", "burst", "script"];
pub const FRAME_FATES: [&str; 3] = ["received", "collision", "damaged"];

/// One packet.
#[derive(Debug, Clone, Copy)]
pub struct PacketRow {
    pub id: u64,
    pub flow: u32,
    pub reverse: bool,
    pub seq: u64,
    pub ack: u64,
    pub len: u32,
    pub trigger: i8,
    pub copy: u16,
    pub made: Ns,
    /// When its sender's tap saw it.
    pub tapped: Option<Ns>,
    pub fate: PacketFate,
    /// When its fate was decided.
    pub ended: Ns,
    /// Attempts on the air in all.
    pub attempts: u32,
}

/// What a TCP sender or an adapter did.
#[derive(Debug, Clone, Copy)]
pub struct EventRow {
    pub t: Ns,
    pub flow: u32,
    pub reverse: bool,
    pub what: &'static str,
    pub seq: u64,
    pub value_ns: Ns,
    /// Of a hold: packets kept.
    pub packets: u32,
}

/// One transfer of a USB adapter.
#[derive(Debug, Clone, Copy)]
pub struct UrbRow {
    pub node: u32,
    pub into_host: bool,
    /// id of the packet in it.
    pub packet: u64,
    pub bytes: u32,
    pub submitted: Ns,
    pub times: Times,
    pub completed: Ns,
    /// Packets that the adapter still had for the air when it had this one whole.
    pub found: u32,
}

/// What a queue was like.
#[derive(Debug, Clone)]
pub struct QueueRow {
    pub queue: Arc<str>,
    pub note: Note,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Truth {
    /// By packet id.
    pub packets: Vec<PacketRow>,
    pub frames: Frames,
    pub events: Vec<EventRow>,
    pub queues: Vec<QueueRow>,
    pub urbs: Vec<UrbRow>,
}

impl Truth {
    pub fn made(&mut self, p: &Packet) {
        let (seq, ack, len, trigger, copy) = match &p.body {
            Body::Tcp(s) => (s.seq, s.ack.unwrap_or(0), s.len, trigger(s.trigger), s.copy),
            Body::Udp { len, number } => (*number, 0, *len, 0, 0),
        };
        self.packets.push(PacketRow {
            id: p.id,
            flow: p.flow as u32,
            reverse: p.reverse,
            seq,
            ack,
            len,
            trigger,
            copy,
            made: p.made,
            tapped: None,
            fate: PacketFate::UnderWay,
            ended: p.made,
            attempts: 0,
        });
    }

    pub fn row(&mut self, id: u64) -> Option<&mut PacketRow> {
        self.packets.get_mut(id as usize)
    }

    /// A queue's history.
    pub fn queue(&mut self, name: &str, notes: &mut Vec<Note>) {
        let name: Arc<str> = name.into();
        self.queues.extend(notes.drain(..).map(|note| QueueRow { queue: name.clone(), note }));
    }

    pub fn ended(&mut self, id: u64, now: Ns, fate: PacketFate) {
        if let Some(row) = self.row(id) {
            (row.fate, row.ended) = (fate, now);
        }
    }
}

fn trigger(t: Trigger) -> i8 {
    match t {
        Trigger::New => 0,
        Trigger::Rto => 1,
        Trigger::GoBackN => 2,
        Trigger::Fast => 3,
        Trigger::PartialAck => 4,
        Trigger::Sack => 5,
        Trigger::TailLossProbe => 6,
    }
}

/// Code of a frame's kind in `FRAME_KINDS`.
pub fn kind(f: &AirFrame) -> i8 {
    match f.kind {
        FrameKind::Rts => 0,
        FrameKind::Cts => 1,
        FrameKind::Ack => 2,
        FrameKind::Data => 3,
    }
}

/// Code of a frame's fate in `FRAME_FATES`, and the other party of a collision.
pub fn fate(f: &AirFrame) -> (i8, Option<usize>) {
    match f.fate {
        Fate::Received => (0, None),
        Fate::Collision(with) => (1, Some(with)),
        Fate::Damaged(_) => (2, None),
    }
}

/// Code in `DAMAGES` of what damaged a frame.
pub fn damage(f: &AirFrame) -> Option<i8> {
    match f.fate {
        Fate::Damaged(by) => Some(match by {
            Damage::Noise => 0,
            Damage::Fade => 1,
            Damage::Independent => 2,
            Damage::Burst => 3,
            Damage::Script => 4,
        }),
        _ => None,
    }
}

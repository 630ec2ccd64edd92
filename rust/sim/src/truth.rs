//! Ground truth: the fate of every packet and frame, and the actions of the senders.

mod categories;
mod codes;
mod columns;
mod frames;
mod ledger;
mod tables;
mod trips;

use std::sync::Arc;

use crate::engine::Ns;
use crate::packet::{Body, Packet};
use crate::router::Note;
use crate::tcp::Variables;
use crate::usb_host::Times;

pub use crate::packet::PacketFate;
pub use categories::{Category, LedgerRow};
pub use codes::{DAMAGES, FRAME_FATES, FRAME_KINDS, PACKET_FATES, TRIGGERS};
pub use frames::Frames;
pub use trips::{Ledger, Place};

/// One packet.
#[derive(Debug, Clone, Copy)]
pub struct PacketRow {
    pub id: u64,
    pub flow: u32,
    pub reverse: bool,
    pub ip_id: u16,
    pub seq: u64,
    pub ack: u64,
    pub len: u32,
    /// It occupies sequence numbers: data, SYN or FIN.
    pub span: u32,
    pub trigger: i8,
    pub copy: u16,
    pub made: Ns,
    /// When its sender's tap saw it.
    pub tapped: Option<Ns>,
    pub fate: PacketFate,
    /// It arrived, and the receiver dropped bytes that it lacked (PAWS, RFC 7323 section 5.3).
    pub refused: bool,
    /// When its fate was decided.
    pub ended: Ns,
    /// Transmissions on the air.
    pub attempts: u32,
}

/// An action of a TCP sender or an adapter.
#[derive(Debug, Clone, Copy)]
pub struct EventRow {
    pub t: Ns,
    pub flow: u32,
    pub reverse: bool,
    pub what: &'static str,
    pub seq: u64,
    pub value_ns: Ns,
    /// For a hold: packets held.
    pub packets: u32,
    /// The sender's, for a timeout and the recovery after it.
    pub variables: Option<Variables>,
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
    /// Packets still in the adapter for the air when it had this one completely.
    pub found: u32,
}

/// The state of a queue.
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
    /// The input of the true ledger, if it is recorded.
    pub ledger: Option<Ledger>,
}

impl Truth {
    pub fn made(&mut self, p: &Packet) {
        let (seq, ack, len, span, trigger, copy) = match &p.body {
            Body::Tcp(s) => (s.seq, s.ack.unwrap_or(0), s.len, s.span() as u32, codes::trigger(s.trigger), s.copy),
            Body::Udp { len, number } => (*number, 0, *len, *len, 0, 0),
        };
        self.packets.push(PacketRow {
            id: p.id,
            flow: p.flow as u32,
            reverse: p.reverse,
            ip_id: p.ip_id,
            seq,
            ack,
            len,
            span,
            trigger,
            copy,
            made: p.made,
            tapped: None,
            fate: PacketFate::UnderWay,
            refused: false,
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

    pub fn refused(&mut self, id: u64) {
        if let Some(row) = self.row(id) {
            row.refused = true;
        }
    }

    pub fn ended(&mut self, id: u64, now: Ns, fate: PacketFate) {
        if let Some(row) = self.row(id) {
            (row.fate, row.ended) = (fate, now);
        }
    }
}

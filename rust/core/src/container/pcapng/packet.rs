//! The three kinds of packet block.

use super::block::{options, Item, Order, ENHANCED_PACKET, OPT_COMMENT, PACKET, SIMPLE_PACKET};
use super::interface::Place;
use super::texts::Texts;
use crate::notes::{NoteKind, Notes};

/// The same code in enhanced and in obsolete packet blocks.
const FLAGS: u16 = 2;
const EPB_DROPCOUNT: u16 = 4;
/// "Unknown" in the drop count of an obsolete packet block.
const DROPS_UNKNOWN: u16 = 0xffff;

/// The fixed fields of a packet block; the data begin at `data_at` in the body.
#[derive(Debug, Clone, Copy)]
pub struct PacketFields {
    pub interface: u32,
    /// None in a simple packet block.
    pub ticks: Option<u64>,
    /// As stated; a simple packet block has none: then the wire length.
    pub captured: u32,
    pub wire: u32,
    pub data_at: usize,
    pub drops: u64,
}

impl PacketFields {
    /// Parse the body of a packet block; None when it is too short.
    #[inline]
    pub fn parse(kind: u32, body: &[u8], order: Order) -> Option<PacketFields> {
        let ticks_at = |at| Some(u64::from(order.u32(body, at)?) << 32 | u64::from(order.u32(body, at + 4)?));
        match kind {
            ENHANCED_PACKET => Some(PacketFields {
                interface: order.u32(body, 0)?,
                ticks: Some(ticks_at(4)?),
                captured: order.u32(body, 12)?,
                wire: order.u32(body, 16)?,
                data_at: 20,
                drops: 0,
            }),
            PACKET => Some(PacketFields {
                interface: u32::from(order.u16(body, 0)?),
                ticks: Some(ticks_at(4)?),
                captured: order.u32(body, 12)?,
                wire: order.u32(body, 16)?,
                data_at: 20,
                drops: match order.u16(body, 2)? {
                    DROPS_UNKNOWN => 0,
                    n => u64::from(n),
                },
            }),
            SIMPLE_PACKET => {
                let wire = order.u32(body, 0)?;
                Some(PacketFields { interface: 0, ticks: None, captured: wire, wire, data_at: 4, drops: 0 })
            }
            _ => None,
        }
    }
}

/// The options of a packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct PacketOptions {
    pub outgoing: Option<bool>,
    pub fcs_bytes: Option<u8>,
    pub drops: u64,
}

impl PacketOptions {
    /// Parse the options of a packet block, keeping its comments.
    pub fn parse(bytes: &[u8], order: Order, texts: &mut Texts, notes: &mut Notes, place: Place) -> PacketOptions {
        let mut out = PacketOptions::default();
        for item in options(bytes, order) {
            match item {
                Item::Value(OPT_COMMENT, v) => {
                    if !texts.add(|| format!("comment of packet {}", place.packet), v) {
                        notes.add(NoteKind::OptionsCapped, place.packet, place.offset);
                    }
                }
                Item::Value(FLAGS, v) => out.flags(order.u32(v, 0).unwrap_or(0)),
                Item::Value(EPB_DROPCOUNT, v) => out.drops = order.u64(v, 0).unwrap_or(0),
                Item::Value(..) => {}
                Item::Overrun => notes.add(NoteKind::OptionsDamaged, place.packet, place.offset),
                Item::TooMany => notes.add(NoteKind::OptionsCapped, place.packet, place.offset),
            }
        }
        out
    }

    /// epb_flags: direction in bits 0 and 1, octets of check sequence in bits 5 to 8 (0: unknown).
    fn flags(&mut self, flags: u32) {
        self.outgoing = match flags & 3 {
            1 => Some(false),
            2 => Some(true),
            _ => None,
        };
        self.fcs_bytes = match (flags >> 5 & 0xf) as u8 {
            0 => None,
            n => Some(n),
        };
    }
}

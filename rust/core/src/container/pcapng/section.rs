//! Sections: each restarts the interface numbers and may have its own byte order.

use super::block::{options, Item, Order, FRAME, OPT_COMMENT};
use super::interface::{Place, Tap};
use super::texts::Texts;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::notes::{NoteKind, Notes};

const SHB_HARDWARE: u16 = 2;
const SHB_OS: u16 = 3;
const SHB_USERAPPL: u16 = 4;

/// Fixed fields of a section header block with its frame.
pub const SECTION_BLOCK: usize = FRAME + 16;

/// The section being read.
#[derive(Debug, Default)]
pub struct Section {
    pub order: Order,
    pub taps: Vec<Tap>,
    /// Number over the whole file of this section's interface 0.
    pub first_interface: u32,
    /// Where its blocks begin.
    begin: u64,
    /// Bytes of its blocks according to the header; None: not stated.
    claimed: Option<u64>,
    /// Of a known version.
    pub readable: bool,
}

impl Section {
    /// Parse the whole section header block at the front of `block`.
    pub fn parse(block: &[u8], offset: u64, first_interface: u32) -> Result<Section> {
        let broken =
            || Error::new(ErrorKind::CorruptCapture, "the pcapng section header has no valid byte order").at(offset);
        let order = Order::of_section(block).ok_or_else(broken)?;
        let (major, minor) = (order.u16(block, 12).unwrap_or(0), order.u16(block, 14).unwrap_or(0));
        // 1.2 was written by mistake and means 1.0 (draft 4.1).
        if major != 1 || !matches!(minor, 0 | 2) {
            return Err(Error::new(
                ErrorKind::UnsupportedFormat,
                format!("pcapng version {major}.{minor} is not supported"),
            )
            .at(offset + 12)
            .next("supported is version 1.0; if the file has it, its header is damaged"));
        }
        let claimed = order.u64(block, 16).filter(|n| *n != u64::MAX);
        Ok(Section {
            order,
            taps: Vec::new(),
            first_interface,
            begin: offset + block.len() as u64,
            claimed,
            readable: true,
        })
    }

    /// A section that cannot be read: its blocks are skipped.
    pub fn unreadable(order: Order, first_interface: u32) -> Section {
        Section { order, first_interface, ..Section::default() }
    }

    /// Store the options of the header.
    pub fn read_texts(&self, block: &[u8], texts: &mut Texts, notes: &mut Notes, place: Place) {
        let body = block.get(SECTION_BLOCK - 4..block.len() - 4).unwrap_or_default();
        for item in options(body, self.order) {
            let kept = match item {
                Item::Value(OPT_COMMENT, v) => texts.add(|| "comment".into(), v),
                Item::Value(SHB_HARDWARE, v) => texts.add(|| "shb_hardware".into(), v),
                Item::Value(SHB_OS, v) => texts.add(|| "shb_os".into(), v),
                Item::Value(SHB_USERAPPL, v) => texts.add(|| "shb_userappl".into(), v),
                Item::Value(..) => true,
                Item::TooMany => false,
                Item::Overrun => {
                    notes.add(NoteKind::OptionsDamaged, place.packet, place.offset);
                    true
                }
            };
            if !kept {
                notes.add(NoteKind::OptionsCapped, place.packet, place.offset);
            }
        }
    }

    /// Check the stated length, and note the packets dropped by the taps, when the section ends at `offset`.
    pub fn finish(&self, offset: u64, notes: &mut Notes) {
        if self.claimed.is_some_and(|n| n != offset.saturating_sub(self.begin)) {
            notes.add(NoteKind::SectionLength, 0, self.begin);
        }
        let drops = self.taps.iter().fold(0_u64, |sum, t| sum.saturating_add(t.drops()));
        if drops > 0 {
            notes.add_many(NoteKind::TapDropped, drops, 0, self.begin);
        }
    }

    /// Interface number over the whole file of the next interface.
    pub fn next_interface(&self) -> u32 {
        self.first_interface.saturating_add(self.taps.len() as u32)
    }

    /// Add an interface; false if there are too many.
    pub fn add(&mut self, tap: Tap) -> bool {
        let room = self.taps.len() < limits::INTERFACES;
        if room {
            self.taps.push(tap);
        }
        room
    }
}

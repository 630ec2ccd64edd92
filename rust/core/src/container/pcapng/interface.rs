//! Interface description and statistics blocks.

use super::block::{options, Item, Order, OPT_COMMENT};
use super::clock::Clock;
use super::texts::{decode, Texts};
use crate::container::record::Interface;
use crate::limits;
use crate::notes::{NoteKind, Notes};

const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const IF_FILTER: u16 = 11;
const IF_OS: u16 = 12;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;
const IF_HARDWARE: u16 = 15;

const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// The parts of an interface that decoding needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tap {
    pub link_type: u16,
    pub snaplen: u32,
    pub clock: Clock,
    pub fcs_bytes: Option<u8>,
    /// Drops by the last statistics block, cumulative.
    pub stated_drops: Option<u64>,
    /// Drops in the packets themselves (epb_dropcount), summed.
    pub packet_drops: u64,
}

impl Tap {
    /// Packets lost before they were written to the file.
    pub fn drops(&self) -> u64 {
        self.stated_drops.unwrap_or(self.packet_drops)
    }
}

/// Position of a block, for its notes.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub packet: u64,
    pub offset: u64,
}

/// Parse the body of an interface description block; None when it is too short.
///
/// `index` is the interface's number over the whole file.
pub fn describe(
    body: &[u8],
    order: Order,
    index: u32,
    texts: &mut Texts,
    notes: &mut Notes,
    place: Place,
) -> Option<(Tap, Interface)> {
    let link_type = order.u16(body, 0)?;
    let snaplen = order.u32(body, 4)?;
    let mut tap = Tap { link_type, snaplen, ..Tap::default() };
    let mut shown = Interface { link_type, snaplen, ..Interface::default() };
    let about = |what: &str| format!("{what} of interface {index}");
    for item in options(&body[8..], order) {
        let kept = match item {
            Item::Value(OPT_COMMENT, v) => texts.add(|| about("comment"), v),
            Item::Value(IF_FILTER, v) => texts.add(|| about("if_filter"), v.strip_prefix(b"\0").unwrap_or(v)),
            Item::Value(IF_OS, v) => texts.add(|| about("if_os"), v),
            Item::Value(IF_HARDWARE, v) => texts.add(|| about("if_hardware"), v),
            Item::Value(code, v) => {
                match (code, v) {
                    (IF_NAME, _) => shown.name = Some(decode(v)),
                    (IF_DESCRIPTION, _) => shown.description = Some(decode(v)),
                    (IF_TSRESOL, [resolution, ..]) => tap.clock.set_resolution(*resolution),
                    (IF_FCSLEN, [len, ..]) => tap.fcs_bytes = Some(fcs_bytes(*len)),
                    (IF_TSOFFSET, _) => {
                        if let Some(seconds) = order.u64(v, 0) {
                            tap.clock.set_offset(seconds as i64);
                        }
                    }
                    _ => {}
                }
                true
            }
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
    Some((tap, shown))
}

/// if_fcslen: the draft counts octets, earlier drafts counted bits.
fn fcs_bytes(len: u8) -> u8 {
    if len > 8 && len % 8 == 0 {
        len / 8
    } else {
        len
    }
}

/// The drops in the options of an interface statistics block; None if it has none.
pub fn stated_drops(option_bytes: &[u8], order: Order, notes: &mut Notes, place: Place) -> Option<u64> {
    let mut sum = None;
    for item in options(option_bytes, order) {
        match item {
            Item::Value(ISB_IFDROP | ISB_OSDROP, v) => match order.u64(v, 0) {
                Some(n) if n <= limits::DROPS => sum = Some(sum.unwrap_or(0_u64).saturating_add(n)),
                Some(_) => notes.add(NoteKind::DropsImplausible, place.packet, place.offset),
                None => notes.add(NoteKind::OptionsDamaged, place.packet, place.offset),
            },
            Item::Value(..) => {}
            Item::Overrun => notes.add(NoteKind::OptionsDamaged, place.packet, place.offset),
            Item::TooMany => notes.add(NoteKind::OptionsCapped, place.packet, place.offset),
        }
    }
    sum
}

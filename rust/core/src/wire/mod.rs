//! Wire formats: from the bytes of a record to IP packets.

use crate::container::Record;
use crate::notes::Notes;
use crate::packet::Packet;

/// Decode one record, calling `each` for every IP packet (A-MSDU: several) it holds.
///
/// A record that is damaged below IP gives one packet with `stop` set; a sound record of another
/// protocol (ARP, a beacon) gives none and is counted by the caller.
pub fn decode(_record: &Record<'_>, _number: u64, _notes: &mut Notes, _each: &mut dyn FnMut(&Packet)) {}

/// Whether records of this LINKTYPE_ can be decoded.
pub fn supported(_link_type: u16) -> bool {
    false
}

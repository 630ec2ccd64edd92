//! Finding the next record after damage: a chain of plausible headers, in linear time.

use super::bytes::Bytes;
use crate::limits;

/// Headers that must follow one another before they are accepted.
const CHAIN: usize = 3;

/// Candidates of a tail whose whole chain is followed; more would be quadratic.
const WHOLE_CHAINS: usize = 16;

/// The layout of a format's records, as far as the search needs it.
pub trait Framing {
    type Header: Copy;

    /// Bytes of a record header.
    fn header_bytes(&self) -> usize;

    /// Parse the header at `at` in `data`, if it is complete.
    fn parse_at(&self, data: &[u8], at: usize) -> Option<Self::Header>;

    /// The position of the record after the one at `at`.
    fn next(&self, at: usize, header: &Self::Header) -> usize;

    /// When the record was captured, in the format's own unit.
    fn clock(&self, header: &Self::Header) -> i64;

    /// Whether a header can be that of a packet; `near` is the clock of a verified neighbour.
    ///
    /// Strict, for the search after damage: a valid record may fail it.
    fn plausible(&self, header: &Self::Header, near: Option<i64>) -> bool;
}

/// Go to the next plausible record; false if there is none before the limit or the end.
pub fn resync(bytes: &mut Bytes, framing: &impl Framing, near: Option<i64>) -> bool {
    let lookahead = CHAIN * (framing.header_bytes() + limits::RECORD_BYTES) + framing.header_bytes();
    let bound = bytes.offset().saturating_add(limits::RESYNC_BYTES);
    while bytes.offset() < bound && bytes.fill(framing.header_bytes()) {
        let whole = !bytes.fill(lookahead + limits::BLOCK_BYTES / 4);
        let data = bytes.data();
        let last = if whole { data.len() } else { data.len() - lookahead };
        match (0..last).find(|at| chain(data, *at, framing, near, whole)) {
            Some(at) => {
                bytes.consume(at);
                return true;
            }
            None => bytes.consume(last),
        }
    }
    false
}

/// Whether a chain of plausible records begins at `at`.
pub fn chain(data: &[u8], at: usize, framing: &impl Framing, near: Option<i64>, whole: bool) -> bool {
    let (mut at, mut near) = (at, near);
    for length in 0..CHAIN {
        if whole && at == data.len() {
            return length > 0;
        }
        match framing.parse_at(data, at) {
            Some(h) if framing.plausible(&h, near) => {
                near = Some(framing.clock(&h));
                at = framing.next(at, &h);
            }
            _ => return false,
        }
    }
    true
}

/// Find, in the last bytes of a file, records that end exactly at its end.
///
/// For a record with more bytes than are left: either the file was cut, or the length is wrong and
/// valid records follow. The payload of a cut record may look like records, but not to the last byte.
pub fn records_to_the_end(data: &[u8], framing: &impl Framing, near: Option<i64>) -> Option<usize> {
    let mut walked = 0;
    for from in 1..data.len() {
        if !chain(data, from, framing, near, true) {
            continue;
        }
        let (mut at, mut before) = (from, near);
        while let Some(h) = framing.parse_at(data, at).filter(|h| framing.plausible(h, before)) {
            before = Some(framing.clock(&h));
            at = framing.next(at, &h);
        }
        if at == data.len() {
            return Some(from);
        }
        walked += 1;
        if walked == WHOLE_CHAINS {
            break;
        }
    }
    None
}

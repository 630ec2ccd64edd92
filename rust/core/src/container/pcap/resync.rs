//! Finding the next record after damage: a chain of plausible headers, in linear time.

use super::record::Layout;
use crate::container::bytes::Bytes;
use crate::limits;

/// Headers that must follow one another before they are believed.
const CHAIN: usize = 3;

/// Candidates of a tail whose whole chain is walked; more would be quadratic.
const WHOLE_CHAINS: usize = 16;

/// Go on to the next plausible record; false when there is none before the bound or the end.
pub fn resync(bytes: &mut Bytes, layout: &Layout, near: Option<u32>) -> bool {
    let lookahead = CHAIN * (layout.header + limits::RECORD_BYTES) + layout.header;
    let bound = bytes.offset().saturating_add(limits::RESYNC_BYTES);
    while bytes.offset() < bound && bytes.fill(layout.header) {
        let whole = !bytes.fill(lookahead + limits::BLOCK_BYTES / 4);
        let data = bytes.data();
        let last = if whole { data.len() } else { data.len() - lookahead };
        match (0..last).find(|at| chain(data, *at, layout, near, whole)) {
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
pub fn chain(data: &[u8], at: usize, layout: &Layout, near: Option<u32>, whole: bool) -> bool {
    let (mut at, mut near) = (at, near);
    for length in 0..CHAIN {
        if whole && at == data.len() {
            return length > 0;
        }
        match layout.parse_at(data, at) {
            Some(h) if layout.plausible(&h, near) => {
                near = Some(h.seconds);
                at = layout.next(at, &h);
            }
            _ => return false,
        }
    }
    true
}

/// Find, in the last bytes of a file, records that end exactly with it.
///
/// For a record that claims more than is left: either the file was cut, or the claim is a lie and
/// sound records follow. The payload of a cut record may look like records, but not to the last byte.
pub fn records_to_the_end(data: &[u8], layout: &Layout, near: Option<u32>) -> Option<usize> {
    let mut walked = 0;
    for from in 1..data.len() {
        if !chain(data, from, layout, near, true) {
            continue;
        }
        let (mut at, mut before) = (from, near);
        while let Some(h) = layout.parse_at(data, at).filter(|h| layout.plausible(h, before)) {
            before = Some(h.seconds);
            at = layout.next(at, &h);
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

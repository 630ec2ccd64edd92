//! Skippable frames, which zstd and lz4 have in common.

use crate::container::bytes::Bytes;

/// The whole length of a skippable frame (RFC 8878 3.1.2).
pub(super) fn length(head: &[u8]) -> Option<usize> {
    match *head {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]) as usize).checked_add(8),
        _ => None,
    }
}

/// Skip a skippable frame at the front of `input`; true when there was one.
pub(super) fn skip(input: &mut Bytes) -> bool {
    input.fill(8);
    match length(input.data()) {
        Some(n) => {
            input.skip(n as u64);
            true
        }
        None => false,
    }
}

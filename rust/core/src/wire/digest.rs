//! A payload's digest, which identifies a packet in two captures.

use super::view::View;

/// Bytes hashed: what a snaplen of 96 leaves of a TCP segment with timestamps. With more, captures with
/// different snaplens would not agree.
const BYTES: usize = 16;

/// Odd constants with bits spread evenly (of SplitMix64 and of xxHash).
const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xc2b2_ae3d_27d4_eb4f;

/// Hash of the payload's first bytes; None without payload or where not all of these were captured.
#[inline]
pub(super) fn digest(payload: View<'_>) -> Option<u32> {
    let first = match payload.array::<BYTES>(0) {
        Some(whole) => whole,
        None => short(payload)?,
    };
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| first[at + i]));
    let product = u128::from(word(0) ^ A) * u128::from(word(8) ^ B);
    let folded = (product >> 64) as u64 ^ product as u64;
    Some((folded >> 32) as u32 ^ folded as u32)
}

/// Hash of a frame body's first 32 bytes: an encrypted one has its packet number there, a beacon its timestamp, a packet
/// its IP ID and addresses. None where not all of these were captured.
pub(super) fn body(body: View<'_>) -> Option<u32> {
    let first = digest(body)?;
    let rest = body.skip(BYTES);
    let second = if rest.wire() == 0 { 0 } else { digest(rest)? };
    Some(first.rotate_left(13) ^ second)
}

/// A payload shorter than the hashed length, with zeros after it.
fn short(payload: View<'_>) -> Option<[u8; BYTES]> {
    let length = payload.wire();
    if length == 0 || length >= BYTES || !payload.whole() {
        return None;
    }
    let mut first = [0; BYTES];
    first.get_mut(..length)?.copy_from_slice(payload.data());
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_captures_hold() {
        let long = [7u8; 40];
        let whole = digest(View::new(&long, 40));
        assert!(whole.is_some());
        assert_eq!(digest(View::new(&long[..16], 40)), whole);
        assert_eq!(digest(View::new(&long[..15], 40)), None);
        assert_eq!(digest(View::new(&[], 0)), None);
        assert!(digest(View::new(&[7; 3], 3)).is_some());
        assert_ne!(digest(View::new(&[7; 3], 3)), digest(View::new(&[7; 4], 4)));
    }

    #[test]
    fn every_byte_counts() {
        let mut seen = std::collections::HashSet::new();
        for at in 0..BYTES {
            for bit in 0..8 {
                let mut bytes = [0u8; BYTES];
                bytes[at] = 1 << bit;
                assert!(seen.insert(digest(View::new(&bytes, BYTES))));
            }
        }
    }
}

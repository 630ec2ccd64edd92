//! Hashes of a packet's invariant fields: the same on every machine and in every run.

/// An odd constant with bits spread evenly (SplitMix64).
const K: u64 = 0x9e37_79b9_7f4a_7c15;

/// Fold one more word into a hash.
#[inline]
pub fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word.wrapping_mul(K) ^ word.rotate_left(32)) * u128::from(K);
    (product >> 64) as u64 ^ product as u64
}

/// Hash of a text.
pub fn text(bytes: &[u8]) -> u64 {
    let mut hash = mix(K, bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash, u64::from_le_bytes(word));
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_their_order_count() {
        assert_ne!(mix(mix(1, 2), 3), mix(mix(1, 3), 2));
        assert_ne!(text(b"10.0.0.1"), text(b"10.0.0.2"));
        assert_ne!(text(b"a"), text(b"a\0"));
        let mut seen: Vec<u64> = (0..100_000u64).map(|n| mix(7, n)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 100_000);
    }
}

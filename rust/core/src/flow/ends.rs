//! The two ends of a connection.

use crate::packet::Addr;

/// One end of a connection.
pub type End = (Addr, u16);

/// The two ends of a connection, the lower first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub low: End,
    pub high: End,
}

impl std::hash::Hash for Key {
    /// One word instead of nine: it is computed for every packet. Odd constants (splitmix64's) separate the two ends.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let fold = |(a, port): End| (a.bits as u64 ^ (a.bits >> 64) as u64) ^ u64::from(port) << 48;
        let low = fold(self.low).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state.write_u64(low.rotate_left(31) ^ fold(self.high).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    }
}

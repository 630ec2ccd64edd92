//! The times of the handshake, from which the tap's position follows.

/// The times of the handshake at the tap.
#[derive(Debug, Clone, Copy, Default)]
pub struct Handshake {
    /// The first repetition of the SYN.
    pub repeated: Option<i64>,
    /// The last SYN, and the first SYN+ACK after it.
    pub syn: Option<i64>,
    pub answered: Option<i64>,
    /// The last SYN+ACK, and the ACK that ends the handshake.
    pub synack: Option<i64>,
    pub ack: Option<i64>,
}

impl Handshake {
    /// The two parts of the round trip, split at the tap: SYN to SYN+ACK, SYN+ACK to ACK.
    pub fn parts(&self) -> Option<(i64, i64)> {
        Some((self.answered? - self.syn?, self.ack? - self.synack?))
    }

    /// When a timer first repeated the SYN of the active end or the SYN+ACK of the passive end, and last.
    pub fn timers(&self, passive: bool) -> Option<(i64, i64)> {
        let by_active = self.repeated.zip(self.syn);
        let (Some(first), Some(last), Some(syn)) = (self.answered, self.synack, self.syn) else { return by_active };
        by_active.or((passive && syn <= first && first < last).then_some((last, last)))
    }
}

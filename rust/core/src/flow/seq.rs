//! Sequence numbers unwrapped to 64 bits, relative to the SYN (RFC 9293 section 3.4).

/// TSval comparison modulo 2^32 (RFC 7323 section 5.2).
pub fn newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// Whether an ACK had reached the sender that echoes `echo`. `proof`: an echo of it or a newer one shows it; one tick below, a
/// second ACK of that tick leaves it open.
pub fn reached(proof: u32, echo: u32) -> Option<bool> {
    match proof {
        0 => None,
        _ if !newer(proof, echo) => Some(true),
        _ if proof != echo.wrapping_add(1) => Some(false),
        _ => None,
    }
}

/// The sequence space of one direction: relative numbers that do not wrap.
#[derive(Debug, Clone, Copy, Default)]
pub struct SeqSpace {
    base: Option<u32>,
    /// A relative number near which new ones are expected.
    anchor: i64,
}

impl SeqSpace {
    pub fn is_set(&self) -> bool {
        self.base.is_some()
    }

    /// The initial sequence number, or its substitute in a capture without the SYN.
    pub fn base(&self) -> Option<u32> {
        self.base
    }

    /// Define `seq` as relative number `rel`.
    pub fn set(&mut self, seq: u32, rel: i64) {
        self.base = Some(seq.wrapping_sub(rel as u32));
        self.anchor = rel;
    }

    /// Relative number of `seq`: the candidate nearest to the anchor.
    pub fn rel(&self, seq: u32) -> Option<i64> {
        let base = self.base?;
        let expected = base.wrapping_add(self.anchor as u32);
        Some(self.anchor + i64::from(seq.wrapping_sub(expected) as i32))
    }

    /// Expect further numbers near `rel`.
    pub fn advance(&mut self, rel: i64) {
        self.anchor = self.anchor.max(rel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwraps_through_two_to_the_32() {
        let mut s = SeqSpace::default();
        s.set(u32::MAX - 1, 0);
        assert_eq!(s.rel(u32::MAX), Some(1));
        assert_eq!(s.rel(3), Some(5));
        s.advance(1 << 33);
        assert_eq!(s.rel(u32::MAX - 1), Some(1 << 33));
    }
}

//! The only way for decoders to read bytes: every access is bounds-checked and distinguishes captured from sent.

use crate::packet::Stop;

/// Some bytes of a record: those captured, and how many there were on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    data: &'a [u8],
    /// Never less than `data.len()`.
    wire: usize,
}

impl<'a> View<'a> {
    /// If a capture states fewer bytes on the wire than it holds, the held length is used.
    pub fn new(data: &'a [u8], wire: usize) -> Self {
        View { data, wire: wire.max(data.len()) }
    }

    /// The captured bytes.
    pub fn data(self) -> &'a [u8] {
        self.data
    }

    /// Bytes on the wire, captured or not.
    pub fn wire(self) -> usize {
        self.wire
    }

    /// Whether every byte on the wire was captured.
    pub fn whole(self) -> bool {
        self.data.len() == self.wire
    }

    /// The part after the first `n` bytes.
    #[inline]
    pub fn skip(self, n: usize) -> View<'a> {
        View { data: self.data.get(n..).unwrap_or(&[]), wire: self.wire.saturating_sub(n) }
    }

    /// At most the first `n` bytes: the rest is padding or a trailer.
    #[inline]
    pub fn clip(self, n: usize) -> View<'a> {
        View { data: self.data.get(..n).unwrap_or(self.data), wire: self.wire.min(n) }
    }

    /// Why the first `n` bytes are not all here: the capture kept too few, or there were fewer.
    pub fn lack(self, n: usize) -> Stop {
        if n > self.wire {
            Stop::LengthLies
        } else {
            Stop::SnaplenCut
        }
    }

    #[inline]
    pub fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.data.get(at..)?.first_chunk::<N>().copied()
    }

    #[inline]
    pub fn u8(self, at: usize) -> Option<u8> {
        self.data.get(at).copied()
    }

    #[inline]
    pub fn be16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_be_bytes)
    }

    #[inline]
    pub fn be32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_be_bytes)
    }

    #[inline]
    pub fn le16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    #[inline]
    pub fn le32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }
}

/// Lengths come from 16- and 32-bit fields; a longer one is not accepted.
#[inline]
pub(super) fn bytes(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stay_inside() {
        let v = View::new(&[1, 2, 3], 10);
        assert_eq!(v.be16(1), Some(0x0203));
        assert_eq!(v.be16(2), None);
        assert_eq!(v.u8(usize::MAX), None);
        assert_eq!(v.be32(usize::MAX - 1), None);
        assert_eq!((v.skip(5).data().len(), v.skip(5).wire()), (0, 5));
        assert_eq!(v.skip(usize::MAX).wire(), 0);
        assert_eq!((v.clip(2).data(), v.clip(2).wire()), (&[1u8, 2][..], 2));
        assert_eq!(v.lack(10), Stop::SnaplenCut);
        assert_eq!(v.lack(11), Stop::LengthLies);
    }

    #[test]
    fn a_record_longer_than_its_wire_length_is_whole() {
        let v = View::new(&[0; 60], 40);
        assert!(v.whole());
        assert_eq!(v.wire(), 60);
    }
}

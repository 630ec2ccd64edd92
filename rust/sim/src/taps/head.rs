//! A header of a bounded length, gathered before it is appended at once.

/// Up to N bytes.
pub struct Head<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Head<N> {
    pub fn new() -> Self {
        Head { bytes: [0; N], len: 0 }
    }

    /// Append a field.
    #[inline]
    pub fn put<const M: usize>(&mut self, field: [u8; M]) {
        self.bytes[self.len..self.len + M].copy_from_slice(&field);
        self.len += M;
    }

    /// Overwrite a field.
    #[inline]
    pub fn set<const M: usize>(&mut self, at: usize, field: [u8; M]) {
        self.bytes[at..at + M].copy_from_slice(&field);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

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
        self.set(self.len, field);
        self.len += M;
    }

    /// Append zeros.
    #[inline]
    pub fn skip(&mut self, bytes: usize) {
        self.len += bytes;
    }

    /// Overwrite a field.
    #[inline]
    fn set<const M: usize>(&mut self, at: usize, field: [u8; M]) {
        // An array's assignment is a move; `copy_from_slice` is a call.
        *self.bytes[at..].first_chunk_mut().expect("headers have room for their fields") = field;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

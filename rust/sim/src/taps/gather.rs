//! Bytes to be written to a file: headers are copied here, payloads only referenced, so that the system alone copies them.

use std::fs::File;
use std::io::{self, IoSlice, Write};

/// Slices of static memory in one write: with the bytes between them as many as a system call accepts (IOV_MAX, 1024).
const PIECES: usize = 510;
/// Bytes gathered before they are written.
const BYTES: usize = 1 << 20;

/// Bytes in order, some of them in static memory.
#[derive(Debug, Default)]
pub struct Gather {
    own: Vec<u8>,
    /// Which slice comes before which position of `own`.
    lent: Vec<(usize, &'static [u8])>,
    lent_bytes: usize,
}

/// A position in a `Gather`.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    own: usize,
    lent: usize,
    bytes: usize,
}

impl Gather {
    /// Append a copy.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.own.extend_from_slice(bytes);
    }

    /// Append a reference to static bytes.
    #[inline]
    pub fn lend(&mut self, bytes: &'static [u8]) {
        if !bytes.is_empty() {
            self.lent.push((self.own.len(), bytes));
            self.lent_bytes += bytes.len();
        }
    }

    /// The position of the next byte.
    pub fn mark(&self) -> Mark {
        Mark { own: self.own.len(), lent: self.lent.len(), bytes: self.own.len() + self.lent_bytes }
    }

    /// Number of bytes after a mark.
    pub fn since(&self, mark: Mark) -> usize {
        self.own.len() + self.lent_bytes - mark.bytes
    }

    /// The bytes after a mark, slice by slice.
    pub fn pieces<'a>(&'a self, mark: Mark, mut each: impl FnMut(&'a [u8])) {
        let mut from = mark.own;
        for &(place, lent) in &self.lent[mark.lent..] {
            each(&self.own[from..place]);
            each(lent);
            from = place;
        }
        each(&self.own[from..]);
    }

    /// Overwrite copied bytes from a mark on.
    pub fn patch(&mut self, mark: Mark, bytes: &[u8]) {
        self.own[mark.own..mark.own + bytes.len()].copy_from_slice(bytes);
    }

    /// Keep only this many bytes after a mark.
    pub fn cut(&mut self, mark: Mark, kept: usize) {
        if kept < self.since(mark) {
            self.copy(mark);
            self.own.truncate(mark.own + kept);
        }
    }

    /// Copies of all bytes after a mark, which can be changed.
    pub fn copy(&mut self, mark: Mark) -> &mut [u8] {
        let mut whole = Vec::with_capacity(self.since(mark));
        self.pieces(mark, |piece| whole.extend_from_slice(piece));
        self.lent_bytes -= self.lent.drain(mark.lent..).map(|l| l.1.len()).sum::<usize>();
        self.own.truncate(mark.own);
        self.own.extend_from_slice(&whole);
        &mut self.own[mark.own..]
    }

    /// Whether there is enough to be written.
    pub fn full(&self) -> bool {
        self.lent.len() >= PIECES || self.own.len() + self.lent_bytes >= BYTES
    }

    /// Write everything.
    pub fn flush(&mut self, file: &mut File) -> io::Result<()> {
        let start = Mark { own: 0, lent: 0, bytes: 0 };
        let mut pieces = Vec::with_capacity(2 * self.lent.len() + 1);
        self.pieces(start, |piece| {
            if !piece.is_empty() {
                pieces.push(IoSlice::new(piece));
            }
        });
        let mut left = &mut pieces[..];
        while !left.is_empty() {
            match file.write_vectored(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut left, written),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.own.clear();
        self.lent.clear();
        self.lent_bytes = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(g: &Gather, mark: Mark) -> Vec<u8> {
        let mut out = Vec::new();
        g.pieces(mark, |piece| out.extend_from_slice(piece));
        out
    }

    #[test]
    fn pieces_in_order() {
        let mut g = Gather::default();
        let start = g.mark();
        g.put(b"ab");
        let mark = g.mark();
        g.lend(b"cd");
        g.put(b"ef");
        g.lend(b"gh");
        g.lend(b"ij");
        assert_eq!((whole(&g, start), whole(&g, mark)), (b"abcdefghij".to_vec(), b"cdefghij".to_vec()));
        assert_eq!((g.since(start), g.since(mark)), (10, 8));
    }

    #[test]
    fn bytes_are_cut_changed_and_appended() {
        let mut g = Gather::default();
        let start = g.mark();
        g.put(b"ab");
        g.lend(b"cdef");
        g.cut(start, 4);
        let mark = g.mark();
        g.put(b"12");
        g.lend(b"34");
        g.patch(mark, b"9");
        g.copy(mark)[2] = b'8';
        g.lend(b"56");
        assert_eq!(whole(&g, start), b"abcd928456");
    }

    #[test]
    fn more_pieces_than_a_system_takes() {
        let path = std::env::temp_dir().join(format!("wlanlens-gather-{}", std::process::id()));
        let mut g = Gather::default();
        for _ in 0..3000 {
            g.put(b"ab");
            g.lend(b"cd");
        }
        g.flush(&mut File::create(&path).unwrap()).unwrap();
        assert_eq!(g.since(g.mark()), 0);
        assert_eq!(std::fs::read(&path).unwrap(), b"abcd".repeat(3000));
        std::fs::remove_file(&path).unwrap();
    }
}

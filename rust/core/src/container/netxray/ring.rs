//! A capture file that was a ring: it begins at its oldest record and continues at its front.

use std::io::{self, Read};

use crate::container::bytes::{ByteStream, Bytes, Oddity};

/// The bytes after the oldest record, then those before it that were kept.
pub struct Ring {
    tail: Bytes,
    front: Vec<u8>,
    at: usize,
}

impl Ring {
    pub fn new(tail: Bytes, front: Vec<u8>) -> Self {
        Ring { tail, front, at: 0 }
    }
}

impl ByteStream for Ring {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.tail.read(into)?;
        if n > 0 {
            return Ok(n);
        }
        let rest = &self.front[self.at..];
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        match self.tail.take_failure().filter(|_| n == 0) {
            Some(e) => Err(e),
            None => Ok(n),
        }
    }

    fn take_oddities(&mut self, out: &mut Vec<Oddity>) {
        self.tail.take_oddities(out);
    }
}

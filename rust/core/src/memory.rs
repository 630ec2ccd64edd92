//! Whether the process may have more memory: an allocation that fails ends the process, so that it is asked for politely before.

use std::hint::black_box;
use std::io::{Error as IoError, ErrorKind as IoErrorKind};

use crate::error::Result;

/// New connections between two questions. Each takes some KB.
pub const CONNECTIONS: u32 = 1024;
/// What all threads of an analysis may ask for in between.
const SPARE_BYTES: usize = 64 << 20;

/// An error where the limit of the address space (`ulimit -v`) leaves no more than that.
pub fn require_spare() -> Result<()> {
    require(SPARE_BYTES)
}

fn require(bytes: usize) -> Result<()> {
    // Not touched, it costs two calls of the system and no memory.
    let mut spare = Vec::<u8>::new();
    black_box(&mut spare).try_reserve_exact(bytes).map_err(|_| IoError::from(IoErrorKind::OutOfMemory))?;
    black_box(spare);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_is_an_error() {
        assert!(require_spare().is_ok());
        let error = require(isize::MAX as usize).unwrap_err();
        assert_eq!(error.io.map(|e| e.kind()), Some(IoErrorKind::OutOfMemory));
    }
}

//! The error type of the crate.
//!
//! Damaged records are not errors: they are rows with a `stop`, counted in [`crate::notes::Notes`].

use std::fmt;

/// Which exception the Python side raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The first bytes match no known format.
    UnknownFormat,
    /// A recognised format, version or compression that cannot be read.
    UnsupportedFormat,
    /// A known container with a link type that has no decoder.
    UnsupportedLinkType,
    /// A capture of a known format that is damaged before its first record.
    CorruptCapture,
    /// An error of the operating system.
    Io,
}

/// The problem, its place, and what to do next.
#[derive(Debug)]
pub struct Error {
    pub kind: ErrorKind,
    /// One sentence without the path, which the caller adds.
    pub what: String,
    /// Byte offset in the (decompressed) stream.
    pub offset: Option<u64>,
    /// What the user can do; may be empty.
    pub next: String,
    /// Kept so that Python raises the right subclass of `OSError`.
    pub io: Option<std::io::Error>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Error { kind, what: what.into(), offset: None, next: String::new(), io: None }
    }

    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    pub fn next(mut self, hint: impl Into<String>) -> Self {
        self.next = hint.into();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(offset) = self.offset {
            write!(f, " (at byte {offset})")?;
        }
        if !self.next.is_empty() {
            write!(f, "; {}", self.next)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        Error { kind: ErrorKind::Io, what: e.to_string(), offset: None, next: String::new(), io: Some(e) }
    }
}

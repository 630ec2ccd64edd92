//! The receiver of decompressed bytes.

use crate::notes::NoteKind;

/// The receiver has gone.
pub struct Gone;

/// Receives decompressed bytes.
pub trait Sink {
    /// Space for more bytes; never empty.
    fn room(&mut self) -> &mut [u8];

    /// `n` bytes of [`Sink::room`] were filled.
    fn filled(&mut self, n: usize) -> Result<(), Gone>;

    /// The compressed data has an anomaly at this point of the output.
    fn odd(&mut self, kind: NoteKind) -> Result<(), Gone>;

    /// Whether output is still needed, for input that yields none.
    fn wanted(&self) -> Result<(), Gone>;
}

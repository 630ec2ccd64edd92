//! Where decompressed bytes go.

use crate::notes::NoteKind;

/// Nobody takes the output any more.
pub struct Gone;

/// Where decompressed bytes go.
pub trait Sink {
    /// Room for more bytes; never empty.
    fn room(&mut self) -> &mut [u8];

    /// `n` bytes of [`Sink::room`] were filled.
    fn filled(&mut self, n: usize) -> Result<(), Gone>;

    /// The compressed data is odd at this point of the output.
    fn odd(&mut self, kind: NoteKind) -> Result<(), Gone>;

    /// Whether output is still wanted, for input that yields none.
    fn wanted(&self) -> Result<(), Gone>;
}

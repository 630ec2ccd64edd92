//! The texts of a pcapng file: limited in number and length, decoded so that any bytes are text.

use crate::limits;

/// The texts of a file as (name, text).
#[derive(Debug, Default)]
pub struct Texts {
    kept: Vec<(String, String)>,
}

impl Texts {
    /// Store a text; false if there are too many already.
    pub fn add(&mut self, name: impl FnOnce() -> String, bytes: &[u8]) -> bool {
        let room = self.kept.len() < limits::TEXTS;
        if room {
            self.kept.push((name(), decode(bytes)));
        }
        room
    }

    pub fn kept(&self) -> &[(String, String)] {
        &self.kept
    }
}

/// Decode and shorten a text. Bytes that are not UTF-8 become U+FFFD; zeros at the end are padding.
pub fn decode(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(limits::TEXT_BYTES)];
    let whole = bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    String::from_utf8_lossy(&bytes[..whole]).into_owned()
}

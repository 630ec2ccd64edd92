//! Group keys of one access point. An access point with one group key per station has many.

use zeroize::Zeroizing;

use crate::frame::Frame;
use crate::limits;

use super::session::Gtk;
use super::temporal::TemporalKey;

#[derive(Default)]
pub(super) struct Group {
    /// Newest first.
    keys: Vec<GroupKey>,
}

struct GroupKey {
    id: u8,
    raw: Zeroizing<Vec<u8>>,
    key: TemporalKey,
}

impl Group {
    pub fn add(&mut self, gtk: Gtk) {
        if self.keys.iter().any(|k| k.id == gtk.id && *k.raw == *gtk.key) {
            return;
        }
        if let Some(key) = TemporalKey::new(gtk.cipher, &gtk.key) {
            self.keys.insert(0, GroupKey { id: gtk.id, raw: gtk.key, key });
            self.keys.truncate(limits::GROUP_KEYS);
        }
    }

    /// Find the key that decrypts a frame's body into `out`; it is tried first the next time.
    pub fn open(&mut self, id: u8, frame: &Frame, body: &[u8], cut: bool, out: &mut Vec<u8>) -> Option<&TemporalKey> {
        let at = self.keys.iter().position(|k| k.id == id && k.key.open(frame, body, cut, out))?;
        self.keys[..=at].rotate_right(1);
        Some(&self.keys[0].key)
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

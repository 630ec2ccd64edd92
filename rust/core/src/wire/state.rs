//! What the decoders keep from record to record.

use super::checked_senders::Checksums;
use super::fragments::Fragments;
use super::interfaces::Interfaces;
use super::usb_net::State as UsbState;
use crate::crypto::keys::Keys;
use crate::crypto::Crypto;
use crate::notes::{NoteKind, Notes};

/// The decoders' state from record to record.
#[derive(Default)]
pub struct State {
    pub(super) usb: UsbState,
    pub(super) interfaces: Interfaces,
    pub(super) checksums: Checksums,
    pub(super) crypto: Crypto,
    pub(super) fragments: Fragments,
}

impl State {
    /// With keys for protected frames.
    pub fn new(keys: Keys) -> State {
        State { crypto: Crypto::new(keys), ..State::default() }
    }

    /// Notes that need all records.
    pub fn notes(&self) -> Notes {
        let mut notes = self.crypto.notes();
        match self.fragments.unfinished() {
            0 => {}
            n => notes.add_many(NoteKind::WlanFragment, n, 0, 0),
        }
        notes
    }
}

//! Decryption of 802.11 data frames: WEP, TKIP and CCMP with keys that the user gives (IEEE 802.11-2020 clause 12).
//!
//! Pairwise and group keys come from the 4-way handshakes in the capture, in its order: a frame before its handshake
//! is not decrypted. No secret leaves this module, and none is in a `Debug` output, an error or a note.

mod ccmp;
mod eapol;
mod elements;
mod group;
mod kdf;
pub mod keys;
mod pair;
mod pmks;
mod session;
mod temporal;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tkip;
mod wep;

use rustc_hash::FxHashMap;

use crate::frame::{control, Frame, Mac};
use crate::limits;
use crate::notes::{NoteKind, Notes};

use eapol::KeyFrame;
use elements::{Cipher, Elements, Management, Suites};
use group::Group;
use keys::{Key, Keys};
use pair::{Pair, Tried};
use pmks::Pmks;
use session::Second;
use temporal::TemporalKey;

/// Length of the MIC after a TKIP MSDU.
pub const MICHAEL_BYTES: usize = tkip::MICHAEL;

/// Authenticator's address and supplicant's.
type PairId = (Mac, Mac);

/// A network according to its own frames and its stations.
#[derive(Default)]
struct Network {
    names: Vec<Vec<u8>>,
    suites: Option<Suites>,
}

/// Why a protected frame was not decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// No given key matches the type of protection, or no other reason is known.
    NoKey,
    /// The 4-way handshake of the two stations is not before the frame.
    BeforeHandshake,
    /// The handshake is there, but no given key matches it.
    WrongKey,
    /// The handshake is there, but the given keys name other networks.
    OtherNetwork,
    /// The handshake is there, but the given passphrase has no network name, and the name is not in the capture.
    NoName,
    /// The keys are known, but the frame's integrity check fails.
    Damaged,
    /// No given WEP key matches.
    WrongWepKey,
    /// SAE, OWE.
    Wpa3,
    Gcmp,
    FastTransition,
    Enterprise,
}

impl Unread {
    /// The note for this reason; None where the count of encrypted frames is enough.
    pub fn note(self) -> Option<NoteKind> {
        Some(match self {
            Unread::NoKey => return None,
            Unread::BeforeHandshake => NoteKind::BeforeHandshake,
            Unread::WrongKey => NoteKind::WrongKey,
            Unread::OtherNetwork => NoteKind::OtherNetwork,
            Unread::NoName => NoteKind::NetworkUnnamed,
            Unread::Damaged => NoteKind::DecryptionFailed,
            Unread::WrongWepKey => NoteKind::WrongWepKey,
            Unread::Wpa3 => NoteKind::Wpa3Unread,
            Unread::Gcmp => NoteKind::GcmpUnread,
            Unread::FastTransition => NoteKind::FastTransitionUnread,
            Unread::Enterprise => NoteKind::EnterpriseUnread,
        })
    }
}

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// Length of the payload on the air, captured or not.
    pub wire_bytes: usize,
    /// TKIP: the key that verifies the whole MSDU, whose MIC is after its last fragment.
    pub michael: Option<Michael>,
}

/// The key of a TKIP MSDU's integrity check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Michael(tkip::MicKey);

impl std::fmt::Debug for Michael {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Michael")
    }
}

impl Michael {
    /// The length of an MSDU of this frame without its MIC, if the MIC is right.
    pub fn check(&self, frame: &Frame, msdu: &[u8]) -> Option<usize> {
        tkip::check_michael(&self.0, &frame.da()?, &frame.sa()?, frame.tid().unwrap_or(0), msdu)
    }
}

/// The decryption state of one capture.
#[derive(Default)]
pub struct Crypto {
    keys: Keys,
    pmks: Pmks,
    /// Indices of the WEP keys in the list, the last match first.
    wep: Vec<usize>,
    networks: FxHashMap<Mac, Network>,
    /// Names recently captured of any network, for networks that hide theirs.
    names: Vec<Vec<u8>>,
    pairs: FxHashMap<PairId, Pair>,
    groups: FxHashMap<Mac, Group>,
    /// Number of handshakes that can still be tried.
    trials: u64,
    opened: u64,
    closed: u64,
    capped: bool,
    /// Most pairs have keys: no further pair is tracked.
    full: bool,
    /// A buffer for one payload, kept between frames.
    room: Vec<u8>,
}

impl Crypto {
    pub fn new(keys: Keys) -> Crypto {
        let wep = (0..keys.list.len()).filter(|i| matches!(keys.list[*i], Key::Wep(_))).collect();
        Crypto { keys, wep, trials: limits::HANDSHAKE_TRIALS, ..Crypto::default() }
    }

    /// The payload buffer; return it with [`Crypto::give_back`].
    pub fn take_room(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.room)
    }

    pub fn give_back(&mut self, room: Vec<u8>) {
        self.room = room;
    }

    /// Process a management frame: the data of its network and of a station that joins.
    pub fn management(&mut self, frame: &Frame, body: &[u8]) {
        const ASSOCIATION_REQUEST: u8 = 0;
        const REASSOCIATION_REQUEST: u8 = 2;
        const PROBE_RESPONSE: u8 = 5;
        const BEACON: u8 = 8;
        let fixed = match frame.subtype() {
            Some(ASSOCIATION_REQUEST) => 4,
            Some(REASSOCIATION_REQUEST) => 10,
            Some(PROBE_RESPONSE | BEACON) => 12,
            _ => return,
        };
        let (Some(ta), Some(bssid)) = (frame.address_2, frame.address_3) else {
            return;
        };
        let station = matches!(frame.subtype(), Some(ASSOCIATION_REQUEST | REASSOCIATION_REQUEST));
        // Beacons repeat ten times per second.
        let known = frame.subtype() == Some(BEACON) && self.networks.contains_key(&bssid);
        if known || frame.fcs_ok == Some(false) || frame.has(control::PROTECTED) {
            return;
        }
        let elements = Elements::parse(body.get(fixed..).unwrap_or_default());
        if station {
            if let (Some(suites), Some(pair)) = (elements.suites, self.pair((bssid, ta))) {
                pair.suites = Some(suites);
            }
        }
        let suites = if station { None } else { elements.suites };
        self.learn(bssid, elements.ssid, suites);
    }

    fn learn(&mut self, bssid: Mac, name: Option<&[u8]>, suites: Option<Suites>) {
        if self.networks.len() >= limits::KNOWN_NETWORKS && !self.networks.contains_key(&bssid) {
            self.capped = true;
            return;
        }
        let network = self.networks.entry(bssid).or_default();
        network.suites = suites.or(network.suites);
        let Some(name) = name.filter(|n| !network.names.iter().any(|known| known == n)) else {
            return;
        };
        network.names.insert(0, name.to_vec());
        network.names.truncate(limits::NETWORK_NAMES);
        self.names.retain(|known| known != name);
        self.names.insert(0, name.to_vec());
        self.names.truncate(limits::NETWORK_NAMES);
        if !self.keys.is_empty() {
            // Handshakes that needed the name.
            let waiting: Vec<PairId> =
                self.pairs.iter().filter(|(id, p)| id.0 == bssid && p.is_whole()).map(|(id, _)| *id).collect();
            waiting.into_iter().for_each(|id| self.try_keys(id));
        }
    }

    /// The state of two stations; None when too many are tracked.
    fn pair(&mut self, id: PairId) -> Option<&mut Pair> {
        if self.pairs.len() >= limits::PAIRS && !self.pairs.contains_key(&id) {
            self.capped = true;
            if self.full {
                return None;
            }
            // Drop pairs without keys; if few were dropped, searching again would cost more than it gains.
            self.pairs.retain(|_, p| !p.sessions.is_empty());
            self.full = self.pairs.len() > limits::PAIRS / 2;
        }
        Some(self.pairs.entry(id).or_default())
    }

    /// The payload of a data frame, open or decrypted; a handshake message in it is processed.
    pub fn payload(&mut self, frame: &Frame, payload: &[u8]) {
        let Some(pdu) = payload.strip_prefix(&eapol::SNAP) else {
            return;
        };
        let (Some(ra), Some(ta), Some(key)) = (frame.address_1, frame.address_2, KeyFrame::parse(pdu)) else {
            return;
        };
        if frame.fcs_ok == Some(false) || key.request() {
            return;
        }
        if key.by_authenticator() {
            self.of_authenticator((ta, ra), &key);
        } else if key.pairwise() && key.has_mic() && key.nonce != [0; 32] {
            self.of_supplicant((ra, ta), &key);
        }
    }

    fn of_authenticator(&mut self, id: PairId, key: &KeyFrame<'_>) {
        let Some(pair) = self.pair(id) else {
            return;
        };
        if key.pairwise() && pair.hear_anonce(key.nonce) && pair.is_whole() {
            self.try_keys(id);
        }
        if !key.has_mic() {
            return;
        }
        let Some(gtk) = self.pairs.get(&id).and_then(|p| p.sessions.iter().find_map(|s| s.group_key(key))) else {
            return;
        };
        if self.groups.len() < limits::KNOWN_NETWORKS || self.groups.contains_key(&id.0) {
            self.groups.entry(id.0).or_default().add(gtk);
        } else {
            self.capped = true;
        }
    }

    fn of_supplicant(&mut self, id: PairId, key: &KeyFrame<'_>) {
        let Some(pair) = self.pair(id) else {
            return;
        };
        if pair.hear_second(Second::new(key)) && pair.is_whole() {
            self.try_keys(id);
        }
    }

    /// Try the given keys on the handshakes of two stations.
    fn try_keys(&mut self, id: PairId) {
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        if self.wep.len() == self.keys.len() {
            return;
        }
        let own = self.networks.get(&id.0).map(|n| n.names.as_slice()).unwrap_or_default();
        let candidates = self.pmks.candidates(&self.keys, own, &self.names);
        pair.try_all(&id.0, &id.1, &candidates, &mut self.trials);
        self.capped |= self.trials == 0;
    }

    /// Decrypt a protected data frame: its `body` after the MAC header, of `wire_bytes` on the air, into `out`.
    pub fn open(&mut self, frame: &Frame, body: &[u8], wire_bytes: usize, out: &mut Vec<u8>) -> Result<Opened, Unread> {
        let opened = self.try_open(frame, body, wire_bytes, out);
        match opened {
            Ok(_) => self.opened = self.opened.saturating_add(1),
            Err(_) if frame.fcs_ok == Some(false) => {}
            Err(_) => self.closed = self.closed.saturating_add(1),
        }
        opened
    }

    fn try_open(&mut self, frame: &Frame, body: &[u8], wire_bytes: usize, out: &mut Vec<u8>) -> Result<Opened, Unread> {
        const EXTENDED_IV: u8 = 0x20;
        let (Some(ra), Some(ta), Some(&flags)) = (frame.address_1, frame.address_2, body.get(3)) else {
            return Err(Unread::NoKey);
        };
        let cut = body.len() < wire_bytes;
        let id = flags >> 6;
        let length = |overhead: usize| wire_bytes.saturating_sub(overhead);
        if is_group(&ra) {
            if let Some(group) = self.groups.get_mut(&ta) {
                if let Some(key) = group.open(id, frame, body, cut, out) {
                    return Ok(Opened { wire_bytes: length(key.overhead()), michael: michael(key, true) });
                }
            }
        }
        if flags & EXTENDED_IV == 0 {
            return self
                .open_wep(frame, body, cut, out)
                .map(|overhead| Opened { wire_bytes: length(overhead), michael: None });
        }
        if !is_group(&ra) {
            for (pair, from_authenticator) in [((ta, ra), true), ((ra, ta), false)] {
                let Some(pair) = self.pairs.get_mut(&pair) else {
                    continue;
                };
                if let Some(at) = pair.sessions.iter().position(|s| s.key.open(frame, body, cut, out)) {
                    pair.sessions.swap(0, at);
                    let key = &pair.sessions[0].key;
                    let michael = michael(key, from_authenticator);
                    return Ok(Opened { wire_bytes: length(key.overhead()), michael });
                }
            }
        }
        Err(self.reason(&ra, &ta))
    }

    /// Try the WEP keys; returns the payload.
    fn open_wep(&mut self, frame: &Frame, body: &[u8], cut: bool, out: &mut Vec<u8>) -> Result<usize, Unread> {
        let fits = |i: &usize| match &self.keys.list[*i] {
            Key::Wep(key) => wep::open(key, body, cut, out) && (!cut || temporal::looks_open(frame, out)),
            _ => false,
        };
        match self.wep.iter().position(fits) {
            Some(at) => {
                self.wep[..=at].rotate_right(1);
                Ok(wep::HEADER + wep::ICV)
            }
            None if self.wep.is_empty() => Err(Unread::NoKey),
            None => Err(Unread::WrongWepKey),
        }
    }

    /// Why a frame of a robust security network was not decrypted.
    fn reason(&self, ra: &Mac, ta: &Mac) -> Unread {
        let ids = [(*ta, *ra), (*ra, *ta)];
        let pair = ids.iter().find_map(|id| self.pairs.get(id));
        let network = || [ta, ra].into_iter().find_map(|a| self.networks.get(a)).and_then(|n| n.suites);
        if pair.is_some_and(|p| !p.sessions.is_empty())
            || self.groups.get(ta).is_some_and(|g| is_group(ra) && !g.is_empty())
        {
            return Unread::Damaged;
        }
        if let Some(suites) = pair.and_then(|p| p.suites).or_else(network) {
            match suites.akms.management() {
                _ if suites.pairwise == Cipher::Gcmp => return Unread::Gcmp,
                Management::Wpa3 => return Unread::Wpa3,
                Management::FastTransition => return Unread::FastTransition,
                Management::Enterprise => return Unread::Enterprise,
                Management::Passphrase | Management::Unknown => {}
            }
        }
        if self.keys.len() == self.wep.len() {
            return Unread::NoKey;
        }
        match pair.map(|p| p.tried) {
            Some(Tried::Nameless) => Unread::NoName,
            Some(Tried::Unfit) => Unread::WrongKey,
            Some(Tried::NotMeant) => Unread::OtherNetwork,
            Some(Tried::Not | Tried::Fits) | None => Unread::BeforeHandshake,
        }
    }

    /// Notes that need the end of the capture.
    pub fn notes(&self) -> Notes {
        let mut notes = Notes::default();
        if self.keys.is_empty() {
            return notes;
        }
        if self.capped || self.pmks.capped {
            notes.add(NoteKind::KeysCapped, 0, 0);
        }
        let unfit = self.pairs.values().filter(|p| p.tried == Tried::Unfit).count() as u64;
        if unfit > 0 {
            notes.add_many(NoteKind::HandshakeUnfit, unfit, 0, 0);
        }
        if self.opened == 0 && (self.closed > 0 || unfit > 0) {
            notes.add_many(NoteKind::NothingDecrypted, self.closed.max(1), 0, 0);
        }
        notes
    }
}

fn michael(key: &TemporalKey, from_authenticator: bool) -> Option<Michael> {
    match key {
        TemporalKey::Tkip(key) => Some(Michael(key.michael(from_authenticator))),
        _ => None,
    }
}

fn is_group(address: &Mac) -> bool {
    address[0] & 1 != 0
}

//! Announcements of a BSS: elements of beacons, probe responses and association requests (IEEE 802.11-2020 clauses
//! 9.3.3 and 9.4.2). All of it is untrusted text and numbers.

use crate::frame::{control, elements, Frame, Mac};

/// A network name, 0 to 32 bytes of any kind (clause 9.4.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ssid {
    bytes: [u8; 32],
    length: u8,
}

impl Ssid {
    /// None if it is longer than the standard allows.
    fn new(bytes: &[u8]) -> Option<Self> {
        let mut ssid = Ssid { bytes: [0; 32], length: u8::try_from(bytes.len()).ok()? };
        ssid.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(ssid)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// An access point that hides its name sends an empty one, or zero bytes of the name's length.
    pub fn hidden(&self) -> bool {
        self.bytes().iter().all(|b| *b == 0)
    }

    /// The name as text, with bytes outside UTF-8 as \xNN. Control characters stay; the output must escape them.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for chunk in self.bytes().utf8_chunks() {
            out.push_str(chunk.valid());
            chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
        }
        out
    }
}

/// How a network protects its data frames, from the weakest that `--key-file` can decrypt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Security {
    Open = 0,
    /// The privacy bit without an element that describes the protection.
    Wep = 1,
    /// WPA or WPA2 with a passphrase.
    Psk = 2,
    /// 802.1X.
    Enterprise = 3,
    /// WPA3's passphrase (SAE).
    Sae = 4,
    /// Opportunistic encryption without a key.
    Owe = 5,
    Other = 6,
}

/// The frame with the announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Beacon,
    ProbeResponse,
    /// A station that joins sends the network name, also of a hidden network.
    Association,
}

/// The content of one announcement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Announcement {
    pub source: Source,
    pub bssid: Mac,
    pub ssid: Ssid,
    /// Primary channel number (DSSS Parameter Set, HT Operation).
    pub channel: Option<u8>,
    /// In time units of 1024 us.
    pub interval_tu: Option<u16>,
    pub security: Option<Security>,
}

const SSID: u8 = 0;
const DSSS_PARAMETER_SET: u8 = 3;
const RSN: u8 = 48;
const HT_OPERATION: u8 = 61;
const VENDOR: u8 = 221;
/// Capability information: data frames are encrypted.
const PRIVACY: u16 = 0x0010;

/// The announcement in a management frame; `body` is what was captured after its MAC header. None for other frames and
/// where no SSID element was captured.
pub fn announcement(frame: &Frame, body: &[u8]) -> Option<Announcement> {
    if frame.kind()? != control::MANAGEMENT || frame.has(control::PROTECTED) {
        return None;
    }
    // Bytes of fixed fields in front of the elements (Tables 9-32 to 9-39).
    let (source, fixed, capability_at) = match frame.subtype()? {
        0 => (Source::Association, 4, 0),
        2 => (Source::Association, 10, 0),
        5 => (Source::ProbeResponse, 12, 10),
        8 => (Source::Beacon, 12, 10),
        _ => return None,
    };
    let word = |at: usize| body.get(at..)?.first_chunk::<2>().map(|b| u16::from_le_bytes(*b));
    let mut ssid = None;
    let mut channel = None;
    let mut announced = None;
    for (id, element) in elements(body.get(fixed..)?) {
        match id {
            SSID if ssid.is_none() => ssid = Some(Ssid::new(element)?),
            DSSS_PARAMETER_SET => channel = element.first().copied(),
            HT_OPERATION if channel.is_none() => channel = element.first().copied(),
            RSN => announced = Some(rsn(element).unwrap_or(Security::Other)),
            VENDOR if announced.is_none() => announced = wpa(element),
            _ => {}
        }
    }
    let joins = source == Source::Association;
    let privacy = word(capability_at).map(|c| c & PRIVACY != 0);
    Some(Announcement {
        source,
        bssid: frame.bssid()?,
        ssid: ssid?,
        channel,
        interval_tu: if joins { None } else { word(8) },
        security: match (announced, privacy?) {
            (Some(security), _) => Some(security),
            (None, true) => Some(Security::Wep),
            (None, false) => Some(Security::Open),
        },
    })
}

/// RSN element (clause 9.4.2.24): version, group cipher, pairwise ciphers, then AKM suites.
fn rsn(element: &[u8]) -> Option<Security> {
    suites(element.get(2..)?, [0x00, 0x0f, 0xac])
}

/// The vendor element that came before RSN has the same layout after its own type and version.
fn wpa(element: &[u8]) -> Option<Security> {
    const OUI: [u8; 3] = [0x00, 0x50, 0xf2];
    let behind = element.strip_prefix(&OUI)?.strip_prefix(&[1])?;
    Some(suites(behind.get(2..)?, OUI).unwrap_or(Security::Other))
}

/// The weakest of the AKM suites (Table 9-151).
fn suites(v: &[u8], oui: [u8; 3]) -> Option<Security> {
    let counted = |v: &'_ [u8]| -> Option<usize> { Some(usize::from(u16::from_le_bytes(*v.first_chunk()?))) };
    let pairwise = v.get(4..)?;
    let akm = pairwise.get(2 + 4 * counted(pairwise)?..)?;
    let list = akm.get(2..2 + 4 * counted(akm)?)?;
    let rank = |suite: &[u8]| match suite.split_at_checked(3)? {
        (o, [2 | 4 | 6 | 19 | 20]) if o == oui => Some(Security::Psk),
        (o, [1 | 3 | 5 | 11 | 12 | 13 | 22 | 23]) if o == oui => Some(Security::Enterprise),
        (o, [8 | 9 | 24 | 25]) if o == oui => Some(Security::Sae),
        (o, [18]) if o == oui => Some(Security::Owe),
        _ => None,
    };
    list.chunks_exact(4).filter_map(rank).min_by_key(|s| *s as i8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beacon() -> Frame {
        Frame { control: Some(0x0080), address_3: Some([7; 6]), ..Frame::default() }
    }

    fn body(capability: u16, elements: &[&[u8]]) -> Vec<u8> {
        let mut out = vec![0; 8];
        out.extend(100u16.to_le_bytes());
        out.extend(capability.to_le_bytes());
        elements.iter().for_each(|e| out.extend_from_slice(e));
        out
    }

    const RSN_PSK: &[u8] = &[48, 20, 1, 0, 0, 15, 0xac, 4, 1, 0, 0, 15, 0xac, 4, 1, 0, 0, 15, 0xac, 2, 0, 0];

    #[test]
    fn a_beacon() {
        let a = announcement(&beacon(), &body(0x0011, &[b"\x00\x04home", &[3, 1, 11], RSN_PSK])).unwrap();
        assert_eq!((a.source, a.bssid, a.ssid.text().as_str()), (Source::Beacon, [7; 6], "home"));
        assert_eq!((a.channel, a.interval_tu, a.security), (Some(11), Some(100), Some(Security::Psk)));
    }

    #[test]
    fn how_it_protects() {
        let of = |capability, element: &[u8]| {
            announcement(&beacon(), &body(capability, &[b"\x00\x01x", element])).unwrap().security.unwrap()
        };
        assert_eq!(of(0x0001, &[]), Security::Open);
        assert_eq!(of(0x0011, &[]), Security::Wep);
        let mut sae = RSN_PSK.to_vec();
        sae[19] = 8;
        assert_eq!(of(0x0011, &sae), Security::Sae);
        assert_eq!(of(0x0011, &RSN_PSK[..10]), Security::Wep);
        assert_eq!(of(0x0011, &[48, 2, 1, 0]), Security::Other);
        let wpa = [221, 22, 0, 0x50, 0xf2, 1, 1, 0, 0, 0x50, 0xf2, 2, 1, 0, 0, 0x50, 0xf2, 2, 1, 0, 0, 0x50, 0xf2, 2];
        assert_eq!(of(0x0011, &wpa), Security::Psk);
    }

    #[test]
    fn names_of_all_kinds() {
        let of = |ssid: &[u8]| {
            let element = [&[0, u8::try_from(ssid.len()).unwrap()][..], ssid].concat();
            announcement(&beacon(), &body(0, &[&element])).map(|a| (a.ssid.text(), a.ssid.hidden()))
        };
        assert_eq!(of(b""), Some((String::new(), true)));
        assert!(of(&[0; 5]).unwrap().1);
        assert_eq!(of(b"a\xff\xfeb").unwrap().0, "a\\xff\\xfeb");
        assert_eq!(of("caf\u{e9}".as_bytes()).unwrap().0, "caf\u{e9}");
        assert_eq!(of(b"</script>\x1b[31m").unwrap().0, "</script>\x1b[31m");
        assert_eq!(of(&[b'x'; 32]).unwrap().0.len(), 32);
        assert_eq!(of(&[b'x'; 33]), None);
    }

    #[test]
    fn a_joining_station_names_a_hidden_network() {
        let frame = Frame { control: Some(0x0000), address_3: Some([7; 6]), ..Frame::default() };
        let a = announcement(&frame, b"\x11\x00\x0a\x00\x00\x06hidden").unwrap();
        assert_eq!((a.source, a.ssid.text().as_str(), a.interval_tu), (Source::Association, "hidden", None));
    }

    #[test]
    fn cut_at_every_byte() {
        let whole = body(0x0011, &[b"\x00\x04home", &[3, 1, 11], RSN_PSK, &[61, 3, 11, 0, 0], &[221, 255, 1]]);
        for n in 0..=whole.len() {
            let _ = announcement(&beacon(), &whole[..n]);
        }
        assert_eq!(announcement(&beacon(), &whole[..17]), None);
        assert!(announcement(&beacon(), &whole[..18]).is_some());
    }
}

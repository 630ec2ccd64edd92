//! Information elements of a network: its name, its ciphers and key managements (IEEE 802.11-2020 clauses
//! 9.4.2.2 and 9.4.2.24; WPA's vendor element has the same fields).

use crate::frame::elements;

/// A cipher suite (Table 9-149).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Cipher {
    #[default]
    Unknown,
    /// Static or dynamic WEP: WEP-40 and WEP-104.
    Wep,
    Tkip,
    Ccmp,
    Ccmp256,
    /// GCMP with a key of 128 or 256 bits.
    Gcmp,
}

/// Authentication and key management suites as a set: bit n is suite 00-0F-AC:n (Table 9-151).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Akms(u32);

/// The origin of the keys of a set of suites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Management {
    Passphrase,
    /// SAE and OWE: agreed on by public-key cryptography.
    Wpa3,
    /// Passed from access point to access point (802.11r).
    FastTransition,
    /// IEEE 802.1X: a PMK of its own for every session.
    Enterprise,
    Unknown,
}

impl Akms {
    pub fn of(suite: u8) -> Akms {
        Akms(1u32.checked_shl(u32::from(suite)).unwrap_or(0))
    }

    /// The one suite of a set of one.
    pub fn single(self) -> Option<u8> {
        (self.0.count_ones() == 1).then(|| self.0.trailing_zeros() as u8)
    }

    /// The weakest where there are several.
    pub fn management(self) -> Management {
        const KINDS: [(&[u8], Management); 4] = [
            (&[2, 6], Management::Passphrase),
            (&[8, 9, 18, 24, 25], Management::Wpa3),
            (&[3, 4, 13, 16, 17, 19], Management::FastTransition),
            (&[1, 5, 11, 12, 14, 15], Management::Enterprise),
        ];
        let has = |suites: &[u8]| suites.iter().any(|s| self.0 & Akms::of(*s).0 != 0);
        KINDS.iter().find(|k| has(k.0)).map_or(Management::Unknown, |k| k.1)
    }
}

/// The protection of a network's or a station's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Suites {
    pub group: Cipher,
    /// The strongest where several are offered.
    pub pairwise: Cipher,
    pub akms: Akms,
}

/// The content of a frame's elements.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Elements<'a> {
    /// Never hidden (empty or zeros), never over 32 bytes.
    pub ssid: Option<&'a [u8]>,
    pub suites: Option<Suites>,
}

impl<'a> Elements<'a> {
    /// Elements up to the first that exceeds the frame; the first of each kind counts, and RSN before WPA.
    pub fn parse(body: &'a [u8]) -> Elements<'a> {
        const SSID: u8 = 0;
        const RSN: u8 = 48;
        const VENDOR: u8 = 221;
        const WPA: [u8; 4] = [0x00, 0x50, 0xf2, 1];
        let mut out = Elements::default();
        let mut wpa = None;
        for (id, value) in elements(body) {
            match id {
                SSID if out.ssid.is_none() && value.len() <= 32 && value.iter().any(|b| *b != 0) => {
                    out.ssid = Some(value);
                }
                RSN if out.suites.is_none() => out.suites = suites(value),
                VENDOR if wpa.is_none() => wpa = value.strip_prefix(&WPA).and_then(suites),
                _ => {}
            }
        }
        out.suites = out.suites.or(wpa);
        out
    }
}

/// Version, group cipher, pairwise ciphers, key managements; what is missing at the end has its default (clause
/// 9.4.2.24.1).
fn suites(value: &[u8]) -> Option<Suites> {
    let mut rest = value.strip_prefix(&[1, 0])?;
    let mut out = Suites { group: Cipher::Ccmp, pairwise: Cipher::Ccmp, akms: Akms::of(1) };
    let Some(group) = suite(&mut rest) else {
        return Some(out);
    };
    out.group = cipher(group);
    let Some(pairwise) = list(&mut rest) else {
        return Some(out);
    };
    const STRONGEST_LAST: [Cipher; 6] =
        [Cipher::Unknown, Cipher::Wep, Cipher::Tkip, Cipher::Ccmp, Cipher::Ccmp256, Cipher::Gcmp];
    let rank = |c: &Cipher| STRONGEST_LAST.iter().position(|s| s == c);
    out.pairwise = pairwise.map(cipher).max_by_key(rank).unwrap_or_default();
    if let Some(akms) = list(&mut rest) {
        out.akms = Akms(akms.filter(is_known).fold(0, |set, s| set | Akms::of(s[3]).0));
    }
    Some(out)
}

fn suite(rest: &mut &[u8]) -> Option<[u8; 4]> {
    let (first, behind) = rest.split_first_chunk::<4>()?;
    *rest = behind;
    Some(*first)
}

/// A count and that number of suites.
fn list<'a>(rest: &mut &'a [u8]) -> Option<impl Iterator<Item = [u8; 4]> + 'a> {
    let (count, behind) = rest.split_first_chunk::<2>()?;
    let bytes = 4 * usize::from(u16::from_le_bytes(*count));
    let (list, behind) = (behind.get(..bytes)?, &behind[bytes..]);
    *rest = behind;
    Some(list.chunks_exact(4).map(|s| [s[0], s[1], s[2], s[3]]))
}

/// 00-0F-AC of the standard and 00-50-F2 of WPA, whose first suites mean the same.
fn is_known(suite: &[u8; 4]) -> bool {
    matches!(suite, [0x00, 0x0f, 0xac, _] | [0x00, 0x50, 0xf2, _])
}

fn cipher(suite: [u8; 4]) -> Cipher {
    if !is_known(&suite) {
        return Cipher::Unknown;
    }
    match suite[3] {
        1 | 5 => Cipher::Wep,
        2 => Cipher::Tkip,
        4 => Cipher::Ccmp,
        8 | 9 => Cipher::Gcmp,
        10 => Cipher::Ccmp256,
        _ => Cipher::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::testing::hex;

    #[test]
    fn names_and_suites() {
        let wpa = "dd16 0050f201 0100 0050f202 0100 0050f202 0100 0050f202";
        let rsn = "3016 0100 000fac02 0200 000fac04 000fac02 0100 000fac06";
        let all = hex(&format!("0003 616263 {wpa} {rsn} 0001 78"));
        let e = Elements::parse(&all);
        assert_eq!(e.ssid, Some(&b"abc"[..]));
        assert_eq!(e.suites, Some(Suites { group: Cipher::Tkip, pairwise: Cipher::Ccmp, akms: Akms::of(6) }));
        let e = hex(wpa);
        let suites = Elements::parse(&e).suites.unwrap();
        assert_eq!((suites.pairwise, suites.akms.single()), (Cipher::Tkip, Some(2)));
        assert_eq!(suites.akms.management(), Management::Passphrase);
        for n in 0..all.len() {
            Elements::parse(&all[..n]);
        }
    }

    #[test]
    fn hidden_names_and_defaults() {
        for hidden in ["0000", "0004 00000000", "0021 61"] {
            assert_eq!(Elements::parse(&hex(hidden)).ssid, None);
        }
        let suites = |e: &str| Elements::parse(&hex(e)).suites;
        assert_eq!(suites("3002 0100").map(|s| (s.group, s.akms)), Some((Cipher::Ccmp, Akms::of(1))));
        assert_eq!(suites("3002 0200"), None);
        assert_eq!(suites("3008 0100 000fac02 ffff").map(|s| s.pairwise), Some(Cipher::Ccmp));
        let gcmp = suites("3016 0100 000fac08 0100 000fac09 0200 000fac08 000fac12").unwrap();
        assert_eq!((gcmp.pairwise, gcmp.akms.management()), (Cipher::Gcmp, Management::Wpa3));
        assert_eq!(Akms::of(4).management(), Management::FastTransition);
        assert_eq!(Akms::of(1).management(), Management::Enterprise);
        assert_eq!(Akms::of(200).management(), Management::Unknown);
    }
}

//! Keys as the user writes them, one per line: Wireshark's `80211_keys` and its preference file.
//!
//! No type here shows its contents in `Debug`, and no error repeats the input: a mistyped line may be entirely secret.

use zeroize::Zeroizing;

use crate::limits;

/// A pairwise master key (clause 12.7.1.3).
pub type Pmk = Zeroizing<[u8; 32]>;

/// One key as given.
pub(super) enum Key {
    /// WEP-40, WEP-104 or WEP-128 without the initialization vector.
    Wep(Secret),
    Passphrase {
        passphrase: Secret,
        /// None: the networks' names in the capture are tried.
        ssid: Option<Vec<u8>>,
    },
    Pmk(Pmk),
}

/// The keys given for a capture; erased from memory when dropped.
#[derive(Default)]
pub struct Keys {
    pub(super) list: Vec<Key>,
}

/// An invalid line: its number, the fault, and the correct form. Never the line itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadKey {
    /// 1-based.
    pub line: usize,
    pub what: &'static str,
    pub form: &'static str,
}

const WEP_FORM: &str = "wep:HEX, with 10, 26 or 32 hexadecimal digits";
const PASSPHRASE_FORM: &str =
    "wpa-pwd:PASSPHRASE:SSID or wpa-pwd:PASSPHRASE, with 8 to 63 characters and a name of at most 32 bytes; \
     %3a stands for a colon, %25 for a percent sign";
const PMK_FORM: &str = "wpa-psk:HEX, with 64 hexadecimal digits";
const ANY_FORM: &str = "wep:HEX, wpa-pwd:PASSPHRASE:SSID or wpa-psk:HEX";

impl Keys {
    /// Keys from lines: `wep:HEX`, `wpa-pwd:PASSPHRASE:SSID`, `wpa-pwd:PASSPHRASE`, `wpa-psk:HEX`, the same with type and
    /// key in quotes and a comma between; a bare passphrase or a bare PMK. Empty lines and those with # are skipped.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Result<Keys, BadKey> {
        let mut list = Vec::new();
        for (i, line) in lines.into_iter().enumerate() {
            let bad = |(what, form)| BadKey { line: i + 1, what, form };
            let mut line = line.trim_ascii_start();
            while let [rest @ .., b'\r' | b'\n'] = line {
                line = rest;
            }
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if list.len() == limits::KEYS {
                return Err(bad(("there are more than 256 keys", "at most 256 keys")));
            }
            list.push(parse_line(line).map_err(bad)?);
        }
        Ok(Keys { list })
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }
}

type Bad = (&'static str, &'static str);

fn parse_line(line: &[u8]) -> Result<Key, Bad> {
    if line.starts_with(b"\"") {
        let (kind, value) = quoted(line).ok_or(("the quotes do not enclose a type and a key", QUOTED_FORM))?;
        return typed(&kind, &value);
    }
    let Some(colon) = line.iter().position(|b| *b == b':') else {
        return bare(line);
    };
    typed(line[..colon].trim_ascii(), &line[colon + 1..])
}

/// A line without a type: 64 hexadecimal digits are a PMK; anything else that is valid is a passphrase.
fn bare(line: &[u8]) -> Result<Key, Bad> {
    if let Some(pmk) = hex(line).and_then(|k| pmk(&k)) {
        return Ok(Key::Pmk(pmk));
    }
    passphrase(line)
        .map(|passphrase| Key::Passphrase { passphrase, ssid: None })
        .map_err(|_| ("it is neither a key with a type nor a passphrase", ANY_FORM))
}

const QUOTED_FORM: &str = "\"wpa-pwd\",\"PASSPHRASE:SSID\"";

fn typed(kind: &[u8], value: &[u8]) -> Result<Key, Bad> {
    match nearest(kind) {
        (Some("wep"), true) => {
            let key = hex(value).ok_or(("the WEP key has characters other than hexadecimal digits", WEP_FORM))?;
            match key.len() {
                5 | 13 | 16 => Ok(Key::Wep(key)),
                _ => Err(("the WEP key has an invalid length", WEP_FORM)),
            }
        }
        (Some("wpa-psk"), true) => {
            let key = hex(value).ok_or(("the PMK has characters other than hexadecimal digits", PMK_FORM))?;
            pmk(&key).map(Key::Pmk).ok_or(("the PMK has an invalid length", PMK_FORM))
        }
        (Some("wpa-pwd"), true) => {
            let mut parts = value.splitn(2, |b| *b == b':');
            let passphrase = passphrase(&percent(parts.next().unwrap_or_default()))?;
            let ssid = parts.next().map(|s| percent(s).to_vec()).filter(|s| !s.is_empty());
            if ssid.as_ref().is_some_and(|s| s.len() > 32) {
                return Err(("the network name has more than 32 bytes", PASSPHRASE_FORM));
            }
            Ok(Key::Passphrase { passphrase, ssid })
        }
        (Some("wep"), _) => Err(("the type of key is unknown", WEP_FORM)),
        (Some("wpa-psk"), _) => Err(("the type of key is unknown", PMK_FORM)),
        (Some("wpa-pwd"), _) => Err(("the type of key is unknown", PASSPHRASE_FORM)),
        _ => Err(("the type of key is unknown", ANY_FORM)),
    }
}

/// The intended type, and whether it was written correctly; upper and lower case do not matter.
fn nearest(kind: &[u8]) -> (Option<&'static str>, bool) {
    const TYPES: [&str; 3] = ["wep", "wpa-pwd", "wpa-psk"];
    let given = String::from_utf8_lossy(kind).to_ascii_lowercase();
    if let Some(exact) = TYPES.iter().find(|t| **t == given) {
        return (Some(exact), true);
    }
    let meant = match given.as_str() {
        "psk" | "pmk" | "wpapsk" | "wpa_psk" | "wpa2-psk" => Some("wpa-psk"),
        "pwd" | "wpapwd" | "wpa_pwd" | "wpa2-pwd" | "wpa" | "wpa2" | "passphrase" | "password" | "pass" => {
            Some("wpa-pwd")
        }
        other => TYPES.iter().find(|t| one_off(t, other)).copied(),
    };
    (meant, false)
}

/// Whether two words differ by one letter that is changed, missing, added, or swapped with the next.
fn one_off(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
    a.len().max(b.len()) <= 1 || (a.len() == 2 && b.len() == 2 && a[0] == b[1] && a[1] == b[0])
}

/// 8 to 63 characters (clause J.4.1); those beyond ASCII as their UTF-8 bytes, which is what devices hash.
fn passphrase(text: &[u8]) -> Result<Secret, Bad> {
    match text.len() {
        8..=63 => Ok(Zeroizing::new(text.to_vec())),
        _ => Err(("the passphrase has an invalid length", PASSPHRASE_FORM)),
    }
}

fn pmk(key: &[u8]) -> Option<Pmk> {
    key.try_into().ok().map(Zeroizing::new)
}

/// Bytes of hexadecimal digits; colons, hyphens, dots and blanks between them are skipped.
fn hex(text: &[u8]) -> Option<Secret> {
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() / 2));
    let mut high = None;
    for c in text.iter().filter(|c| !b":-. \t".contains(c)) {
        let digit = (*c as char).to_digit(16)? as u8;
        match high.take() {
            None => high = Some(digit),
            Some(h) => out.push(h << 4 | digit),
        }
    }
    high.is_none().then_some(out)
}

/// %NN of RFC 3986 as Wireshark reads it; a percent sign before anything else is literal.
fn percent(text: &[u8]) -> Secret {
    let mut out = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let code = (first == b'%').then(|| behind.get(..2)).flatten().and_then(hex_pair);
        out.push(code.unwrap_or(first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    out
}

fn hex_pair(digits: &[u8]) -> Option<u8> {
    let digit = |c: u8| (c as char).to_digit(16);
    Some((digit(digits[0])? << 4 | digit(digits[1])?) as u8)
}

/// Bytes that are erased when dropped.
type Secret = Zeroizing<Vec<u8>>;

/// The two fields of `"type","key"`; \xNN, \" and \\ inside the quotes as Wireshark's preference files write them.
fn quoted(line: &[u8]) -> Option<(Secret, Secret)> {
    let (kind, rest) = field(line)?;
    let rest = rest.trim_ascii_start().strip_prefix(b",")?.trim_ascii_start();
    let (value, rest) = field(rest)?;
    if !rest.trim_ascii().is_empty() {
        return None;
    }
    Some((kind, value))
}

fn field(text: &[u8]) -> Option<(Secret, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut out = Zeroizing::new(Vec::with_capacity(text.len()));
    loop {
        let (&c, behind) = rest.split_first()?;
        rest = behind;
        match c {
            b'"' => return Some((out, rest)),
            b'\\' if rest.first() == Some(&b'x') && rest.get(1..3).and_then(hex_pair).is_some() => {
                out.push(hex_pair(&rest[1..3])?);
                rest = &rest[3..];
            }
            b'\\' => {
                let (&escaped, behind) = rest.split_first()?;
                out.push(escaped);
                rest = behind;
            }
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Result<String, BadKey> {
        Keys::parse([line.as_bytes()]).map(|keys| match &keys.list[0] {
            Key::Wep(k) => format!("wep {:02x?}", k.as_slice()),
            Key::Passphrase { passphrase, ssid } => {
                let ssid = ssid.as_deref().map(String::from_utf8_lossy);
                format!("pwd {} {ssid:?}", String::from_utf8_lossy(passphrase))
            }
            Key::Pmk(k) => format!("pmk {:02x}{:02x}", k[0], k[31]),
        })
    }

    #[test]
    fn every_form() {
        let pmk = format!("a5{}d4", "00".repeat(30));
        for (line, want) in [
            ("wep:1F:1F:1F:1F:1F", "wep [1f, 1f, 1f, 1f, 1f]"),
            ("  WEP:1f1f1f1f1f ", "wep [1f, 1f, 1f, 1f, 1f]"),
            ("wpa-pwd:Induction:Coherer", "pwd Induction Some(\"Coherer\")"),
            ("wpa-pwd:Induction", "pwd Induction None"),
            ("wpa-pwd:a%3ab%25c 12:x:y", "pwd a:b%c 12 Some(\"x:y\")"),
            ("wpa-pwd:100%sure:net", "pwd 100%sure Some(\"net\")"),
            ("\"wpa-pwd\",\"Induction:Coherer\"", "pwd Induction Some(\"Coherer\")"),
            ("\"wpa-pwd\", \"say \\x22hi\\x22\\\\:n\"\r\n", "pwd say \"hi\"\\ Some(\"n\")"),
            ("\"wep\",\"1f:1f:1f:1f:1f\"", "wep [1f, 1f, 1f, 1f, 1f]"),
            (&format!("wpa-psk:{pmk}"), "pmk a5d4"),
            (&pmk, "pmk a5d4"),
            ("just a passphrase", "pwd just a passphrase None"),
        ] {
            assert_eq!(one(line).as_deref(), Ok(want));
        }
        let lines = ["# wep:nothing", "", "wep:0102030405", "   "];
        assert_eq!(Keys::parse(lines.map(str::as_bytes)).map(|k| k.len()), Ok(1));
    }

    #[test]
    fn mistakes_name_the_line_and_the_form_and_keep_the_secret() {
        let secret = "S3cretS3cret";
        for (line, form) in [
            ("wpe:0102030405", WEP_FORM),
            ("wep:01020304", WEP_FORM),
            ("wep:S3cretS3cret", WEP_FORM),
            ("wpapwd:S3cretS3cret:x", PASSPHRASE_FORM),
            ("wpa-pwd:S3c:x", PASSPHRASE_FORM),
            ("wpa-pwd:S3cretS3cret:123456789012345678901234567890123", PASSPHRASE_FORM),
            ("wpa-psk:S3cretS3cret", PMK_FORM),
            ("wpa-pks:0102", PMK_FORM),
            ("S3cretS3cret:net", ANY_FORM),
            ("short", ANY_FORM),
            ("\"wpa-pwd\",\"S3cretS3cret", QUOTED_FORM),
            ("\"wpa-pwd\" S3cretS3cret", QUOTED_FORM),
        ] {
            let bad =
                Keys::parse([&b"# a comment"[..], line.as_bytes()]).err().unwrap_or_else(|| panic!("{line} was taken"));
            assert_eq!((bad.line, bad.form), (2, form), "{line}");
            assert!(!format!("{bad:?}").contains(secret));
        }
        let many = vec![&b"wep:0102030405"[..]; limits::KEYS + 1];
        assert_eq!(Keys::parse(many).err().map(|b| b.line), Some(limits::KEYS + 1));
    }
}

//! Formats recognised by their first bytes: those that are read, and those that are named in the error.
//!
//! Sources: the formats' specifications where there are any (snoop: RFC 1761; NetMon: MS-NM capture
//! format; btsnoop: Frontline), else the facts in Wireshark's wiretap and in file(1).

use crate::error::{Error, ErrorKind};

/// The description of a format for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreign {
    /// For the sentence "... cannot be read".
    pub what: &'static str,
    pub next: &'static str,
}

const CONVERT: &str = "convert it with `editcap -F pcapng IN OUT`";

/// What it is, a hint, magic bytes at the front.
const CAPTURES: &[(&str, &str, &[u8])] = &[
    ("a Solaris snoop capture", CONVERT, b"snoop\0\0\0"),
    ("a Microsoft Network Monitor 1 capture", CONVERT, b"RTSS"),
    ("a Microsoft Network Monitor 2 capture", CONVERT, b"GMBU"),
    ("an AIX iptrace capture", CONVERT, b"iptrace 1.0"),
    ("an AIX iptrace capture", CONVERT, b"iptrace 2.0"),
    ("an HP-UX 9 nettl capture", CONVERT, b"\0\0\0\x01\0\0\0\0\0\x07\xd0\0"),
    ("an HP-UX nettl capture", CONVERT, b"TR\0d\0"),
    ("a WildPackets EtherPeek or OmniPeek capture", CONVERT, b"\x7fver"),
    ("a RADCOM analyzer capture", CONVERT, b"\x42\xd2\0\x34\x12\x66\x22\x88"),
    ("a Visual Networks capture", CONVERT, b"\x05VNF"),
    ("a Network Instruments Observer capture", CONVERT, b"ObserverPktBuffe"),
    ("a Tektronix K12 capture", CONVERT, b"\0\0\x02\0\x12\x05\0\x10"),
    ("a Bluetooth btsnoop log", CONVERT, b"btsnoop\0"),
    ("a Vector BLF log", CONVERT, b"LOGG"),
    ("an SQLite file, perhaps a Kismet log", "convert it with `kismetdb_to_pcap`", b"SQLite format 3\0"),
];

/// Archives and compressions that are not undone, with the command that does.
const PACKED: &[(&str, &str, &[u8])] = &[
    ("xz data", "unpack it with `xz -d`", b"\xfd7zXZ\0"),
    ("bzip2 data", "unpack it with `bunzip2`", b"BZh"),
    ("a zip archive", "unpack it with `unzip`", b"PK\x03\x04"),
    ("an empty zip archive", "it contains no file", b"PK\x05\x06"),
    ("a 7-Zip archive", "unpack it with `7z x`", b"7z\xbc\xaf\x27\x1c"),
    ("a RAR archive", "unpack it with `unrar x`", b"Rar!\x1a\x07"),
    ("lzip data", "unpack it with `lzip -d`", b"LZIP"),
    ("legacy lz4 data", "unpack it with `lz4 -d`", b"\x02\x21\x4c\x18"),
    ("compress data", "unpack it with `gunzip`", b"\x1f\x9d"),
    ("lzma data", "unpack it with `xz -d --format=lzma`", b"\x5d\0\0\x80\0"),
];

/// Compressions that are decompressed, but only one layer.
const AGAIN: &[(&str, &str, &[u8])] = &[
    ("gzip data", "unpack it with `gunzip`", b"\x1f\x8b"),
    ("zstd data", "unpack it with `zstd -d`", b"\x28\xb5\x2f\xfd"),
    ("lz4 data", "unpack it with `lz4 -d`", b"\x04\x22\x4d\x18"),
];

fn look_up(table: &[(&'static str, &'static str, &[u8])], head: &[u8]) -> Option<Foreign> {
    let row = table.iter().find(|row| head.starts_with(row.2))?;
    Some(Foreign { what: row.0, next: row.1 })
}

/// A format that is recognised but not read.
pub fn foreign(head: &[u8]) -> Option<Foreign> {
    look_up(CAPTURES, head)
        .or_else(|| look_up(PACKED, head))
        .or_else(|| look_up(AGAIN, head))
        .or_else(|| {
            let tar = head.get(257..262) == Some(b"ustar");
            tar.then_some(Foreign { what: "a tar archive", next: "unpack it with `tar xf`" })
        })
        .or_else(|| is_lanalyzer(head).then_some(Foreign { what: "a Novell LANalyzer capture", next: CONVERT }))
        .or_else(|| is_erf(head).then_some(Foreign { what: "an Endace ERF capture", next: CONVERT }))
}

/// LANalyzer: a header record (type 0x1001 or 0x1007, little-endian) whose version field follows its length.
fn is_lanalyzer(head: &[u8]) -> bool {
    let [kind, 0x10, low, high, major, ..] = *head else {
        return false;
    };
    matches!(kind, 1 | 7) && (3..1024).contains(&u16::from_le_bytes([low, high])) && major < 16
}

/// ERF has no magic number: two consecutive records must be plausible.
///
/// A record is an 8-byte little-endian timestamp (seconds in the upper half), type, flags, record length,
/// loss counter, wire length (big-endian), then the rest of `record length`.
fn is_erf(head: &[u8]) -> bool {
    let record = |at: usize| {
        let h = head.get(at..at + 16)?;
        let seconds = u32::from_le_bytes([h[4], h[5], h[6], h[7]]);
        let (kind, length) = (h[8] & 0x7f, u16::from_be_bytes([h[10], h[11]]));
        let wire = u16::from_be_bytes([h[14], h[15]]);
        let sane =
            (800_000_000..4_200_000_000).contains(&seconds) && (1..=48).contains(&kind) && length >= 16 && wire > 0;
        sane.then_some((seconds, at + usize::from(length)))
    };
    match record(0) {
        Some((first, next)) => record(next).is_some_and(|(second, _)| second.abs_diff(first) < 86_400),
        None => false,
    }
}

/// A guess for the message about bytes of no known format.
pub fn describe(head: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(&head[..head.len().min(64)]).trim_start().to_ascii_lowercase();
    if head.is_empty() {
        "the input is empty"
    } else if text.starts_with("<!doctype") || text.starts_with("<html") {
        "the input looks like a web page, not a capture"
    } else if head.iter().all(|b| *b == 0) {
        "the input begins with zero bytes and is not a capture"
    } else if head.iter().all(|b| matches!(b, 9..=13 | 27 | 32..=126 | 128..))
        && std::str::from_utf8(&head[..head.len().min(64)]).is_ok()
    {
        "the input looks like text, not a capture"
    } else {
        "the input is not a capture of a known format"
    }
}

/// The error for a format that is not read; `inside` names the compression around it, `formats` those that are read.
pub fn refuse(head: &[u8], inside: &str, formats: &str) -> Error {
    let within = if inside.is_empty() { String::new() } else { format!(" inside {inside}") };
    if let Some(f) = foreign(head) {
        let only = if !inside.is_empty() && (look_up(AGAIN, head).is_some() || look_up(PACKED, head).is_some()) {
            "; only one layer of compression is supported"
        } else {
            ""
        };
        let what = format!("{}{within} cannot be read{only}", f.what);
        return Error::new(ErrorKind::UnsupportedFormat, what).next(f.next);
    }
    Error::new(ErrorKind::UnknownFormat, format!("{}{within}", describe(head)))
        .at(0)
        .next(format!("supported are {formats}, uncompressed or in gzip, zstd or lz4"))
}

//! The file header of NetXRay and Windows Sniffer captures: 128 bytes, little-endian.
//!
//! The format was never published; the facts are those that Wireshark's wiretap collected from captures.

use crate::error::{Error, ErrorKind, Result};

/// Bytes of the file header.
pub const FILE_HEADER: usize = 128;

const OLD_MAGIC: &[u8] = b"VL\0\0";
const MAGIC: &[u8] = b"XCP\0";

/// Offsets of the fields.
mod at {
    pub const VERSION: usize = 4;
    pub const START_TIME: usize = 12;
    pub const FRAMES: usize = 16;
    pub const FIRST: usize = 24;
    pub const END: usize = 28;
    pub const NETWORK: usize = 44;
    pub const NETWORK_PLUS: usize = 45;
    pub const TIME_UNIT: usize = 48;
    pub const START_TICKS: usize = 52;
    pub const REAL_TICK: usize = 76;
    pub const CAPTURE_TYPE: usize = 84;
}

/// NDIS medium types, which number the networks.
mod network {
    pub const ETHERNET: u16 = 1;
    pub const TOKEN_RING: u16 = 2;
    pub const FDDI: u16 = 3;
    pub const WAN: u16 = 4;
    pub const ATM: u16 = 9;
    pub const WIRELESS: u16 = 10;
}

const LINKTYPE_ETHERNET: u16 = 1;
const LINKTYPE_PPP: u16 = 9;
const LINKTYPE_C_HDLC: u16 = 104;
pub const LINKTYPE_IEEE802_11: u16 = 105;

/// The layout of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// NetXRay before 1.0: one length.
    Old,
    /// 1.0 and 1.1.
    One,
    /// 2.000 to 2.003, the Windows Sniffer.
    Two,
}

/// The parts of the file header that apply to all its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    pub generation: Generation,
    pub link_type: u16,
    /// Captured at a serial line by a pod, which records the direction.
    pub wan: bool,
    /// Seconds since 1970 of the start.
    pub start_s: u32,
    /// The tick counter at the start.
    pub start_ticks: u64,
    pub ticks_per_s: u32,
    /// The four bytes that some records have after the frame are its FCS, not random bytes.
    pub fcs: bool,
    /// Number of records; 0: not known.
    pub frames: u32,
    /// Offset of the first record.
    pub first: u64,
    /// Offset after the last record; 0: not known.
    pub end: u64,
}

pub fn is_netxray(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || head.starts_with(OLD_MAGIC)
}

fn refused(kind: ErrorKind, at: usize, what: String) -> Error {
    Error::new(kind, what).at(at as u64)
}

impl FileHeader {
    /// Parse a header that [`is_netxray`] recognised.
    pub fn parse(head: &[u8]) -> Result<FileHeader> {
        let Some(head): Option<&[u8; FILE_HEADER]> = head.first_chunk() else {
            let what = "the NetXRay file ends inside its file header".to_owned();
            return Err(refused(ErrorKind::CorruptCapture, head.len(), what));
        };
        let u32_at = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (generation, minor) = version(head)?;
        let network = network(head)?;
        let start_ticks = u64::from(u32_at(at::START_TICKS + 4)) << 32 | u64::from(u32_at(at::START_TICKS));
        let real_tick = u32_at(at::REAL_TICK);
        let (ticks_per_s, from_start) = match (generation, minor) {
            (Generation::Old, _) | (Generation::One, 0) => (1000, true),
            (Generation::One, _) => (1_000_000, true),
            (Generation::Two, _) => {
                ticks(network, head[at::CAPTURE_TYPE], head[at::TIME_UNIT], real_tick).map_err(|what| {
                    refused(ErrorKind::UnsupportedFormat, at::TIME_UNIT, what)
                        .next("its times are unknown: export it as libpcap from the Sniffer that wrote it")
                })?
            }
        };
        Ok(FileHeader {
            generation,
            link_type: link_type(network, generation, head[at::CAPTURE_TYPE])?,
            wan: network == network::WAN && generation == Generation::Two,
            start_s: u32_at(at::START_TIME),
            // Pods of 2.002 and later count from 0, despite the header.
            start_ticks: if from_start || minor < 2 { start_ticks } else { 0 },
            ticks_per_s,
            // Found in every known capture: cards whose clock has these two bytes keep the FCS.
            fcs: generation == Generation::Two && real_tick >> 8 & 0xffff == 0x1234,
            frames: u32_at(at::FRAMES),
            first: u64::from(u32_at(at::FIRST)).max(FILE_HEADER as u64),
            end: u64::from(u32_at(at::END)),
        })
    }

    /// The file was a ring when the capture stopped: its oldest record is at `first`, the newest one ends at `end` before it.
    pub fn wrapped(&self) -> bool {
        self.end > FILE_HEADER as u64 && self.end <= self.first
    }
}

/// Generation and minor version.
fn version(head: &[u8; FILE_HEADER]) -> Result<(Generation, u8)> {
    if head.starts_with(OLD_MAGIC) {
        return Ok((Generation::Old, 0));
    }
    let text = &head[at::VERSION..at::VERSION + 8];
    match text {
        b"001.000\0" => Ok((Generation::One, 0)),
        b"001.100\0" => Ok((Generation::One, 1)),
        b"002.000\0" => Ok((Generation::Two, 0)),
        b"002.001\0" => Ok((Generation::Two, 1)),
        b"002.002\0" => Ok((Generation::Two, 2)),
        b"002.003\0" => Ok((Generation::Two, 3)),
        _ => {
            let shown: String = text.iter().filter(|b| b.is_ascii_graphic()).map(|b| char::from(*b)).collect();
            let what = format!("NetXRay version \"{shown}\" is not supported");
            Err(refused(ErrorKind::UnsupportedFormat, at::VERSION, what).next(
                "supported are versions 1.0, 1.1 and 2.000 to 2.003; if the file is one of them, its header is damaged",
            ))
        }
    }
}

fn network(head: &[u8; FILE_HEADER]) -> Result<u16> {
    let number = u16::from(head[at::NETWORK]);
    match head[at::NETWORK_PLUS] {
        0 => Ok(number + 1),
        2 => Ok(number),
        other => {
            let what = format!("NetXRay network type {other} is unknown");
            Err(refused(ErrorKind::UnsupportedFormat, at::NETWORK_PLUS, what).next("the file header may be damaged"))
        }
    }
}

fn link_type(network: u16, generation: Generation, capture_type: u8) -> Result<u16> {
    let named = match (network, generation, capture_type) {
        (network::ETHERNET, ..) => return Ok(LINKTYPE_ETHERNET),
        (network::WIRELESS, ..) => return Ok(LINKTYPE_IEEE802_11),
        // NDISWAN made Ethernet frames of everything.
        (network::WAN, Generation::Old | Generation::One, _) => return Ok(LINKTYPE_ETHERNET),
        (network::WAN, Generation::Two, 3) => return Ok(LINKTYPE_PPP),
        (network::WAN, Generation::Two, 19) => return Ok(LINKTYPE_C_HDLC),
        (network::WAN, Generation::Two, 4) => "Frame Relay".to_owned(),
        (network::WAN, Generation::Two, 6 | 8) => "HDLC (X.25 or ISDN)".to_owned(),
        (network::WAN, Generation::Two, 7) => "SDLC".to_owned(),
        (network::WAN, Generation::Two, other) => format!("WAN type {other}"),
        (network::TOKEN_RING, ..) => "Token Ring".to_owned(),
        (network::FDDI, ..) => "FDDI".to_owned(),
        (network::ATM, ..) => "ATM".to_owned(),
        (other, ..) => format!("network {other}"),
    };
    let at = if network == network::WAN { at::CAPTURE_TYPE } else { at::NETWORK };
    Err(refused(ErrorKind::UnsupportedLinkType, at, format!("Sniffer captures of {named} are not supported"))
        .next("see `wlanlens list formats` for the supported link types"))
}

/// Ticks per second of a 2.x file, and whether records count from the header's start ticks in every version.
fn ticks(network: u16, capture_type: u8, unit: u8, real_tick: u32) -> std::result::Result<(u32, bool), String> {
    const NDIS: u8 = 0;
    const GIGABIT_POD: u8 = 2;
    const POD: u8 = 3;
    const POD_2: u8 = 5;
    const GIGABIT_POD_2: u8 = 6;
    let pod = network == network::ETHERNET && capture_type != NDIS;
    let per_second = match (pod, capture_type, unit) {
        (false, _, 0) | (true, POD | POD_2, 0) => 1_000_000,
        (false, _, 1) => 1_193_000,
        // Only for Ethernet it is known that the header has the rate of the card's own clock.
        (false, _, 2) if network == network::ETHERNET => real_tick,
        (false, _, 2) => 1_193_182,
        (true, GIGABIT_POD | GIGABIT_POD_2, 0) => 1_000_000_000,
        (true, GIGABIT_POD, 2) => 31_250_000,
        (true, POD, 2) => 1_250_000,
        (true, GIGABIT_POD_2, 2) => 20_000_000,
        _ => 0,
    };
    match per_second {
        0 => Err(format!("unknown time unit {unit} in a Sniffer capture of type {capture_type}")),
        n => Ok((n, !pod)),
    }
}

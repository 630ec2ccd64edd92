//! Mutations that find errors in formats with length fields.

use crate::rng::Rng;
use crate::seeds;

/// Seeds and inputs stay below this many bytes: speed finds more than size.
pub const INPUT_BYTES: usize = 256 << 10;

/// Numbers at which lengths and counts overflow.
const EDGES: [u32; 16] =
    [0, 1, 2, 3, 4, 7, 8, 12, 0xff, 0x7fff, 0xffff, 262_144, 262_145, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/// A seed, mutated a few times.
pub fn next(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = match seeds.len() {
        0 => {
            let n = rng.below(300);
            rng.noise(n)
        }
        n => seeds[rng.below(n)].clone(),
    };
    let times = 1 + rng.below(8);
    for _ in 0..times {
        once(&mut bytes, seeds, rng);
    }
    bytes.truncate(INPUT_BYTES);
    bytes
}

/// True once in `n` times.
pub fn one_in(n: usize, rng: &mut Rng) -> bool {
    rng.below(n) == 0
}

/// A capture of records in nearly their order, some of them mutated, duplicated, lost or cut, with any times.
///
/// Mutating a whole file mostly breaks its framing; this keeps it, so that the code after connections, exchanges and
/// URBs is reached.
pub fn capture(records: &[(u16, Vec<Vec<u8>>)], rng: &mut Rng) -> Vec<u8> {
    let Some((link_type, records)) = records.get(rng.below(records.len())) else {
        return Vec::new();
    };
    let (mut us, mut at, mut out) = (0_u64, rng.below(records.len()), Vec::new());
    for _ in 0..1 + rng.below(120) {
        at = match rng.below(12) {
            0 => rng.below(records.len()),
            1 => at,
            2 => at + 2,
            _ => at + 1,
        } % records.len().max(1);
        let Some(record) = records.get(at) else { break };
        us = match rng.below(40) {
            0 => us.saturating_sub(rng.below(100_000) as u64),
            1 => us + rng.below(5_000_000_000) as u64,
            2 => us,
            _ => us + rng.below(2000) as u64,
        };
        let mut data = record.clone();
        if rng.below(4) == 0 {
            for _ in 0..1 + rng.below(3) {
                once(&mut data, records, rng);
            }
        }
        data.truncate(3000);
        let wire = data.len() as u32 + if rng.below(8) == 0 { rng.below(2000) as u32 } else { 0 };
        out.push((us, wire, data));
    }
    seeds::pcap_at(*link_type, &out)
}

fn once(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.below(bytes.len());
    let longest = if rng.below(4) == 0 { 600 } else { 24 };
    let span = 1 + rng.below(longest);
    let end = bytes.len().min(at + span);
    match rng.below(12) {
        0 | 1 => {
            if let Some(b) = bytes.get_mut(at) {
                *b ^= 1 << rng.below(8);
            }
        }
        2 => {
            if let Some(b) = bytes.get_mut(at) {
                *b = rng.byte();
            }
        }
        3..=5 => {
            let edge = EDGES[rng.below(EDGES.len())];
            let word = if rng.below(2) == 0 { edge.to_le_bytes() } else { edge.to_be_bytes() };
            let width = [1, 2, 4][rng.below(3)];
            let from = if word[0] == 0 { 4 - width } else { 0 };
            // Most fields are aligned to four bytes; so are half of the mutations.
            let at = if rng.below(2) == 0 { at & !3 } else { at };
            for (b, w) in bytes.iter_mut().skip(at).zip(&word[from..from + width]) {
                *b = *w;
            }
        }
        6 => {
            bytes.drain(at..end);
        }
        7 => {
            let n = rng.below(40);
            let noise = rng.noise(n);
            bytes.splice(at..at, noise);
        }
        8 => {
            let copy = bytes[at..end].to_vec();
            let to = rng.below(bytes.len() + 1);
            let times = 1 + rng.below(4);
            bytes.splice(to..to, copy.repeat(times));
        }
        9 => bytes[at..end].fill(if rng.below(2) == 0 { 0 } else { 0xff }),
        10 => bytes.truncate(at),
        _ => {
            if let Some(other) = seeds.get(rng.below(seeds.len())) {
                let from = rng.below(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
}

//! One packet in one capture, several in the other: super-segments of offload, and fragments.

use rustc_hash::FxHashMap;

use super::pair::{Kind, Pair};
use super::row::Row;
use super::window::{Place, Window};
use crate::limits;

/// Pair rows without an equal row with those that they were split into or assembled from.
pub fn pair(w: &mut Window<'_>, done_a: &mut [bool], out: &mut Vec<Pair>) {
    let left_a: Vec<Place> = (w.start..w.end).filter(|a| !done_a[*a]).map(|a| a as Place).collect();
    let left_b: Vec<Place> = (0..w.b.len()).filter(|b| !w.taken[*b]).map(|b| b as Place).collect();
    if left_a.is_empty() || left_b.is_empty() {
        return;
    }
    trains(w, &left_a, &left_b, out);
    fragments(w, &left_a, &left_b, out);
}

/// What the segments of a super-segment share.
fn train(row: &Row) -> Option<u64> {
    (row.tcp && row.len > 0).then_some(row.train)
}

/// Super-segments contain the bytes of the segments that they were split into (TSO) or assembled from (GRO).
fn trains(w: &mut Window<'_>, left_a: &[Place], left_b: &[Place], out: &mut Vec<Pair>) {
    let wanted = left_a.iter().filter_map(|a| train(&w.a[*a as usize]));
    let mut by_train: FxHashMap<u64, Vec<(u32, Place)>> = wanted.map(|train| (train, Vec::new())).collect();
    for b in left_b {
        if let Some(list) = train(&w.b[*b as usize]).and_then(|t| by_train.get_mut(&t)) {
            list.push((w.b[*b as usize].seq, *b));
        }
    }
    for list in by_train.values_mut() {
        list.sort_unstable();
    }
    // Bytes of each row of b that are paired.
    let mut held: FxHashMap<Place, u64> = FxHashMap::default();
    for a in left_a {
        let x = w.a[*a as usize];
        let Some(list) = train(&x).and_then(|t| by_train.get(&t)) else {
            continue;
        };
        // Rows of b that begin up to the longest super-segment before it, or inside it; sequence numbers wrap.
        const LONGEST: u32 = 1 << 20;
        let from = x.seq.wrapping_sub(LONGEST);
        let mut near: Vec<Place> = if from < x.seq.wrapping_add(x.len) {
            let low = list.partition_point(|p| p.0 < from);
            let high = list.partition_point(|p| p.0 < x.seq.wrapping_add(x.len));
            list[low..high].iter().map(|p| p.1).collect()
        } else {
            list.iter().map(|p| p.1).collect()
        };
        near.retain(|b| overlap(&x, &w.b[*b as usize]) > 0 && !rival(&x, &w.b[*b as usize]));
        near.retain(|b| held.get(b).copied().unwrap_or(0) < u64::from(w.b[*b as usize].len));
        if w.outlook.ids_kept && near.iter().any(|b| numbered(&x, &w.b[*b as usize])) {
            near.retain(|b| numbered(&x, &w.b[*b as usize]));
        }
        near.sort_unstable();
        let mut covered: Vec<(i64, i64)> = Vec::new();
        for b in near.into_iter().take(limits::PAIR_PARTS) {
            let y = w.b[b as usize];
            let (start, bytes) = (ahead(&x, &y).max(0), overlap(&x, &y));
            if bytes == 0 || covered.iter().any(|c| c.0 < start + bytes && start < c.1) {
                continue;
            }
            covered.push((start, start + bytes));
            *held.entry(b).or_default() += bytes.unsigned_abs();
            let sure = w.outlook.ids_kept && numbered(&x, &y);
            w.emit(*a, b, Kind::Part, sure, out);
        }
    }
}

/// Whether two rows are not parts of each other: they have the same bytes (another copy, or they would have been paired), or
/// other bytes at the same sequence number.
fn rival(x: &Row, y: &Row) -> bool {
    let known = x.digest != 0 && y.digest != 0;
    x.seq == y.seq && (x.len == y.len || (known && x.digest != y.digest))
}

/// Offset of y's first byte from x's.
fn ahead(x: &Row, y: &Row) -> i64 {
    i64::from(y.seq.wrapping_sub(x.seq) as i32)
}

/// Bytes that both contain.
fn overlap(x: &Row, y: &Row) -> i64 {
    let start = ahead(x, y);
    ((start + i64::from(y.len)).min(i64::from(x.len)) - start.max(0)).max(0)
}

/// Offload numbers the segments of a super-segment consecutively, starting at its own ID.
fn numbered(x: &Row, y: &Row) -> bool {
    let (whole, part) = if x.len >= y.len { (x, y) } else { (y, x) };
    let parts = whole.len / part.len.max(1) + 1;
    whole.id != 0 && u32::from((part.id as u16).wrapping_sub(whole.id as u16)) <= parts
}

/// Fragments share addresses, protocol and id with their datagram.
fn fragments(w: &mut Window<'_>, left_a: &[Place], left_b: &[Place], out: &mut Vec<Pair>) {
    let wanted = left_a.iter().map(|a| w.a[*a as usize].datagram).filter(|datagram| *datagram != 0);
    let mut whole: FxHashMap<u64, Vec<Place>> = wanted.map(|datagram| (datagram, Vec::new())).collect();
    for b in left_b {
        if let Some(list) = whole.get_mut(&w.b[*b as usize].datagram) {
            list.push(*b);
        }
    }
    for a in left_a {
        let x = w.a[*a as usize];
        let Some(found) = whole.get(&x.datagram) else {
            continue;
        };
        for b in found.iter().take(limits::PAIR_PARTS) {
            let y = w.b[*b as usize];
            let cut = x.fragment != y.fragment;
            let free = !w.taken[*b as usize] || x.fragment;
            if cut && free && (x.digest == y.digest || x.len != y.len) {
                w.emit(*a, *b, Kind::Fragment, true, out);
            }
        }
    }
}

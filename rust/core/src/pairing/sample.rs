//! A bounded sample of both captures that contains the same packets of both.
//!
//! The packets with the lowest key hashes of each capture are kept (bottom-k sampling), so that a packet kept of one is also
//! kept of the other if it is there, for captures of any length.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::buckets::ordered;
use super::hash::mix;
use super::row::{More, Row, Shifts};
use crate::limits;

/// Numbers count as rewritten if this many times more segments are equal without them than with them.
const REWRITTEN: usize = 10;
/// Segments of a connection that must agree on the difference.
const SEGMENTS: usize = 3;

/// The first packet with a key.
#[derive(Debug, Clone, Copy)]
struct Seen<T> {
    row: u64,
    t: i64,
    id: u32,
    tcp: bool,
    /// Another packet has the same key: it identifies nothing.
    ambiguous: bool,
    more: T,
}

/// A segment's numbers and the hashes of its connection, of this direction and of the other.
#[derive(Debug, Clone, Copy)]
struct Numbered {
    seq: u32,
    ack: u32,
    connection: (u64, u64),
}

/// The sample of one capture by one kind of key.
#[derive(Debug)]
struct Keys<T> {
    /// Keys and the places of their packets in `seen`: first each key once in their order, after them what came since.
    order: Vec<(u64, u32)>,
    seen: Vec<Seen<T>>,
    most: u64,
}

impl<T> Default for Keys<T> {
    fn default() -> Self {
        Keys { order: Vec::new(), seen: Vec::new(), most: u64::MAX }
    }
}

impl<T: Copy> Keys<T> {
    #[inline]
    fn add(&mut self, key: u64, row: &Row, more: impl FnOnce() -> T) {
        if key == 0 || key > self.most {
            return;
        }
        self.order.push((key, self.seen.len() as u32));
        self.seen.push(Seen { row: row.row, t: row.t, id: row.id, tcp: row.tcp, ambiguous: false, more: more() });
        if self.order.len() >= 2 * limits::PAIR_SAMPLES {
            self.settle(limits::PAIR_SAMPLES);
        }
    }

    /// Each key once, in their order, at most as many as are wanted.
    fn settle(&mut self, wanted: usize) {
        self.order = ordered(&self.order, self.most);
        let seen = &mut self.seen;
        self.order.dedup_by(|later, first| {
            let again = later.0 == first.0;
            if again {
                // The same IP ID again is the same packet, captured twice.
                let y = seen[later.1 as usize];
                let x = &mut seen[first.1 as usize];
                x.ambiguous |= y.ambiguous || x.id != y.id || y.id == 0;
            }
            again
        });
        if self.order.len() > wanted {
            self.order.truncate(wanted);
            self.most = self.order[wanted - 1].0;
        }
        let mut kept = Vec::with_capacity(self.seen.capacity());
        kept.extend(self.order.iter().map(|(_, at)| self.seen[*at as usize]));
        self.seen = kept;
        self.order.iter_mut().zip(0..).for_each(|(kept, at)| kept.1 = at);
    }

    /// Keys and their packets, sorted.
    fn kept(&self) -> impl Iterator<Item = (u64, &Seen<T>)> {
        self.order.iter().map(|k| k.0).zip(&self.seen)
    }
}

/// The sample of one capture.
#[derive(Debug, Default)]
pub struct Sample {
    full: Keys<()>,
    lean: Keys<()>,
    /// By full key and IP ID together.
    named: Keys<()>,
    /// By the fields of a TCP segment that stay when its numbers are rewritten.
    loose: Keys<Numbered>,
    /// Packets that can be paired.
    pub packets: u64,
    pub rows: u64,
}

impl Sample {
    pub fn add(&mut self, row: &Row, more: &More) {
        self.rows += 1;
        self.packets += u64::from(row.full != 0);
        self.full.add(row.full, row, || ());
        self.lean.add(row.lean, row, || ());
        self.loose.add(more.loose, row, || Numbered { seq: row.seq, ack: more.ack, connection: more.connection() });
        if row.full != 0 && row.id != 0 {
            self.named.add(mix(row.full, u64::from(row.id)).max(1), row, || ());
        }
    }

    /// Prepare it for comparison.
    fn settle(&mut self) {
        for keys in [&mut self.full, &mut self.lean, &mut self.named] {
            keys.settle(usize::MAX);
        }
        self.loose.settle(usize::MAX);
    }
}

/// A packet that both samples contain once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Common {
    pub a: u64,
    pub b: u64,
    pub t_a: i64,
    pub t_b: i64,
}

/// What two captures have in common.
#[derive(Debug, Default, Clone)]
pub struct Outlook {
    /// In the order of the first capture.
    pub common: Vec<Common>,
    /// TCP packets are identified by their lean key: timestamps are cut off in one capture.
    pub lean_tcp: bool,
    /// The same for all others: their payload's digest is missing in one.
    pub lean_other: bool,
    /// Routers between the taps do not change IP IDs.
    pub ids_kept: bool,
    /// Sequence numbers are rewritten on the path: the difference of those of b, by connection.
    pub shifts: Arc<Shifts>,
    /// Share of all packets that the sample represents, for the smaller capture.
    pub share: f64,
}

/// Compare two samples.
pub fn compare(a: &mut Sample, b: &mut Sample) -> Outlook {
    a.settle();
    b.settle();
    let (a, b) = (&*a, &*b);
    let mut out = Outlook::default();
    let count = |a: &Keys<()>, b: &Keys<()>, tcp: bool| matches(a, b).filter(|m| m.0.tcp == tcp).count();
    let better = |tcp| count(&a.lean, &b.lean, tcp) > 2 * count(&a.full, &b.full, tcp);
    (out.lean_tcp, out.lean_other) = (better(true), better(false));
    let plain = count(&a.full, &b.full, true).max(count(&a.lean, &b.lean, true));
    if REWRITTEN * plain < matches(&a.loose, &b.loose).count() {
        out.shifts = Arc::new(shifts(&a.loose, &b.loose));
        out.common.extend(matches(&a.loose, &b.loose).map(|(x, y)| common(x, y)));
    }
    let (mut told, mut same) = (0usize, 0usize);
    for (keys_a, keys_b, lean) in [(&a.full, &b.full, false), (&a.lean, &b.lean, true)] {
        for (x, y) in matches(keys_a, keys_b) {
            if lean != if x.tcp { out.lean_tcp } else { out.lean_other } {
                continue;
            }
            if x.id != 0 && y.id != 0 {
                told += 1;
                same += usize::from(x.id == y.id);
            }
            out.common.push(common(x, y));
        }
    }
    let named: Vec<Common> = matches(&a.named, &b.named).map(|(x, y)| common(x, y)).collect();
    // If IDs are rewritten, hardly any agree; a retransmitted segment that one tap missed makes a few differ. If nothing else
    // distinguishes packets, one ID in many agrees by chance.
    let smaller = a.named.order.len().min(b.named.order.len());
    out.ids_kept = if told > 0 { 2 * same >= told } else { 10 * named.len() > smaller };
    if out.ids_kept && named.len() > out.common.len() {
        out.common = named;
    }
    out.common.sort_unstable_by_key(|c| c.a);
    let sampled = |s: &Keys<()>| s.most as f64 / u64::MAX as f64;
    out.share = sampled(&a.full).min(sampled(&b.full));
    out
}

/// The difference of the numbers of each connection of b: the value of more than half of its segments.
fn shifts(a: &Keys<Numbered>, b: &Keys<Numbered>) -> Shifts {
    let mut of: FxHashMap<(u64, u64), Vec<(u32, u32)>> = FxHashMap::default();
    for (x, y) in matches(a, b) {
        let (x, y) = (x.more, y.more);
        let by = (x.seq.wrapping_sub(y.seq), x.ack.wrapping_sub(y.ack));
        of.entry(y.connection).or_default().push(by);
    }
    let mut out = Shifts::default();
    for ((conn, back), mut all) in of {
        all.sort_unstable();
        let middle = all[all.len() / 2];
        let agree = all.iter().filter(|by| **by == middle).count();
        if agree >= SEGMENTS && 2 * agree > all.len() {
            out.insert(conn, middle);
            // The other direction's sequence numbers are the acknowledgment numbers of this one.
            out.entry(back).or_insert((middle.1, middle.0));
        }
    }
    out
}

fn common<T>(x: &Seen<T>, y: &Seen<T>) -> Common {
    Common { a: x.row, b: y.row, t_a: x.t, t_b: y.t }
}

fn matches<'a, T: Copy>(a: &'a Keys<T>, b: &'a Keys<T>) -> impl Iterator<Item = (&'a Seen<T>, &'a Seen<T>)> {
    let mut rest = b.kept().peekable();
    a.kept().filter_map(move |(key, x)| {
        while rest.next_if(|y| y.0 < key).is_some() {}
        let (_, y) = rest.next_if(|y| y.0 == key)?;
        (!x.ambiguous && !y.ambiguous && y.tcp == x.tcp).then_some((x, y))
    })
}

//! Matching the packets of a window by their bytes, each copy with its own.

use super::buckets::spread;
use super::copies::{self, Neighbours};
use super::pair::{Kind, Pair};
use super::parts;
use super::window::{Place, Window};
use crate::limits;

/// A frame next to a matched frame is the same in both captures if the time between the two agrees within this, ns: the
/// shortest frame with its SIFS takes longer.
const BESIDE_NS: u64 = 20_000;

/// Minimum time between two transmissions of a frame, ns: the ACK timeout and DIFS.
const ATTEMPT_NS: u64 = 80_000;

/// Rows whose sorting takes much longer than starting a thread.
const MANY: usize = 1 << 14;

/// Copies that only their order distinguishes.
struct Ambiguous {
    a: Vec<Place>,
    b: Vec<Place>,
}

/// Rows of one key by their IP IDs: buffers that are reused.
#[derive(Default)]
struct Ids {
    a: Vec<(u32, Place)>,
    b: Vec<(u32, Place)>,
}

impl Window<'_> {
    /// All pairs, in the order of both rows.
    pub fn pair(&mut self, out: &mut Vec<Pair>) {
        let begin = out.len();
        let mut done_a = vec![false; self.a.len()];
        let (mut single, mut ambiguous) = (Vec::new(), Vec::new());
        let mut ids = Ids::default();
        let window = &*self;
        let (one, other) = (|| window.keys(window.a), || window.keys(window.b));
        let (keys_a, keys_b) = if window.a.len() < MANY { (one(), other()) } else { at_once(one, other) };
        let (mut i, mut j) = (0, 0);
        while i < keys_a.len() && j < keys_b.len() {
            let key = keys_a[i].0;
            match key.cmp(&keys_b[j].0) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    let to_a = run(&keys_a, i);
                    let to_b = run(&keys_b, j);
                    match (&keys_a[i..to_a], &keys_b[j..to_b]) {
                        ([a], [b]) if !(self.frames && self.a[a.1 as usize].again) => single.push((a.1, b.1)),
                        (of_a, of_b) => self.same_key(of_a, of_b, &mut done_a, &mut ambiguous, &mut ids, out),
                    }
                    (i, j) = (to_a, to_b);
                }
            }
        }
        self.singles(single, &mut done_a, out);
        if !ambiguous.is_empty() {
            self.by_order(&ambiguous, &mut done_a, begin, out);
        }
        if self.frames {
            self.beside(&mut done_a, begin, out);
        } else {
            parts::pair(self, &mut done_a, out);
        }
        // Nearly in order: this sort finds the runs.
        out[begin..].sort_by_key(|p| (p.a, p.b));
    }

    /// Pair rows that are the only ones of their key in both captures.
    fn singles(&mut self, mut found: Vec<(Place, Place)>, done_a: &mut [bool], out: &mut Vec<Pair>) {
        found.retain(|(a, b)| self.wanted(*a) && !self.taken[*b as usize]);
        // The rows are in nearly the same order in both captures: looking them up in that order is fast.
        for (a, b) in spread(&found, self.a.len(), |(a, _)| *a as usize).0 {
            if self.may_be_same_packet(a, b) {
                done_a[a as usize] = true;
                self.emit(a, b, Kind::Same, true, out);
            }
        }
    }

    /// Frames without a sequence number, such as ACK and CTS: identified by the frame next to them.
    fn beside(&mut self, done_a: &mut [bool], begin: usize, out: &mut Vec<Pair>) {
        let (Some(first_a), Some(first_b)) = (self.a.first().map(|r| r.row), self.b.first().map(|r| r.row)) else {
            return;
        };
        let mut at = begin;
        while at < out.len() {
            let (a, b) = ((out[at].a - first_a) as usize, (out[at].b - first_b) as usize);
            at += 1;
            for (x, y) in [(Some(a + 1), Some(b + 1)), (a.checked_sub(1), b.checked_sub(1))] {
                let (Some(x), Some(y)) = (x, y) else { continue };
                let (Some(next_a), Some(next_b)) = (self.a.get(x), self.b.get(y)) else { continue };
                let (gap_a, gap_b) = (next_a.t.abs_diff(self.a[a].t), next_b.t.abs_diff(self.b[b].t));
                let same = next_a.full == next_b.full && next_a.full != 0 && gap_a.abs_diff(gap_b) <= BESIDE_NS;
                if same && self.wanted(x as Place) && !done_a[x] && !self.taken[y] {
                    done_a[x] = true;
                    self.emit(x as Place, y as Place, Kind::Same, false, out);
                }
            }
        }
    }

    /// Pair rows of one key: by IP ID if that identifies them, else later by order.
    fn same_key(
        &mut self,
        of_a: &[(u64, Place)],
        of_b: &[(u64, Place)],
        done_a: &mut [bool],
        ambiguous: &mut Vec<Ambiguous>,
        ids: &mut Ids,
        out: &mut Vec<Pair>,
    ) {
        if self.outlook.ids_kept {
            self.by_id(of_a, of_b, done_a, ids, out);
        }
        let idless = |id: u32| id == 0 || !self.outlook.ids_kept;
        let a: Vec<Place> = of_a.iter().map(|k| k.1).filter(|a| !done_a[*a as usize]).collect();
        let b: Vec<Place> = of_b.iter().map(|k| k.1).filter(|b| !self.taken[*b as usize]).collect();
        // If only one side has IDs, copies cannot be distinguished either.
        let open = a.iter().any(|a| idless(self.a[*a as usize].id)) || b.iter().any(|b| idless(self.b[*b as usize].id));
        if open && !a.is_empty() && !b.is_empty() {
            ambiguous.push(Ambiguous { a, b });
        }
    }

    /// Rows of one key and one IP ID are one packet, captured several times: by a tap that sees every transmission or every hop,
    /// or duplicated on the path.
    fn by_id(
        &mut self,
        of_a: &[(u64, Place)],
        of_b: &[(u64, Place)],
        done_a: &mut [bool],
        ids: &mut Ids,
        out: &mut Vec<Pair>,
    ) {
        ids.a.clear();
        ids.a.extend(of_a.iter().map(|(_, a)| (self.a[*a as usize].id, *a)).filter(|(id, _)| *id != 0));
        ids.a.sort_unstable();
        ids.b.clear();
        ids.b.extend(of_b.iter().map(|(_, b)| (self.b[*b as usize].id, *b)).filter(|(id, _)| *id != 0));
        ids.b.sort_unstable();
        let mut rest = &ids.b[..];
        for a in ids.a.chunk_by(|x, y| x.0 == y.0) {
            let id = a[0].0;
            rest = &rest[rest.partition_point(|b| b.0 < id)..];
            let (b, behind) = rest.split_at(rest.partition_point(|b| b.0 == id));
            rest = behind;
            self.same_id(a, b, done_a, out);
        }
    }

    /// Rows of one key and one IP ID: the first with the first, and so on; what is left over is paired with the last one as a copy.
    fn same_id(&mut self, a: &[(u32, Place)], b: &[(u32, Place)], done_a: &mut [bool], out: &mut Vec<Pair>) {
        let (Some((_, last_a)), Some((_, last_b))) = (a.last(), b.last()) else {
            return;
        };
        let sure = a.len().min(b.len()) == 1;
        for (n, (_, x)) in a.iter().enumerate() {
            if !self.wanted(*x) {
                continue;
            }
            done_a[*x as usize] = true;
            match b.get(n) {
                Some((_, y)) if self.taken[*y as usize] => {}
                Some((_, y)) => self.emit(*x, *y, Kind::Same, sure, out),
                None => self.emit(*x, *last_b, Kind::Again, sure, out),
            }
        }
        for (_, y) in b.iter().skip(a.len()) {
            if self.wanted(*last_a) && !self.taken[*y as usize] {
                self.emit(*last_a, *y, Kind::Again, sure, out);
            }
        }
    }

    /// Copies without an ID, by their order among the unambiguous pairs of their path.
    fn by_order(&mut self, ambiguous: &[Ambiguous], done_a: &mut [bool], begin: usize, out: &mut Vec<Pair>) {
        let paths = ambiguous.iter().flat_map(|u| u.a.iter()).map(|a| self.a[*a as usize].path).collect();
        let sure = out[begin..].iter().filter(|p| p.copy_safe && p.kind == Kind::Same).map(|p| (p.a, p.b));
        let neighbours = Neighbours::new(paths, self.a, self.b, sure);
        for u in ambiguous {
            if u.a.len() > limits::PAIR_COPIES || u.b.len() > limits::PAIR_COPIES {
                continue;
            }
            let chosen = copies::choose(&u.a, &u.b, |a, b| {
                let (x, y) = (&self.a[a as usize], &self.b[b as usize]);
                let near = neighbours.distance(x, y).filter(|d| !self.frames || d.1 <= ATTEMPT_NS);
                near.filter(|_| self.may_be_same_packet(a, b))
            });
            for (a, b) in chosen {
                if self.wanted(a) && !self.taken[b as usize] {
                    done_a[a as usize] = true;
                    self.emit(a, b, Kind::Same, false, out);
                }
            }
        }
    }
}

/// Two results, one of them made in a thread of its own if one can start.
fn at_once<T: Send>(one: impl Fn() -> T + Sync, other: impl Fn() -> T) -> (T, T) {
    std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, &one) {
        Ok(running) => {
            let made = other();
            (running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), made)
        }
        Err(_) => (one(), other()),
    })
}

/// End of the run of equal keys that begins at `from`.
fn run(keys: &[(u64, Place)], from: usize) -> usize {
    let key = keys[from].0;
    from + keys[from..].iter().take_while(|k| k.0 == key).count()
}

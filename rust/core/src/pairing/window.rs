//! A window: the rows of both captures that are paired at once.

use super::buckets::ordered;
use super::pair::{Kind, Pair};
use super::row::Row;
use super::sample::Outlook;

/// An index into the window of the first or the second capture.
pub type Place = u32;

/// The rows that are paired at once.
pub struct Window<'a> {
    /// Rows of the first capture; those before `start` are done, those from `end` on are paired later.
    pub a: &'a [Row],
    pub start: usize,
    pub end: usize,
    pub b: &'a [Row],
    /// Rows of b that are paired already.
    pub taken: &'a mut [bool],
    pub outlook: &'a Outlook,
    /// Rows are 802.11 frames.
    pub frames: bool,
}

impl Window<'_> {
    /// The rows of one capture by the hash of the fields that no router changes.
    pub fn keys(&self, rows: &[Row]) -> Vec<(u64, Place)> {
        let key = |row: &Row| {
            let lean = if row.tcp { self.outlook.lean_tcp } else { self.outlook.lean_other };
            if lean {
                row.lean
            } else {
                row.full
            }
        };
        let keys: Vec<_> = rows.iter().zip(0..).map(|(r, i)| (key(r), i)).filter(|k| k.0 != 0).collect();
        ordered(&keys, u64::MAX)
    }

    /// Whether a row of a is to be paired now.
    pub fn wanted(&self, a: Place) -> bool {
        (self.start..self.end).contains(&(a as usize))
    }

    pub fn emit(&mut self, a: Place, b: Place, kind: Kind, sure: bool, out: &mut Vec<Pair>) {
        let (x, y) = (&self.a[a as usize], &self.b[b as usize]);
        self.taken[b as usize] = true;
        out.push(Pair { a: x.row, b: y.row, kind, copy_safe: sure });
    }

    /// Whether two rows of the same key can be the same packet.
    pub fn may_be_same_packet(&self, a: Place, b: Place) -> bool {
        let (x, y) = (&self.a[a as usize], &self.b[b as usize]);
        let ids = !self.outlook.ids_kept || x.id == y.id || x.id == 0 || y.id == 0;
        ids && (x.digest == y.digest || x.digest == 0 || y.digest == 0)
    }
}

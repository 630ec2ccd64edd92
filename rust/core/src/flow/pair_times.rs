//! The least round trips between two hosts at the tap, over their connections: one that begins while a queue stands never finds it empty.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::link_times::LinkTimes;
use crate::limits;
use crate::packet::Addr;

/// By source and destination, in a table of constant size: of two pairs in one place the later one stays.
#[derive(Debug)]
pub struct PairTimes(Vec<(u64, i64, LinkTimes)>);

impl Default for PairTimes {
    fn default() -> Self {
        PairTimes(vec![(0, i64::MAX, LinkTimes::default()); limits::HOST_PAIRS])
    }
}

impl PairTimes {
    pub fn key(src: Addr, dst: Addr) -> u64 {
        FxBuildHasher.hash_one((src, dst))
    }

    /// Note the least round trip of a connection's data from `src` to `dst`; the least of the pair so far, i64::MAX for none.
    pub fn least(&mut self, pair: u64, own: Option<i64>) -> i64 {
        let known = self.entry(pair);
        known.1 = known.1.min(own.unwrap_or(i64::MAX));
        known.1
    }

    /// What a link between them needs.
    pub fn link(&mut self, pair: u64) -> &mut LinkTimes {
        &mut self.entry(pair).2
    }

    fn entry(&mut self, pair: u64) -> &mut (u64, i64, LinkTimes) {
        let place = pair as usize % self.0.len();
        let known = &mut self.0[place];
        if known.0 != pair {
            *known = (pair, i64::MAX, LinkTimes::default());
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_a_pair() {
        let mut pairs = PairTimes::default();
        assert_eq!(pairs.least(1, None), i64::MAX);
        assert_eq!([pairs.least(1, Some(20)), pairs.least(1, Some(30)), pairs.least(1, None)], [20; 3]);
        // Another pair in the same place.
        assert_eq!(pairs.least(1 + limits::HOST_PAIRS as u64, Some(70)), 70);
        assert_eq!(pairs.least(1, Some(90)), 90);
    }
}

//! Keys of values in a batch's dictionary.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::column::DictCol;

/// Recent values are found without hashing, those of a hundred hosts mostly.
const RECENT: usize = 1 << RECENT_BITS;
const RECENT_BITS: u32 = 8;

/// The keys of addresses in one batch's dictionary.
#[derive(Debug)]
pub struct Keys<V> {
    all: FxHashMap<V, i32>,
    recent: Box<[Option<(V, i32)>]>,
}

impl<V> Default for Keys<V> {
    fn default() -> Self {
        Keys { all: FxHashMap::default(), recent: (0..RECENT).map(|_| None).collect() }
    }
}

impl<V: Copy + Eq + Hash> Keys<V> {
    /// The key of a value, interned as `text` when it is new; `low`: its last bits, in which neighbours differ.
    #[inline]
    pub fn get(&mut self, value: V, low: u32, column: &mut DictCol, text: impl FnOnce(V) -> String) -> i32 {
        // The highest bits of a product depend on all bits: the golden ratio of 2^32, which separates neighbours.
        let recent = &mut self.recent[(low.wrapping_mul(0x9e37_79b9) >> (u32::BITS - RECENT_BITS)) as usize];
        match recent {
            Some((v, key)) if *v == value => *key,
            _ => {
                let key = *self.all.entry(value).or_insert_with(|| column.intern(text(value)));
                *recent = Some((value, key));
                key
            }
        }
    }

    pub fn clear(&mut self) {
        self.all.clear();
        self.recent.fill(None);
    }
}

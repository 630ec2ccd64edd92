//! Keys of values in a batch's dictionary.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::column::DictCol;

/// Recent values are found without hashing.
const RECENT: usize = 16;

/// The keys of addresses in one batch's dictionary.
#[derive(Debug)]
pub struct Keys<V> {
    all: FxHashMap<V, i32>,
    recent: [Option<(V, i32)>; RECENT],
}

impl<V> Default for Keys<V> {
    fn default() -> Self {
        Keys { all: FxHashMap::default(), recent: [const { None }; RECENT] }
    }
}

impl<V: Copy + Eq + Hash> Keys<V> {
    /// The key of a value, interned as `text` when it is new; `low`: its last bits, in which neighbours differ.
    #[inline]
    pub fn get(&mut self, value: V, low: usize, column: &mut DictCol, text: impl FnOnce(V) -> String) -> i32 {
        let recent = &mut self.recent[low % RECENT];
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
        self.recent = [const { None }; RECENT];
    }
}

//! A pair of rows, and the table of pairs.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Int8Array, RecordBatch, UInt64Array};

/// The relation of two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Kind {
    /// The same packet.
    Same = 0,
    /// A copy of the packet: another transmission on the air, a hop, a duplicate of the network.
    Again = 1,
    /// One contains bytes of the other: segmentation offload.
    Part = 2,
    /// One is a fragment of the other.
    Fragment = 3,
}

pub const KINDS: &[&str] = &["same", "again", "part", "fragment"];

define_table! {
    PairRows, PAIRS, "pairs",
    "Rows of two tables `packets` that are the same packet.", {
    row_a: U64, "", "Row of the first table, from 0.";
    row_b: U64, "", "Row of the second.";
    kind: Enum(KINDS), "", "Relation of the two rows: same (the same packet), again (a copy: another transmission, a hop, a duplicate), part (of a super-segment) or fragment.";
    copy_safe: Bool, "", "Whether its bytes or its IP ID distinguish it from every other copy; false: only its order does.";
} }

/// One pair, by the rows' numbers in their tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub a: u64,
    pub b: u64,
    pub kind: Kind,
    pub copy_safe: bool,
}

/// Pairs as a batch of the table `pairs`.
pub fn to_batch(pairs: &[Pair]) -> RecordBatch {
    let kinds: Int8Array = pairs.iter().map(|p| Some(p.kind as i8)).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(pairs.iter().map(|p| p.a))),
        Arc::new(UInt64Array::from_iter_values(pairs.iter().map(|p| p.b))),
        Arc::new(DictionaryArray::<Int8Type>::new(kinds, crate::table::schema::names(KINDS))),
        Arc::new(pairs.iter().map(|p| Some(p.copy_safe)).collect::<BooleanArray>()),
    ];
    RecordBatch::try_new(PAIRS.schema(), columns).expect("pairs: columns are of one length")
}

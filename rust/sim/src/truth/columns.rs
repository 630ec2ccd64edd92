//! Building tables from columns with a sentence and a unit.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, Int8Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};

/// Name, one sentence, values, and whether it may be null.
pub(super) type Column = (&'static str, &'static str, ArrayRef, bool);

pub(super) fn table(name: &str, doc: &str, columns: Vec<Column>) -> RecordBatch {
    let meta = |doc: &str| std::collections::HashMap::from([("doc".to_string(), doc.to_string())]);
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, doc, values, null)| {
            let unit = ["ns", "us", "bytes", "mbps"].into_iter().find(|u| name.ends_with(&format!("_{u}")));
            let mut m = meta(doc);
            m.extend(unit.map(|u| ("unit".to_string(), u.to_string())));
            Field::new(*name, arrow_array::Array::data_type(values).clone(), *null).with_metadata(m)
        })
        .collect();
    let mut m = meta(doc);
    m.insert("table".to_string(), name.to_string());
    let arrays = columns.into_iter().map(|c| c.2).collect();
    RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, m)), arrays).expect("columns are of one length")
}

pub(super) fn words(places: impl Iterator<Item = i8>, names: &[&str]) -> ArrayRef {
    codes(Int8Array::from_iter_values(places), names)
}

/// Enumeration values by their indices in `names`.
pub(super) fn codes(places: Int8Array, names: &[&str]) -> ArrayRef {
    Arc::new(DictionaryArray::<Int8Type>::new(places, Arc::new(StringArray::from(names.to_vec()))))
}

pub(super) fn whole(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

pub(super) fn small(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

pub(super) fn times(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(|t| t as i64)))
}

pub(super) fn maybe_times(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.map(|t| t.map(|t| t as i64)).collect::<Int64Array>())
}

pub(super) fn maybe_small(values: impl Iterator<Item = Option<u32>>) -> ArrayRef {
    Arc::new(values.collect::<UInt32Array>())
}

pub(super) fn directions(reverse: impl Iterator<Item = bool>) -> ArrayRef {
    words(reverse.map(i8::from), &["a2b", "b2a"])
}

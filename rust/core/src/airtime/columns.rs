//! Columns of `frames` and `exchanges`, read row by row.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, ArrowPrimitiveType, Int32Type, Int8Type};
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, RecordBatch};

use crate::pairing::BadColumn;

type Read<T> = Result<T, BadColumn>;

fn found<'a>(batch: &'a RecordBatch, name: &'static str) -> Read<&'a ArrayRef> {
    batch.column_by_name(name).ok_or(BadColumn(name))
}

/// A column of numbers.
pub struct Numbers<'a, T: ArrowPrimitiveType>(&'a PrimitiveArray<T>);

impl<'a, T: ArrowPrimitiveType> Numbers<'a, T> {
    pub fn of(batch: &'a RecordBatch, name: &'static str) -> Read<Self> {
        found(batch, name)?.as_primitive_opt().map(Numbers).ok_or(BadColumn(name))
    }

    #[inline(always)]
    pub fn get(&self, i: usize) -> Option<T::Native> {
        self.0.is_valid(i).then(|| self.0.values()[i])
    }
}

impl Numbers<'_, arrow_array::types::Float64Type> {
    /// Microseconds as whole nanoseconds; -1 where they are unknown.
    #[inline(always)]
    pub fn nanoseconds(&self, i: usize) -> i64 {
        let known = self.get(i).filter(|micros| !micros.is_nan());
        known.map_or(-1, |micros| (micros.clamp(-1e-3, 1e9) * 1e3).round_ties_even() as i64)
    }
}

/// A column of flags.
pub struct Flags<'a>(&'a BooleanArray);

impl<'a> Flags<'a> {
    pub fn of(batch: &'a RecordBatch, name: &'static str) -> Read<Self> {
        found(batch, name)?.as_boolean_opt().map(Flags).ok_or(BadColumn(name))
    }

    #[inline(always)]
    pub fn get(&self, i: usize, unknown: bool) -> bool {
        if self.0.is_valid(i) {
            self.0.value(i)
        } else {
            unknown
        }
    }
}

/// A dictionary-encoded column of texts.
pub struct Texts<'a> {
    /// The dictionary.
    pub values: Vec<&'a str>,
    /// Each row's place in the dictionary; its length for null.
    pub keys: Vec<u32>,
}

impl<'a> Texts<'a> {
    pub fn of(batch: &'a RecordBatch, name: &'static str) -> Read<Self> {
        let column = found(batch, name)?;
        if let Some(found) = column.as_dictionary_opt::<Int8Type>() {
            Self::read(found, name)
        } else if let Some(found) = column.as_dictionary_opt::<Int32Type>() {
            Self::read(found, name)
        } else {
            Err(BadColumn(name))
        }
    }

    fn read<K>(column: &'a DictionaryArray<K>, name: &'static str) -> Read<Self>
    where
        K: ArrowDictionaryKeyType,
        K::Native: TryInto<u32>,
    {
        let texts = column.values().as_string_opt::<i32>().ok_or(BadColumn(name))?;
        let values: Vec<&str> = texts.iter().map(Option::unwrap_or_default).collect();
        let null = values.len() as u32;
        let key = |key: &K::Native| (*key).try_into().map_or(null, |key| key.min(null));
        let mut keys: Vec<u32> = column.keys().values().iter().map(key).collect();
        if let Some(nulls) = column.keys().nulls() {
            keys.iter_mut().zip(nulls).filter(|(_, valid)| !valid).for_each(|(key, _)| *key = null);
        }
        Ok(Texts { values, keys })
    }

    /// What each row's text stands for: `entries` has one for each text of the dictionary.
    pub fn looked_up<T: Copy>(&self, mut entries: Vec<T>, null: T) -> impl Fn(usize) -> T + use<'_, 'a, T> {
        entries.push(null);
        move |i| entries[self.keys[i] as usize]
    }
}

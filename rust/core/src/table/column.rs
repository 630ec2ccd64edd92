//! Column buffers whose rows can be changed until their batch is finished.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int8Type, UInt32Type};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, ListArray, PrimitiveArray, StringArray, StructArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};

use super::schema::range_type;

/// Eight truth values as the bits of a byte, the first one lowest: each factor of 2 moves one of them to its place in the highest byte.
fn byte(eight: [bool; 8]) -> u8 {
    (u64::from_le_bytes(eight.map(u8::from)).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Truth values as bits: eight at a time, where `BooleanBuffer` shifts one after the other into its place.
fn bits(values: &[bool]) -> BooleanBuffer {
    let mut bytes = Vec::with_capacity(values.len().div_ceil(8));
    let eights = values.chunks_exact(8);
    let rest = eights.remainder();
    bytes.extend(eights.map(|v| byte([v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]])));
    if !rest.is_empty() {
        let mut last = [false; 8];
        last[..rest.len()].copy_from_slice(rest);
        bytes.push(byte(last));
    }
    BooleanBuffer::new(bytes.into(), 0, values.len())
}

/// A column of numbers, nullable where `None` is pushed.
#[derive(Debug, Default)]
pub struct Col<T> {
    values: Vec<T>,
    /// One byte per row, allocated at the first null.
    valid: Vec<bool>,
    /// Nulls pushed last and not yet written: a column that is mostly null only counts them.
    nulls: usize,
}

impl<T: Copy + Default> Col<T> {
    pub fn len(&self) -> usize {
        self.values.len() + self.nulls
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reserve space for `rows` more.
    pub fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows);
    }

    #[inline]
    pub fn push(&mut self, value: T) {
        if self.nulls > 0 {
            self.write_nulls();
        }
        self.values.push(value);
        if !self.valid.is_empty() {
            self.valid.push(true);
        }
    }

    #[inline]
    pub fn push_opt(&mut self, value: Option<T>) {
        match value {
            Some(v) => self.push(v),
            None => self.nulls += 1,
        }
    }

    /// Append one value per row: a column at a time is much faster than a row at a time.
    #[inline]
    pub fn fill<R>(&mut self, rows: &[R], value: impl Fn(&R) -> T) {
        if self.nulls > 0 {
            self.write_nulls();
        }
        self.values.extend(rows.iter().map(value));
        if !self.valid.is_empty() {
            self.valid.resize(self.values.len(), true);
        }
    }

    /// Append one value or null per row.
    #[inline]
    pub fn fill_opt<R>(&mut self, rows: &[R], value: impl Fn(&R) -> Option<T>) {
        if self.nulls > 0 {
            if rows.iter().all(|r| value(r).is_none()) {
                self.nulls += rows.len();
                return;
            }
            self.write_nulls();
        }
        let (before, mut values, mut nulls) = (self.values.len(), false, false);
        self.values.extend(rows.iter().map(|r| {
            let value = value(r);
            values |= value.is_some();
            nulls |= value.is_none();
            value.unwrap_or_default()
        }));
        if !values {
            self.values.truncate(before);
            self.nulls = rows.len();
        } else if nulls {
            if self.valid.is_empty() {
                self.valid.reserve(self.values.capacity());
                self.valid.resize(before, true);
            }
            self.valid.extend(rows.iter().map(|r| value(r).is_some()));
        } else if !self.valid.is_empty() {
            self.valid.resize(self.values.len(), true);
        }
    }

    fn write_nulls(&mut self) {
        let rows = self.values.len() + self.nulls;
        if self.valid.is_empty() {
            self.valid.reserve(self.values.capacity().max(rows));
            self.valid.resize(self.values.len(), true);
        }
        self.values.resize(rows, T::default());
        self.valid.resize(rows, false);
        self.nulls = 0;
    }

    /// Change a row that was pushed before.
    pub fn set(&mut self, row: usize, value: Option<T>) {
        if value.is_none() && row >= self.values.len() {
            return;
        }
        if self.nulls > 0 {
            self.write_nulls();
        }
        if value.is_none() && self.valid.is_empty() {
            self.valid.resize(self.values.len(), true);
        }
        self.values[row] = value.unwrap_or_default();
        if !self.valid.is_empty() {
            self.valid[row] = value.is_some();
        }
    }

    fn take_nulls(&mut self) -> Option<NullBuffer> {
        if self.nulls > 0 {
            self.write_nulls();
        }
        let valid = std::mem::take(&mut self.valid);
        (!valid.is_empty()).then(|| NullBuffer::new(bits(&valid)))
    }
}

impl<T: ArrowNativeType> Col<T> {
    /// The rows as an Arrow array of type `A`; the buffer is empty afterwards.
    pub fn finish<A: ArrowPrimitiveType<Native = T>>(&mut self) -> ArrayRef {
        let nulls = self.take_nulls();
        let values = ScalarBuffer::from(std::mem::take(&mut self.values));
        Arc::new(PrimitiveArray::<A>::new(values, nulls))
    }
}

impl Col<bool> {
    pub fn finish_bool(&mut self) -> ArrayRef {
        let nulls = self.take_nulls();
        let values = bits(&std::mem::take(&mut self.values));
        Arc::new(BooleanArray::new(values, nulls))
    }
}

impl Col<i8> {
    /// Keys into a fixed list of names: an enum column.
    pub fn finish_dict(&mut self, names: &Arc<StringArray>) -> ArrayRef {
        let nulls = self.take_nulls();
        let keys = PrimitiveArray::<Int8Type>::new(ScalarBuffer::from(std::mem::take(&mut self.values)), nulls);
        Arc::new(DictionaryArray::new(keys, names.clone()))
    }

    /// Append one enum value per row; negative numbers are null.
    #[inline]
    pub fn fill_enum<R>(&mut self, rows: &[R], key: impl Fn(&R) -> i8) {
        self.fill_opt(rows, |r| Some(key(r)).filter(|k| *k >= 0));
    }

    /// Append an enum value; a negative number is null.
    #[inline]
    pub fn push_enum(&mut self, key: i8) {
        self.push_opt((key >= 0).then_some(key));
    }
}

/// A dictionary-encoded string column whose values come from the capture; the dictionary is the batch's own.
#[derive(Debug, Default)]
pub struct DictCol {
    keys: Col<i32>,
    values: Vec<String>,
    /// Number of finished batches, so that callers can cache keys of one batch.
    generation: u64,
}

impl DictCol {
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn reserve(&mut self, rows: usize) {
        self.keys.reserve(rows);
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Add a value to this batch's dictionary; the caller keeps the key.
    pub fn intern(&mut self, value: String) -> i32 {
        self.values.push(value);
        i32::try_from(self.values.len() - 1).expect("a batch has fewer than 2^31 rows")
    }

    #[inline]
    pub fn push_key(&mut self, key: Option<i32>) {
        self.keys.push_opt(key);
    }

    /// Append one key per row.
    #[inline]
    pub fn fill_keys<R>(&mut self, rows: &[R], key: impl Fn(&R) -> Option<i32>) {
        self.keys.fill_opt(rows, key);
    }

    pub fn finish(&mut self) -> ArrayRef {
        self.generation += 1;
        let nulls = self.keys.take_nulls();
        let keys = PrimitiveArray::<Int32Type>::new(ScalarBuffer::from(std::mem::take(&mut self.keys.values)), nulls);
        let values = StringArray::from(std::mem::take(&mut self.values));
        Arc::new(DictionaryArray::new(keys, Arc::new(values)))
    }
}

/// A column of (left, right) lists, null where `None` is pushed.
#[derive(Debug)]
pub struct RangesCol {
    offsets: Vec<i32>,
    left: Vec<u32>,
    right: Vec<u32>,
    valid: Vec<bool>,
}

impl Default for RangesCol {
    fn default() -> Self {
        RangesCol { offsets: vec![0], left: Vec::new(), right: Vec::new(), valid: Vec::new() }
    }
}

impl RangesCol {
    pub fn len(&self) -> usize {
        self.valid.len()
    }

    pub fn is_empty(&self) -> bool {
        self.valid.is_empty()
    }

    pub fn reserve(&mut self, rows: usize) {
        self.offsets.reserve(rows);
        self.valid.reserve(rows);
    }

    #[inline]
    pub fn push(&mut self, ranges: Option<&[(u32, u32)]>) {
        for (left, right) in ranges.unwrap_or_default() {
            self.left.push(*left);
            self.right.push(*right);
        }
        // At most 4 blocks per row and 65 536 rows per batch: far below i32::MAX.
        self.offsets.push(self.left.len() as i32);
        self.valid.push(ranges.is_some());
    }

    pub fn finish(&mut self) -> ArrayRef {
        let this = std::mem::take(self);
        let DataType::Struct(fields) = range_type() else { unreachable!("ranges are structs") };
        let values = StructArray::new(
            fields,
            vec![
                Arc::new(PrimitiveArray::<UInt32Type>::from(this.left)) as ArrayRef,
                Arc::new(PrimitiveArray::<UInt32Type>::from(this.right)) as ArrayRef,
            ],
            None,
        );
        let item = Arc::new(Field::new("item", range_type(), false));
        let offsets = OffsetBuffer::new(ScalarBuffer::from(this.offsets));
        Arc::new(ListArray::new(item, offsets, Arc::new(values), Some(NullBuffer::new(bits(&this.valid)))))
    }
}

/// A column of lists of numbers, never null.
#[derive(Debug)]
pub struct ListCol<T> {
    offsets: Vec<i32>,
    values: Vec<T>,
}

impl<T> Default for ListCol<T> {
    fn default() -> Self {
        ListCol { offsets: vec![0], values: Vec::new() }
    }
}

impl<T: Copy> ListCol<T> {
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn reserve(&mut self, rows: usize) {
        self.offsets.reserve(rows);
        self.values.reserve(rows);
    }

    #[inline]
    pub fn push(&mut self, list: &[T]) {
        self.values.extend_from_slice(list);
        // `limits` caps the lists and the rows of a batch: far below i32::MAX.
        self.offsets.push(self.values.len() as i32);
    }
}

impl<T: ArrowNativeType> ListCol<T> {
    pub fn finish<A: ArrowPrimitiveType<Native = T>>(&mut self) -> ArrayRef {
        let this = std::mem::take(self);
        let values: ArrayRef = Arc::new(PrimitiveArray::<A>::new(ScalarBuffer::from(this.values), None));
        let item = Arc::new(Field::new("item", A::DATA_TYPE, false));
        Arc::new(ListArray::new(item, OffsetBuffer::new(ScalarBuffer::from(this.offsets)), values, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_values_become_bits() {
        for pattern in 0..1 << 11 {
            let values: Vec<bool> = (0..11).map(|i| pattern >> i & 1 == 1).collect();
            assert_eq!(bits(&values), BooleanBuffer::from(values));
        }
    }

    /// Every pattern of values and nulls in three blocks of rows gives the same column as a row at a time.
    #[test]
    fn a_block_at_a_time_is_as_a_row_at_a_time() {
        let patterns = [[true; 3], [false; 3], [true, false, true], [false, false, true]];
        for blocks in 0..patterns.len().pow(3) {
            let (mut by_block, mut by_row) = (Col::<u32>::default(), Col::<u32>::default());
            for at in 0..3 {
                let pattern = patterns[blocks / patterns.len().pow(at) % patterns.len()];
                let rows: Vec<Option<u32>> = pattern.iter().map(|some| some.then_some(7 + at)).collect();
                by_block.fill_opt(&rows, |r| *r);
                rows.iter().for_each(|r| by_row.push_opt(*r));
                assert_eq!(by_block.len(), by_row.len());
            }
            let (a, b) = (by_block.finish::<UInt32Type>(), by_row.finish::<UInt32Type>());
            assert_eq!(a.as_ref(), b.as_ref());
        }
    }
}

//! Every table as data: column, type, unit, nullability and one sentence, stored in the Arrow field metadata.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::StringArray;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

/// The types that columns have.
#[derive(Debug, Clone, Copy)]
pub enum Ty {
    U8,
    U16,
    U32,
    U64,
    I8,
    I64,
    F64,
    Bool,
    Utf8,
    /// timestamp[ns, UTC]
    Time,
    /// An enum: dictionary-encoded string with exactly these values.
    Enum(&'static [&'static str]),
    /// Dictionary-encoded string with values from the capture.
    Dict,
    /// list<struct<left: uint32, right: uint32>>
    Ranges,
    /// list<uint64>
    Integers,
    /// list<double>
    Numbers,
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    pub ty: Ty,
    pub nullable: bool,
    /// "" for none.
    pub unit: &'static str,
    pub doc: &'static str,
}

/// One table.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    pub doc: &'static str,
    pub columns: &'static [Column],
}

pub fn data_type(ty: Ty) -> DataType {
    match ty {
        Ty::U8 => DataType::UInt8,
        Ty::U16 => DataType::UInt16,
        Ty::U32 => DataType::UInt32,
        Ty::U64 => DataType::UInt64,
        Ty::I8 => DataType::Int8,
        Ty::I64 => DataType::Int64,
        Ty::F64 => DataType::Float64,
        Ty::Bool => DataType::Boolean,
        Ty::Utf8 => DataType::Utf8,
        Ty::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        Ty::Enum(_) => DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
        Ty::Dict => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Ty::Ranges => DataType::List(Arc::new(Field::new("item", range_type(), false))),
        Ty::Integers => DataType::List(Arc::new(Field::new("item", DataType::UInt64, false))),
        Ty::Numbers => DataType::List(Arc::new(Field::new("item", DataType::Float64, false))),
    }
}

/// The element of a `Ranges` column.
pub fn range_type() -> DataType {
    DataType::Struct(
        vec![Field::new("left", DataType::UInt32, false), Field::new("right", DataType::UInt32, false)].into(),
    )
}

/// A column's name without the mark of a raw identifier: `type` is a keyword.
pub const fn bare(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', rest @ ..] => match std::str::from_utf8(rest) {
            Ok(rest) => rest,
            Err(_) => name,
        },
        _ => name,
    }
}

/// The dictionary of an enum column.
pub fn names(values: &[&str]) -> Arc<StringArray> {
    Arc::new(StringArray::from(values.to_vec()))
}

impl Table {
    pub fn schema(&self) -> SchemaRef {
        let fields: Vec<Field> = self
            .columns
            .iter()
            .map(|c| {
                let mut meta = HashMap::from([("doc".to_string(), c.doc.to_string())]);
                if !c.unit.is_empty() {
                    meta.insert("unit".to_string(), c.unit.to_string());
                }
                if let Ty::Enum(values) = c.ty {
                    meta.insert("values".to_string(), values.join(" "));
                }
                Field::new(c.name, data_type(c.ty), c.nullable).with_metadata(meta)
            })
            .collect();
        let meta =
            HashMap::from([("table".to_string(), self.name.to_string()), ("doc".to_string(), self.doc.to_string())]);
        Arc::new(Schema::new_with_metadata(fields, meta))
    }
}

/// Mark a nanosecond column as UTC.
pub fn utc(array: arrow_array::ArrayRef) -> arrow_array::ArrayRef {
    use arrow_array::Array;
    let data =
        array.to_data().into_builder().data_type(data_type(Ty::Time)).build().expect("same layout, another time zone");
    arrow_array::make_array(data)
}

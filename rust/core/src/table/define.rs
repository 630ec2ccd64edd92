//! `define_table!`: schema and builder from one list of columns, so that they always agree.

/// The buffer type of a column type.
#[macro_export]
macro_rules! column_buffer {
    (U8) => { $crate::table::column::Col<u8> };
    (U16) => { $crate::table::column::Col<u16> };
    (U32) => { $crate::table::column::Col<u32> };
    (U64) => { $crate::table::column::Col<u64> };
    (I8) => { $crate::table::column::Col<i8> };
    (I64) => { $crate::table::column::Col<i64> };
    (F64) => { $crate::table::column::Col<f64> };
    (Bool) => { $crate::table::column::Col<bool> };
    (Time) => { $crate::table::column::Col<i64> };
    (Enum) => { $crate::table::column::Col<i8> };
    (Dict) => { $crate::table::column::DictCol };
    (Ranges) => { $crate::table::column::RangesCol };
    (Integers) => { $crate::table::column::ListCol<u64> };
    (Numbers) => { $crate::table::column::ListCol<f64> };
}

/// The schema type of a column type.
#[macro_export]
macro_rules! column_ty {
    (Enum, $values:expr) => {
        $crate::table::schema::Ty::Enum($values)
    };
    ($ty:ident) => {
        $crate::table::schema::Ty::$ty
    };
}

/// A column's buffer as an Arrow array.
#[macro_export]
macro_rules! column_finish {
    ($c:expr, U8) => {
        $c.finish::<arrow_array::types::UInt8Type>()
    };
    ($c:expr, U16) => {
        $c.finish::<arrow_array::types::UInt16Type>()
    };
    ($c:expr, U32) => {
        $c.finish::<arrow_array::types::UInt32Type>()
    };
    ($c:expr, U64) => {
        $c.finish::<arrow_array::types::UInt64Type>()
    };
    ($c:expr, I8) => {
        $c.finish::<arrow_array::types::Int8Type>()
    };
    ($c:expr, I64) => {
        $c.finish::<arrow_array::types::Int64Type>()
    };
    ($c:expr, F64) => {
        $c.finish::<arrow_array::types::Float64Type>()
    };
    ($c:expr, Bool) => {
        $c.finish_bool()
    };
    ($c:expr, Time) => {
        $crate::table::schema::utc($c.finish::<arrow_array::types::TimestampNanosecondType>())
    };
    ($c:expr, Dict) => {
        $c.finish()
    };
    ($c:expr, Ranges) => {
        $c.finish()
    };
    ($c:expr, Integers) => {
        $c.finish::<arrow_array::types::UInt64Type>()
    };
    ($c:expr, Numbers) => {
        $c.finish::<arrow_array::types::Float64Type>()
    };
    ($c:expr, Enum, $values:expr) => {
        $c.finish_dict(&$crate::table::schema::names($values))
    };
}

/// Define a table: its `Table` constant and a builder with one public buffer per column.
///
/// Every row must push to every column; `finish` panics if one was left out.
#[macro_export]
macro_rules! define_table {
    ($(#[$meta:meta])* $Builder:ident, $CONST:ident, $name:literal, $doc:literal, {
        $( $col:ident : $ty:ident $(($values:expr))? $(? $null:tt)? , $unit:literal, $cdoc:literal ; )*
    }) => {
        pub const $CONST: $crate::table::schema::Table = $crate::table::schema::Table {
            name: $name,
            doc: $doc,
            columns: &[$($crate::table::schema::Column {
                name: $crate::table::schema::bare(stringify!($col)),
                ty: $crate::column_ty!($ty $(, $values)?),
                nullable: $crate::define_table!(@nullable $($null)?),
                unit: $unit,
                doc: $cdoc,
            }),*],
        };

        $(#[$meta])*
        #[derive(Debug, Default)]
        pub struct $Builder { $(#[doc = $cdoc] pub $col: $crate::column_buffer!($ty)),* }

        impl $Builder {
            /// Reserve space for more rows.
            pub fn reserve(&mut self, rows: usize) {
                $(self.$col.reserve(rows);)*
            }

            /// The columns as Arrow arrays, in the schema's order; the builder is empty afterwards.
            pub fn finish_columns(&mut self) -> Vec<arrow_array::ArrayRef> {
                vec![$($crate::column_finish!(self.$col, $ty $(, $values)?)),*]
            }

            /// The rows as one batch; the builder is empty afterwards.
            pub fn finish(&mut self) -> arrow_array::RecordBatch {
                // Made once: a schema consists of hundreds of strings.
                static SCHEMA: std::sync::OnceLock<arrow_schema::SchemaRef> = std::sync::OnceLock::new();
                let schema = SCHEMA.get_or_init(|| $CONST.schema()).clone();
                arrow_array::RecordBatch::try_new(schema, self.finish_columns())
                    .expect(concat!($name, ": every row fills every column"))
            }
        }
    };
    (@nullable) => { false };
    (@nullable null) => { true };
}

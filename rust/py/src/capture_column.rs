//! The column `capture`, the first of every table: the name of the capture of each row.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Field, FieldRef, Schema, SchemaRef};
use wlanlens_core::limits;

/// The name of one capture as a column.
pub struct CaptureColumn {
    field: FieldRef,
    name: Arc<StringArray>,
    /// For batches of up to `BATCH_ROWS` rows.
    rows: DictionaryArray<Int32Type>,
    /// The schemas of tables without and with the column.
    schemas: HashMap<&'static str, (SchemaRef, SchemaRef)>,
}

impl CaptureColumn {
    pub fn new(name: String, doc: String) -> Self {
        let name = Arc::new(StringArray::from(vec![name]));
        let rows = rows_of(&name, limits::BATCH_ROWS);
        let field = Field::new("capture", arrow_array::Array::data_type(&rows).clone(), false)
            .with_metadata(HashMap::from([("doc".to_string(), doc)]));
        CaptureColumn { field: Arc::new(field), name, rows, schemas: HashMap::new() }
    }

    /// A batch of a table with the column in front.
    pub fn added_to(&mut self, table: &'static str, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let count = batch.num_rows();
        let rows = if count <= self.rows.keys().len() { self.rows.slice(0, count) } else { rows_of(&self.name, count) };
        let columns = std::iter::once(Arc::new(rows) as ArrayRef).chain(batch.columns().iter().cloned()).collect();
        RecordBatch::try_new(self.schema(table, batch), columns)
    }

    fn schema(&mut self, table: &'static str, batch: &RecordBatch) -> SchemaRef {
        let bare = batch.schema_ref();
        match self.schemas.get(table) {
            Some((known, whole)) if Arc::ptr_eq(known, bare) => whole.clone(),
            _ => {
                let fields: Vec<_> = std::iter::once(&self.field).chain(bare.fields()).cloned().collect();
                let whole = Arc::new(Schema::new_with_metadata(fields, bare.metadata().clone()));
                self.schemas.insert(table, (bare.clone(), whole.clone()));
                whole
            }
        }
    }
}

fn rows_of(name: &Arc<StringArray>, count: usize) -> DictionaryArray<Int32Type> {
    DictionaryArray::new(PrimitiveArray::from_value(0, count), name.clone())
}

//! Records that a reader written in Python yields, as a source for the core.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyIterator, PyTuple};
use wlanlens_core::container::{Batch, Handed, HandedSource, RecordSource, Supplier, Time};
use wlanlens_core::error::Result;
use wlanlens_core::notes::Notes;

use crate::errors;
use crate::file::Shared;

/// The iterator of a Python reader, and the file that it reads.
pub struct PythonReader {
    format: String,
    records: Py<PyIterator>,
    file: Shared,
    compression: &'static str,
}

impl PythonReader {
    /// `records` is what the reader of `format` returned for `file`.
    pub fn source(
        format: String,
        compression: &'static str,
        file: Shared,
        records: &Bound<'_, PyAny>,
    ) -> PyResult<Box<dyn RecordSource>> {
        let records = records.try_iter()?.unbind();
        let name = format.clone();
        Ok(Box::new(HandedSource::new(name, PythonReader { format, records, file, compression })))
    }

    /// Have Python run until a batch is full or its records end.
    fn pull(&self, py: Python<'_>, batch: &mut Batch) -> PyResult<()> {
        let mut records = self.records.bind(py).clone();
        while !batch.is_full() {
            let offset = self.file.offset();
            let next = records.next();
            self.file.take_notes(batch);
            match next {
                Some(record) => push(batch, &record?, offset)?,
                None => break,
            }
        }
        Ok(())
    }
}

impl Supplier for PythonReader {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<()> {
        // No interpreter: the process ends.
        Python::try_attach(|py| self.pull(py, batch).map_err(|e| errors::of_reader(py, &self.format, &e)))
            .unwrap_or(Ok(()))
    }

    fn compression(&self) -> &'static str {
        self.compression
    }

    fn end(&mut self, records: u64, notes: &mut Notes) -> Result<()> {
        self.file.report(records, notes)
    }
}

/// Add (time_ns, link_type, wire_bytes, data[, interface[, outgoing]]).
fn push(batch: &mut Batch, record: &Bound<'_, PyAny>, offset: u64) -> PyResult<()> {
    let fields = record.cast::<PyTuple>().map_err(|_| shape())?;
    if !(4..=6).contains(&fields.len()) {
        return Err(shape());
    }
    let data: PyBackedBytes = fields.get_item(3)?.extract()?;
    let time = fields.get_item(0)?;
    let time = match time.is_none() {
        true => Time::None,
        false => integer(&time)?.map_or(Time::NotRepresentable, Time::At),
    };
    let handed = Handed {
        time,
        link_type: saturated(&fields.get_item(1)?)?,
        wire_bytes: saturated(&fields.get_item(2)?)?,
        interface: if fields.len() > 4 { fields.get_item(4)?.extract()? } else { 0 },
        outgoing: if fields.len() > 5 { fields.get_item(5)?.extract()? } else { None },
        offset,
    };
    batch.push(handed, &data);
    Ok(())
}

fn shape() -> PyErr {
    PyTypeError::new_err("expected a tuple (time_ns, link_type, wire_bytes, data[, interface[, outgoing]])")
}

/// A whole number; None: not one of 64 bits.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    match value.extract::<i64>() {
        Ok(n) => Ok(Some(n)),
        Err(e) if e.is_instance_of::<PyOverflowError>(value.py()) => Ok(None),
        Err(e) => Err(e),
    }
}

/// A whole number, or the nearest that has 64 bits.
fn saturated(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    match integer(value)? {
        Some(n) => Ok(n),
        None => Ok(if value.lt(0)? { i64::MIN } else { i64::MAX }),
    }
}

//! The records of a capture file, whether the core reads them or Python.

use std::sync::Mutex;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wlanlens_core::container::{self, RecordSource};
use wlanlens_core::error::Error;
use wlanlens_core::notes::Notes;

use crate::errors;
use crate::file::File;
use crate::python_reader::PythonReader;

/// Bytes of records that one call returns: ten times the largest evidence, in full Ethernet frames.
const RECORDS_BYTES: usize = 64 << 20;

/// One record as Python gets it: (packet, time_ns, wire_bytes, data, link_type, offset).
type RecordRow<'py> = (u64, Option<i64>, u32, Bound<'py, PyBytes>, u16, u64);

/// Whether a file that begins with `head` is in a format of the core.
#[pyfunction]
pub fn is_format(format: &str, head: &[u8]) -> bool {
    container::format_of(head) == Some(format)
}

/// The records of a file in a format of the core, which takes the file over.
#[pyfunction]
pub fn read_format(py: Python<'_>, format: &str, file: &File) -> PyResult<Records> {
    let input = file.take(py)?;
    let opened = py.detach(|| container::open_as(format, input));
    Ok(Records::new(opened.map_err(|e| errors::to_py(py, e))?))
}

/// The records of a file, from its first. They are read once.
#[pyclass(frozen)]
pub struct Records(Mutex<Option<Box<dyn RecordSource>>>);

impl Records {
    fn new(source: Box<dyn RecordSource>) -> Self {
        Records(Mutex::new(Some(source)))
    }

    /// The source; it is gone from here.
    pub fn take(&self) -> PyResult<Box<dyn RecordSource>> {
        let taken = self.0.lock().ok().and_then(|mut source| source.take());
        taken.ok_or_else(|| PyRuntimeError::new_err("these records have a reader already"))
    }
}

#[pymethods]
impl Records {
    /// Of an iterable of tuples, made by a reader of `format` that reads `file`.
    #[new]
    fn of_python(format: String, file: &File, records: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Records::new(PythonReader::source(format, file.compression, file.shared.clone(), records)?))
    }
}

/// Records as they are in the file, by packet number from 1; `wanted` must rise. It ends early after `RECORDS_BYTES`.
#[pyfunction]
pub fn select<'py>(py: Python<'py>, records: &Records, wanted: Vec<u64>) -> PyResult<Vec<RecordRow<'py>>> {
    let mut source = records.take()?;
    let found = py.detach(move || -> Result<Vec<_>, Error> {
        let mut notes = Notes::default();
        let mut out = Vec::new();
        let mut wanted = wanted.into_iter().peekable();
        let mut number = 0;
        let mut held = 0;
        while let Some(&next) = wanted.peek().filter(|_| held < RECORDS_BYTES) {
            let Some(r) = source.next_record(&mut notes)? else {
                break;
            };
            number += 1;
            if number == next {
                held += r.data.len();
                out.push((number, r.time_ns, r.wire_bytes, r.data.to_vec(), r.link_type, r.offset));
            }
            if number >= next {
                wanted.next();
            }
        }
        Ok(out)
    });
    let rows = found.map_err(|e| errors::to_py(py, e))?;
    Ok(rows.into_iter().map(|(n, t, w, d, l, o)| (n, t, w, PyBytes::new(py, &d), l, o)).collect())
}

//! A capture file that is open: offered to the containers of the shelf, then read by Rust or by Python.

use std::ffi::OsString;
use std::fs::File as StdFile;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wlanlens_core::container::{self, Batch, Input};
use wlanlens_core::error::Error;
use wlanlens_core::limits;
use wlanlens_core::notes::{NoteKind, Notes};

use crate::errors;

/// An open file, of which a `File` and the reader of its records both have a share.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<State>>);

struct State {
    /// None: a reader of the core has it.
    input: Option<Input>,
    /// Notes that Python made, and where: they wait for the next batch.
    notes: Vec<(NoteKind, u64, u64)>,
}

impl Shared {
    /// Call without the GIL: another thread may hold the lock while it waits for bytes, and then for the GIL.
    fn lock(&self) -> Result<MutexGuard<'_, State>, &'static str> {
        self.0.lock().map_err(|_| "the file failed before")
    }

    /// Without waiting: None where another thread has the file.
    fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        self.0.try_lock().ok()
    }

    /// Offset of the next byte; 0 where it is not known.
    pub fn offset(&self) -> u64 {
        self.try_lock().map_or(0, |state| state.input.as_ref().map_or(0, Input::offset))
    }

    /// Move the notes that Python made into a batch.
    pub fn take_notes(&self, batch: &mut Batch) {
        if let Some(mut state) = self.try_lock() {
            for (kind, count, offset) in state.notes.drain(..) {
                batch.note(kind, count, offset);
            }
        }
    }

    /// What was odd in the stream as a whole.
    pub fn report(&self, records: u64, notes: &mut Notes) -> Result<(), Error> {
        match self.lock().ok().as_mut().and_then(|state| state.input.as_mut()) {
            Some(input) => input.report(records, notes),
            None => Ok(()),
        }
    }
}

/// A capture file or standard input, open at its first byte, decompressed.
#[pyclass(frozen)]
pub struct File {
    pub shared: Shared,
    pub compression: &'static str,
    path: Option<OsString>,
    head: Vec<u8>,
}

impl File {
    /// Do something with the input, without the GIL.
    fn with<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut State) -> T + Send) -> PyResult<T> {
        py.detach(|| self.shared.lock().map(|mut state| f(&mut state))).map_err(PyRuntimeError::new_err)
    }

    /// Read from the input: without the GIL if that may take a while.
    fn read_with<'py>(
        &self,
        py: Python<'py>,
        size: usize,
        ready: fn(&Input, usize) -> bool,
        read: for<'a> fn(&'a mut Input, usize) -> &'a [u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        if size > limits::PIECE_BYTES {
            let most = limits::PIECE_BYTES;
            return Err(PyValueError::new_err(format!(
                "{size} bytes at once are too many: at most {most} can be read"
            )));
        }
        if let Some(mut state) = self.shared.try_lock() {
            if let Some(input) = state.input.as_mut().filter(|input| ready(input, size)) {
                return Ok(PyBytes::new(py, read(input, size)));
            }
        }
        let bytes = self.with(py, |state| state.input.as_mut().map(|input| read(input, size).to_vec()))?;
        Ok(PyBytes::new(py, &bytes.ok_or_else(taken)?))
    }
}

fn taken() -> PyErr {
    PyValueError::new_err("another reader has the file")
}

impl File {
    /// What was opened, for a reader of the core.
    pub fn take(&self, py: Python<'_>) -> PyResult<Input> {
        self.with(py, |state| state.input.take())?.ok_or_else(taken)
    }
}

#[pymethods]
impl File {
    /// `path` None is standard input.
    #[new]
    fn new(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Self> {
        let name = path.clone().map(PathBuf::into_os_string);
        let opened = py.detach(|| -> Result<Input, Error> {
            let stream: Box<dyn Read + Send> = match path {
                Some(p) => Box::new(StdFile::open(p)?),
                None => Box::new(std::io::stdin()),
            };
            Input::open(stream)
        });
        let input = opened.map_err(|e| errors::to_py(py, e))?;
        let (head, compression) = (input.head().to_vec(), input.compression());
        let state = State { input: Some(input), notes: Vec::new() };
        Ok(File { shared: Shared(Arc::new(Mutex::new(state))), path: name, head, compression })
    }

    #[getter]
    fn path(&self) -> Option<OsString> {
        self.path.clone()
    }

    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.head)
    }

    #[getter]
    fn compression(&self) -> &'static str {
        self.compression
    }

    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        self.read_with(py, size, Input::has, Input::read)
    }

    #[pyo3(signature = (size = limits::BLOCK_BYTES))]
    fn readline<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        self.read_with(py, size, Input::has_line, Input::read_line)
    }

    fn tell(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |state| state.input.as_ref().map(Input::offset))?.ok_or_else(taken)
    }

    #[pyo3(signature = (name, count = 1))]
    fn note(&self, py: Python<'_>, name: &str, count: u64) -> PyResult<()> {
        let Some(kind) = NoteKind::ALL.iter().find(|kind| kind.name() == name) else {
            return Err(PyValueError::new_err(format!("there is no note {name:?}")));
        };
        self.with(py, |state| {
            let offset = state.input.as_ref().map_or(0, Input::offset);
            match state.notes.iter_mut().find(|note| note.0 == *kind) {
                Some(note) => note.1 = note.1.saturating_add(count),
                None => state.notes.push((*kind, count, offset)),
            }
        })
    }

    /// Raise the error of a file in no format of those named.
    fn refuse(&self, py: Python<'_>, formats: &str) -> PyResult<()> {
        let refused = self.with(py, |state| state.input.as_ref().map(|input| container::refuse(input, formats)))?;
        Err(refused.map_or_else(taken, |e| errors::to_py(py, e)))
    }
}

//! The interface to Python: arguments in, Arrow out by PyCapsule, errors mapped. No facts are established here.

use std::sync::Mutex;

use arrow_pyarrow::{IntoPyArrow, ToPyArrow};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyList};
use wlanlens_core::airtime::Stamps;
use wlanlens_core::crypto::keys::{BadKey, Keys};
use wlanlens_core::reader::Reader as CoreReader;
use wlanlens_core::{limits, table, wire};

mod air_sums;
mod capture_column;
mod clock;
mod errors;
mod exchange_vectors;
mod file;
mod pairing;
mod python_reader;
mod records;
mod simulation;

use capture_column::CaptureColumn;
use file::File;
use records::Records;

/// Whether frames of a LINKTYPE_ value can be decoded.
#[pyfunction]
fn decodes(link_type: u16) -> bool {
    wire::supported(link_type)
}

/// Every table that the core makes: name -> Arrow schema.
#[pyfunction]
fn schemas(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    for (name, schema) in table::all() {
        out.set_item(name, schema.as_ref().to_pyarrow(py)?)?;
    }
    Ok(out)
}

/// The names of these tables, in the same order. It does not need pyarrow.
#[pyfunction]
fn table_names() -> Vec<&'static str> {
    table::all().into_iter().map(|(name, _)| name).collect()
}

/// One note as Python gets it: (name, severity, count, first_packet, first_offset, sentence).
type NoteRow = (&'static str, &'static str, u64, u64, u64, &'static str);

/// Keys of lines, which stay where Python holds them: no copy is made that outlives its use.
fn keys_of(lines: &[PyBackedBytes]) -> Result<Keys, BadKey> {
    Keys::parse(lines.iter().map(|line| &**line))
}

/// Whether every line is a key, empty or a comment; BadKey names the line, never the key.
#[pyfunction]
fn check_keys(py: Python<'_>, lines: Vec<PyBackedBytes>) -> PyResult<()> {
    keys_of(&lines).map(|_| ()).map_err(|e| errors::bad_key(py, &e))
}

/// Version and build profile of the core.
#[pyfunction]
fn build_info() -> (&'static str, bool) {
    (env!("CARGO_PKG_VERSION"), cfg!(debug_assertions))
}

/// Reads one capture, a batch of tables at a time. One thread at a time may call it.
#[pyclass(frozen)]
struct Reader {
    inner: Mutex<CoreReader>,
    /// None: the batches have no column `capture`.
    capture: Mutex<Option<CaptureColumn>>,
}

impl Reader {
    /// Without the GIL: a reader written in Python may need it while the lock is held.
    fn with<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut CoreReader) -> T + Send) -> PyResult<T> {
        py.detach(|| self.inner.lock().map(|mut reader| f(&mut reader)).map_err(|_| ()))
            .map_err(|()| PyRuntimeError::new_err("the reader failed before"))
    }
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (records, *, batch_rows = limits::BATCH_ROWS, track = true, packets = None, keys = Vec::new(), two_threads = false))]
    fn new(
        py: Python<'_>,
        records: &Records,
        batch_rows: usize,
        track: bool,
        packets: Option<bool>,
        keys: Vec<PyBackedBytes>,
        two_threads: bool,
    ) -> PyResult<Self> {
        let keys = keys_of(&keys).map_err(|e| errors::bad_key(py, &e))?;
        let reader = CoreReader::new(records.take()?, batch_rows, track).with_keys(keys);
        let reader = match packets {
            None => reader,
            Some(true) => reader.only_packets(),
            Some(false) => reader.without_packets(),
        };
        let reader = if two_threads { reader.in_two_threads() } else { reader };
        Ok(Reader { inner: Mutex::new(reader), capture: Mutex::new(None) })
    }

    /// Emit `open_flows` too; call it before the first batch.
    fn add_open_flows(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, CoreReader::add_open_flows)
    }

    /// Put the column `capture` in front of every batch: the capture's name, and the column's sentence.
    fn name_capture(&self, name: String, doc: String) -> PyResult<()> {
        let mut capture = self.capture.lock().map_err(|_| PyRuntimeError::new_err("the reader failed before"))?;
        *capture = Some(CaptureColumn::new(name, doc));
        Ok(())
    }

    /// Whether the numbers of connections in `packets` are those of the facts.
    fn numbered(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |r| r.numbered())
    }

    /// Read what a later `next_batches` returns, unless it has been read for `most` of them; returns whether more can be read. It does not
    /// need pyarrow.
    fn read_ahead(&self, py: Python<'_>, most: usize) -> PyResult<bool> {
        self.with(py, |r| r.read_ahead(most))
    }

    /// The next batches as [(table, RecordBatch), ...]; an empty list at the end. `least_rows`: of all tables together, before
    /// pyarrow is needed.
    #[pyo3(signature = (least_rows = 1))]
    fn next_batches<'py>(&self, py: Python<'py>, least_rows: usize) -> PyResult<Bound<'py, PyList>> {
        let batches = self.with(py, |r| r.next_batches_of(least_rows))?.map_err(|e| errors::to_py(py, e))?;
        let mut capture = self.capture.lock().map_err(|_| PyRuntimeError::new_err("the reader failed before"))?;
        let out = PyList::empty(py);
        for (name, batch) in batches {
            let batch = match capture.as_mut() {
                Some(column) => {
                    column.added_to(name, &batch).map_err(|e| PyRuntimeError::new_err(format!("{name}: {e}")))?
                }
                None => batch,
            };
            out.append((name, batch.into_pyarrow(py)?))?;
        }
        Ok(out)
    }

    /// What was odd so far: [(name, severity, count, first_packet, first_offset, sentence), ...].
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<NoteRow>> {
        self.with(py, |r| {
            r.notes()
                .iter()
                .map(|(k, c)| (k.name(), k.severity().name(), c.count, c.first_packet, c.first_offset, k.sentence()))
                .collect()
        })
    }

    /// Format, compression, counts, times, link types, interfaces, texts and the meaning of 802.11 timestamps so far.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (sniffed, interfaces, texts, progress) = self
            .with(py, |r| (r.source().sniffed(), r.source().interfaces(), r.source().texts(), r.progress().clone()))?;
        let out = PyDict::new(py);
        out.set_item("format", &*sniffed.format)?;
        out.set_item("compression", sniffed.compression)?;
        out.set_item("records", progress.records)?;
        out.set_item("other_records", progress.other_records)?;
        out.set_item("offset", progress.offset)?;
        out.set_item("first_ns", progress.first_ns)?;
        out.set_item("last_ns", progress.last_ns)?;
        out.set_item("wire_bytes", progress.wire_bytes)?;
        out.set_item("link_types", progress.link_types)?;
        let rows: Vec<_> =
            interfaces.into_iter().map(|i| (i.link_type, i.name, i.description, i.snaplen, i.dropped)).collect();
        out.set_item("interfaces", rows)?;
        out.set_item("texts", texts)?;
        let stamps = self.with(py, |r| r.stamps())?;
        out.set_item("stamps", stamps.map(|s| stamps_dict(py, s)).transpose()?)?;
        Ok(out)
    }
}

/// How the timestamps of an 802.11 capture are read.
fn stamps_dict(py: Python<'_>, s: Stamps) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("clock", s.clock)?;
    out.set_item("stamp_at", s.at)?;
    out.set_item("announced", s.announced)?;
    out.set_item("pairs", s.pairs)?;
    out.set_item("fitting", s.fitting)?;
    out.set_item("residual_us", s.residual_us)?;
    Ok(out)
}

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(check_keys, m)?)?;
    m.add_function(wrap_pyfunction!(decodes, m)?)?;
    m.add_function(wrap_pyfunction!(records::select, m)?)?;
    m.add_function(wrap_pyfunction!(schemas, m)?)?;
    m.add_function(wrap_pyfunction!(table_names, m)?)?;
    m.add_function(wrap_pyfunction!(build_info, m)?)?;
    m.add_function(wrap_pyfunction!(records::is_format, m)?)?;
    m.add_function(wrap_pyfunction!(records::read_format, m)?)?;
    m.add_class::<File>()?;
    m.add_class::<Records>()?;
    m.add_class::<simulation::Simulation>()?;
    m.add_class::<air_sums::AirSums>()?;
    m.add_class::<clock::Region>()?;
    m.add_function(wrap_pyfunction!(clock::hull, m)?)?;
    m.add_function(wrap_pyfunction!(exchange_vectors::channel_trials, m)?)?;
    m.add_function(wrap_pyfunction!(exchange_vectors::exchange_vectors, m)?)?;
    m.add_class::<pairing::Pairing>()?;
    m.add_class::<pairing::PairingReading>()?;
    m.add_class::<pairing::PairingRows>()?;
    m.add_function(wrap_pyfunction!(pairing::match_order, m)?)?;
    m.add_class::<Reader>()
}

//! The seam of pairing: batches of two tables `packets` in, pairs of rows out.

use std::sync::Mutex;

use arrow_array::RecordBatch;
use arrow_pyarrow::{IntoPyArrow, PyArrowType};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use wlanlens_core::pairing::{self, BadColumn, Of, Pairing as Core, ReadRows, Reading, Side};

/// Pairs the packets of two captures, which are read twice. One thread at a time may call it.
#[pyclass(frozen)]
pub struct Pairing {
    inner: Mutex<Core>,
}

fn side(number: u8) -> PyResult<Side> {
    match number {
        0 => Ok(Side::A),
        1 => Ok(Side::B),
        _ => Err(PyValueError::new_err("a side is 0 or 1")),
    }
}

pub fn bad(column: BadColumn) -> PyErr {
    PyValueError::new_err(format!("column {} is missing or of another type", column.0))
}

impl Pairing {
    fn with<T>(&self, f: impl FnOnce(&mut Core) -> T) -> PyResult<T> {
        let mut guard = self.inner.lock().map_err(|_| PyRuntimeError::new_err("pairing failed before"))?;
        Ok(f(&mut guard))
    }
}

#[pymethods]
impl Pairing {
    /// `nat`: addresses and ports may change on the path; `frames`: rows are those of `frames`, not `packets`.
    #[new]
    #[pyo3(signature = (*, nat = false, frames = false))]
    fn new(nat: bool, frames: bool) -> Self {
        let of = if frames { Of::Frames } else { Of::Packets { nat } };
        Pairing { inner: Mutex::new(Core::new(of)) }
    }

    /// First reading: a batch of `packets` of side 0 or 1. Releases the GIL.
    fn sample(&self, py: Python<'_>, side_number: u8, batch: PyArrowType<RecordBatch>) -> PyResult<()> {
        let (side, batch) = (side(side_number)?, batch.0);
        py.detach(|| self.with(|p| p.sample(side, &batch)))?.map_err(bad)
    }

    /// End of the first reading: common (packets that both samples hold once), sampled (share of packets that the
    /// sample represents), ids_kept, lean_tcp, lean_other, shifted (connections whose numbers are rewritten, in both directions).
    fn compare<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let outlook = py.detach(|| self.with(|p| p.compare().clone()))?;
        let out = PyDict::new(py);
        out.set_item("common", outlook.common.len())?;
        out.set_item("shifted", outlook.shifts.len())?;
        out.set_item("sampled", outlook.share)?;
        out.set_item("ids_kept", outlook.ids_kept)?;
        out.set_item("lean_tcp", outlook.lean_tcp)?;
        out.set_item("lean_other", outlook.lean_other)?;
        Ok(out)
    }

    /// Second reading: the side whose next batch is needed; None when a window can be paired.
    fn wants(&self) -> PyResult<Option<u8>> {
        Ok(self.with(|p| p.wants())?.map(|s| s as u8))
    }

    /// For both sides the first row that a later window may pair.
    fn held_from(&self) -> PyResult<[u64; 2]> {
        self.with(|p| p.held_from())
    }

    /// Second reading: what reads the batches of a side; after `compare`.
    fn reading(&self, side_number: u8) -> PyResult<PairingReading> {
        let side = side(side_number)?;
        Ok(PairingReading { inner: self.with(|p| p.reading(side))? })
    }

    /// Second reading: the rows of the next batch of `packets`; None when the side has ended. Releases the GIL.
    #[pyo3(signature = (side_number, rows))]
    fn push(&self, py: Python<'_>, side_number: u8, rows: Option<PyRef<'_, PairingRows>>) -> PyResult<()> {
        let side = side(side_number)?;
        let rows = rows.map(|rows| rows.take()).transpose()?;
        py.detach(|| self.with(|p| p.push(side, rows)))
    }

    /// Pair a window: its pairs as a RecordBatch of the table `pairs`, and whether there are more. Releases the GIL.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, bool)> {
        let (pairs, more) = py.detach(|| {
            self.with(|p| {
                let mut pairs = Vec::new();
                let more = p.step(&mut pairs);
                (pairs, more)
            })
        })?;
        Ok((pairing::to_batch(&pairs).into_pyarrow(py)?, more))
    }

    /// Windows in which more rows of the second capture could hold a packet than are held: pairs may be missing.
    fn clipped(&self) -> PyResult<u64> {
        self.with(|p| p.clipped)
    }
}

/// Reads batches for the second reading, in any thread.
#[pyclass(frozen)]
pub struct PairingReading {
    inner: Reading,
}

#[pymethods]
impl PairingReading {
    /// The rows of a batch of `packets`. Releases the GIL.
    fn read(&self, py: Python<'_>, batch: PyArrowType<RecordBatch>) -> PyResult<PairingRows> {
        let batch = batch.0;
        let rows = py.detach(|| self.inner.read(&batch)).map_err(bad)?;
        Ok(PairingRows { inner: Mutex::new(Some(rows)) })
    }
}

/// The rows of a batch, until they are pushed.
#[pyclass(frozen)]
pub struct PairingRows {
    inner: Mutex<Option<ReadRows>>,
}

impl PairingRows {
    fn take(&self) -> PyResult<ReadRows> {
        let rows = self.inner.lock().ok().and_then(|mut rows| rows.take());
        rows.ok_or_else(|| PyValueError::new_err("these rows were pushed before"))
    }
}

/// Places of the same packets in two sequences of lengths (each uint32), and by how much those of the second are longer.
/// Releases the GIL.
#[pyfunction]
pub fn match_order(py: Python<'_>, a: Vec<u32>, b: Vec<u32>) -> (Vec<(u32, u32)>, i64) {
    let found = py.detach(|| pairing::order::matched(&a, &b));
    (found.pairs, found.offset)
}

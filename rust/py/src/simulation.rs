//! The simulator's seam: a world as JSON in, truth tables out.

use std::sync::Mutex;

use arrow_pyarrow::IntoPyArrow;
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use wlanlens_sim::config::World as Description;
use wlanlens_sim::limits::EVENTS_A_CALL;
use wlanlens_sim::world::World;

/// A running simulation. One thread at a time may call it.
#[pyclass(frozen)]
pub struct Simulation {
    inner: Mutex<Option<World>>,
}

#[pymethods]
impl Simulation {
    /// `world`: the description as JSON. Raises ValueError for an impossible description, OSError if a file cannot be written.
    #[new]
    fn new(world: &str) -> PyResult<Self> {
        let description: Description = serde_json::from_str(world).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let world = World::new(description)?.map_err(PyValueError::new_err)?;
        Ok(Simulation { inner: Mutex::new(Some(world)) })
    }

    /// Run until this simulated time, or less far if there are many events; returns the time reached, None when the run has
    /// ended. OverflowError(what, time reached) when a limit is exceeded. Releases the GIL.
    fn run(&self, py: Python<'_>, until_ns: u64) -> PyResult<Option<u64>> {
        py.detach(|| {
            let mut guard = self.inner.lock().map_err(|_| gone())?;
            let world = guard.as_mut().ok_or_else(gone)?;
            let reached = world.run_some(until_ns, EVENTS_A_CALL)?;
            match world.excess() {
                Some((what, now)) => Err(PyOverflowError::new_err((what, now))),
                None => Ok(reached),
            }
        })
    }

    /// Close the captures; returns the ground truth as [(table, RecordBatch), ...].
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let world = self.inner.lock().map_err(|_| gone())?.take().ok_or_else(gone)?;
        let tables = py.detach(|| Ok::<_, std::io::Error>(world.finish()?.tables()))?;
        let out = PyList::empty(py);
        for (name, batch) in tables {
            out.append((name, batch.into_pyarrow(py)?))?;
        }
        Ok(out)
    }
}

fn gone() -> PyErr {
    PyRuntimeError::new_err("the simulation has ended or failed")
}

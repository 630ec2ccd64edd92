//! The seam of clock comparison: arrays of float64 in, indices and numbers out.

use std::sync::{Mutex, MutexGuard};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use wlanlens_core::clock::{self, Limit, Region as Core};

/// An array of float64.
type Values = PyBuffer<f64>;

/// The lines of clock offset and drift that agree with limits.
#[pyclass(frozen)]
pub struct Region {
    inner: Mutex<Core>,
}

impl Region {
    fn lock(&self) -> PyResult<MutexGuard<'_, Core>> {
        self.inner.lock().map_err(|_| PyRuntimeError::new_err("the region failed before"))
    }
}

#[pymethods]
impl Region {
    #[new]
    fn new(origin: f64, middle: f64, wide: f64, steep: f64) -> Self {
        Region { inner: Mutex::new(Core::new(origin, middle, wide, steep)) }
    }

    /// The offset and the slope of each corner.
    fn corners(&self) -> PyResult<Vec<(f64, f64)>> {
        Ok(self.lock()?.corners().to_vec())
    }

    fn excess(&self, x: f64, limit: f64, side: f64) -> PyResult<f64> {
        Ok(self.lock()?.excess(Limit { x, limit, side }))
    }

    fn clip(&self, x: f64, limit: f64, side: f64) -> PyResult<bool> {
        Ok(self.lock()?.clip(Limit { x, limit, side }))
    }

    /// Clip by limits in turn up to the first that contradicts the region: how many agreed.
    fn clip_while(&self, py: Python<'_>, x: Values, limit: Values, side: Values) -> PyResult<usize> {
        let (x, limit, side) = (x.to_vec(py)?, limit.to_vec(py)?, side.to_vec(py)?);
        let limits = x.into_iter().zip(limit).zip(side).map(|((x, limit), side)| Limit { x, limit, side });
        Ok(self.lock()?.clip_while(limits))
    }

    /// Clip by all limits of one side in turn; the number of those that contradict the region.
    fn clip_all(&self, py: Python<'_>, x: Values, limit: Values, side: f64) -> PyResult<usize> {
        let limits = x.to_vec(py)?.into_iter().zip(limit.to_vec(py)?).map(|(x, limit)| Limit { x, limit, side });
        Ok(self.lock()?.clip_all(limits))
    }
}

/// Indices of the corners of the lower (side 1) or upper (side -1) convex hull of points, in order of x.
#[pyfunction]
pub fn hull(py: Python<'_>, x: Values, limit: Values, side: f64) -> PyResult<Vec<usize>> {
    Ok(clock::hull(&x.to_vec(py)?, &limit.to_vec(py)?, side))
}

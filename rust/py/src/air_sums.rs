//! The seam of the airtime sums: batches of `frames` and `exchanges` in, sums out.

use std::sync::{Arc, Mutex, MutexGuard};

use arrow_array::{ArrayRef, Int64Array, Int8Array, RecordBatch};
use arrow_pyarrow::{IntoPyArrow, PyArrowType};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use wlanlens_core::airtime::sums::{Limits, Sums, PURPOSES, PURPOSE_NAMES};

use crate::pairing::bad;

/// Adds up what the air of one capture was used for. One thread at a time may call it.
#[pyclass(frozen)]
pub struct AirSums {
    inner: Mutex<Sums>,
}

impl AirSums {
    fn lock(&self) -> PyResult<MutexGuard<'_, Sums>> {
        self.inner.lock().map_err(|_| PyRuntimeError::new_err("the sums failed before"))
    }
}

#[pymethods]
impl AirSums {
    #[new]
    #[pyo3(signature = (*, pending, stations))]
    fn new(pending: usize, stations: usize) -> Self {
        AirSums { inner: Mutex::new(Sums::new(Limits { pending, stations })) }
    }

    /// The names of purposes, in the order of all sums.
    #[staticmethod]
    fn purposes() -> Vec<&'static str> {
        PURPOSE_NAMES.to_vec()
    }

    /// Frames that wait for their exchange.
    fn waiting(&self) -> PyResult<usize> {
        Ok(self.lock()?.waiting())
    }

    /// Add a batch of `frames`. Releases the GIL.
    fn frames(&self, py: Python<'_>, batch: PyArrowType<RecordBatch>) -> PyResult<()> {
        let batch = batch.0;
        py.detach(|| self.lock()?.frames(&batch).map_err(bad))
    }

    /// Add a batch of `exchanges`; returns a RecordBatch of the transmissions of TCP segments: packet, outcome. Releases the GIL.
    fn exchanges<'py>(&self, py: Python<'py>, batch: PyArrowType<RecordBatch>) -> PyResult<Bound<'py, PyAny>> {
        let batch = batch.0;
        let (packet, outcome) = py.detach(|| self.lock()?.exchanges(&batch).map_err(bad))?;
        let columns: [(&str, ArrayRef); 2] =
            [("packet", Arc::new(Int64Array::from(packet))), ("outcome", Arc::new(Int8Array::from(outcome)))];
        let batch = RecordBatch::try_from_iter(columns).expect("both columns have a row for each transmission");
        batch.into_pyarrow(py)
    }

    /// The capture has ended: the Retry bit decides about frames that still wait.
    fn finish(&self) -> PyResult<()> {
        self.lock()?.finish();
        Ok(())
    }

    /// Numbers of frames and of stations told apart.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sums = self.lock()?;
        let out = PyDict::new(py);
        out.set_item("frames", sums.counts.frames)?;
        out.set_item("no_airtime", sums.counts.no_airtime)?;
        out.set_item("damaged", sums.counts.damaged)?;
        out.set_item("encrypted", sums.counts.encrypted)?;
        out.set_item("data_frames", sums.counts.data_frames)?;
        out.set_item("stations", sums.stations.named())?;
        Ok(out)
    }

    /// {channel in MHz: frames}
    fn channels(&self) -> PyResult<std::collections::BTreeMap<u16, u64>> {
        Ok(self.lock()?.channels.iter().map(|(mhz, frames)| (*mhz, *frames)).collect())
    }

    /// [(flow, whether from b to a, airtime_ns, wasted_ns, exchanges, attempts, dropped), ...] in no order.
    #[allow(clippy::type_complexity)]
    fn flows(&self) -> PyResult<Vec<(u32, bool, i64, i64, u64, u64, u64)>> {
        let sums = self.lock()?;
        let rows = sums.flows.iter().map(|((flow, backwards), s)| {
            (*flow, *backwards, s.airtime_ns, s.wasted_ns, s.exchanges, s.attempts, s.dropped)
        });
        Ok(rows.collect())
    }

    /// Width of a slice in ns, and its rows [(slice, purpose, frames, ns), ...] that are not 0.
    #[allow(clippy::type_complexity)]
    fn slices(&self) -> PyResult<(i64, Vec<(usize, usize, u64, i64)>)> {
        let sums = self.lock()?;
        let cells = sums.slices.slices.iter().enumerate();
        let rows = cells.flat_map(|(at, s)| (0..PURPOSES).map(move |p| (at, p, s.frames[p], s.ns[p])));
        Ok((sums.slices.width_ns, rows.filter(|row| row.2 > 0 || row.3 > 0).collect()))
    }

    /// A dict for each station that was heard, in order of number: 0 without address, 1 for those beyond the limit.
    fn stations<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let sums = self.lock()?;
        let stations = &sums.stations;
        let heard = (0u32..).zip(&stations.sums).filter(|(_, s)| s.frames + s.exchanges > 0);
        heard
            .map(|(number, s)| {
                let out = PyDict::new(py);
                out.set_item("number", number)?;
                out.set_item("address", stations.address(number))?;
                out.set_item("is_ap", s.is_ap)?;
                out.set_item("bssid", s.bssid.and_then(|bssid| stations.address(bssid)))?;
                out.set_item("frames", s.frames)?;
                out.set_item("bytes", s.bytes)?;
                out.set_item("data_frames", s.data_frames)?;
                out.set_item("retry_frames", s.retry_frames)?;
                out.set_item("no_airtime_frames", s.no_airtime_frames)?;
                out.set_item("exchanges", s.exchanges)?;
                out.set_item("attempts", s.attempts)?;
                out.set_item("outcomes", s.outcomes)?;
                out.set_item("ns", s.ns)?;
                let signals = (-128i32..).zip(s.signals).filter(|(_, frames)| *frames > 0);
                out.set_item("signals", signals.collect::<Vec<_>>())?;
                let rates = stations.rates.iter().zip(&s.rates).filter(|(_, frames)| **frames > 0);
                out.set_item("rates", rates.collect::<Vec<_>>())?;
                Ok(out)
            })
            .collect()
    }

    /// Airtime in ns and frames of each purpose.
    fn totals(&self) -> PyResult<(Vec<i64>, Vec<u64>)> {
        let sums = self.lock()?;
        let (mut ns, mut frames) = (vec![0; PURPOSES], vec![0; PURPOSES]);
        for station in &sums.stations.sums {
            for purpose in 0..PURPOSES {
                ns[purpose] += station.ns[purpose];
                frames[purpose] += station.uses[purpose];
            }
        }
        Ok((ns, frames))
    }
}

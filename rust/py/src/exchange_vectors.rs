//! The seam of the exchanges as vectors: tables in, two batches of vectors out.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, Int8Array, RecordBatch, UInt8Array};
use arrow_pyarrow::{IntoPyArrow, PyArrowType};
use pyo3::prelude::*;
use wlanlens_core::airtime::trials::{self, Trials};
use wlanlens_core::airtime::vectors::{self, Exchanges, Frames, Transmissions};

use crate::pairing::bad;

macro_rules! batch {
    ($rows:expr, $($kind:ident: $($name:ident)+;)+) => {
        RecordBatch::try_from_iter([$($((stringify!($name), Arc::new($kind::from($rows.$name)) as ArrayRef)),+),+])
            .expect("every column has a value for each row")
    };
}

fn of_exchanges(e: Exchanges) -> RecordBatch {
    batch!(e,
        Int64Array: pair t_first_ns t_last_ns t_ack_ns first heard attempts inferred mpdu_bytes first_packet;
        UInt8Array: missed_last delivered dropped failed first_heard lead udp protected;
        Float64Array: airtime_us wasted_us;
        Int8Array: tcp;
    )
}

fn of_transmissions(a: Transmissions) -> RecordBatch {
    batch!(a,
        Int64Array: exchange packet t_ns nth bad mpdu_bytes ampdu;
        Float64Array: rate_mbps streams width_mhz airtime_us signal_dbm;
    )
}

/// Exchanges of unicast data that were heard, by pair and first packet, and their transmissions: two RecordBatches of vectors
/// without nulls. Releases the GIL.
#[pyfunction]
pub fn exchange_vectors<'py>(
    py: Python<'py>,
    exchanges: Vec<PyArrowType<RecordBatch>>,
    numbers: PyArrowType<RecordBatch>,
    group: Vec<bool>,
    frames: PyArrowType<RecordBatch>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let batches: Vec<RecordBatch> = exchanges.into_iter().map(|batch| batch.0).collect();
    let (numbers, frames) = (numbers.0, frames.0);
    let read = || vectors::read(&batches, &numbers, &group, &Frames::of(&frames)?);
    let (e, a) = py.detach(read).map_err(bad)?;
    Ok((of_exchanges(e).into_pyarrow(py)?, of_transmissions(a).into_pyarrow(py)?))
}

fn of_trials(t: Trials) -> RecordBatch {
    batch!(t,
        Int64Array: pair bad exchange packet stratum;
        UInt8Array: inferred;
        Float64Array: took_us;
    )
}

/// Transmissions as trials of the channel, by pair and packet: a RecordBatch of vectors without nulls. Releases the GIL.
#[pyfunction]
pub fn channel_trials<'py>(
    py: Python<'py>,
    exchanges: PyArrowType<RecordBatch>,
    transmissions: PyArrowType<RecordBatch>,
) -> PyResult<Bound<'py, PyAny>> {
    let (exchanges, transmissions) = (exchanges.0, transmissions.0);
    let found = py.detach(|| trials::read(&exchanges, &transmissions)).map_err(bad)?;
    of_trials(found).into_pyarrow(py)
}

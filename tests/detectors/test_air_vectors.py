"""Exchanges, transmissions and trials of the core against those of NumPy, in worlds and in odd tables."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

from tests.detectors import air_reference, worlds
from tests.detectors.test_air_odd import odd, spoilt
from wlanlens.airtime import vectors
from wlanlens.detection.toolkit import Facts
from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.air_vectors import Vectors
from wlanlens.detection.toolkit.trials import Trials, channel_trials
from wlanlens.trace import Trace


def assert_equal(found: Vectors | Trials, expected: Vectors | Trials) -> None:
    for field in fields(found):  # type: ignore[arg-type]
        here, there = getattr(found, field.name), getattr(expected, field.name)
        assert len(here) == len(there), field.name
        # Sums of floats are in another order.
        np.testing.assert_allclose(here, there, rtol=1e-12, err_msg=field.name)
        assert (here.dtype == bool) == (there.dtype == bool), field.name


def check(trace: Trace) -> int:
    """Compare everything; the number of trials."""
    facts = Facts.of(trace)
    air = facts.cached(Air)
    exchanges, transmissions = air_reference.exchanges(air, trace.table("exchanges"))
    assert_equal(air.exchanges, exchanges)
    assert_equal(air.transmissions, transmissions)
    with np.errstate(invalid="ignore", over="ignore"):
        found = facts.cached(channel_trials)
        assert_equal(found, air_reference.trials(air))
    return len(found.pair)


@pytest.mark.parametrize("seed", range(12))
def test_odd_tables(seed: int) -> None:
    assert check(odd(seed)) > 100
    assert check(spoilt(seed)) > 100


@pytest.mark.parametrize("name", ["thrashing a", "fades", "stuck", "collisions"])
def test_worlds(name: str) -> None:
    assert check(worlds.trace(name, 1)) > 100


def test_tables_in_several_batches() -> None:
    trace = worlds.trace("fades", 2)
    whole = trace.table("exchanges")
    cut = pa.concat_tables([whole.slice(0, 7), whole.slice(7, 1), whole.slice(8)])
    assert cut.column("ta").num_chunks == 3
    held = {name: trace.table(name) for name in trace.tables} | {"exchanges": cut}
    assert check(Trace.of_tables(held, duration_ns=trace.duration_ns)) == check(trace)


def test_no_exchanges() -> None:
    trace = worlds.trace("fades", 2)
    held = {name: trace.table(name) for name in trace.tables} | {"exchanges": trace.table("exchanges").slice(0, 0)}
    assert check(Trace.of_tables(held, duration_ns=trace.duration_ns)) == 0


def test_a_column_of_another_type_is_named() -> None:
    nothing = {"pair": np.zeros(1)}
    with pytest.raises(ValueError, match="column pair is missing or of another type"):
        vectors.channel_trials(nothing, nothing)

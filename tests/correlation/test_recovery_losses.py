"""Whether anything was lost when a recovery began."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from wlanlens.correlation.recovery_losses import Outstanding
from wlanlens.correlation.sent_segments import SentSegments
from wlanlens.pipeline.align import align
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.ledger_scoring import above, by_subject, true_ledger
from wlanlens.validation.random_worlds import random_world

ARRIVED, LOST, OPEN = 1, 0, -1


def outstanding(*arrival: int) -> tuple[bool, bool]:
    """Three segments of 100 bytes, of which these arrived; then a timer repeats the first."""
    rows = SimpleNamespace(
        keys=np.zeros(1, np.int64),
        stream=np.zeros(4, np.int64),
        start=np.array([1, 101, 201, 1]),
        length=np.full(4, 100),
        sent=np.ones(4, bool),
    )
    events = pa.table({"packet": pa.array([40], pa.uint64()), "flight_bytes": pa.array([300], pa.uint32())})
    numbers = np.array([10, 20, 30, 40], np.uint64)
    found = Outstanding(events, cast(SentSegments, rows), numbers, np.array([*arrival, LOST]))
    return bool(found.arrived[0]), bool(found.decided[0])


@pytest.mark.parametrize(
    ("arrival", "expected"),
    [
        ((ARRIVED, ARRIVED, ARRIVED), (True, True)),
        # The first segment had arrived: the timeout was spurious, the recovery was not.
        ((ARRIVED, LOST, ARRIVED), (False, True)),
        ((LOST, ARRIVED, ARRIVED), (False, True)),
        ((ARRIVED, OPEN, ARRIVED), (False, False)),
    ],
)
def test_all_that_was_outstanding_counts(arrival: tuple[int, int, int], expected: tuple[bool, bool]) -> None:
    assert outstanding(*arrival) == expected


@pytest.mark.parametrize(("number", "spurious"), [(347045, False), (93014, True)])
def test_recovery_in_the_ledger_of_both_captures(tmp_path: Path, number: int, *, spurious: bool) -> None:
    """The ledger has the recovery as the true ledger: nothing had been lost, or something had."""
    run = simulate(random_world(number, varied=True), tmp_path, seed=number)
    trace = align([path for tap, path in run.captures.items() if tap in ("sender", "receiver")])
    ledger = trace.table("ledger")
    keys = zip(ledger.column("flow").to_pylist(), ledger.column("direction").to_pylist(), strict=True)
    said = by_subject([trace.subject(*key) for key in keys], ledger)
    truth: dict[str, Any] = {subject: above(made) for subject, made in true_ledger(run.facts).items()}
    category, other = ("spurious_recovery", "unknown") if spurious else ("loss_recovery", "spurious_recovery")
    most = max(truth, key=lambda subject: truth[subject].get(category, 0))
    assert truth[most][category] > 10**10
    assert said[most][category] > 0.99 * truth[most][category]
    assert said[most].get(other, 0) < 10**8

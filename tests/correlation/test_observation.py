"""The packets whose delay shows when others passed a capture."""

from __future__ import annotations

import numpy as np
import pytest

from wlanlens.correlation.observation import _around, _delay
from wlanlens.tables.columns import ordered_by


@pytest.mark.parametrize("seed", range(5))
def test_delays_near_the_ends_do_not_need_the_packets_between(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 600
    path, here = rng.integers(0, 9, count), np.sort(rng.integers(0, 400, count))
    passed = rng.random(count) < 0.8
    there = here + rng.integers(1, 50, count)
    both = np.flatnonzero(passed)
    near = np.flatnonzero(~passed & ((here <= 60) | (here >= 350)))

    def delays(used: np.ndarray) -> np.ndarray:
        rows = np.sort(np.concatenate((used, near)))
        order = rows[ordered_by(path[rows], here[rows])]
        out = np.zeros(count, np.int64)
        out[order] = _delay(path[order], here[order], there[order], passed[order])
        return out[near]

    chosen = _around(
        path, here, both, int(here[near][here[near] <= 60].max()), int(here[near][here[near] >= 350].min())
    )
    assert len(chosen) < len(both)
    assert (delays(chosen) == delays(both)).all()

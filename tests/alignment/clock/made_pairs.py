"""Pairs of packets with known clocks, and the maps fitted to them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from wlanlens.alignment import clock
from wlanlens.alignment.clock_map import ClockMap

MS = 1_000_000
EPOCH = 1_700_000_000 * 10**9


def pairs(count: int = 4000, *, span_s: float = 60.0, seed: int = 1, slowest_ms: float = 40.0) -> tuple[Any, Any, Any]:
    """Times at both capture points, and which one each packet passed first: delays of at least 1 ms one way and 0.5 ms the other."""
    rng = np.random.default_rng(seed)
    first = EPOCH + np.sort(rng.integers(0, int(span_s * 1e9), count))
    before = np.where(rng.random(count) < 0.5, 1, -1).astype(np.int8)
    delay = np.where(before == 1, MS, MS // 2) + (rng.random(count) ** 3 * slowest_ms * MS).astype(np.int64)
    return np.where(before == 1, first, first + delay), np.where(before == 1, first + delay, first), before


def fit(capture: str, reference: str, *pairs: Any, **options: Any) -> ClockMap:
    """The map fitted to these pairs."""
    return clock.Fit(capture, reference, *pairs, **options).map()


def fitted(ref: Any, cap: Any, before: Any, **options: Any) -> ClockMap:
    order = np.argsort(cap, kind="stable")
    return fit("b", "a", ref[order], cap[order], before[order], np.arange(1, len(ref) + 1), **options)


def stated_steps(made: ClockMap) -> list[float]:
    """The clock steps in the map's sentence, s."""
    return [float(step) for step in re.findall(r"clock step of (\S+) s", made.sentence)]


def coarse(time_ns: Any, drift_ppm: float, tick_ns: int) -> Any:
    return (time_ns + np.rint((time_ns - EPOCH) * drift_ppm * 1e-6).astype(np.int64)) // tick_ns * tick_ns

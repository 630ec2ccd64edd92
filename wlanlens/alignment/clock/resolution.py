"""The resolution of a clock, and counters that start again."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Differences of stamps from which on their common divisor is the tick and no chance.
_ENOUGH = 8


def tick_of(time_ns: Array) -> int:
    """Resolution of a clock by its stamps, ns: what all their differences are multiples of."""
    stamps = np.asarray(time_ns, np.int64)
    steps = np.diff(np.sort(stamps))
    steps = np.sort(steps[steps > 0])
    if np.count_nonzero(np.diff(steps)) + 1 >= _ENOUGH:
        return int(np.gcd.reduce(steps))
    # Few packets, or regular ones, can be any multiple apart: the clocks that there are tick in powers of ten.
    largest = 1000 if len(steps) + 1 < _ENOUGH else 10**9
    ticks = [tick for tick in (10**k for k in range(10)) if tick <= largest and not (stamps % tick).any()]
    return max(ticks, default=1)


def unwrap(counter: Array, bits: int = 32) -> Array:
    """A counter that starts again at 2^bits, counted on (a 32-bit TSF in us does so each 71.6 minutes)."""
    counter = np.asarray(counter, np.int64)
    turns = np.cumsum(np.diff(counter, prepend=counter[:1]) < -(1 << (bits - 1)))
    counted: Array = counter + (turns.astype(np.int64) << bits)
    return counted

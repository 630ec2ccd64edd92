"""The resolution of a clock, and counters that wrap."""

from __future__ import annotations

import numpy as np

from wlanlens.tables.columns import Array

#: With this many different timestamp differences, their common divisor is the tick, not chance.
_ENOUGH = 8


def tick_of(time_ns: Array) -> int:
    """Resolution of a clock, ns: all differences of its timestamps are multiples of it."""
    timestamps = np.asarray(time_ns, np.int64)
    steps = np.diff(np.sort(timestamps))
    steps = np.sort(steps[steps > 0])
    if np.count_nonzero(np.diff(steps)) + 1 >= _ENOUGH:
        return int(np.gcd.reduce(steps))
    # Few or regular packets can be any multiple of a tick apart; real clocks tick in powers of ten.
    largest = 1000 if len(steps) + 1 < _ENOUGH else 10**9
    ticks = [tick for tick in (10**k for k in range(10)) if tick <= largest and not (timestamps % tick).any()]
    return max(ticks, default=1)


def unwrap(counter: Array, bits: int = 32) -> Array:
    """A counter that wraps at 2^bits, unwrapped (a 32-bit TSF in us wraps every 71.6 minutes)."""
    counter = np.asarray(counter, np.int64)
    turns = np.cumsum(np.diff(counter, prepend=counter[:1]) < -(1 << (bits - 1)))
    counted: Array = counter + (turns.astype(np.int64) << bits)
    return counted

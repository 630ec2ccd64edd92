"""Search for a clock: a period whose ticks strike events more often than chance allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.statistics import binomial_point, binomial_tail
from wlanlens.tables.columns import Array


@dataclass
class Clock:
    """A clock: period of its ticks, positions of the events on them, the tick of each, and the p-value."""

    period_ns: float
    events: Array
    ticks: Array
    p_value: float


@dataclass(frozen=True)
class ClockSearch:
    """Which clocks are tried.

    Attributes
    ----------
    half_widths : tuple of float
        Half widths of a tick, in periods.
    ends : int
        A clock strikes one of this many first and one of as many last events.
    hit_share : float
        Least share of the ticks that strike an event.
    chance : float
        Clocks with a larger p-value are no result.
    """

    half_widths: tuple[float, ...]
    ends: int
    hit_share: float
    chance: float

    def best(self, t: Array) -> Clock | None:
        """The clock with the smallest p-value for events at these times; None for none."""
        n = len(t)
        pairs = [(i, j) for i in range(min(self.ends, n)) for j in range(max(i + 1, n - self.ends), n) if t[j] > t[i]]
        # A pair is a whole number of ticks apart: at most the events over the share of ticks that strike one.
        spans = np.arange(1, math.ceil((n - 1) / self.hit_share) + 1)
        tried = max(1, len(pairs) * len(spans) * len(self.half_widths))
        best: tuple[float, float, Array, Array, float] | None = None
        for i, j in pairs:
            periods = (t[j] - t[i]) / spans
            phase = (t[None, :] - t[i]) / periods[:, None]
            off = np.abs(phase - np.round(phase))
            for width in self.half_widths:
                near = off <= width
                others = near.sum(axis=1) - 2
                # Of the clocks that strike most events: the one with the fewest ticks.
                row = int(np.argmax(others))
                struck = int(others[row])
                ticks = np.round(phase[row])[near[row]]
                if 2 + struck < self.hit_share * (ticks.max() - ticks.min() + 1):
                    continue
                if tried * binomial_point(struck, n - 2, 2 * width) > self.chance:
                    continue
                chance = min(1.0, tried * binomial_tail(struck, n - 2, 2 * width))
                if best is None or chance < best[0]:
                    best = (chance, float(periods[row]), np.flatnonzero(near[row]), ticks, width)
        return None if best is None or best[0] > self.chance else _fitted(t, *best)


def _fitted(t: Array, chance: float, period: float, on: Array, ticks: Array, width: float) -> Clock:
    """A line through all struck events: the period of one pair carries the errors of two."""
    if len(on) > 2:
        period, begin = (float(x) for x in np.polyfit(ticks, t[on], 1))
        phase = (t - begin) / period
        on = np.flatnonzero(np.abs(phase - np.round(phase)) <= 2 * width)
        ticks, first = np.unique(np.round(phase[on]), return_index=True)
        on = on[first]
    return Clock(period, on, ticks, chance)

"""Drift: a robust line through the lower envelope of each direction's delays.

The quickest packets of a direction need the same time, so that their differences of stamps lie on a line of the clocks'
drift, and all others on one side of it (Paxson 1998; Moon, Skelly and Towsley 1999; Zhang, Liu and Xia 2002). Here a line
goes through the quickest of each of many stretches so that a tenth of them lie below it (a regression quantile; Koenker
and Bassett 1978), for a few packets are quicker than the rest ever are again. Its scale is their mean distance from it, those
below weighed more. The drift is that of the least sum of logarithms of the scales of both directions: the likeliest, if
distances are exponential with a mean of its own in each, so that the direction whose quickest agree better weighs more.

Stamps of a coarse clock make the envelope a staircase. But packets come at any phase of its ticks, which makes the mean of
their stamps that of their times (dither; Schuchman 1964). The mean is taken of what a cap some ticks above the quickest
leaves, for queues are above it. Where both clocks are coarse only the means tell.

How far the marks scatter about the line tells the drift's standard error, by which drifts between several clocks are weighed
(rates.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from wlanlens.alignment.clock.delay_hulls import COARSE_NS, Points
from wlanlens.alignment.clock.feasible_region import DRIFT_PPM_MOST

Array = np.ndarray[Any, Any]

#: Stretches of a direction, and pairs that each must hold at least: enough that one of them is quick, or that a mean means.
_STRETCHES, _QUICK_OF, _MEAN_OF = 32, 8, 16

#: Fewer stretches prove no line.
_FEWEST = 4

#: Share of the marks that may be quicker than the line.
_BELOW = 0.1

#: What no clock is known better than, ns: it keeps scales from nothing.
_LEAST_NS = 100.0

#: Ticks above the quickest at which the mean is capped: the one whose means lie best on a line is taken.
_CAPS = (2.0, 3.0, 5.0, 8.0, 13.0, 20.0, np.inf)

#: Share of a stretch's pairs below the cap, of all pairs' share, from which on its mean tells: a quarter moves as a whole does.
_LEFT = 0.25

#: Medians of the distance from which on a mark of fine clocks counts as if it were no farther: of exponential distances one in
#: 10^9 is, but a first packet that met no queue, or a wrong pair, may be. Stamps of coarse clocks that agree are no measure.
_FAR = 30.0

#: A line of the least mean distance is this much less sure than the mean distance says: between marks of equal chances either
#: way (1.0) and of a bell curve (1.57, as the mean distance is 0.8 of the standard deviation).
_SURE = 1.3

#: Times that the line is drawn again from what the last one straightened.
_ROUNDS = 4


@dataclass(frozen=True)
class Drift:
    """Slope of the offset over time and its standard error, ns a second."""

    slope: float
    error: float

    def turned(self) -> Drift:
        """What the other clock gains."""
        return Drift(-self.slope / (1 + self.slope * 1e-9), self.error)


@dataclass(frozen=True)
class _Marks:
    """One mark a stretch, on a line of the drift: the quickest pair (`side` 1 or -1: above or below), or a mean (0).

    `least`: what a distance is not known better than, where far ones are to count less.
    """

    x: Array
    y: Array
    side: int
    least: float | None = None

    def scales(self, slopes: Array) -> Array:
        """How far the marks are from a line of each slope."""
        off = self.y[None, :] - slopes[:, None] * self.x[None, :]
        if not self.side:
            return np.asarray(np.abs(off - np.median(off, axis=1, keepdims=True)).mean(axis=1))
        above = self.side * off
        above -= np.quantile(above, _BELOW, axis=1, keepdims=True, method="lower")
        apart = np.where(above > 0, above, above * (1 - 1 / _BELOW))
        if self.least is not None:
            apart = np.minimum(apart, _FAR * np.median(apart, axis=1, keepdims=True) + self.least)
        return np.asarray(apart.mean(axis=1))

    def slopes(self) -> Array:
        """Of the lines through two marks that are not too near."""
        i, j = np.triu_indices(len(self.x), 1)
        apart = self.x[j] - self.x[i]
        far = np.abs(apart) > 0.2 * np.ptp(self.x)
        return np.asarray((self.y[j] - self.y[i])[far] / apart[far])


def estimate(points: Points, pieces: Sequence[tuple[int, int]], out: Array) -> Drift | None:
    """The drift that all pieces share; None where too few pairs tell.

    A step sets a clock and leaves its rate.
    """
    rows = [r for a, b in pieces for side in (1, -1) if len(r := points.rows(a, b, side, out))]
    slope = points.rough_slope
    for _ in range(_ROUNDS):
        means = [m for r in rows if points.coarse >= COARSE_NS and (m := _means(points, r, slope)) is not None]
        quick = [m for r in rows if (points.fine < COARSE_NS or not means) and (m := _quickest(points, r, slope))]
        marks = [*means, *quick]
        tried = np.concatenate([m.slopes() for m in marks]) if marks else np.zeros(0)
        tried = tried[np.abs(tried) < DRIFT_PPM_MOST * 1e3]
        if not len(tried):
            return None
        floor = _LEAST_NS + (points.fine if points.fine < COARSE_NS else 0.0)
        cost = np.sum([len(m.x) * np.log(m.scales(tried) + floor) for m in marks], axis=0)
        was, slope = slope, float(tried[int(np.argmin(cost))])
        if abs(slope - was) < 1:
            break
    told = sum(float(np.square(m.x - m.x.mean()).sum()) / _square(_SURE * (_scale(m, slope) + floor)) for m in marks)
    return Drift(slope, float(np.sqrt(1 / told + _square(_locked(points, rows, slope)))))


def _scale(marks: _Marks, slope: float) -> float:
    return float(marks.scales(np.array([slope]))[0])


def _square(value: float) -> float:
    return value * value


def _locked(points: Points, rows: Sequence[Array], slope: float) -> float:
    """How far the drift may be off as packets come in step with the ticks of a coarse clock, ns a second.

    The phase of a fine clock's stamps in those ticks shows it: any delay leaves all phases alike, for a stamp is as likely any
    time of its tick. Where they are not, the stamps agree better than they know the time, which is to a tick.
    """
    if not points.fine < COARSE_NS <= points.coarse:
        return 0.0
    share = 0.0
    for r in rows:
        phases = np.exp(2j * np.pi * (points.y[r] - slope * points.x[r]) / points.coarse)
        # So much is chance (Rayleigh's test, 5 %).
        share += len(r) * max(0.0, abs(phases.mean()) ** 2 - 3 / len(r))
    return share / sum(len(r) for r in rows) * points.coarse / max(float(np.ptp(points.x)), 1e-9)


def _quickest(points: Points, rows: Array, slope: float) -> _Marks | None:
    """The tightest limit of each stretch."""
    count = min(_STRETCHES, len(rows) // _QUICK_OF)
    if count < _FEWEST:
        return None
    side = int(points.side[rows[0]])
    above = side * (points.limit[rows] - slope * points.x[rows])
    best = rows[[a + int(above[a:b].argmin()) for a, b in pairwise(_edges(len(rows), count))]]
    return _Marks(points.x[best], points.limit[best], side, points.fine if points.coarse < COARSE_NS else None)


def _means(points: Points, rows: Array, slope: float) -> _Marks | None:
    """The capped mean of each stretch, by the cap whose means lie best on a line."""
    count = min(_STRETCHES, len(rows) // _MEAN_OF)
    if count < _FEWEST:
        return None
    side = int(points.side[rows[0]])
    x = points.x[rows]
    above = side * (points.y[rows] - slope * x)
    starts = _edges(len(rows), count)[:-1]
    held = np.diff([*starts, len(rows)])
    middle = np.add.reduceat(x, starts) / held
    # The quickest but for a few that may be wrong pairs.
    quick = float(np.quantile(above, 0.02))
    best: tuple[float, _Marks] | None = None
    for cap in _CAPS:
        top = quick + cap * points.coarse
        below = float((above < top).mean())
        share = np.add.reduceat((above < top).astype(float), starts) / held
        # A stretch that is nearly all above the cap tells nothing.
        told = share > _LEFT * below
        if 2 * told.sum() < max(count, 2 * _FEWEST):
            continue
        capped = np.add.reduceat(np.minimum(above, top), starts) / held
        # A delay more moves the mean of those below the cap alone.
        made = _Marks(middle[told], (slope * middle + side * capped / below)[told], 0)
        slopes = made.slopes()
        if not len(slopes):
            continue
        scale = float(made.scales(np.array([np.median(slopes)]))[0])
        if best is None or scale < best[0]:
            best = scale, made
    return None if best is None else best[1]


def _edges(rows: int, count: int) -> Array:
    """Where stretches of as many rows each begin and end."""
    return np.linspace(0, rows, count + 1).astype(np.intp)

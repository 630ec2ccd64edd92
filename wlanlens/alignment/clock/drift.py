"""Clock drift: a robust line through the lower envelope of each direction's delays.

The fastest packets of a direction have the same delay, so that the differences of their timestamps lie on a line whose slope
is the drift; all other packets lie on one side of it (Paxson 1998; Moon, Skelly and Towsley 1999; Zhang, Liu and Xia 2002).
The line passes through the fastest packets of many intervals so that a tenth of them lie below it (a regression quantile;
Koenker and Bassett 1978), because a few packets are faster than all others. Its scale is their mean distance from the line,
with more weight on those below. The drift minimises the sum of the logarithms of the scales of both directions. This is the
maximum likelihood estimate for exponential distances with a separate mean in each direction.

With a coarse clock the envelope is a staircase. But packets arrive at any phase of its ticks, so that the mean of their
timestamps equals the mean of their times (dither; Schuchman 1964). The mean is taken below a cap, some ticks above the
fastest packets, because queueing delays lie above it. With two coarse clocks only the means are used.

The scatter about the line gives the standard error of the drift, which weighs the drifts between several clocks
(drift_consensus.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wlanlens.alignment.clock.delay_hulls import COARSE_NS, OffsetLimits
from wlanlens.alignment.clock.feasible_region import DRIFT_PPM_MOST
from wlanlens.tables.columns import Array

#: Intervals of a direction, and the least number of pairs in each: enough that one is fast, or for a stable mean.
_INTERVALS, _FASTEST_OF, _MEAN_OF = 32, 8, 16

#: Fewer intervals determine no line.
_FEWEST = 4

#: Share of the marks that may be faster than the line.
_BELOW = 0.1

#: Smallest possible error of a clock, ns: it keeps scales above zero.
_LEAST_NS = 100.0

#: Caps of the mean in ticks above the fastest packets: the cap whose means lie best on a line is used.
_CAPS = (2.0, 3.0, 5.0, 8.0, 13.0, 20.0, np.inf)

#: An interval is used if its share of pairs below the cap is at least this fraction of the share of all pairs.
_BELOW_CAP = 0.25

#: Distances are cut off at this multiple of their median, for fine clocks: one in 10^9 exponential distances is larger, but a
#: first packet without queueing delay, or a wrong pair, can be. The median of a coarse clock's distances is no scale.
_FAR = 30.0

#: Ratio of the standard error of a least-mean-distance line to the mean distance: between a Laplace distribution of marks (1.0)
#: and a normal one (1.57, as the mean distance is 0.8 of the standard deviation).
_ERROR_RATIO = 1.3

#: Iterations, each with the data detrended by the last line.
_ROUNDS = 4


@dataclass(frozen=True)
class Drift:
    """Slope of the offset over time and its standard error, ns per second."""

    slope: float
    error: float

    def reversed(self) -> Drift:
        """The drift of the reference relative to the capture."""
        return Drift(-self.slope / (1 + self.slope * 1e-9), self.error)


@dataclass(frozen=True)
class _Marks:
    """One mark an interval, near a line of the drift: the fastest pair (`side` 1: above the line, -1: below), or a mean (0).

    `least`: the smallest possible error of a distance, where large distances are cut off.
    """

    x: Array
    y: Array
    side: int
    least: float | None = None

    def scales(self, slopes: Array) -> Array:
        """Mean distance of the marks from a line of each slope."""
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
        """Slopes of the lines through two marks that are far enough apart."""
        i, j = np.triu_indices(len(self.x), 1)
        apart = self.x[j] - self.x[i]
        far = np.abs(apart) > 0.2 * np.ptp(self.x)
        return np.asarray((self.y[j] - self.y[i])[far] / apart[far])


def estimate(points: OffsetLimits, pieces: Sequence[tuple[int, int]], out: Array) -> Drift | None:
    """The drift of all pieces; None where there are too few pairs.

    A step changes the time of a clock and not its rate.
    """
    rows = [r for a, b in pieces for side in (1, -1) if len(r := points.rows(a, b, side, out))]
    slope = points.rough_slope
    for _ in range(_ROUNDS):
        means = [m for r in rows if points.coarse >= COARSE_NS and (m := _means(points, r, slope)) is not None]
        tight = [m for r in rows if (points.fine < COARSE_NS or not means) and (m := _fastest(points, r, slope))]
        marks = [*means, *tight]
        tried = np.concatenate([m.slopes() for m in marks]) if marks else np.zeros(0)
        tried = tried[np.abs(tried) < DRIFT_PPM_MOST * 1e3]
        if not len(tried):
            return None
        floor = _LEAST_NS + (points.fine if points.fine < COARSE_NS else 0.0)
        cost = np.sum([len(m.x) * np.log(m.scales(tried) + floor) for m in marks], axis=0)
        was, slope = slope, float(tried[int(np.argmin(cost))])
        if abs(slope - was) < 1:
            break
    weight = sum(
        float(np.square(m.x - m.x.mean()).sum()) / _square(_ERROR_RATIO * (_scale(m, slope) + floor)) for m in marks
    )
    return Drift(slope, float(np.sqrt(1 / weight + _square(_phase_lock(points, rows, slope)))))


def _scale(marks: _Marks, slope: float) -> float:
    return float(marks.scales(np.array([slope]))[0])


def _square(value: float) -> float:
    return value * value


def _phase_lock(points: OffsetLimits, rows: Sequence[Array], slope: float) -> float:
    """Error of the drift if packets arrive in phase with the ticks of a coarse clock, ns per second.

    The phases of a fine clock's timestamps in those ticks show it: without a phase lock they are uniform. With one, the
    timestamps agree more closely than their error, which is a tick.
    """
    if not points.fine < COARSE_NS <= points.coarse:
        return 0.0
    share = 0.0
    for r in rows:
        phases = np.exp(2j * np.pi * (points.y[r] - slope * points.x[r]) / points.coarse)
        # Without what chance explains (Rayleigh's test, 5 %).
        share += len(r) * max(0.0, abs(phases.mean()) ** 2 - 3 / len(r))
    return share / sum(len(r) for r in rows) * points.coarse / max(float(np.ptp(points.x)), 1e-9)


def _fastest(points: OffsetLimits, rows: Array, slope: float) -> _Marks | None:
    """The tightest limit of each interval."""
    count = min(_INTERVALS, len(rows) // _FASTEST_OF)
    if count < _FEWEST:
        return None
    side = int(points.side[rows[0]])
    above = side * (points.limit[rows] - slope * points.x[rows])
    best = rows[[a + int(above[a:b].argmin()) for a, b in pairwise(_edges(len(rows), count))]]
    return _Marks(points.x[best], points.limit[best], side, points.fine if points.coarse < COARSE_NS else None)


def _means(points: OffsetLimits, rows: Array, slope: float) -> _Marks | None:
    """The capped mean of each interval, by the cap whose means lie best on a line."""
    count = min(_INTERVALS, len(rows) // _MEAN_OF)
    if count < _FEWEST:
        return None
    side = int(points.side[rows[0]])
    x = points.x[rows]
    above = side * (points.y[rows] - slope * x)
    starts = _edges(len(rows), count)[:-1]
    held = np.diff([*starts, len(rows)])
    middle = np.add.reduceat(x, starts) / held
    # Not the very fastest, which may be wrong pairs.
    fastest = float(np.quantile(above, 0.02))
    best: tuple[float, _Marks] | None = None
    for cap in _CAPS:
        top = fastest + cap * points.coarse
        below = float((above < top).mean())
        share = np.add.reduceat((above < top).astype(float), starts) / held
        # An interval that is nearly all above the cap is not used.
        used = share > _BELOW_CAP * below
        if 2 * used.sum() < max(count, 2 * _FEWEST):
            continue
        capped = np.add.reduceat(np.minimum(above, top), starts) / held
        # A larger delay moves only the mean of those below the cap.
        made = _Marks(middle[used], (slope * middle + side * capped / below)[used], 0)
        slopes = made.slopes()
        if not len(slopes):
            continue
        scale = float(made.scales(np.array([np.median(slopes)]))[0])
        if best is None or scale < best[0]:
            best = scale, made
    return None if best is None else best[1]


def _edges(rows: int, count: int) -> Array:
    """Borders of intervals with equal numbers of rows."""
    return np.linspace(0, rows, count + 1).astype(np.intp)

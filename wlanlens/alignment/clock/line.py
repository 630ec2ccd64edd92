"""The offset over time in one piece: the best line, and how far the true one can be from it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from wlanlens.alignment.clock.delay_hulls import Hulls, Points
from wlanlens.alignment.clock.feasible_region import DRIFT_PPM_MOST

Array = np.ndarray[Any, Any]

#: Places at which the bound is worked out, of which the best is taken: some of those whose two-way delay is the least, by
#: this share or by a tick.
_PLACES, _NEAR = 6, 0.05

#: Parts of a piece between which a step is thought of that no pair shows.
_PARTS = 16


class Line:
    """A line of the offset in one piece.

    Attributes
    ----------
    offset, slope : float
        At `x`, ns, and ns a second.
    bound, bound_most : int or None
        The true offset is within this at `x`, though the clock be set once where no pair shows it; and anywhere in the
        piece, if it is not. None: one direction tells nothing of the delay.
    drift_bound_ppm : float or None
        The true drift is within this, though the clock be set once.
    two_way : int or None
        Least sum of the delays of two neighbouring pairs in opposite directions, as the stamps have it.
    """

    def __init__(self, x: float, offset: float, slope: float) -> None:
        self.x, self.offset, self.slope = x, offset, slope
        self.bound: int | None = None
        self.bound_most: int | None = None
        self.drift_bound_ppm: float | None = None
        self.two_way: int | None = None

    def at(self, x: Any) -> Any:
        """The offset at x, ns."""
        return self.offset + self.slope * (x - self.x)


def of(points: Points, start: int, end: int, out: Array, drift: float | None) -> Line:
    """The line of the pairs from `start` to `end`, of the drift that all pieces share as far as these allow it."""
    kept = out.copy()
    if kept[start:end].all():
        kept[start:end] = False
    hulls = Hulls(points, start, end, kept, points.rough_slope)
    polygon, _ = hulls.polygon()
    least, most = polygon.slopes()
    # Nothing told of the drift: as little as can be.
    slope = min(max(drift or 0.0, least), most)
    turns = _turns(points, np.sort(np.concatenate([hulls.rows[1], hulls.rows[-1]])))
    if not len(turns):
        return _one_sided(points, start, end, kept, slope)
    one, other = turns[:, 0], turns[:, 1]
    apart = np.abs(points.x[other] - points.x[one])
    # Over a gap the clocks drift.
    sums = points.side[one] * (points.limit[one] - points.limit[other]) + apart * DRIFT_PPM_MOST * 1e3
    least_two_way = float(sums.min())
    narrow, place = np.inf, (0.0, 0.0, 0.0)
    near = turns[sums <= least_two_way + max(points.coarse, _NEAR * least_two_way)]
    for here, there in near[np.linspace(0, len(near) - 1, _PLACES + 2).astype(int)[1:-1]].tolist():
        x = float(points.x[here])
        parts = [hulls.polygon(start, there + 1)[0].between(x), hulls.polygon(here, end)[0].between(x)]
        low, high = min(low for low, _ in parts), max(high for _, high in parts)
        if high - low < narrow:
            narrow, place = high - low, (x, low, high)
    x, low, high = place
    line = Line(x, (low + high) / 2, slope)
    # An offset is asked for at a time of the capture, which is as uncertain as the offset.
    steepest = 1 + 2e-6 * DRIFT_PPM_MOST
    line.bound = int(np.ceil((high - low) / 2 * steepest)) + 1
    edges = [hulls.first, hulls.last, *(points.x[r] for s in (1, -1) for r in hulls.corners(s, start, end))]
    off = max(max(abs(v - line.at(x)) for v in polygon.between(x)) for x in edges)
    line.bound_most = max(line.bound, int(np.ceil(off * steepest)) + 1)
    line.drift_bound_ppm = max(abs(b - slope) for b in _slopes(hulls)) / 1e3
    level = points.y - slope * points.x
    line.two_way = max(0, round(float((points.side[one] * (level[one] - level[other])).min())))
    return line


def _turns(points: Points, rows: Array) -> Array:
    """Pairs of neighbours in opposite directions."""
    at = np.flatnonzero(np.diff(points.side[rows]))
    return np.stack((rows[at], rows[at + 1]), axis=1)


def _slopes(hulls: Hulls) -> tuple[float, float]:
    """Least and greatest slope of all lines that the pairs allow before a step and after it, wherever it be."""
    found = []
    for a, b in pairwise(np.unique(np.linspace(hulls.start, hulls.end, _PARTS + 1).astype(int)).tolist()):
        (low, high), (low_after, high_after) = (
            hulls.polygon(hulls.start, a)[0].slopes(),
            hulls.polygon(b, hulls.end)[0].slopes(),
        )
        if max(low, low_after) <= min(high, high_after):
            found.append((max(low, low_after), min(high, high_after)))
    whole = hulls.polygon()[0].slopes()
    return min((low for low, _ in found), default=whole[0]), max((high for _, high in found), default=whole[1])


def _one_sided(points: Points, start: int, end: int, out: Array, slope: float) -> Line:
    """As if the quickest packet had no delay; where no direction is known, the middle of all."""
    rows = start + np.flatnonzero(~out[start:end])
    x = (float(points.x[rows].min()) + float(points.x[rows].max())) / 2
    flat, sides = points.y[rows] - slope * (points.x[rows] - x), points.side[rows]
    offset = float(flat.min() if (sides > 0).any() else flat.max() if (sides < 0).any() else np.median(flat))
    return Line(x, offset, slope)

"""The clock offset over time in one piece: the best line, and its error bound."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from wlanlens.alignment.clock.delay_hulls import DelayHulls, OffsetLimits
from wlanlens.alignment.clock.feasible_region import DRIFT_PPM_MOST

Array = np.ndarray[Any, Any]

#: Places at which the bound is computed, the smallest being used: some of those whose two-way delay is the least, within
#: this share or a tick.
_PLACES, _NEAR = 6, 0.05

#: Borders between these parts of a piece are where an unseen step is assumed in turn.
_PARTS = 16


class OffsetLine:
    """A line of the offset in one piece.

    Attributes
    ----------
    offset, slope : float
        Offset at `x` in ns, and slope in ns per second.
    bound, bound_most : int or None
        The error at `x` is at most `bound`, even with one clock step that no pair shows; anywhere in the piece it is at most
        `bound_most`, without such a step. None: packets of one direction do not bound the delay.
    drift_bound_ppm : float or None
        The error of the drift is at most this, even with one clock step.
    two_way : int or None
        Least sum of the delays of two neighbouring pairs in opposite directions, by the timestamps.
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


def fit(points: OffsetLimits, start: int, end: int, out: Array, drift: float | None) -> OffsetLine:
    """The line of the pairs from `start` to `end`, with the drift of all pieces as far as these pairs allow it."""
    kept = out.copy()
    if kept[start:end].all():
        kept[start:end] = False
    hulls = DelayHulls(points, start, end, kept, points.rough_slope)
    region, _ = hulls.region()
    least, most = region.slopes()
    # Without an estimate of the drift, the smallest possible one.
    slope = min(max(drift or 0.0, least), most)
    turns = _turns(points, np.sort(np.concatenate([hulls.rows[1], hulls.rows[-1]])))
    if not len(turns):
        return _one_sided(points, start, end, kept, slope)
    one, other = turns[:, 0], turns[:, 1]
    apart = np.abs(points.x[other] - points.x[one])
    # The clocks drift during a gap.
    sums = points.side[one] * (points.limit[one] - points.limit[other]) + apart * DRIFT_PPM_MOST * 1e3
    least_two_way = float(sums.min())
    narrow, place = np.inf, (0.0, 0.0, 0.0)
    near = turns[sums <= least_two_way + max(points.coarse, _NEAR * least_two_way)]
    for here, there in near[np.linspace(0, len(near) - 1, _PLACES + 2).astype(int)[1:-1]].tolist():
        x = float(points.x[here])
        parts = [hulls.region(start, there + 1)[0].between(x), hulls.region(here, end)[0].between(x)]
        low, high = min(low for low, _ in parts), max(high for _, high in parts)
        if high - low < narrow:
            narrow, place = high - low, (x, low, high)
    x, low, high = place
    line = OffsetLine(x, (low + high) / 2, slope)
    # The offset is looked up at a time of the capture's clock, which is as uncertain as the offset.
    steepest = 1 + 2e-6 * DRIFT_PPM_MOST
    line.bound = int(np.ceil((high - low) / 2 * steepest)) + 1
    edges = [hulls.first, hulls.last, *(points.x[r] for s in (1, -1) for r in hulls.corners(s, start, end))]
    off = max(max(abs(v - line.at(x)) for v in region.between(x)) for x in edges)
    line.bound_most = max(line.bound, int(np.ceil(off * steepest)) + 1)
    line.drift_bound_ppm = max(abs(b - slope) for b in _slopes(hulls)) / 1e3
    level = points.y - slope * points.x
    line.two_way = max(0, round(float((points.side[one] * (level[one] - level[other])).min())))
    return line


def _turns(points: OffsetLimits, rows: Array) -> Array:
    """Pairs of neighbours in opposite directions."""
    at = np.flatnonzero(np.diff(points.side[rows]))
    return np.stack((rows[at], rows[at + 1]), axis=1)


def _slopes(hulls: DelayHulls) -> tuple[float, float]:
    """Least and greatest slope that the pairs allow on both sides of a step, for any place of the step."""
    found = []
    for a, b in pairwise(np.unique(np.linspace(hulls.start, hulls.end, _PARTS + 1).astype(int)).tolist()):
        (low, high), (low_after, high_after) = (
            hulls.region(hulls.start, a)[0].slopes(),
            hulls.region(b, hulls.end)[0].slopes(),
        )
        if max(low, low_after) <= min(high, high_after):
            found.append((max(low, low_after), min(high, high_after)))
    whole = hulls.region()[0].slopes()
    return min((low for low, _ in found), default=whole[0]), max((high for _, high in found), default=whole[1])


def _one_sided(points: OffsetLimits, start: int, end: int, out: Array, slope: float) -> OffsetLine:
    """The line for a fastest packet without delay; the median of all pairs where no direction is known."""
    rows = start + np.flatnonzero(~out[start:end])
    x = (float(points.x[rows].min()) + float(points.x[rows].max())) / 2
    flat, sides = points.y[rows] - slope * (points.x[rows] - x), points.side[rows]
    offset = float(flat.min() if (sides > 0).any() else flat.max() if (sides < 0).any() else np.median(flat))
    return OffsetLine(x, offset, slope)

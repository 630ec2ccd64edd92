"""The clock offset over time in one piece: the best line, and its error bound."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from wlanlens.alignment.clock.delay_hulls import DelayHulls, OffsetLimits
from wlanlens.alignment.clock.feasible_region import DRIFT_PPM_MOST
from wlanlens.tables.columns import Array

#: Pairs at which the bound is computed, the smallest being used: those at which it is smallest for the steepest drift.
_PLACES = 6

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
        `bound_most`, without such a step. None: packets of one direction do not bound the delay, nor do few beside a step.
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
    x, low, high = _place(points, hulls)
    line = OffsetLine(x, min(max(_middle(points, hulls, x, slope), low), high), slope)
    level = points.y - slope * points.x
    line.two_way = max(0, round(float((points.side[one] * (level[one] - level[other])).min())))
    if not np.isfinite(high - low):
        return line
    # The offset is looked up at a time of the capture's clock, which is as uncertain as the offset.
    steepest = 1 + 2e-6 * DRIFT_PPM_MOST
    line.bound = int(np.ceil(max(high - line.offset, line.offset - low) * steepest)) + 1
    edges = [hulls.first, hulls.last, *(points.x[r] for s in (1, -1) for r in hulls.corners(s, start, end))]
    off = max(max(abs(v - line.at(x)) for v in region.between(x)) for x in edges)
    line.bound_most = int(np.ceil(off * steepest)) + 1
    if (start, end) != (0, len(points.x)):
        # Pairs beside a step that was seen may be from the other side of it.
        line.bound_most = max(line.bound, line.bound_most)
    line.drift_bound_ppm = max(abs(b - slope) for b in _slopes(hulls)) / 1e3
    return line


def _place(points: OffsetLimits, hulls: DelayHulls) -> tuple[float, float, float]:
    """The time of a pair, and the least and the greatest offset there, even with one step that no pair shows.

    A step is before a pair or after it. If it is before, all pairs that passed both points after this one are on its side, else
    all that passed both before it. So the offset is in one of two regions, and the bound includes both. A limit on one side of
    the step bounds nothing on the other: an exchange alone is no bound, for the step may be between its two packets.
    """
    rows, widths = _widths(points, hulls)
    if not np.isfinite(widths.min()):
        return _place_without_step(points, hulls)
    narrow, place = np.inf, (0.0, 0.0, 0.0)
    for row in rows[np.argsort(widths, kind="stable")[:_PLACES]].tolist():
        x = float(points.x[row])
        parts = [hulls.region(*these)[0].between(x) for these in _on_one_side(points, hulls, row)]
        low, high = min(low for low, _ in parts), max(high for _, high in parts)
        if high - low < narrow:
            narrow, place = high - low, (x, low, high)
    return place


def _place_without_step(points: OffsetLimits, hulls: DelayHulls) -> tuple[float, float, float]:
    """The same for too few pairs to allow for a step: no bound beside another step, for it may be between these pairs."""
    x = (hulls.first + hulls.last) / 2
    if (hulls.start, hulls.end) == (0, len(points.x)):
        return x, *hulls.region()[0].between(x)
    return x, -np.inf, np.inf


def _widths(points: OffsetLimits, hulls: DelayHulls) -> tuple[Array, Array]:
    """Rows, and about how far apart the offsets are that the pairs on each row's side of a step leave open."""
    rows = np.sort(np.concatenate([hulls.rows[1], hulls.rows[-1]]))
    steep = DRIFT_PPM_MOST * 1e3
    width: Array = np.zeros(len(rows))
    for side in (1, -1):
        limits = np.where(points.side[rows] == side, side * points.limit[rows], np.inf)
        ends = []
        for way in (1, -1):
            x, limit, rank = way * points.x[rows][::way], limits[::way], way * points.rank[rows][::way]
            # The clocks drift until the row. Rows from the first that crosses it on are not used here.
            least = np.append(np.inf, np.minimum.accumulate(limit - steep * x))
            earlier = np.searchsorted(np.maximum.accumulate(rank), rank)
            ends.append(np.minimum(limit, least[earlier] + steep * x)[::way])
        width += np.maximum(*ends)
    return rows, width


def _on_one_side(
    points: OffsetLimits, hulls: DelayHulls, row: int
) -> tuple[tuple[int, int, Array], tuple[int, int, Array]]:
    """The pairs that passed both points before a row, and those that passed both after it, each with the row itself: an interval
    of rows, and rows that are not in it. Some pairs cross the row: they pass one point before it and the other after it.
    """
    rank, own = points.rank, points.rank[row]
    early = hulls.start + int(np.searchsorted(np.maximum.accumulate(rank[hulls.start : row]), own))
    late = hulls.end - int(np.searchsorted(-np.minimum.accumulate(rank[row + 1 : hulls.end][::-1]), -own))
    used = np.concatenate([hulls.rows[1], hulls.rows[-1]])
    before = used[(used >= early) & (used <= row) & (rank[used] <= own)]
    after = used[(used >= row) & (used < late) & (rank[used] >= own)]
    return (hulls.start, early, before), (late, hulls.end, after)


def _middle(points: OffsetLimits, hulls: DelayHulls, x: float, slope: float) -> float:
    """The offset at x in the middle between the fastest packets of both directions: exact if these have equal delays."""
    ends = [
        side * float((side * (points.limit[rows] - slope * (points.x[rows] - x))).min())
        for side, rows in hulls.rows.items()
    ]
    return sum(ends) / 2


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

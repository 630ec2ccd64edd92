"""Clock steps smaller than the delays: no pair contradicts the line, but the least delays of both directions shift.

A clock step increases the measured delays of one direction and decreases those of the other, at once, by the same amount and
for good. A queue increases the delays of one direction and cannot decrease the least delay of the other. Packets of another
size can, so that only packets of one size are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wlanlens.alignment.clock.delay_hulls import OffsetLimits
from wlanlens.alignment.clock.feasible_region import DRIFT_PPM_MOST
from wlanlens.tables.columns import Array

#: Intervals of a piece, the least number of pairs in each, and the least number of intervals on either side of a step.
_INTERVALS, _PAIRS_OF, _FEWEST = 48, 8, 4

#: Packet sizes of each direction that are used: data and ACKs are most of any flow.
_SIZES = 2

#: Slopes that are tried, of the lines through two intervals.
_SLOPES = 150

#: Least size of a step, and largest difference between both directions, as multiples of the noise of the levels. The least delay
#: of an interval exceeds the level by one noise in half of the intervals, by six in one of 64 (exponential).
_CLEAR, _ALIKE = 6.0, 3.0

#: Share of the intervals that may be faster than the level: the first packets of a connection have no queueing delay.
_BELOW = 0.1

#: Smallest possible error of a level, ns.
_LEAST_NS = 1_000.0


@dataclass(frozen=True)
class _Level:
    """Least delays of one direction and size before an interval and after it, along lines of one slope."""

    side: int
    rows: Array
    before: float
    after: float
    noise: float


def hidden(points: OffsetLimits, start: int, end: int, out: Array) -> tuple[int, int] | None:
    """The last row before a step and the first after it in one piece; None without a step."""
    count = min(_INTERVALS, (end - start) // _PAIRS_OF)
    if count <= 2 * _FEWEST:
        return None
    edges = np.linspace(start, end, count + 1).astype(np.intp)
    groups = list(_groups(points, edges, out))
    if {g.side for g in groups} != {1, -1}:
        return None
    best = min((_split(groups, k) for k in range(_FEWEST, count - _FEWEST)), key=lambda found: found[0])
    _, slope, place = best
    levels = [_level(g, place, slope) for g in groups if g.covers(place)]
    sides = [min((v for v in levels if v.side == s), key=lambda v: v.noise, default=None) for s in (1, -1)]
    if sides[0] is None or sides[1] is None:
        return None
    # A shift within a tick may be due to the phase of the packets.
    noise = sides[0].noise + sides[1].noise + points.coarse
    one, other = (level.after - level.before for level in (sides[0], sides[1]))
    if abs(one - other) > _ALIKE * noise or min(abs(one), abs(other)) < _CLEAR * noise or one * other < 0:
        return None
    return _between(points, (sides[0], sides[1]), slope, int(edges[place - 1]), int(edges[place + 2]))


@dataclass(frozen=True)
class _Group:
    """The fastest packet of each interval of one direction and size: its limit `y`, NaN where there is none."""

    side: int
    rows: Array
    x: Array
    y: Array

    def covers(self, place: int) -> bool:
        """Whether there are enough intervals on either side of one."""
        return all((~np.isnan(self.y[part])).sum() >= _FEWEST for part in _halves(place))


def _halves(place: int) -> tuple[slice, slice]:
    """The intervals before one and after it. The interval of the step itself has packets of both."""
    return slice(None, place), slice(place + 1, None)


def _groups(points: OffsetLimits, edges: Array, out: Array) -> Iterator[_Group]:
    slope = points.rough_slope
    for side in (1, -1):
        rows = points.rows(int(edges[0]), int(edges[-1]), side, out)
        sizes, counts = np.unique(points.size[rows], return_counts=True)
        for size in sizes[np.argsort(-counts, kind="stable")][:_SIZES]:
            mine = rows[points.size[rows] == size]
            above = side * (points.limit[mine] - slope * points.x[mine])
            x, y = np.full(len(edges) - 1, np.nan), np.full(len(edges) - 1, np.nan)
            for k, (a, b) in enumerate(pairwise(np.searchsorted(mine, edges))):
                if b > a:
                    best = mine[a + int(above[a:b].argmin())]
                    x[k], y[k] = points.x[best], points.limit[best]
            yield _Group(side, mine, x, y)


def _split(groups: list[_Group], place: int) -> tuple[float, float, int]:
    """The misfit of two parallel levels with a step in interval `place` for the best slope; the slope, and the place."""
    halves = [
        (g.side, g.x[part][known], g.y[part][known])
        for g in groups
        if g.covers(place)
        for part in _halves(place)
        if (known := ~np.isnan(g.y[part])).any()
    ]
    if not halves:
        return np.inf, 0.0, place
    slopes = np.concatenate([_slopes(x, y) for _, x, y in halves])
    slopes = slopes[np.abs(slopes) < DRIFT_PPM_MOST * 1e3]
    if not len(slopes):
        return np.inf, 0.0, place
    slopes = slopes[:: -(-len(slopes) // _SLOPES)]
    cost = np.zeros(len(slopes))
    marks = 0
    for side, x, y in halves:
        above = side * (y[None, :] - slopes[:, None] * x[None, :])
        # The lower quantile, without what NumPy's function adds to its partition.
        below = int(_BELOW * (len(x) - 1))
        above -= np.partition(above, below, axis=1)[:, below : below + 1]
        cost += np.log(np.abs(above) + _LEAST_NS).sum(axis=1)
        marks += len(x)
    k = int(np.argmin(cost))
    return float(cost[k]) / marks, float(slopes[k]), place


def _slopes(x: Array, y: Array) -> Array:
    i, j = np.triu_indices(len(x), 1)
    return np.asarray((y[j] - y[i]) / np.maximum(x[j] - x[i], 1e-9))


def _level(group: _Group, place: int, slope: float) -> _Level:
    """Levels of one group before an interval and after it."""
    found, noise = [], 0.0
    for part in _halves(place):
        off = (group.y - slope * group.x)[part]
        above = group.side * off[~np.isnan(off)]
        level = float(np.quantile(above, _BELOW, method="lower"))
        found.append(group.side * level)
        noise += float(np.median(np.abs(above - level)))
    return _Level(group.side, group.rows, found[0], found[1], noise)


def _between(
    points: OffsetLimits, levels: tuple[_Level, _Level], slope: float, start: int, end: int
) -> tuple[int, int]:
    """The last row that only the levels before a step allow, and the first that only the levels after it allow."""
    rows, after = [], []
    for level in levels:
        mine = level.rows[(level.rows >= start) & (level.rows < end)]
        off = level.side * (points.limit[mine] - slope * points.x[mine])
        was, will = level.side * level.before, level.side * level.after
        decided = off < max(was, will) - level.noise
        rows.append(mine[decided])
        after.append(np.full(int(decided.sum()), will < was))
    order = np.argsort(np.concatenate(rows), kind="stable")
    row, late = np.concatenate(rows)[order], np.concatenate(after)[order]
    # The place with fewest rows on the wrong side.
    wrong = np.concatenate(([0], np.cumsum(late))) + np.concatenate((np.cumsum(~late[::-1])[::-1], [0]))
    k = int(np.argmin(wrong))
    last = int(row[k - 1]) if k else start
    first = int(row[k]) if k < len(row) else max(last + 1, end)
    return last, min(max(first, last + 1), end)

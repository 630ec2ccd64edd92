"""Steps: where no line is left that fits the pairs before, and where the quickest of both directions shift."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from wlanlens.alignment.clock import hidden_steps
from wlanlens.alignment.clock.delay_hulls import Hulls, Points
from wlanlens.alignment.clock.feasible_region import Polygon

Array = np.ndarray[Any, Any]

#: Pairs after one that contradicts all lines: when they contradict them too, the clock was stepped.
_LOOK_AHEAD = 8

#: So many contradictions among so many pairs are no chance: the clock's rate changed.
_BENT, _BENT_OF = 3, 64

#: Limits that are looked at together at first, and at most, where none cuts anything off.
_AT_ONCE, _AT_MOST = 16, 1024


def contradicted(points: Points) -> tuple[list[int], Array]:
    """Where no line is left (rows at which a piece begins), and rows that contradict all their neighbours."""
    n = len(points.x)
    out = np.zeros(n, bool)
    slope = points.rough_slope
    rows = np.sort(np.concatenate([points.tightest(0, n, side, out, slope) for side in (1, -1)]))
    xs, limits, sides = points.x[rows], points.limit[rows], points.side[rows]
    x, limit, side = xs.tolist(), limits.tolist(), sides.tolist()
    later = {s: np.flatnonzero(points.side[rows] == s) for s in (1, -1)}
    cuts: list[int] = []
    if not len(rows):
        return cuts, out
    polygon = Polygon(x[0], limit[0])
    odd: dict[int, list[int]] = {1: [], -1: []}
    i = began = 0
    at_once = _AT_ONCE
    while i < len(rows):
        before = polygon.corners
        if polygon.clip(x[i], limit[i], side[i]):
            i += 1
            if polygon.corners is before:
                ahead = slice(i, i + at_once)
                idle = polygon.idle(xs[ahead], limits[ahead], sides[ahead])
                i += idle
                at_once = min(2 * at_once, _AT_MOST) if idle == at_once else _AT_ONCE
            continue
        same = later[side[i]]
        place = int(np.searchsorted(same, i))
        following = same[place + 1 : place + 1 + _LOOK_AHEAD]
        against = sum(polygon.excess(x[k], limit[k], side[k]) > 0 for k in following)
        recent = [k for k in odd[side[i]] if place - int(np.searchsorted(same, k)) < _BENT_OF]
        begin = i if len(following) and 2 * against > len(following) else None
        if begin is None and len(recent) + 1 >= _BENT:
            begin = recent[0]
        if begin is None and len(odd[side[i]]) + 1 >= _BENT:
            # Where few packets are quick, few contradict. Wrong pairs fit none of the pairs between them.
            lately = odd[side[i]][-_LOOK_AHEAD:][: 2 - _BENT]
            begin = next((k for k in lately if _fits(x[k : i + 1], limit[k : i + 1], side[k : i + 1])), None)
        if begin is None:
            odd[side[i]].append(i)
            i += 1
            continue
        start = _step_row(points, polygon, int(rows[begin]), int(rows[same[place - 1]]) if place else -1)
        # A piece holds a pair at least.
        i = began = max(int(np.searchsorted(rows, start)), began + 1)
        start = min(start, int(rows[i])) if start > rows[began - 1] else int(rows[i])
        cuts.append(start)
        for k in odd[1] + odd[-1]:
            out[rows[k]] |= rows[k] < start
        odd = {1: [], -1: []}
        polygon = Polygon(x[i], limit[i])
    out[rows[odd[1] + odd[-1]]] = True
    return cuts, out


def _fits(x: list[float], limit: list[float], side: list[int]) -> bool:
    """Whether some line fits all of these limits."""
    polygon = Polygon(x[0], limit[0])
    return all(polygon.clip(*one) for one in zip(x, limit, side, strict=True))


def _step_row(points: Points, polygon: Polygon, row: int, last: int) -> int:
    """The first row after a step: of those left out between the last that fitted and the one that contradicts, and of
    the other direction, which shows it before."""
    side = int(points.side[row])
    for k in last + 1 + np.flatnonzero(points.side[last + 1 : row] == side):
        if polygon.excess(float(points.x[k]), float(points.limit[k]), side) > 0:
            row = int(k)
            break
    earlier = np.flatnonzero(points.side[:row] == side)
    if not len(earlier):
        return row
    last = int(earlier[-1])
    step = points.y[row] - points.y[last]
    before = np.flatnonzero(points.side[:last] == -side)
    between = last + 1 + np.flatnonzero(points.side[last + 1 : row] == -side)
    if not len(before) or not len(between):
        return row
    jumped = np.abs(points.y[between] - points.y[before[-1]]) > abs(step) / 2
    return int(between[jumped.argmax()]) if jumped.any() else row


def find(points: Points) -> tuple[list[int], Array]:
    """Rows at which a piece begins after a step, and rows that are left out: they contradict all their neighbours, or lie so
    near a step that they may be from before it or after."""
    cuts, out = contradicted(points)
    seen = [0, *cuts, len(points.x)]
    more: list[int] = []
    for start, end in pairwise(seen):
        more += _hidden(points, start, end, out)
    kept = [c for c in cuts if not more or not _spurious(points, c, sorted((0, *cuts, *more, len(points.x))), out)]
    for cut in kept:
        _leave_out(points, cut, sorted((0, *kept, *more, len(points.x))), out)
    return sorted((*kept, *more)), out


def _hidden(points: Points, start: int, end: int, out: Array) -> list[int]:
    """Steps within one piece that no pair contradicts."""
    found = hidden_steps.hidden(points, start, end, out)
    if found is None:
        return []
    last, first = found
    out[last + 1 : first] = True
    return [*_hidden(points, start, last + 1, out), first, *_hidden(points, first, end, out)]


def _spurious(points: Points, cut: int, edges: list[int], out: Array) -> bool:
    """Whether a contradiction only came of a step that shows elsewhere: both pieces fit one line."""
    at = edges.index(cut)
    start, end = edges[at - 1], edges[at + 1]
    _, against = Hulls(points, start, end, out, points.rough_slope).polygon()
    return not against and hidden_steps.hidden(points, start, end, out) is None


def _leave_out(points: Points, cut: int, edges: list[int], out: Array) -> None:
    """Pairs beside a step that both sides of it allow prove nothing of either."""
    at = edges.index(cut)
    start, end = edges[at - 1], edges[at + 1]
    slope = points.rough_slope
    later, _ = Hulls(points, cut, end, out, slope).polygon()
    last = next((k for k in range(cut - 1, start - 1, -1) if _against(points, later, k, out)), None)
    if last is None or cut - last > (cut - start) / 2:
        return
    out[last + 1 : cut] = True
    earlier, _ = Hulls(points, start, last + 1, out, slope).polygon()
    first = next((k for k in range(cut, end) if _against(points, earlier, k, out)), None)
    if first is not None and first - cut <= (end - cut) / 2:
        out[cut:first] = True


def _against(points: Points, polygon: Polygon, row: int, out: Array) -> bool:
    side = int(points.side[row])
    return bool(side and not out[row] and polygon.excess(float(points.x[row]), float(points.limit[row]), side) > 0)

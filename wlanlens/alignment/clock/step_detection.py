"""Clock steps: where no line fits the pairs any more, or where the least delays of both directions shift."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from wlanlens.alignment.clock import hidden_steps
from wlanlens.alignment.clock.delay_hulls import DelayHulls, OffsetLimits
from wlanlens.alignment.clock.feasible_region import FeasibleRegion
from wlanlens.tables.columns import Array

#: Pairs examined after one that contradicts all lines: if most contradict them too, the clock was stepped.
_LOOK_AHEAD = 8

#: This many contradictions among this many pairs are not due to chance: the clock's rate changed.
_RATE_CHANGE, _RATE_CHANGE_OF = 3, 64

#: Limits that are tested together, up to the first that contradicts those before.
_AT_ONCE = 1024


def contradicted(points: OffsetLimits) -> tuple[list[int], Array]:
    """Rows at which a piece begins because no line fits, and rows that contradict all their neighbours."""
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
    region = FeasibleRegion(x[0], limit[0])
    contradicting: dict[int, list[int]] = {1: [], -1: []}
    i = began = 0
    while i < len(rows):
        ahead = slice(i, i + _AT_ONCE)
        agreed = region.clip_while(xs[ahead], limits[ahead], sides[ahead])
        i += agreed
        if agreed == len(xs[ahead]):
            continue
        same = later[side[i]]
        place = int(np.searchsorted(same, i))
        following = same[place + 1 : place + 1 + _LOOK_AHEAD]
        against = sum(region.excess(x[k], limit[k], side[k]) > 0 for k in following)
        recent = [k for k in contradicting[side[i]] if place - int(np.searchsorted(same, k)) < _RATE_CHANGE_OF]
        begin = i if len(following) and 2 * against > len(following) else None
        if begin is None and len(recent) + 1 >= _RATE_CHANGE:
            begin = recent[0]
        if begin is None and len(contradicting[side[i]]) + 1 >= _RATE_CHANGE:
            # Where few packets are fast, few contradict. Wrong pairs do not fit the pairs between them.
            lately = contradicting[side[i]][-_LOOK_AHEAD:][: 2 - _RATE_CHANGE]
            begin = next((k for k in lately if _fits(x[k : i + 1], limit[k : i + 1], side[k : i + 1])), None)
        if begin is None:
            contradicting[side[i]].append(i)
            i += 1
            continue
        start = _step_row(points, region, int(rows[begin]), int(rows[same[place - 1]]) if place else -1)
        # A piece has at least one pair.
        i = began = max(int(np.searchsorted(rows, start)), began + 1)
        start = min(start, int(rows[i])) if start > rows[began - 1] else int(rows[i])
        cuts.append(start)
        for k in contradicting[1] + contradicting[-1]:
            out[rows[k]] |= rows[k] < start
        contradicting = {1: [], -1: []}
        region = FeasibleRegion(x[i], limit[i])
    out[rows[contradicting[1] + contradicting[-1]]] = True
    return cuts, out


def _fits(x: list[float], limit: list[float], side: list[int]) -> bool:
    """Whether some line fits all of these limits."""
    region = FeasibleRegion(x[0], limit[0])
    return all(region.clip(*one) for one in zip(x, limit, side, strict=True))


def _step_row(points: OffsetLimits, region: FeasibleRegion, row: int, last: int) -> int:
    """The first row after a step: among the rows between the last that fits and the first that contradicts, and among those of
    the other direction, which show the step earlier."""
    side = int(points.side[row])
    for k in last + 1 + np.flatnonzero(points.side[last + 1 : row] == side):
        if region.excess(float(points.x[k]), float(points.limit[k]), side) > 0:
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


def find(points: OffsetLimits) -> tuple[list[int], Array]:
    """Rows at which a piece begins after a step, and excluded rows: they contradict all their neighbours, or are so near a step
    that they may be from either side of it."""
    cuts, out = contradicted(points)
    seen = [0, *cuts, len(points.x)]
    more: list[int] = []
    for start, end in pairwise(seen):
        more += _hidden(points, start, end, out)
    kept = [c for c in cuts if not more or not _spurious(points, c, sorted((0, *cuts, *more, len(points.x))), out)]
    for cut in kept:
        _exclude_near(points, cut, sorted((0, *kept, *more, len(points.x))), out)
    return sorted((*kept, *more)), out


def _hidden(points: OffsetLimits, start: int, end: int, out: Array) -> list[int]:
    """Steps within one piece that contradict no pair."""
    found = hidden_steps.hidden(points, start, end, out)
    if found is None:
        return []
    last, first = found
    out[last + 1 : first] = True
    return [*_hidden(points, start, last + 1, out), first, *_hidden(points, first, end, out)]


def _spurious(points: OffsetLimits, cut: int, edges: list[int], out: Array) -> bool:
    """Whether a contradiction is due to a step elsewhere: both pieces fit one line."""
    at = edges.index(cut)
    start, end = edges[at - 1], edges[at + 1]
    _, against = DelayHulls(points, start, end, out, points.rough_slope).region()
    return not against and hidden_steps.hidden(points, start, end, out) is None


def _exclude_near(points: OffsetLimits, cut: int, edges: list[int], out: Array) -> None:
    """Exclude pairs near a step that fit both sides of it."""
    at = edges.index(cut)
    start, end = edges[at - 1], edges[at + 1]
    slope = points.rough_slope
    later, _ = DelayHulls(points, cut, end, out, slope).region()
    last = next((k for k in range(cut - 1, start - 1, -1) if _against(points, later, k, out)), None)
    if last is None or cut - last > (cut - start) / 2:
        return
    out[last + 1 : cut] = True
    earlier, _ = DelayHulls(points, start, last + 1, out, slope).region()
    first = next((k for k in range(cut, end) if _against(points, earlier, k, out)), None)
    if first is not None and first - cut <= (end - cut) / 2:
        out[cut:first] = True


def _against(points: OffsetLimits, region: FeasibleRegion, row: int, out: Array) -> bool:
    side = int(points.side[row])
    return bool(side and not out[row] and region.excess(float(points.x[row]), float(points.limit[row]), side) > 0)

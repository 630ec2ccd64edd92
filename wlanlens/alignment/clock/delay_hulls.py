"""Pairs as limits of the clock offset, and the convex hull of each direction, which alone bounds it."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from wlanlens.alignment.clock.feasible_region import DRIFT_PPM_MOST, FeasibleRegion, hull
from wlanlens.tables.columns import Array

#: Limits of one direction that are used; of more, only the tightest of a few neighbours. Omissions only widen the bound.
MOST = 8000

#: Parts of a piece with a stored hull, so that the hull of any interval is made from few points.
_PARTS = 64

#: Parts of a capture that must agree on which capture point comes first.
_AGREE = 16

#: From this tick on, the error of timestamps exceeds that of delays.
COARSE_NS = 100_000


class OffsetLimits:
    """Pairs in the order of the capture, as limits of the clock offset: ns over seconds of the reference.

    Attributes
    ----------
    x, y : float arrays
        The reference's time, and how far the capture's clock is ahead of it by the timestamps.
    side : int8 array
        1: the packet passed the reference first, -1: the capture first, 0: not known.
    limit : float array
        The offset is at most this (side 1), or at least this (side -1). A timestamp is the last tick before its time.
    size : int array
        Bytes of the packet, or 0 for all: delays of packets of the same size are comparable.
    rank : int array
        Place of the pair in the order of the reference.
    fine, coarse : float
        The finer and the coarser tick of the two clocks.
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        side: Array,
        ticks: tuple[int, int],
        size: Array | None = None,
        rank: Array | None = None,
    ) -> None:
        reference, capture = ticks
        self.x, self.y, self.side = x, y, side
        self.size = np.zeros(len(x), np.int64) if size is None else size
        self.rank = np.arange(len(x)) if rank is None else rank
        # A packet's time is known to a tick, during which the clocks drift.
        slack = reference * DRIFT_PPM_MOST * 1e-6
        self.limit = y + np.where(side > 0, capture + slack, np.where(side < 0, -reference - slack, 0.0))
        self.fine, self.coarse = float(min(ticks)), float(max(ticks))

    def widen_uncertain(self) -> None:
        """Widen all limits by a tick where the timestamps do not decide which capture point comes first.

        The comparison of the two directions decides it; this needs delays longer than a tick, or many that agree.
        """
        rows = np.flatnonzero(self.side)
        at = np.flatnonzero(np.diff(self.side[rows]))
        two_way = self.side[rows[at]] * (self.y[rows[at]] - self.y[rows[at + 1]])
        if any(part.mean() <= 0 for part in np.array_split(two_way, _AGREE) if len(part)):
            self.limit = self.limit + self.side * self.coarse

    def rows(self, start: int, end: int, side: int, out: Array) -> Array:
        """Rows of one direction that are not excluded."""
        found: Array = start + np.flatnonzero((self.side[start:end] == side) & ~out[start:end])
        return found

    def tightest(self, start: int, end: int, side: int, out: Array, slope: float) -> Array:
        """The tightest of neighbouring limits of one direction, at most `MOST`."""
        rows = self.rows(start, end, side, out)
        group = -(-len(rows) // MOST)
        if group <= 1:
            return rows
        values = side * (self.limit[rows] - slope * self.x[rows])
        full = len(rows) // group * group
        best = values[:full].reshape(-1, group).argmin(1) + np.arange(0, full, group)
        tail = [full + int(values[full:].argmin())] if full < len(rows) else []
        chosen: Array = rows[np.concatenate((best, np.array(tail, np.intp)))]
        return chosen

    @cached_property
    def rough_slope(self) -> float:
        """Approximate drift, ns per second, from the medians of many short intervals, without the steps."""
        intervals = min(64, len(self.x) // 8)
        if intervals < 4:
            return 0.0
        edges = np.linspace(0, len(self.x), intervals + 1).astype(int)
        xs, ys = np.array([(np.median(self.x[a:b]), np.median(self.y[a:b])) for a, b in pairwise(edges)]).T
        rises = np.diff(ys) / np.maximum(np.diff(xs), 1e-9)
        return float(np.clip(np.median(rises), -DRIFT_PPM_MOST * 1e3, DRIFT_PPM_MOST * 1e3))


class DelayHulls:
    """The limits of one piece, prepared to find the feasible region of any interval in it quickly. `rows`: those used, by side."""

    def __init__(self, points: OffsetLimits, start: int, end: int, out: Array, slope: float) -> None:
        self.points, self.start, self.end = points, start, end
        self.edges = np.unique(np.linspace(start, end, _PARTS + 1).astype(int))
        self.rows = {side: points.tightest(start, end, side, out, slope) for side in (1, -1)}
        self._corners = {
            side: [self._hull(rows[(rows >= a) & (rows < b)], side) for a, b in pairwise(self.edges)]
            for side, rows in self.rows.items()
        }
        span = points.x[start:end]
        self.first, self.last = float(span.min()), float(span.max())
        self._middle = float(np.median(points.y[start:end]))

    def _hull(self, rows: Array, side: int) -> Array:
        corners: Array = rows[hull(self.points.x[rows], self.points.limit[rows], side)]
        return corners

    def corners(self, side: int, start: int, end: int) -> Array:
        """Rows of the hull of one direction between two rows."""
        low, high = np.searchsorted(self.edges, start), np.searchsorted(self.edges, end, side="right") - 1
        whole = self.rows[side]
        if low > high:
            return self._hull(whole[(whole >= start) & (whole < end)], side)
        before = whole[(whole >= start) & (whole < self.edges[low])]
        behind = whole[(whole >= self.edges[high]) & (whole < end)]
        return self._hull(np.concatenate([before, *self._corners[side][low:high], behind]), side)

    def region(
        self, start: int | None = None, end: int | None = None, more: Array | None = None
    ) -> tuple[FeasibleRegion, int]:
        """The feasible region of the pairs between two rows and of `more` rows, and the number of corners of the hulls that
        contradict it."""
        start, end = self.start if start is None else start, self.end if end is None else end
        made = FeasibleRegion((self.first + self.last) / 2, self._middle)
        contradictions = 0
        for side in (1, -1):
            rows = self.corners(side, start, end)
            if more is not None:
                rows = np.concatenate([rows, more[self.points.side[more] == side]])
            contradictions += made.clip_all(self.points.x[rows], self.points.limit[rows], side)
        return made, contradictions

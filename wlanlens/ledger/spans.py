"""Disjoint intervals of time: joined, measured, and searched for times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wlanlens.tables.columns import Array


@dataclass(frozen=True)
class Spans:
    """Disjoint intervals of time, in order."""

    start: Array
    end: Array

    @classmethod
    def of(cls, start: Array, end: Array) -> Spans:
        """From any intervals: overlapping ones are joined, empty ones are left out."""
        kept = np.flatnonzero(end > start)
        order = kept.take(np.argsort(start.take(kept), kind="stable"))
        start, reach = start.take(order), np.maximum.accumulate(end.take(order)) if len(order) else end[:0]
        begins = np.append(True, start[1:] > reach[:-1]) if len(start) else np.zeros(0, bool)
        last = np.append(np.flatnonzero(begins)[1:] - 1, len(start) - 1) if len(start) else np.zeros(0, np.int64)
        return cls(start[begins], reach[last])

    def holds(self, t_ns: Array) -> Array:
        """Whether each time is inside an interval."""
        at = np.searchsorted(self.start, t_ns, side="right") - 1
        return (at >= 0) & (t_ns < self.end[np.maximum(at, 0)]) if len(self.start) else np.zeros(len(t_ns), bool)

    def joined(self, gap_ns: int) -> Spans:
        """The same without the gaps of at most this length."""
        wide = Spans.of(self.start, self.end + gap_ns)
        return Spans(wide.start, wide.end - gap_ns)

    def joined_over(self, part: int, length_ns: Array | None = None) -> Spans:
        """The same without the gaps of at most one `part`-th of the interval before them, or of what counts of that."""
        if not len(self.start):
            return self
        length_ns = self.end - self.start if length_ns is None else length_ns
        begins = np.append(True, (self.start[1:] - self.end[:-1]) * part > length_ns[:-1])
        last = np.append(np.flatnonzero(begins)[1:] - 1, len(begins) - 1)
        return Spans(self.start[begins], self.end[last])

    def began(self, t_ns: Array) -> Array:
        """The start of the interval that each time is in; a time outside gives that time itself."""
        at = np.searchsorted(self.start, t_ns, side="right") - 1
        return np.where(self.holds(t_ns), self.start[np.maximum(at, 0)], t_ns) if len(self.start) else t_ns

    def before(self, t_ns: Array) -> Array:
        """Total length before each time, ns."""
        if not len(self.start):
            return np.zeros(len(t_ns), np.int64)
        at = np.searchsorted(self.start, t_ns, side="right")
        behind = np.maximum(self.end.take(np.maximum(at - 1, 0)) - t_ns, 0)
        return np.asarray(np.where(at > 0, self._total.take(at) - behind, 0))

    @cached_property
    def _total(self) -> Array:
        """Total length of the first intervals, by their number."""
        return np.concatenate(([0], np.cumsum(self.end - self.start)))

    def inside(self, start: Array, end: Array) -> Array:
        """How much of each time from start to end is in intervals, ns."""
        return np.asarray(self.before(end) - self.before(start))

    def outside(self, start: Array, end: Array) -> Array:
        """How much of each time from start to end is in no interval, ns."""
        return np.asarray(end - start - self.inside(start, end))

    def ended(self, t_ns: Array) -> Array:
        """The latest end before each time; a time inside an interval gives that time itself."""
        at = np.searchsorted(self.start, t_ns, side="left") - 1
        least = np.iinfo(np.int64).min // 2
        return (
            np.where(at >= 0, np.minimum(self.end[np.maximum(at, 0)], t_ns), least)
            if len(self.start)
            else t_ns * 0 + least
        )


def running_maximum(values: Array) -> tuple[Array, Array]:
    """The largest value up to each row, and the latest row that has it."""
    most = np.maximum.accumulate(values)
    return most, np.maximum.accumulate(np.where(values == most, np.arange(len(values)), 0))


def without_pause(t_ns: Array, start: Array, end: Array, longest_ns: int) -> Array:
    """Whether something happened in each time, at `t_ns` (sorted), and nothing was apart by more than this, the time's ends included."""
    low, high = np.searchsorted(t_ns, start, side="right"), np.searchsorted(t_ns, end)
    some = np.flatnonzero(high > low)
    out: Array = np.zeros(len(start), bool)
    if len(some):
        pauses = np.concatenate(([0], np.cumsum(np.diff(t_ns) > longest_ns)))
        first, last = low[some], high[some] - 1
        apart = np.maximum(t_ns[first] - start[some], end[some] - t_ns[last])
        out[some] = (apart <= longest_ns) & (pauses[first] == pauses[last])
    return out

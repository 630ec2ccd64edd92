"""What the receiver acknowledged over time, and the rate of a transfer outside of its troubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wlanlens.tables.columns import Array

Span = tuple[int, int]

#: The pace is taken over this many round trips, which average the bursts of ACKs ...
ROUND_TRIPS = 3
#: ... over no less than this: schedulers and aggregation hold ACKs back for milliseconds ...
LEAST_NS = 30_000_000
#: ... and over this many ACKs, so that one more or less changes it by 5 %.
PACE_ACKS = 20

#: Of a train of four segments with two ACKs, half of the data is acknowledged inside the train; the median of that half.
TRAIN_SHARE = 0.25
#: Fewer ACKs do not show the spacing.
LEAST_ACKS = 20

#: The paces of this share of the time, which are closer together than those of any other, are of the same rate.
SAME_RATE_SHARE = 0.5
#: Below any pace, bytes per ns: a byte in 1000 s.
_LEAST_PACE = 1e-12


def merged(spans: Sequence[Span]) -> list[Span]:
    """Spans in order of time, those that touch as one."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        elif end > start:
            out.append((start, end))
    return out


@dataclass(frozen=True)
class Delivery:
    """The data of one direction as it was acknowledged.

    Attributes
    ----------
    t_ns : array
        Times of the ACKs of new data, rising.
    total_bytes : array
        Bytes acknowledged up to each of them.
    trip_ns : int
        The shortest round trip.
    period_ns : int
        The same, or twice the usual time between ACKs if that is longer: the period of bursts of ACKs.
    horizon_ns : int
        Time over which a pace is taken.
    """

    t_ns: Array
    total_bytes: Array
    trip_ns: int
    period_ns: int
    horizon_ns: int

    @classmethod
    def of(cls, t_ns: Array, ack: Array, rtt_ns: int) -> Delivery:
        """From the ACKs of a direction in the order of time, and its round trip."""
        highest = np.maximum.accumulate(ack) if len(ack) else ack
        new = np.flatnonzero(np.concatenate(([True], highest[1:] > highest[:-1]))) if len(ack) else highest
        t_ns = t_ns.take(new)
        # Times that rise: sorting their differences is faster than `numpy.median`, which takes long over equal ones.
        gaps = np.sort(t_ns[1:] - t_ns[:-1])
        gap = int(gaps[(len(gaps) - 1) // 2] + gaps[len(gaps) // 2]) // 2 if len(gaps) else 0
        horizon = max(ROUND_TRIPS * max(rtt_ns, 0), LEAST_NS, PACE_ACKS * gap)
        return cls(t_ns, highest.take(new), max(rtt_ns, 0), max(rtt_ns, 2 * gap, 0), horizon)

    @property
    def end_ns(self) -> int:
        """Time of the last ACK."""
        return int(self.t_ns[-1])

    def until(self, t_ns: int | Array) -> Array:
        """Bytes acknowledged up to a time."""
        at = self.t_ns.searchsorted(t_ns, side="right") - 1
        return np.where(at >= 0, self.total_bytes[np.maximum(at, 0)], self.total_bytes[0])

    @cached_property
    def _as_floats(self) -> tuple[Array, Array]:
        """Times and bytes as `numpy.interp` takes them."""
        return self.t_ns.astype(np.float64), self.total_bytes.astype(np.float64)

    @cached_property
    def pace(self) -> Array:
        """Bytes per ns over the time after each ACK, at most to the end."""
        until = np.minimum(self.t_ns + self.horizon_ns, self.end_ns)
        # Between two ACKs the data arrives evenly: a horizon that ends there counts its part.
        reached = np.interp(until, *self._as_floats)
        return np.asarray((reached - self.total_bytes) / np.maximum(until - self.t_ns, self.horizon_ns // 2))

    @cached_property
    def come(self) -> Array:
        """Bytes acknowledged in the horizon before each ACK."""
        since = np.maximum(self.t_ns - self.horizon_ns, self.t_ns[0])
        return np.asarray(self.total_bytes - np.interp(since, *self._as_floats))

    def usual(self, outside: Sequence[Span]) -> float:
        """The rate outside of some spans, bytes per ns: the mean of the paces that are closest together.

        A path or a window that is full has one pace, while a window that grows has a new one each round trip.
        `outside`: in order of time, without overlaps. Where no span of a horizon is outside, all that is outside counts.
        """
        ends = self.t_ns + self.horizon_ns
        free = ends <= self.end_ns
        if outside:
            begins, over = np.array(outside).T
            last = np.searchsorted(begins, ends) - 1
            free &= (last < 0) | (over[last] <= self.t_ns)
        chosen = np.flatnonzero(free)
        after = np.minimum(chosen + 1, len(free) - 1)
        if not (self.total_bytes.take(after) > self.total_bytes.take(chosen)).any():
            return self._mean(outside)
        pace, time = self.pace.take(chosen), (self.t_ns.take(after) - self.t_ns.take(chosen)).astype(np.float64)
        order = np.argsort(pace, kind="stable")
        pace, time = pace.take(order), time.take(order)
        until = np.concatenate(([0.0], np.cumsum(time)))
        first = np.arange(len(pace))
        last = until.searchsorted(until[first] + SAME_RATE_SHARE * until[-1] * (1 - 1e-9))
        first, last = first[last <= len(pace)], last[last <= len(pace)]
        narrowest = int(np.argmin(pace[last - 1] / np.maximum(pace[first], _LEAST_PACE)))
        same = slice(first[narrowest], last[narrowest])
        pace, time = pace[same], time[same]
        return float((pace * time).sum() / time.sum()) if time.any() else float(pace.mean())

    def _mean(self, outside: Sequence[Span]) -> float:
        """Bytes per ns outside of some spans."""
        time, size = self.end_ns - int(self.t_ns[0]), float(self.total_bytes[-1] - self.total_bytes[0])
        for start, end in outside:
            time -= max(0, min(end, self.end_ns) - max(start, int(self.t_ns[0])))
            size -= float(self.until(end) - self.until(start))
        return size / time if time > 0 else 0.0

    def path_rate(self) -> float:
        """The path's rate in bytes per ns, by the spacing of ACKs; 0 where there are too few.

        A flight that does not fill the path leaves the bottleneck as a train, and its ACKs come with the spacing that the bottleneck
        gave them; then the path rests. `TRAIN_SHARE` of the data had this rate or more.
        """
        gap, size = np.diff(self.t_ns), np.diff(self.total_bytes)
        known = gap > 0
        gap, size = gap[known], size[known].astype(np.float64)
        if len(gap) < LEAST_ACKS:
            return 0.0
        rate = size / gap
        order = np.argsort(-rate, kind="stable")
        place = np.searchsorted(np.cumsum(size[order]), TRAIN_SHARE * size.sum())
        return float(rate[order][min(int(place), len(order) - 1)])

"""What the receiver acknowledged over time: the rate of a transfer outside of its troubles, and how far a trouble set it back."""

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

#: The transfer is back at its usual rate when it delivers at this share of it ...
REGAINED_SHARE = 0.9
#: ... and stays above this share for as long: a burst of ACKs alone does not count.
STAYS_SHARE = 0.8
#: Paces within these factors of the median are of the same rate.
SAME_RATE = (0.7, 1.4)


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
        gap = int(np.median(np.diff(t_ns[new]))) if len(new) > 1 else 0
        horizon = max(ROUND_TRIPS * max(rtt_ns, 0), LEAST_NS, PACE_ACKS * gap)
        return cls(t_ns[new], highest[new], max(rtt_ns, 0), max(rtt_ns, 2 * gap, 0), horizon)

    @property
    def end_ns(self) -> int:
        """Time of the last ACK."""
        return int(self.t_ns[-1])

    def until(self, t_ns: int | Array) -> Array:
        """Bytes acknowledged up to a time."""
        at = np.searchsorted(self.t_ns, t_ns, side="right") - 1
        return np.where(at >= 0, self.total_bytes[np.maximum(at, 0)], self.total_bytes[0])

    @cached_property
    def pace(self) -> Array:
        """Bytes per ns over the time after each ACK, at most to the end."""
        until = np.minimum(self.t_ns + self.horizon_ns, self.end_ns)
        # Between two ACKs the data arrives evenly: a horizon that ends there counts its part.
        reached = np.interp(until, self.t_ns, self.total_bytes)
        return np.asarray((reached - self.total_bytes) / np.maximum(until - self.t_ns, self.horizon_ns // 2))

    def usual(self, outside: Sequence[Span]) -> float:
        """The rate outside of some spans, bytes per ns: the mean over the time with about the median pace.

        `outside`: in order of time, without overlaps. Where no span of a horizon is outside, all that is outside counts.
        """
        ends = self.t_ns + self.horizon_ns
        free = ends <= self.end_ns
        if outside:
            begins, over = np.array(outside).T
            last = np.searchsorted(begins, ends) - 1
            free &= (last < 0) | (over[last] <= self.t_ns)
        size = np.diff(self.total_bytes, append=self.total_bytes[-1]).astype(np.float64)
        gap = np.diff(self.t_ns, append=self.t_ns[-1])
        if not size[free].sum() > 0:
            return self._mean(outside)
        order = np.argsort(self.pace[free], kind="stable")
        place = np.searchsorted(np.cumsum(size[free][order]), size[free].sum() / 2)
        median = float(self.pace[free][order][min(int(place), len(order) - 1)])
        same = free & (self.pace >= SAME_RATE[0] * median) & (self.pace <= SAME_RATE[1] * median)
        return float(np.average(self.pace[same], weights=gap[same])) if gap[same].sum() else median

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

    def regained_ns(self, after_ns: int, rate: float, limit_ns: int) -> int:
        """When the transfer had its rate again: the first ACK at or after a time from which on it delivered at that rate.

        At most `limit_ns`, where the next trouble begins, and at most the last ACK.
        """
        limit = min(limit_ns, self.end_ns)
        first, last = np.searchsorted(self.t_ns, [after_ns, limit])
        pace, t = self.pace[first:last], self.t_ns[first:last]
        back, slow = np.flatnonzero(pace >= REGAINED_SHARE * rate), np.flatnonzero(pace < STAYS_SHARE * rate)
        # The next ACK with a slow pace after each; none: the end.
        after = np.append(t[slow], np.iinfo(np.int64).max)[np.searchsorted(slow, back)]
        stays = back[after >= np.minimum(t[back] + self.horizon_ns, limit)]
        if len(stays):
            return max(after_ns, int(t[stays[0]]))
        return max(after_ns, limit)

    def setback_s(self, start_ns: int, end_ns: int, rate: float, limit_ns: int, *, after_ack: bool = False) -> float:
        """Seconds by which a transfer fell behind its rate in a span and until it had that rate again.

        What was acknowledged in that time would have taken its own time at the rate; the rest of the time was lost. A burst of
        ACKs just after the end belongs to the span: the data had been delivered in it. `after_ack`: the span begins with an ACK that
        ended a silence, and the silence does not count.
        """
        if rate <= 0 or not len(self.t_ns):
            return max(0, end_ns - start_ns) / 1e9
        back = self.regained_ns(end_ns, rate, limit_ns)
        # The pace from then on counts data up to the first ACK after the horizon.
        reach = min(int(np.searchsorted(self.t_ns, min(back + self.horizon_ns, limit_ns))), len(self.t_ns) - 1)
        last = max(back, min(int(self.t_ns[reach]), limit_ns))
        # The last ACK of a transfer may wait for the delayed-ACK timer, with or without the trouble.
        since = max(end_ns, back - self.period_ns) if back >= self.end_ns else back
        at = np.append(self.t_ns[(self.t_ns >= since) & (self.t_ns <= last)], back)
        if after_ack:
            ended = self.t_ns[(self.t_ns >= start_ns) & (self.t_ns <= start_ns + self.period_ns)]
            before = ended if len(ended) else np.array([end_ns])
            # Everything is acknowledged then: the next ACK comes a round trip later, whatever the sender does.
            lag_ns = self._lag(at, rate).min() - self._lag(before, rate).min() - self.trip_ns
            return float(max(0.0, lag_ns)) / 1e9
        first = self._at_rate_until(start_ns, rate)
        # One of a burst of ACKs stands for all.
        before = self.t_ns[(self.t_ns <= self.t_ns[first]) & (self.t_ns >= self.t_ns[first] - self.period_ns)]
        return float(max(0.0, self._lag(at, rate).min() - self._lag(before, rate).min())) / 1e9

    def _at_rate_until(self, t_ns: int, rate: float) -> int:
        """The last ACK until a time up to which the transfer had its rate: a silence begins before it is noticed.

        Of the ACKs of a horizon before the time; the last of them where none qualifies.
        """
        last = max(0, int(np.searchsorted(self.t_ns, t_ns, side="right")) - 1)
        first = int(np.searchsorted(self.t_ns, t_ns - self.horizon_ns))
        since = np.maximum(self.t_ns[first : last + 1] - self.horizon_ns, self.t_ns[0])
        come = self.total_bytes[first : last + 1] - np.interp(since, self.t_ns, self.total_bytes)
        good = np.flatnonzero(come >= REGAINED_SHARE * rate * self.horizon_ns)
        return first + int(good[-1]) if len(good) else last

    def _lag(self, t_ns: Array, rate: float) -> Array:
        """Time less the time that the data acknowledged until then takes at a rate."""
        return np.asarray(t_ns - self.t_ns[0] - (self.until(t_ns) - self.total_bytes[0]) / rate)

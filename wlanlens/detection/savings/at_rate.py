"""A transfer against a rate that it could have kept: when it had that rate, and how far troubles set it back."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    from wlanlens.detection.savings.delivery import Delivery

#: The transfer is back at its usual rate when it delivers at this share of it ...
REGAINED_SHARE = 0.9
#: ... and stays above this share for as long: a burst of ACKs alone does not count.
STAYS_SHARE = 0.8

_NEVER = np.iinfo(np.int64).max


class AtRate:
    """A delivery against a rate, in bytes per ns, above 0. All times are arrays with one entry a trouble."""

    def __init__(self, delivery: Delivery, rate: float) -> None:
        self._delivery, self.rate = delivery, rate
        self._t_ns = delivery.t_ns

    def setbacks_s(
        self, start_ns: Array, end_ns: Array, limit_ns: Array, since_ns: Array, *, after_ack: bool = False
    ) -> Array:
        """Seconds by which the transfer fell behind its rate in each span and until it had that rate again.

        What was acknowledged in that time would have taken its own time at the rate; the rest of the time was lost. A burst of
        ACKs just after the end belongs to the span: the data had been delivered in it. `limit_ns`: where the next trouble begins.
        `since_ns`: what came before belongs to another trouble. `after_ack`: a span begins with an ACK that ended a silence, and
        the silence does not count.
        """
        d, t_ns = self._delivery, self._t_ns
        back = self.regained_ns(end_ns, limit_ns)
        # One of a burst of ACKs stands for all, as before the span.
        reach = np.minimum(t_ns.searchsorted(np.minimum(back + d.period_ns, limit_ns)), len(t_ns) - 1)
        last = np.maximum(back, np.minimum(t_ns[reach], limit_ns))
        # The next trouble begins with a silence, and the last ACK of a transfer may wait for the delayed-ACK timer.
        newest = t_ns[np.maximum(0, t_ns.searchsorted(back, side="right") - 1)]
        to_the_end = back >= np.minimum(limit_ns, d.end_ns)
        since = np.where(to_the_end, np.maximum(end_ns, newest - d.period_ns), back)
        lag_ns = self._least_lag(since, last, back)
        if after_ack:
            # Everything is acknowledged then: the next ACK comes a round trip later, whatever the sender does.
            before_ns = self._least_lag(start_ns, start_ns + d.period_ns, end_ns)
            return np.asarray(np.maximum(0.0, lag_ns - before_ns - d.trip_ns) / 1e9)
        began = np.maximum(t_ns[self._at_rate_until(start_ns)], np.minimum(since_ns, start_ns))
        # One of a burst of ACKs stands for all.
        before_ns = self._least_lag(np.maximum(since_ns, began - d.period_ns), began, began)
        return np.asarray(np.maximum(0.0, lag_ns - before_ns) / 1e9)

    def regained_ns(self, after_ns: Array, limit_ns: Array) -> Array:
        """When the transfer had its rate again: the first ACK at or after a time from which on it delivered at that rate.

        At most `limit_ns`, and at most the last ACK.
        """
        limit = np.minimum(limit_ns, self._delivery.end_ns)
        first, last = (self._t_ns.searchsorted(times) for times in (after_ns, limit))
        good, stays, slow = self._paces
        # An ACK at the rate counts if no slow pace follows within a horizon, or before the limit.
        before = slow.searchsorted(last) - 1
        after_slow = np.where(before >= 0, slow[before] + 1, 0)
        at = np.minimum(_next(stays, first), _next(good, np.maximum(first, after_slow)))
        back = np.where(at < last, self._t_ns[np.minimum(at, len(self._t_ns) - 1)], limit)
        return np.maximum(after_ns, back)

    @cached_property
    def _paces(self) -> tuple[Array, Array, Array]:
        """The ACKs with the rate, those of them without a slow pace in the horizon after them, and those with a slow pace; each time
        `_NEVER` is the last."""
        pace, t_ns = self._delivery.pace, self._t_ns
        good, slow = np.flatnonzero(pace >= REGAINED_SHARE * self.rate), np.flatnonzero(pace < STAYS_SHARE * self.rate)
        following = np.append(t_ns.take(slow), _NEVER).take(slow.searchsorted(good))
        stays = good[following >= t_ns.take(good) + self._delivery.horizon_ns]
        return np.append(good, _NEVER), np.append(stays, _NEVER), np.append(slow, _NEVER)

    def _at_rate_until(self, times_ns: Array) -> Array:
        """The last ACK until each time up to which the transfer had its rate: a silence begins before it is noticed.

        Of the ACKs of a horizon before the time; the last of them where none qualifies.
        """
        last = np.maximum(0, self._t_ns.searchsorted(times_ns, side="right") - 1)
        latest = self._latest_at_rate[last]
        return np.where(latest >= self._t_ns.searchsorted(times_ns - self._delivery.horizon_ns), latest, last)

    @cached_property
    def _latest_at_rate(self) -> Array:
        """For each ACK the last one until then that had the rate over the horizon before it; -1: none."""
        good = self._delivery.come >= REGAINED_SHARE * self.rate * self._delivery.horizon_ns
        return np.maximum.accumulate(np.where(good, np.arange(len(good)), -1))

    def _least_lag(self, start_ns: Array, end_ns: Array, otherwise_ns: Array) -> Array:
        """The least lag at the ACKs from one time to another, both included; without an ACK there, that of another time."""
        first, last = self._t_ns.searchsorted(start_ns), self._t_ns.searchsorted(end_ns, side="right")
        if not len(first):
            return np.zeros(0)
        least = np.minimum.reduceat(self._lags, np.stack((first, last), axis=1).ravel())[::2]
        return np.where(first < last, least, self._lag(otherwise_ns))

    @cached_property
    def _lags(self) -> Array:
        """The lag at each ACK, and one more entry."""
        d = self._delivery
        # ACKs of one time count together.
        reached = d.total_bytes if (self._t_ns[1:] > self._t_ns[:-1]).all() else d.until(self._t_ns)
        return np.append(self._t_ns - d.t_ns[0] - (reached - d.total_bytes[0]) / self.rate, np.inf)

    def _lag(self, t_ns: Array) -> Array:
        """Time less the time that the data acknowledged until then takes at the rate."""
        d = self._delivery
        return np.asarray(t_ns - d.t_ns[0] - (d.until(t_ns) - d.total_bytes[0]) / self.rate)


def _next(rows: Array, first: Array) -> Array:
    """The first of some rising rows at or after each place. The last is `_NEVER`."""
    return np.asarray(rows[rows.searchsorted(first)])

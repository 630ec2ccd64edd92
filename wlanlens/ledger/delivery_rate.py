"""The delivery rate over a few round trips: how the ledger and detectors decide that a path is kept full."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

#: ACKs come in bursts: a rate is taken over this many round trips ...
ROUND_TRIPS = 2
#: ... and over no less than this: delayed ACKs and schedulers hold ACKs back for milliseconds.
MIN_NS = 20_000_000

#: ACKs that waited for the air come in a burst and look faster than the path is. A burst carries less than this share of
#: the data, so a rate that this share reached is not the effect of one burst.
BEST_SHARE = 0.1

#: Rank and time are packed into one number: 12 days in microseconds for each of 8 million ranks.
_SPAN = 1 << 40


def rates(rank: Array, start_ns: Array, end_ns: Array, acked_bytes: Array, rtt_ns: Array) -> Array:
    """Bytes per ns acknowledged in the last round trips before the end of each interval; 0 where the flow is younger.

    `rank` numbers the directions from 0; rows are in its order, then in order of time. `rtt_ns` is -1 for unknown.
    """
    if not len(rank):
        return np.zeros(0)
    new = np.concatenate(([True], rank[1:] != rank[:-1]))
    flow_start = start_ns[new][np.cumsum(new) - 1]
    horizon = np.maximum(np.maximum(rtt_ns, 0) * ROUND_TRIPS, MIN_NS)
    since = np.clip((end_ns - flow_start) // 1000, 0, _SPAN - 1)
    before = np.clip((end_ns - horizon - flow_start) // 1000, 0, _SPAN - 1)
    # The first interval that ends within the horizon started before it, so whole intervals cover the horizon.
    first = np.searchsorted(rank * _SPAN + since, rank * _SPAN + before, side="right")
    first = np.minimum(first, np.arange(len(rank)))
    total = np.concatenate(([0], np.cumsum(acked_bytes, dtype=np.float64)))
    duration = end_ns - start_ns[first]
    bytes_ = total[1:] - total[first]
    return np.where((end_ns - horizon >= flow_start) & (duration > 0), bytes_ / np.maximum(duration, 1), 0.0)


def best_rates(rank: Array, rate: Array, acked_bytes: Array) -> Array:
    """For each rank, the rate at or above which a tenth of its data arrived (`BEST_SHARE`)."""
    if not len(rank):
        return np.zeros(0)
    order = np.lexsort((-rate, rank))
    new = np.concatenate(([True], np.diff(rank[order]) != 0))
    first = np.flatnonzero(new)
    bytes_ = np.cumsum(acked_bytes[order], dtype=np.float64)
    before = np.where(first > 0, bytes_[first - 1], 0.0)
    total = bytes_[np.append(first[1:], len(order)) - 1] - before
    place = np.searchsorted(bytes_, before + BEST_SHARE * total)
    return np.asarray(rate[order][np.maximum(place, first)])


def never_pauses(rate: Array, best: Array, duration_ns: Array, rtt_ns: Array, share: float) -> Array:
    """Whether the path did not pause in each window-limited interval.

    Either data arrived at `share` of the flow's best rate; or no gap of half a round trip was among the ACKs, however
    slow the path had become: a window-limited interval lasts from one ACK to the next, and a pause makes a gap.
    """
    return np.asarray(((rate > 0) & (rate >= share * best)) | (duration_ns < (rtt_ns + 1) // 2))

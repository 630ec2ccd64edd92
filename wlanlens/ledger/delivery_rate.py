"""How fast data arrived, over a few round trips: what a ledger and a detector mean by a path that is kept full."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

#: ACKs come in bursts: a pace is taken over so many round trips ...
ROUND_TRIPS = 2
#: ... and over no less than this, for a delayed ACK or a scheduler holds ACKs back for milliseconds.
LEAST_NS = 20_000_000

#: ACKs that waited on the air come in a burst and look faster than the path is; a burst carries less than this share of
#: the data, and the pace at which so much arrived was not lent by one.
BRISK_SHARE = 0.1

#: Keys and times share one number: 12 days in microseconds for each of 8 million keys.
_SPAN = 1 << 40


def paces(rank: Array, start_ns: Array, end_ns: Array, acked_bytes: Array, rtt_ns: Array) -> Array:
    """Bytes a ns acknowledged in the round trips up to the end of each interval; 0 where there were not as many yet.

    `rank` numbers the flows' directions from 0; rows stand in its order, and in that of time. `rtt_ns` is -1 for unknown.
    """
    if not len(rank):
        return np.zeros(0)
    new = np.concatenate(([True], rank[1:] != rank[:-1]))
    begun = start_ns[new][np.cumsum(new) - 1]
    horizon = np.maximum(np.maximum(rtt_ns, 0) * ROUND_TRIPS, LEAST_NS)
    since = np.clip((end_ns - begun) // 1000, 0, _SPAN - 1)
    before = np.clip((end_ns - horizon - begun) // 1000, 0, _SPAN - 1)
    # The first interval that ends within the horizon; it began before, so whole intervals cover the horizon.
    first = np.searchsorted(rank * _SPAN + since, rank * _SPAN + before, side="right")
    first = np.minimum(first, np.arange(len(rank)))
    total = np.concatenate(([0], np.cumsum(acked_bytes, dtype=np.float64)))
    lasted = end_ns - start_ns[first]
    bytes_ = total[1:] - total[first]
    return np.where((end_ns - horizon >= begun) & (lasted > 0), bytes_ / np.maximum(lasted, 1), 0.0)


def best(rank: Array, pace: Array, acked_bytes: Array) -> Array:
    """The pace, of each rank, at which or above which a tenth of its data arrived (`BRISK_SHARE`)."""
    if not len(rank):
        return np.zeros(0)
    order = np.lexsort((-pace, rank))
    new = np.concatenate(([True], np.diff(rank[order]) != 0))
    first = np.flatnonzero(new)
    bytes_ = np.cumsum(acked_bytes[order], dtype=np.float64)
    before = np.where(first > 0, bytes_[first - 1], 0.0)
    total = bytes_[np.append(first[1:], len(order)) - 1] - before
    place = np.searchsorted(bytes_, before + BRISK_SHARE * total)
    return np.asarray(pace[order][np.maximum(place, first)])


def unresting(pace: Array, most: Array, duration_ns: Array, rtt_ns: Array, share: float) -> Array:
    """Whether the path did not rest in each interval under the receiver's limit.

    Data arrived at `share` of the flow's best pace `most`; or, however slow the path had become, no gap of half a round
    trip was among the ACKs: an interval of that state lasts from one to the next, and a rest of the path makes a gap.
    """
    return np.asarray(((pace > 0) & (pace >= share * most)) | (duration_ns < (rtt_ns + 1) // 2))

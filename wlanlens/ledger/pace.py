"""The pace of ACKs: whether the receiver's window kept a link busy all the time, so that a larger window would be no faster."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

#: ACKs in a round trip: with fewer, trains and single packets look alike.
PACED_ACKS = 4
#: Largest share of the time that pauses take: a larger window would gain no more than that.
PAUSE_SHARE = 0.05

#: A window of at least this share of the largest one has its full size; a smaller one is opened by the reader, at its pace.
FULL_SIZE = 0.9
#: Times that differ by less than this share are alike.
_SAME = 0.05


def evenly_paced(
    key: Array,
    end_ns: Array,
    acked_bytes: Array,
    rtt_ns: Array,
    min_acks: int = PACED_ACKS,
    pause_share: float = PAUSE_SHARE,
) -> Array:
    """Whether each interval belongs to a stretch in which ACKs came at one pace, with no pause in a round trip.

    A window that leaves the path idle is answered by a train of ACKs and a pause in each round trip; a busy link has no pause. The
    pace is that of most bytes.

    Parameters
    ----------
    key, end_ns, acked_bytes, rtt_ns : array
        Intervals in which a sender had filled a window of full size, by direction and time: number of the direction, time of the ACK
        that ends the interval, bytes that it acknowledged, its round trip (> 0).
    min_acks, pause_share : int, float
        `PACED_ACKS` and `PAUSE_SHARE`.
    """
    out = np.zeros(len(key), bool)
    if len(key) <= min_acks:
        return out
    first = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (np.diff(end_ns) > rtt_ns[1:])))
    for a, b in zip(first.tolist(), [*first[1:].tolist(), len(key)], strict=True):
        gap, size = np.diff(end_ns[a:b]), acked_bytes[a + 1 : b]
        if len(gap) < min_acks:
            continue
        rtt = rtt_ns[a:b].mean()
        if gap.sum() < rtt or len(gap) * rtt < min_acks * gap.sum():
            continue
        order = np.argsort(gap / size)
        sent = np.cumsum(size[order])
        pace = (gap / size)[order[np.searchsorted(sent, sent[-1] / 2)]]
        pause = np.maximum(gap - (1 + _SAME) * pace * size, 0)
        # In two round trips there is one of the pauses at least.
        block = ((end_ns[a + 1 : b] - end_ns[a]) // (2 * rtt)).astype(np.int64)
        even = np.bincount(block, pause) < pause_share * np.bincount(block, gap)
        out[a + 1 : b] = even[block]
        out[a] = even[0]
    return out

"""The pace of ACKs: whether the receiver's window kept a link busy all the time, so that a larger window would be no faster."""

from __future__ import annotations

import numpy as np

from wlanlens.tables.columns import Array

#: ACKs in a round trip: with fewer, trains and single packets look alike.
PACED_ACKS = 4
#: Largest share of the time that pauses take: a larger window would gain no more than that.
PAUSE_SHARE = 0.05

#: A window of at least this share of the largest one has its full size; a smaller one is opened by the reader, at its pace.
FULL_SIZE = 0.9
#: Times, and rates, that differ by less than this share are alike.
SAME_SHARE = 0.05


def evenly_paced(
    key: Array,
    end_ns: Array,
    acked_bytes: Array,
    rtt_ns: Array,
    full: Array,
    min_acks: int = PACED_ACKS,
    pause_share: float = PAUSE_SHARE,
) -> Array:
    """Whether each interval belongs to a stretch in which ACKs came at one pace, with no pause in a round trip.

    A window that leaves the path idle is answered by a train of ACKs and a pause in each round trip; a busy link has no pause. The
    pace is that of most bytes.

    Parameters
    ----------
    key, end_ns, acked_bytes, rtt_ns : array
        Intervals in which a sender had filled the window, by direction and time: number of the direction, time of the ACK that ends
        the interval, bytes that it acknowledged, its round trip.
    full : array of bool
        Whether the window had its full size (`full_size`). Others, and those without bytes or a round trip, are left out.
    min_acks, pause_share : int, float
        `PACED_ACKS` and `PAUSE_SHARE`.
    """
    out = np.zeros(len(key), bool)
    which = np.flatnonzero(full & (rtt_ns > 0) & (acked_bytes > 0))
    if len(which) > min_acks:
        out[which] = _even(key[which], end_ns[which], acked_bytes[which], rtt_ns[which], min_acks, pause_share)
    return out


def full_size(window_bytes: Array, largest_bytes: Array) -> Array:
    """Whether each window has its full size, given the largest one of its direction."""
    return np.asarray(window_bytes >= FULL_SIZE * largest_bytes)


def _even(key: Array, end_ns: Array, acked_bytes: Array, rtt_ns: Array, min_acks: int, pause_share: float) -> Array:
    out = np.zeros(len(key), bool)
    begins = np.append(True, (key[1:] != key[:-1]) | (np.diff(end_ns) > rtt_ns[1:]))
    first, whole = np.flatnonzero(begins), np.cumsum(begins) - 1
    count = np.diff(first, append=len(key))
    rtt = np.add.reduceat(rtt_ns, first) / count
    # The ACKs behind each stretch's first one, with the time since the one before.
    later = np.flatnonzero(~begins)
    stretch, gap, size = whole[later], end_ns[later] - end_ns[later - 1], acked_bytes[later]
    lasts = end_ns[first + count - 1] - end_ns[first]
    known = (count > min_acks) & (lasts >= rtt) & ((count - 1) * rtt >= min_acks * lasts)
    chosen = known[stretch]
    later, stretch, gap, size = later[chosen], stretch[chosen], gap[chosen], size[chosen]
    if not len(later):
        return out
    pause = np.maximum(gap - (1 + SAME_SHARE) * _pace(stretch, gap, size)[stretch] * size, 0)
    # In two round trips there is one of the pauses at least.
    block = ((end_ns[later] - end_ns[first[stretch]]) // (2 * rtt[stretch])).astype(np.int64)
    block = np.cumsum((np.diff(stretch, prepend=-1) != 0) | (np.diff(block, prepend=0) != 0)) - 1
    out[later] = (np.bincount(block, pause) < pause_share * np.bincount(block, gap))[block]
    # No ACK before it shows the pace of the first one: it is as the second.
    out[first[known]] = out[first[known] + 1]
    return out


def _pace(stretch: Array, gap: Array, size: Array) -> Array:
    """The time for a byte of most bytes of each stretch, by its number."""
    order = np.lexsort((gap / size, stretch))
    group, sent = stretch[order], np.cumsum(size[order])
    first = np.flatnonzero(np.diff(group, prepend=-1))
    before = sent[first] - size[order][first]
    half = before + (np.append(sent[first[1:] - 1], sent[-1]) - before) / 2
    out = np.zeros(int(group[-1]) + 1)
    out[group[first]] = (gap / size)[order[np.searchsorted(sent, half)]]
    return out

"""Draw millions of rows with few marks without losing rare ones.

Lines keep the first, minimum, maximum and last value of every bucket. Marks of ordinary consecutive segments are merged
into strokes; rare segments and both sides of every gap keep their own marks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.plots._rows import KINDS, FlowRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

GAP_SHARE = 1 / 500
"""A pause longer than this share of the drawn time is visible (about two pixels), so no stroke crosses it."""

_USUAL = ("data", "ack", "dupack", "window_update", "keepalive", "keepalive_ack")
_ORDINARY = np.isin(np.arange(len(KINDS)), [KINDS.index(name) for name in _USUAL])


def is_rare(rows: FlowRows) -> NDArray[np.bool_]:
    """Rows that no reduction may drop: all but original data segments and ACKs with an open window."""
    closed = rows.is_ack & (rows.size == 0)
    rare: NDArray[np.bool_] = (rows.mark != 0) | ~_ORDINARY[rows.kind] | closed
    return rare


def gap_edges(t_ns: NDArray[np.int64], gap_ns: int) -> NDArray[np.bool_]:
    """Rows before and after each pause longer than `gap_ns`, and the first and last row."""
    edges = np.zeros(len(t_ns), np.bool_)
    if len(t_ns):
        wide = np.diff(t_ns) > gap_ns
        edges[:-1] |= wide
        edges[1:] |= wide
        edges[[0, -1]] = True
    return edges


def line(x: NDArray[np.int64], y: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """Positions of a line to keep, ascending: first, minimum, maximum and last in each of `buckets` slices of x."""
    if len(x) <= 4 * buckets:
        return np.arange(len(x))
    bucket = bucket_of(x, buckets)
    starts = np.flatnonzero(np.diff(bucket, prepend=bucket[0] - 1))
    ends = np.append(starts[1:], len(x)) - 1
    by_value = np.lexsort((y, bucket))
    return np.unique(np.concatenate([starts, ends, by_value[starts], by_value[ends]]))


def bucket_of(x: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """Which of `buckets` equal slices of the x range each x (ascending) is in."""
    width = max(1, -(-int(x[-1] - x[0] + 1) // buckets))
    bucket: NDArray[np.int64] = (x - x[0]) // width
    return bucket


@dataclass(frozen=True)
class Strokes:
    """Marks from (t0, lo) to (t1, hi): a vertical tick where t0 == t1, else several ordinary segments in one line."""

    t0: NDArray[np.int64]
    t1: NDArray[np.int64]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]


def strokes(
    t_ns: NDArray[np.int64], lo: NDArray[np.int64], hi: NDArray[np.int64], limit: int, *, holes: bool = False
) -> Strokes:
    """Merge ordinary segments into at most about `limit` strokes; none crosses a visible gap.

    `holes`: segments between these were removed earlier, so a jump in sequence is joined to the next segment.
    """
    n = len(t_ns)
    until = t_ns
    if holes and n:
        ahead = np.append(lo[1:] > hi[:-1], False)
        hi = np.where(ahead, np.append(lo[1:], 0), hi)
        until = np.where(ahead, np.append(t_ns[1:], 0), t_ns)
    if n <= limit:
        return Strokes(t_ns, until, lo, hi)
    gap_ns = int((t_ns[-1] - t_ns[0]) * GAP_SHARE)
    paused = t_ns[1:] - until[:-1] > gap_ns
    bucket = bucket_of(t_ns, max(1, limit // 2))
    breaks = np.ones(n, np.bool_)
    breaks[1:] = (np.diff(bucket) != 0) | paused | (lo[1:] != hi[:-1])
    if np.count_nonzero(breaks) > limit:
        # Interleaved holes (a retransmitted window) keep every mark: then each slice of time is one stroke.
        breaks[1:] = (np.diff(bucket) != 0) | paused
    starts = np.flatnonzero(breaks)
    ends = np.append(starts[1:], n) - 1
    return Strokes(t_ns[starts], until[ends], np.minimum.reduceat(lo, starts), np.maximum.reduceat(hi, starts))


def thin(rows: FlowRows, limit: int) -> NDArray[np.int64]:
    """Positions of at most about `limit` rows, rare ones not counted: all rare rows, the edges of gaps, and of the rest
    what a line through each slice of time needs."""
    if len(rows) <= limit:
        return np.arange(len(rows))
    gap_ns = int((rows.t_ns[-1] - rows.t_ns[0]) * GAP_SHARE)
    keep = is_rare(rows) | gap_edges(rows.t_ns, gap_ns)
    # Each of five lines keeps up to four rows of a slice.
    buckets = max(1, limit // 20)
    for part, values in (
        (~rows.is_ack, rows.seq),
        (rows.is_ack, rows.seq),
        (rows.is_ack & (rows.size >= 0), rows.size),
        (rows.flight >= 0, rows.flight),
        (rows.rtt_ns >= 0, rows.rtt_ns),
    ):
        at = np.flatnonzero(part)
        if len(at):
            keep[at[line(rows.t_ns[at], values[at], buckets)]] = True
    return np.flatnonzero(keep)

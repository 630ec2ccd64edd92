"""Who owns an interval: from what the sender waited for (a fact) to what the time went to (a judgement)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.ledger.delivery_rate import best, paces, unresting
from wlanlens.tables import CATEGORIES
from wlanlens.tables.columns import filled

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, np.dtype[Any]]

#: Category of each state of `intervals`, before refinement. A wait for a timer is idle time whether or not the timer was
#: right to expire: the finding `spurious_timeout` says that it was not. After the last ACK of data nothing is owed to
#: anyone, and what was not captured is not known.
CATEGORY_OF_STATE = {
    "handshake": "handshake",
    "idle": "application",
    "zero_window": "receiver_window",
    "window_limited": "receiver_window",
    "delayed_ack": "delayed_ack",
    "rto_wait": "rto_wait",
    "backoff_wait": "rto_backoff",
    "loss_recovery": "loss_recovery",
    "fast_recovery": "fast_recovery",
    "slow_start": "slow_start",
    "transfer": "path",
    "closing": "unknown",
    "not_captured": "unknown",
}

#: Kinds of timeout after which nothing had to be sent again.
SPURIOUS_KINDS = ("spurious", "ack_lost")

#: A transfer stands in a queue when its mean round trip is longer than the flow's least by this: the least
#: retransmission timeout in use (Linux), so that the queue alone makes a new flow time out. Below, a queue keeps the
#: path full while windows are halved and is of use. The detector `overbuffering` has the same figure.
QUEUE_NS = 200_000_000


#: A window that fills the path: under its limit the mean round trip is longer than this many times the flow's least,
#: so that the queue holds as much as the path does ...
FULL_PATH = 2
#: ... and the path does not rest in between: data arrives at this share of the flow's best pace (of a tenth of its data,
#: `pace.best`), or ACKs come without a gap (`pace.unresting`). A larger window would only lengthen the queue, so the time
#: is not the window's. The detector `window_limited` has the same figures.
FULL_PACE = 0.8


def assign(intervals: pa.Table, timeouts: pa.Table | None) -> Array:
    """The category of each interval, as an index into `CATEGORIES`.

    By its state (`CATEGORY_OF_STATE`), with three refinements. Recovery after a timeout that was not needed is
    `spurious_recovery`. Time under the receiver's limit in which the window filled the path (`FULL_PATH`) is the
    path's: `transfer`. A transfer whose round trips are far above the flow's least (`QUEUE_NS`) is `queue`.
    """
    state, states = _codes(intervals.column("state"))
    table = np.array([CATEGORIES.index(CATEGORY_OF_STATE.get(s, "unknown")) for s in states], np.int8)
    categories: Array = table[state] if len(table) else np.zeros(0, np.int8)
    if not len(categories):
        return categories
    if timeouts is not None and timeouts.num_rows:
        _give(categories, _after_spurious(intervals, timeouts), "loss_recovery", "spurious_recovery")
    directions, rtt = _Directions(intervals), filled(intervals.column("rtt_ns"), -1)
    least = _least(intervals, directions)
    limited = np.isin(state, [i for i, s in enumerate(states) if s == "window_limited"])
    full = (least > 0) & (rtt // FULL_PATH > least) & _unresting(intervals, directions, rtt)
    _give(categories, limited & full, "receiver_window", "path")
    _give(categories, (least > 0) & (rtt - QUEUE_NS >= least), "path", "queue")
    return categories


def _give(categories: Array, which: Array, old: str, new: str) -> None:
    categories[which & (categories == CATEGORIES.index(old))] = CATEGORIES.index(new)


def _codes(column: pa.ChunkedArray) -> tuple[Array, list[str]]:
    """An enum column as codes and what they mean."""
    import pyarrow as pa

    whole = column.combine_chunks()
    whole = whole if isinstance(whole, pa.DictionaryArray) else whole.dictionary_encode()
    return np.asarray(whole.indices.to_numpy(zero_copy_only=False), np.int64), whole.dictionary.to_pylist()


def _after_spurious(intervals: pa.Table, timeouts: pa.Table) -> Array:
    """Intervals that belong to a timeout though nothing was lost."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = timeouts.column("kind").cast(pa.string())
    packets = timeouts.column("packet").filter(pc.is_in(kinds, pa.array(SPURIOUS_KINDS)))
    found = pc.is_in(intervals.column("timeout_packet"), packets.combine_chunks())
    return np.asarray(found.to_numpy(), dtype=bool)


class _Directions:
    """The rows of `intervals` by direction of a flow, each direction's in order of time."""

    def __init__(self, intervals: pa.Table) -> None:
        capture, _ = _codes(intervals.column("capture"))
        direction, _ = _codes(intervals.column("direction"))
        flow = intervals.column("flow").to_numpy()
        self.order: Array = np.lexsort((intervals.column("t_start_ns").to_numpy(), direction, flow, capture))
        c, f, d = capture[self.order], flow[self.order], direction[self.order]
        new = np.concatenate(([True], (c[1:] != c[:-1]) | (f[1:] != f[:-1]) | (d[1:] != d[:-1])))
        self._first = np.flatnonzero(new)
        #: Number of each row's direction, in that order.
        self.rank: Array = np.cumsum(new) - 1

    def fold(self, values: Array, fold: np.ufunc) -> Array:
        """Each interval's value, folded over the intervals of its direction."""
        out = np.empty_like(values)
        out[self.order] = fold.reduceat(values[self.order], self._first)[self.rank]
        return out


def _least(intervals: pa.Table, directions: _Directions) -> Array:
    """The least round trip of each interval's direction; -1 for unknown."""
    least, most = filled(intervals.column("rtt_min_ns"), -1), np.iinfo(np.int64).max
    of_flow = directions.fold(np.where(least < 0, most, least), np.minimum)
    return np.where(of_flow == most, -1, of_flow)


def _unresting(intervals: pa.Table, directions: _Directions, rtt: Array) -> Array:
    """Intervals in which the path did not rest, as far as they are under the receiver's limit."""
    order = directions.order
    start, end, acked = (intervals.column(name).to_numpy()[order] for name in ("t_start_ns", "t_end_ns", "acked_bytes"))
    pace = paces(directions.rank, start, end, acked, rtt[order])
    most = best(directions.rank, pace, acked)[directions.rank]
    out = np.empty(len(order), bool)
    out[order] = unresting(pace, most, end - start, rtt[order], FULL_PACE)
    return out

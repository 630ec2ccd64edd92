"""The category of an interval: from the state of the sender (a fact) to what the time went to (a judgement)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger import pace, shared_path
from wlanlens.ledger.air import IDLE_PART
from wlanlens.tables import CATEGORIES, FULL_PATH, SPURIOUS_KINDS
from wlanlens.tables.columns import Array, coded, encoded, filled, integers, numbered

if TYPE_CHECKING:
    import pyarrow as pa


#: Category of each state of `intervals`, before refinement. A wait for a timer is idle time whether or not the timeout
#: was spurious; the finding `spurious_timeout` reports that. After the last ACK of data no category applies.
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
    "full_path": "path",
    "full_path_window_limited": "path",
    "full_path_slow_start": "path",
    "closing": "unknown",
    "not_captured": "unknown",
    "undecided": "unknown",
}

#: States of a sender that a link is not known to limit: the air may be full of its packets all the same.
LIMITED = ("window_limited", "slow_start", "delayed_ack")

#: ... and what would limit it if the path were not full.
LIMITS = {
    "window_limited": "receiver_window",
    "full_path_window_limited": "receiver_window",
    "full_path_slow_start": "slow_start",
}

#: A part of the bytes takes no more of a full window's time on a path that they keep busy than this many times that part, and half of
#: this at least: round trips are never quite alike, and shorter ones are mostly the path's own delay.
PART_SLACK = 1.5
#: A larger part takes nearly as long as the whole anyway.
LARGEST_PART = 0.6
#: No timer of a delayed ACK is shorter: half of Linux's 40 ms, and some more.
DELAYED_ACK_NS = 25_000_000

#: Time on the path is queueing delay where the mean round trip exceeds the flow's minimum by this: the shortest
#: retransmission timeout in use (Linux), so that the queue alone makes a new flow time out. A shorter queue is useful:
#: it keeps the path full while the window is halved. The detector `overbuffering` has the same figure. For the same
#: reason a queue is useful up to the minimum round trip itself, where that is longer (RFC 5681 section 3.1 halves the window).
QUEUE_NS = 200_000_000

#: ... and where it lasts this many round trips.
QUEUE_TRIPS = 4


def assign(
    intervals: pa.Table,
    timeouts: pa.Table | None,
    recoveries: pa.Table | None = None,
    segments: pa.Table | None = None,
    flows: pa.Table | None = None,
) -> tuple[Array, Array]:
    """The category of each interval, as an index into `CATEGORIES`, and how much of it is `queue` instead, ns.

    Its state decides (`CATEGORY_OF_STATE`), with these refinements. Recovery after a spurious timeout, or fast recovery
    in which nothing had been lost, is `spurious_recovery`; fast recovery of which that is undecided is `unknown` (but see
    `_still_open`). Recovery after a spurious timeout that repaired something lost meanwhile stays `loss_recovery`.
    Time on a path that the flow does not fill (`FULL_PATH`), with round trips far above the flow's minimum before and
    after it (`QUEUE_NS`), is `queue`; with `flows`, so are round trips above the minimum while another connection of the
    same hosts keeps the path full. Slow start as fast as the flow ever filled the path is `path`, and so is slow start that waits for its
    turn nearly all the time.
    """
    state, states = _codes(intervals.column("state"))
    table = np.array([CATEGORIES.index(CATEGORY_OF_STATE.get(s, "unknown")) for s in states], np.int8)
    categories: Array = table[state] if len(table) else np.zeros(0, np.int8)
    if not len(categories):
        return categories, np.zeros(0, np.int64)
    if timeouts is not None and timeouts.num_rows:
        after = _after_spurious_timeout(intervals, timeouts)
        if segments is not None and after.any():
            after &= ~_repairing(intervals, after, segments)
        _replace(categories, after, "loss_recovery", "spurious_recovery")
    directions = _Directions(intervals)
    rtt = directions.carried(filled(intervals.column("rtt_ns"), -1))
    minimum = _min_rtt(intervals, directions)
    if recoveries is not None and recoveries.num_rows:
        _replace(categories, _in_recovery(intervals, recoveries, spurious=True), "fast_recovery", "spurious_recovery")
        undecided = _in_recovery(intervals, recoveries, spurious=None)
        if undecided.any():
            undecided &= ~_still_open(intervals, recoveries, minimum)
        _replace(categories, undecided, "fast_recovery", "unknown")
    # A path that is always busy is the limit, and its queue costs nothing.
    full = np.isin(state, [i for i, name in enumerate(states) if name in FULL_PATH])
    if "window_limited" in states:
        mine = state == states.index("window_limited")
        whole = _full_windows(intervals, directions)
        paced = _evenly_paced(intervals, directions, mine, whole) | mine & whole & _keeps_busy(
            intervals, directions, minimum
        )
        _replace(categories, paced, "receiver_window", "path")
        full |= paced
    if full.any():
        _replace(categories, _as_fast_as_full(intervals, directions, full), "slow_start", "path")
    if (categories == CATEGORIES.index("slow_start")).any():
        _replace(categories, _waits_on_path(intervals, flows, full, rtt), "slow_start", "path")
    late = (minimum > 0) & (rtt - minimum >= np.maximum(QUEUE_NS, minimum))
    queued: Array = np.zeros(len(categories), np.int64)
    if late.any():
        path = categories == CATEGORIES.index("path")
        others = _queued(intervals, directions, rtt)
        if flows is not None and full.any():
            # What does not fill the path itself waits behind what does.
            others |= 2 * shared_path.full_ns(intervals, flows, full) > _lengths(intervals)
        mine = np.flatnonzero(path & late & ~full & others)
        length = _lengths(intervals)[mine]
        # Of each round trip the least one is the path's own.
        queued[mine] = (length * (1 - minimum[mine] / rtt[mine])).astype(np.int64)
    return categories, queued


def _full_windows(intervals: pa.Table, directions: _Directions) -> Array:
    """Intervals in which the receiver's window had its full size."""
    window = integers(intervals.column("window_bytes"), -1)
    return pace.full_size(window, directions.reduce(window, np.maximum))


def _evenly_paced(intervals: pa.Table, directions: _Directions, limited: Array, full: Array) -> Array:
    """Intervals in which the receiver's window had its full size and kept a link busy."""
    acked, rtt = (integers(intervals.column(name), -1) for name in ("acked_bytes", "rtt_ns"))
    mine = directions.order[limited[directions.order]]
    out = np.zeros(len(limited), bool)
    key = np.empty(len(limited), np.int64)
    key[directions.order] = directions.rank
    end = filled(intervals.column("t_end_ns"))
    out[mine] = pace.evenly_paced(key[mine], end[mine], acked[mine], rtt[mine], full[mine])
    return out


def _keeps_busy(intervals: pa.Table, directions: _Directions, minimum: Array) -> Array:
    """Intervals in which a full window took so much longer than the shortest round trip that the path needed nearly all of the time to
    pass it: a larger one would be no faster. One that took as long as a delayed ACK may have waited for that, and so may one that
    took as long as a part of its bytes: a path passes those in a part of the time."""
    rtt, acked, window = (integers(intervals.column(name), -1) for name in ("rtt_ns", "acked_bytes", "window_bytes"))
    over = rtt - minimum
    known = (rtt > 0) & (acked > 0) & (window > 0)
    # Of each round trip.
    share = acked * np.minimum(rtt / np.maximum(_lengths(intervals), 1), 1) / np.maximum(window, 1)
    whole = over / np.maximum(PART_SLACK * share, PART_SLACK / 2)
    least = directions.reduce(np.where(known & (share <= LARGEST_PART), whole, np.inf), np.minimum)
    grows = np.isinf(least) | (least <= over)
    return np.asarray((minimum > 0) & (minimum <= rtt / IDLE_PART) & (over < DELAYED_ACK_NS) & grows)


def _as_fast_as_full(intervals: pa.Table, directions: _Directions, full: Array) -> Array:
    """Intervals in which as much was acknowledged in a time as while the flow filled the path, at its fastest: a larger window
    would be no faster."""
    rate = filled(intervals.column("acked_bytes")) / np.maximum(_lengths(intervals), 1)
    fastest = directions.reduce(np.where(full, rate, 0), np.maximum)
    return np.asarray((fastest > 0) & (rate >= (1 - pace.SAME_SHARE) * fastest))


def _waits_on_path(intervals: pa.Table, flows: pa.Table | None, full: Array, rtt: Array) -> Array:
    """Intervals in which a round trip takes so much longer than the least one before that nearly all of it is a wait for a turn on the path: a
    larger window would wait as often. In a longer queue it would get a larger share. It may be the latest round trip before them, where
    another connection of one of the hosts keeps the path full."""
    least = filled(intervals.column("rtt_min_ns"), -1)
    mine = (least > 0) & (least <= rtt / IDLE_PART) & (rtt - least < QUEUE_NS)
    shown = filled(intervals.column("acked_bytes")) > 0
    if flows is not None and full.any() and (mine & ~shown).any():
        shown |= 2 * shared_path.at_host_ns(intervals, flows, full) > _lengths(intervals)
    return np.asarray(mine & shown)


def least_rtt(intervals: pa.Table) -> dict[tuple[int, int], int]:
    """The least round trip of each connection and direction (0 for a to b) that has one, ns."""
    minimum = filled(intervals.column("rtt_min_ns"), -1)
    flow, back = filled(intervals.column("flow")), coded(intervals.column("direction"), ("a2b", "b2a"))
    known = minimum > 0
    keys, which = np.unique(np.stack((flow[known], back[known])).astype(np.int64), axis=1, return_inverse=True)
    least = np.full(keys.shape[1], np.iinfo(np.int64).max)
    np.minimum.at(least, which.ravel(), minimum[known])
    return {(int(a), int(b)): int(ns) for (a, b), ns in zip(keys.T, least, strict=True)}


def limited(intervals: pa.Table) -> Array:
    """Intervals in which a window or a delayed ACK kept the sender's data back (`LIMITED`)."""
    state, states = _codes(intervals.column("state"))
    return np.isin(state, [i for i, name in enumerate(states) if name in LIMITED])


def limits(intervals: pa.Table) -> Array:
    """What would limit the sender of each interval if the path were not full, as an index into `CATEGORIES`; -1 for nothing."""
    state, states = _codes(intervals.column("state"))
    of_state = np.array([CATEGORIES.index(LIMITS[name]) if name in LIMITS else -1 for name in states], np.int64)
    return of_state[state] if len(of_state) else state


def _replace(categories: Array, which: Array, old: str, new: str) -> None:
    categories[which & (categories == CATEGORIES.index(old))] = CATEGORIES.index(new)


def _lengths(intervals: pa.Table) -> Array:
    """How long each interval lasts, ns."""
    return np.asarray(filled(intervals.column("t_end_ns")) - filled(intervals.column("t_start_ns")))


def _codes(column: pa.ChunkedArray) -> tuple[Array, list[str]]:
    """An enum column as codes, and the text of each code."""
    whole = encoded(column)
    return np.asarray(whole.indices, np.int64), whole.dictionary.to_pylist()


def _in_recovery(intervals: pa.Table, recoveries: pa.Table, spurious: bool | None) -> Array:
    """Intervals that begin in a fast recovery of which `spurious` is this."""
    import pyarrow.compute as pc

    column = recoveries.column("spurious")
    mine = recoveries.filter(
        pc.is_null(column) if spurious is None else pc.fill_null(pc.equal(column, spurious), False)
    )
    out = np.zeros(intervals.num_rows, bool)
    if not mine.num_rows:
        return out
    keys, of = _keys(intervals, mine)
    start, begins, ends = (
        filled(t.column(n)) for t, n in ((intervals, "t_start_ns"), (mine, "t_start_ns"), (mine, "t_end_ns"))
    )
    order = np.lexsort((begins, of))
    of, begins, ends = of[order], begins[order], ends[order]
    # Both sorted by direction and time: the latest recovery of its direction that began before an interval.
    rows = np.lexsort((start, keys))
    merged = np.lexsort(
        (
            np.concatenate((np.zeros(len(of)), np.ones(len(rows)))),
            np.concatenate((begins, start[rows])),
            np.concatenate((of, keys[rows])),
        )
    )
    latest = np.maximum.accumulate(np.where(merged < len(of), merged, -1))
    is_row = merged >= len(of)
    row, last = rows[merged[is_row] - len(of)], latest[is_row]
    inside = (last >= 0) & (of[last] == keys[row]) & (start[row] < ends[last])
    out[row[inside]] = True
    return out


def _still_open(intervals: pa.Table, recoveries: pa.Table, minimum: Array) -> Array:
    """Intervals of a recovery in which the capture ends the least round trip and more after it began, and no ACK filled the hole: what
    had only been overtaken would have arrived by then. A queue keeps the order: how long it is does not count."""
    import pyarrow.compute as pc

    last = recoveries.filter(pc.equal(recoveries.column("ended_by").cast("string"), "capture_end"))
    length = _lengths(intervals)
    lasts = (minimum > 0) & (length >= minimum) & (filled(intervals.column("acked_bytes")) == 0)
    return np.asarray(lasts & _in_recovery(intervals, last, spurious=None))


def _keys(*parts: pa.Table) -> list[Array]:
    """A number for capture, flow and direction of each row, the same in each table."""
    import pyarrow as pa

    columns = [
        pa.chunked_array([c.cast(pa.string()) for p in parts for c in p.column(n).chunks], pa.string())
        for n in ("capture", "direction")
    ]
    codes = [np.asarray(encoded(c).indices, np.int64) for c in columns]
    flow = np.concatenate([filled(p.column("flow")).astype(np.int64) for p in parts])
    key = (codes[0] * 2**32 + flow) * 4 + codes[1]
    return list(np.split(key, np.cumsum([p.num_rows for p in parts])[:-1]))


def _after_spurious_timeout(intervals: pa.Table, timeouts: pa.Table) -> Array:
    """Intervals of recovery after a timeout although nothing was lost."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = timeouts.column("kind").cast(pa.string())
    # Undecided with evidence: of one of these kinds.
    either = pc.and_(pc.equal(kind, "undecided"), timeouts.column("kind_evidence").is_valid())
    mine = timeouts.filter(pc.or_(pc.is_in(kind, pa.array(SPURIOUS_KINDS)), either))
    packet = integers(intervals.column("timeout_packet"), -1)
    if not mine.num_rows or not (packet >= 0).any():
        return np.zeros(len(packet), bool)
    # A packet's number is one in its capture.
    _, of = numbered(np.concatenate(_keys(intervals, mine)))
    expiries = of[len(packet) :] << 40 | integers(mine.column("packet"))
    return np.asarray((packet >= 0) & np.isin(of[: len(packet)] << 40 | np.maximum(packet, 0), expiries))


def _repairing(intervals: pa.Table, after: Array, segments: pa.Table) -> Array:
    """Of intervals `after` a timeout, those at whose end or later in the same recovery a retransmission was needed."""
    import pyarrow.compute as pc

    out = np.zeros(len(after), bool)
    again = pc.equal(segments.column("transmission"), "retransmission")
    needed = segments.filter(pc.and_(again, pc.equal(segments.column("spurious"), False)))
    if not needed.num_rows:
        return out
    rows = np.flatnonzero(after)
    mine = intervals.take(rows)
    # A packet's number is one in its capture.
    _, of = numbered(np.concatenate(_keys(mine, needed)))
    direction, repaired = of[: len(rows)], np.sort(of[len(rows) :] << 40 | integers(needed.column("packet")))
    expiry = integers(mine.column("timeout_packet"), -1)
    recovery = direction << 40 | expiry
    _, which = np.unique(recovery, return_inverse=True)
    end = np.zeros(which.max() + 1, np.int64)
    np.maximum.at(end, which, integers(mine.column("last_packet")))
    # The last needed one of the recovery; its number is below the first packet of the intervals behind it.
    at = np.searchsorted(repaired, direction << 40 | end[which], "right") - 1
    last = np.where(at >= 0, repaired[np.maximum(at, 0)], -1)
    begins = direction << 40 | integers(mine.column("first_packet"))
    out[rows[(last > recovery) & (begins <= last)]] = True
    return out


class _Directions:
    """The rows of `intervals` by flow and direction, in order of time."""

    def __init__(self, intervals: pa.Table) -> None:
        capture, _ = _codes(intervals.column("capture"))
        direction, _ = _codes(intervals.column("direction"))
        flow = filled(intervals.column("flow"))
        self.order: Array = np.lexsort((filled(intervals.column("t_start_ns")), direction, flow, capture))
        c, f, d = capture[self.order], flow[self.order], direction[self.order]
        new = np.concatenate(([True], (c[1:] != c[:-1]) | (f[1:] != f[:-1]) | (d[1:] != d[:-1])))
        self._first = np.flatnonzero(new)
        #: Number of the direction of each row, rows in that order.
        self.rank: Array = np.cumsum(new) - 1

    def reduce(self, values: Array, function: np.ufunc) -> Array:
        """For each interval, the function over all intervals of its direction."""
        out = np.empty_like(values)
        out[self.order] = function.reduceat(values[self.order], self._first)[self.rank]
        return out

    def carried(self, values: Array) -> Array:
        """The values, each negative one replaced by the latest before it in its direction, if there is one."""
        mine, row = values[self.order], np.arange(len(values))
        start = self._first[self.rank]
        last = np.maximum.accumulate(np.where(mine >= 0, row, -1))
        out = np.empty_like(values)
        out[self.order] = np.where(last >= start, mine[np.maximum(last, 0)], mine)
        return out


def _min_rtt(intervals: pa.Table, directions: _Directions) -> Array:
    """The minimum round trip of each interval's direction; -1 for unknown."""
    minimum, none = filled(intervals.column("rtt_min_ns"), -1), np.iinfo(np.int64).max
    of_flow = directions.reduce(np.where(minimum < 0, none, minimum), np.minimum)
    return np.where(of_flow == none, -1, of_flow)


def _queued(intervals: pa.Table, directions: _Directions, rtt: Array) -> Array:
    """Intervals in a run with round trips far above the least before it, and far from even.

    A queue grows and drains. A delay that stays as it is to the end is the path's own.
    """
    order, rank = directions.order, directions.rank
    length = _lengths(intervals)[order]
    none = np.int64(2**40)
    known = np.where(rtt[order] < 0, none, np.minimum(rtt[order], none))
    # Other connections of the two hosts may have found the path without the queue.
    least = np.minimum(filled(intervals.column("rtt_min_ns"), none)[order], known)
    # A later direction's values are below all of an earlier one, so that a running minimum starts anew with each.
    base = (rank.max() - rank) * 2 * none
    before = np.minimum.accumulate(least + base) - base
    back = rank[::-1] * 2 * none
    after = (np.minimum.accumulate(known[::-1] + back) - back)[::-1]
    late = (known < none) & (known - before >= np.maximum(QUEUE_NS, before))
    # One delay, of ACKs that were held or of one segment, passes with its round trip.
    first = np.flatnonzero(np.concatenate(([True], (late[1:] != late[:-1]) | (rank[1:] != rank[:-1]))))
    run = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(late))))
    lasts = np.add.reduceat(length, first)[run] >= QUEUE_TRIPS * known
    uneven = np.maximum.reduceat(np.minimum(known, none - 1), first) - np.minimum.reduceat(after, first) >= QUEUE_NS
    out = np.empty(len(order), bool)
    out[order] = late & lasts & uneven[run]
    return out

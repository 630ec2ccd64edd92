"""The time by which a receiver delayed its ACKs, from captures at both hosts: data had arrived, nothing was under way, and its ACK had not
left. A window or slow start limits nothing meanwhile, nor does the path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.air import NONE, numbers_of, part, rows_of
from wlanlens.ledger.classify import DELAYED_ACK_NS
from wlanlens.ledger.spans import running_maximum
from wlanlens.tables.columns import Array, coded, integers, narrow

if TYPE_CHECKING:
    import pyarrow as pa

#: At the receiver's own tap an ACK that nothing delays leaves in the interrupt of its data. Where other packets passed meanwhile, an ACK that
#: left sooner than any timer may have waited in its host's queue behind them.
LEAST_NS, LEAST_BEHIND_OTHERS_NS = 5_000_000, DELAYED_ACK_NS

#: A host answers an ACK within 1 ms, and its queue keeps the answer for some ms more before the tap.
REACTION_NS = 10_000_000

#: A sender that has data has answered an ACK after so long, but for what its host's queue keeps.
REST_NS = 1_000_000

#: No receiver delays an ACK for longer (RFC 1122 section 4.2.3.2): its application was slow.
LONGEST_NS = 500_000_000

_FIN_SYN_RST = 7


class ReceiverDelays:
    """Of each direction of a connection, from the table `links`."""

    def __init__(self, links: pa.Table) -> None:
        flow = integers(links.column("flow"), -1)
        near, far = (numbers_of(links, f"{point}_t_ns") for point in ("sender", "receiver"))
        # Of a packet that one of them missed, or that was lost, the time that is known.
        seen, last = (near != NONE) & (far != NONE), np.maximum(near, far)
        first = np.where(seen, np.minimum(near, far), last)
        known = np.flatnonzero((flow >= 0) & (last != NONE))
        order = known[np.lexsort((first[known], narrow(flow[known])))]
        flow, near, far, seen, first, last = (values.take(order) for values in (flow, near, far, seen, first, last))
        back = coded(links.column("direction"), ("a2b", "b2a")).take(order)
        data = integers(links.column("payload_bytes"), 0).take(order) > 0
        reach, row = _latest(flow, last)
        gap = first[1:] - reach[:-1]
        acks = np.flatnonzero((gap >= LEAST_NS) & (gap <= LONGEST_NS) & (flow[1:] == flow[:-1])) + 1
        before = row[acks - 1]
        flags = integers(links.column("tcp_flags"), 0).take(order[acks])
        self._passed = {"flow": flow, "back": back, "data": data, "first": first, "last": last, "seen": seen}
        answers = seen[acks] & seen[before] & data[before] & ~data[acks] & (back[acks] != back[before])
        answers &= ((far > near)[acks] != (far > near)[before]) & (flags & _FIN_SYN_RST == 0)
        # A USB adapter that takes packets slowly makes the ACKs of its host wait in a queue above the tap.
        usb = numbers_of(links, "usb_t_ns").take(order[acks])
        answers &= (usb == NONE) | (usb - first[acks] > last[acks] - usb)
        # Data that follows at once had waited for the ACK; otherwise the sender had sent all.
        after = np.minimum(acks + 1, len(flow) - 1)
        answers &= (flow[after] == flow[acks]) & data[after] & (back[after] == back[before])
        answers &= first[after] - last[acks] < REACTION_NS
        acks, before = _alone_or_long(near, far, acks[answers], before[answers])
        key = 2 * flow[acks].astype(np.int64) + back[before]
        order = np.argsort(key, kind="stable")
        #: Of each: twice the connection, plus 1 for data from b to a; by that and time.
        self._key = key[order]
        self._start, self._end, self._answered = last[before][order], first[acks][order], last[acks][order]

    def __bool__(self) -> bool:
        return len(self._key) > 0

    def at_once(self, flow: Array, back: Array, t_ns: Array) -> Array:
        """Whether each ACK, that arrived then, of data in a direction, `back`, had left its host less than `LEAST_NS` after the latest data arrived."""
        out = np.zeros(len(flow), bool)
        for one in np.unique(flow).tolist():
            passed = part(self._passed, one)
            passed = rows_of(passed, passed["seen"])
            for direction in (0, 1):
                mine = np.flatnonzero((flow == one) & (back == direction))
                acks = rows_of(passed, passed["back"] != direction)
                acks = rows_of(acks, np.argsort(acks["last"], kind="stable"))
                arrivals = np.sort(passed["last"][(passed["back"] == direction) & passed["data"]])
                if not len(mine) or not len(acks["last"]) or not len(arrivals):
                    continue
                at = np.minimum(np.searchsorted(acks["last"], t_ns[mine]), len(acks["last"]) - 1)
                left = acks["first"][at]
                data = np.searchsorted(arrivals, left, side="right") - 1
                known = (acks["last"][at] == t_ns[mine]) & (data >= 0)
                out[mine] = known & (left - arrivals[np.maximum(data, 0)] < LEAST_NS)
        return out

    def any_in(self, flow: Array, back: Array, start: Array, end: Array) -> Array:
        """Whether an ACK was delayed in each of some intervals; `back`: 0 for data from a to b."""
        low, high = self._overlapping(flow, back, start, end)
        return low < high

    def cut(
        self, flow: Array, back: Array, start: Array, end: Array, category: Array, some: Array, delayed: int
    ) -> tuple[Array, Array, Array, Array]:
        """Intervals, some of them cut where ACKs were delayed: row, start, end and category of each part, which is `delayed` there."""
        low, high = self._overlapping(flow, back, start, end)
        count = np.where(some, high - low, 0)
        # Before, in and after each delay.
        parts = 2 * count + 1
        row = np.repeat(np.arange(len(parts)), parts)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts)
        inside, delay = nth % 2 == 1, low[row] + nth // 2
        padded_start, padded_end = np.append(self._start, 0), np.append(self._end, 0)
        starts, ends, before = padded_start[delay], padded_end[delay], padded_end[delay - 1]
        a = np.where(inside, np.maximum(starts, start[row]), np.where(nth == 0, start[row], before))
        b = np.where(inside, np.minimum(ends, end[row]), np.where(nth == 2 * count[row], end[row], starts))
        kept = a < b
        row = row[kept]
        return row, a[kept], b[kept], np.where(inside[kept], delayed, category[row]).astype(category.dtype)

    def _overlapping(self, flow: Array, back: Array, start: Array, end: Array) -> tuple[Array, Array]:
        return _overlapping(self._key, self._start, self._end, 2 * flow.astype(np.int64) + back, start, end)

    def leave_out_idle(self, flow: Array, back: Array, start: Array, end: Array) -> None:
        """Leave out delays whose ACK found the sender idle, by the times in which it was: it had sent all."""
        then = self._answered + REST_NS
        low, high = _overlapping(self._key, then, then + 1, 2 * flow.astype(np.int64) + back, start, end)
        steps = np.bincount(low, minlength=len(then) + 1) - np.bincount(high, minlength=len(then) + 1)
        kept = np.cumsum(steps)[:-1] == 0
        self._key, self._start, self._end, self._answered = (
            values[kept] for values in (self._key, self._start, self._end, self._answered)
        )


def _overlapping(
    own: Array, own_start: Array, own_end: Array, key: Array, start: Array, end: Array
) -> tuple[Array, Array]:
    """The first of some intervals, in order of key and time, that overlap each of others, and the one after the last."""
    keys, times = np.concatenate((key, key, own, own)), (start, end, own_start, own_end)
    t_ns = np.concatenate(times)
    order = np.lexsort((t_ns, keys))
    new = (np.diff(keys[order]) != 0) | (np.diff(t_ns[order]) != 0)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.append(0, np.cumsum(new))
    begins, stops, starts, ends = np.split(rank, np.cumsum([len(part) for part in times])[:-1])
    return np.searchsorted(ends, begins, "right"), np.searchsorted(starts, stops, "left")


def _alone_or_long(near: Array, far: Array, acks: Array, data: Array) -> tuple[Array, Array]:
    """Of ACKs and the data before them, those between which nothing passed where the data arrived, or a long time."""
    at_far = (far > near)[data]
    kept = np.where(at_far, far[acks] - far[data], near[acks] - near[data]) >= LEAST_BEHIND_OTHERS_NS
    for times, here in ((near, ~at_far), (far, at_far)):
        short = np.flatnonzero(here & ~kept)
        passed = np.sort(times) if len(short) else times
        until, since = times[acks[short]], times[data[short]]
        kept[short] = np.searchsorted(passed, until) <= np.searchsorted(passed, since, "right")
    return acks[kept], data[kept]


def _latest(flow: Array, last: Array) -> tuple[Array, Array]:
    """The latest time up to each row of its connection, and the row that has it."""
    if not len(flow):
        return last, last
    number = np.cumsum(np.append(0, np.diff(flow) != 0))
    height = last - last.min()
    length = int(height.max()) + 1
    if length > 2**62 // (int(number[-1]) + 1):
        # Ranks order as the times do.
        height = np.unique(last, return_inverse=True)[1].ravel()
        length = len(last)
    _, row = running_maximum(height + number * length)
    return last[row], row

"""The time by which a receiver delayed its ACKs, from captures at both hosts: data had arrived, nothing was under way, and its ACK had not
left. A window or slow start limits nothing meanwhile, nor does the path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.spans import Spans
from wlanlens.tables.columns import Array, coded, integers, narrow

if TYPE_CHECKING:
    import pyarrow as pa

#: An ACK that passes sooner may have waited in its host's queue: half of the shortest timer in use (Linux, 40 ms) and some more.
LEAST_NS = 25_000_000

#: No receiver delays an ACK for longer (RFC 1122 section 4.2.3.2): its application was slow.
LONGEST_NS = 500_000_000

_NONE = -(2**62)
_FIN_SYN_RST = 7


class ReceiverDelays:
    """Of each direction of a connection, from the table `links`."""

    def __init__(self, links: pa.Table) -> None:
        flow = integers(links.column("flow"), -1)
        near, far = (integers(links.column(f"{point}_t_ns"), _NONE) for point in ("sender", "receiver"))
        # Of a packet that one of them missed, or that was lost, the time that is known.
        seen, last = (near != _NONE) & (far != _NONE), np.maximum(near, far)
        first = np.where(seen, np.minimum(near, far), last)
        order = np.lexsort((first, narrow(flow)))
        order = order[np.searchsorted(flow[order], 0) :]
        order = order[last[order] != _NONE]
        flow, near, far, seen, first, last = (values[order] for values in (flow, near, far, seen, first, last))
        back = coded(links.column("direction"), ("a2b", "b2a"))[order]
        data = integers(links.column("payload_bytes"), 0)[order] > 0
        reach, row = _latest(flow, last)
        gap = first[1:] - reach[:-1]
        acks = np.flatnonzero((gap >= LEAST_NS) & (gap <= LONGEST_NS) & (flow[1:] == flow[:-1])) + 1
        before = row[acks - 1]
        flags = integers(links.column("tcp_flags"), 0).take(order[acks])
        answers = seen[acks] & seen[before] & data[before] & ~data[acks] & (back[acks] != back[before])
        answers &= ((far > near)[acks] != (far > near)[before]) & (flags & _FIN_SYN_RST == 0)
        # Data that follows at once had waited for the ACK; otherwise the sender had sent all.
        after = np.minimum(acks + 1, len(flow) - 1)
        answers &= (flow[after] == flow[acks]) & data[after] & (back[after] == back[before])
        answers &= first[after] - last[acks] < LEAST_NS
        acks, before = acks[answers], before[answers]
        self._key = 2 * flow[acks].astype(np.int64) + back[before]
        self._start, self._end = last[before], first[acks]

    def __bool__(self) -> bool:
        return len(self._key) > 0

    def has(self, flow: Array, back: Array) -> Array:
        """Whether each direction has any; `back`: 0 for a to b."""
        return np.isin(2 * flow.astype(np.int64) + back, self._key)

    def explain(self, flow: Array, back: Array, start: Array, end: Array) -> Array:
        """Whether an ACK was delayed in each of some intervals."""
        out = np.zeros(len(flow), bool)
        key = 2 * flow.astype(np.int64) + back
        for one in np.unique(key):
            mine, some = key == one, self._key == one
            # Delays of one direction are in order, and none overlaps another.
            at = np.searchsorted(self._end[some], start[mine], "right")
            begin = np.append(self._start[some], np.iinfo(np.int64).max)
            out[mine] = begin[at] < end[mine]
        return out

    def full(self, flow: int, back: int) -> Spans:
        """When the ACKs of one direction's data were delayed."""
        mine = self._key == 2 * flow + back
        return Spans.of(self._start[mine], self._end[mine])


def _latest(flow: Array, last: Array) -> tuple[Array, Array]:
    """The latest time up to each row of its connection, and the row that has it."""
    if not len(flow):
        return last, last
    number = np.cumsum(np.append(0, np.diff(flow) != 0))
    base = number * np.int64(max(int(last.max()) - int(last.min()), 0) + 1)
    height = last - last.min() + base
    most = np.maximum.accumulate(height)
    row = np.maximum.accumulate(np.where(height == most, np.arange(len(flow)), 0))
    return last[row], row

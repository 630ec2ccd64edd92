"""When the path between two captured hosts was full of a connection's data: the times of each packet at both show where it waited.

More data could not have been sent faster then, and a window or slow start limits nothing. While it was not full, a window without room did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.air import IDLE_PART, NEVER, NONE, numbers_of, part, rows_of
from wlanlens.ledger.full_links import FullTimes, answered_within
from wlanlens.ledger.paced_line import paced_line
from wlanlens.ledger.spans import Spans
from wlanlens.tables.columns import Array, coded, narrow

if TYPE_CHECKING:
    import pyarrow as pa

#: A queue is useful up to so much, the shortest retransmission timeout in use less what ticks round, or up to a round trip without it.
QUEUE_NS = 150_000_000


#: Ethernet, IPv4 and TCP without options: a packet without payload takes a time, too.
HEADER_BYTES = 54


class Line:
    """The data of connections between two hosts that were both captured, from the table `links`."""

    def __init__(self, links: pa.Table) -> None:
        near, far = (numbers_of(links, f"{point}_t_ns") for point in ("sender", "receiver"))
        flow, size = numbers_of(links, "flow"), numbers_of(links, "payload_bytes")
        first, last = np.minimum(near, far), np.maximum(near, far)
        here = (flow != NONE) & (last != NONE)
        # What crosses the air or a bus that was captured shows there where it was.
        below = np.zeros(len(flow), bool)
        for name in ("air_t_ns", "usb_packet"):
            if links.column(name).null_count < len(flow):
                below |= numbers_of(links, name) != NONE
        if below.any():
            here &= ~np.isin(flow, np.unique(flow[below]))
        columns = {"first": first, "last": last, "bytes": np.maximum(size, 0) + HEADER_BYTES, "data": size > 0}
        seen, there = here & (first != NONE), far > near
        # Of packets from the one host, and from the other.
        self._lines = [paced_line(rows_of(columns, seen & (there == which))) for which in (False, True)]
        if not any(self._lines):
            here[:] = False
        order = np.flatnonzero(here)
        order = order[np.argsort(narrow(flow[order]), kind="stable")]
        columns |= {"flow": flow, "there": there, "back": coded(links.column("direction"), ("a2b", "b2a"))}
        rows, seen = rows_of(columns, order), seen[order]
        self._end = int(rows["last"].max(initial=NONE))
        self._rows, self._missed = (
            (rows, rows_of(rows, ~seen)) if seen.all() else (rows_of(rows, seen), rows_of(rows, ~seen))
        )
        self._full: dict[tuple[int, int], FullTimes | None] = {}
        #: Connections of which a packet may have been in a queue that is longer than useful.
        self._late = np.unique(np.append(self._rows["flow"][self._takes() > QUEUE_NS], self._missed["flow"]))

    def _takes(self) -> Array:
        """What each packet took longer than one that waits for nothing, ns; 0 on a line that shows no pace."""
        rest = np.array([NEVER if line is None else line.rest_ns for line in self._lines])
        over = self._rows["last"] - self._rows["first"] - rest[self._rows["there"].astype(int)]
        return np.asarray(np.maximum(over, 0))

    def full(self, flow: int, back: int) -> FullTimes | None:
        """When the line had data of one direction, but for gaps of a tenth of the time in which it sent some before each, until an answer to
        the first of it was back.

        None if no line of one pace shows.
        """
        which = flow, back
        if which not in self._full:
            self._full[which] = self._full_of(flow, back)
        return self._full[which]

    def _full_of(self, flow: int, back: int) -> FullTimes | None:
        mine = part(self._rows, flow)
        of, answers = (rows_of(mine, which) for which in (mine["back"] == back, mine["back"] != back))
        line = self._lines[int(of["there"][0])] if len(of["there"]) else None
        if line is None or not len(answers["first"]):
            return None
        data = rows_of(of, of["data"])
        missed = part(self._missed, flow)
        missed = rows_of(missed, (missed["back"] == back) & missed["data"])
        begin = np.concatenate((data["first"], missed["last"]))
        arrival = np.concatenate((data["last"], np.full(len(missed["last"]), NEVER)))
        left = np.minimum(np.concatenate((data["last"] - line.rest_ns, line.left(missed))), self._end)
        own = np.concatenate((data["bytes"] * line.ns_per_byte, np.zeros(len(missed["last"]))))
        stayed = left > begin
        begin, arrival = begin[stayed], arrival[stayed]
        spans = Spans.of(begin, left[stayed])
        within = np.searchsorted(spans.start, begin, side="right") - 1
        spans = spans.joined_over(IDLE_PART, np.bincount(within, own[stayed], len(spans.start)))
        whole, first = answered_within(spans, begin, arrival, answers["first"], answers["last"])
        whole |= (first == NEVER) & (spans.end == self._end) & (self._end - spans.start > 2 * line.rest_ns)
        full = Spans(spans.start[whole], spans.end[whole])
        return FullTimes(full, full)

    def queues(
        self, flow: Array, back: Array, start: Array, end: Array, path: Array, origin: Array, queued: Array
    ) -> Array:
        """Of each `origin` of some times how much was `queue`, ns: of those on the path as the line shows it, of others `queued`."""
        out = queued.copy()
        some = path & np.isin(flow, np.append(self._late, flow[queued[origin] > 0]))
        for one in np.unique(np.stack((flow[some], back[some])).astype(np.int64), axis=1).T:
            full = self.full(int(one[0]), int(one[1]))
            if full is not None:
                all_of = origin[(flow == one[0]) & (back == one[1])]
                mine = np.flatnonzero(some & (flow == one[0]) & (back == one[1]))
                out[all_of] = 0
                np.add.at(out, origin[mine], self.queued_ns(int(one[0]), full.sure, start[mine], end[mine]))
        return out

    def queued_ns(self, flow: int, full: Spans, start: Array, end: Array) -> Array:
        """How much of some times packets of a connection waited behind those of others, in a queue longer than useful, ns.

        That is the share of its packets under way that waited. While the line is full of its own data the queue costs nothing.
        """
        seen, missed = part(self._rows, flow), part(self._missed, flow)
        waits, sends, flies = [], [], []
        for there, line in enumerate(self._lines):
            if line is None:
                continue
            mine = rows_of(seen, seen["there"] == there)
            begun = line.begun(mine)
            waits.append((mine["first"], begun))
            sends.append((begun, mine["last"] - line.rest_ns))
            flies.append((mine["first"], mine["last"]))
            # Of a packet that did not arrive the direction shows by others of its own.
            backs = np.unique(mine["back"])
            lost = rows_of(missed, np.isin(missed["back"], backs))
            left = np.minimum(line.left(lost), self._end)
            waits.append((lost["last"], left))
            flies.append((lost["last"], left))
        if not waits:
            return np.zeros(len(start), np.int64)
        useful = max(QUEUE_NS, sum(line.rest_ns for line in self._lines if line is not None))
        begin, begun = (np.concatenate(times) for times in zip(*waits, strict=True))
        kept = begun - begin > useful
        waiting = begin[kept], begun[kept]
        flying = tuple(np.concatenate(times) for times in zip(*flies, strict=True))
        before = Spans.of(*waiting)
        on_line = Spans.of(*(np.concatenate(times) for times in zip(*sends, strict=True)))
        edges = np.unique(
            np.concatenate((*waiting, *flying, on_line.start, on_line.end, full.start, full.end, start, end))
        )
        low = edges[:-1]
        inside = before.holds(low) & ~on_line.holds(low) & ~full.holds(low)
        share = _count(waiting, low) / np.maximum(_count(flying, low), 1)
        total = np.append(0, np.cumsum(np.where(inside, share, 0) * np.diff(edges)))
        at = [total[np.searchsorted(edges, t)] for t in (start, end)]
        return np.asarray((at[1] - at[0]).astype(np.int64))


def _count(spans: tuple[Array, ...], t_ns: Array) -> Array:
    """How many of some spans, their starts and their ends, hold each time."""
    begun, over = (np.searchsorted(np.sort(times), t_ns, side="right") for times in spans)
    return np.asarray(begun - over)

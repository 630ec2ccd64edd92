"""What carried a flow's packets while the path carried it: the USB bus, the air, or the path that no capture shows.

With several captures the time of the ledger's category `path` is divided by where the connection's packets were: on the
air (`air_useful`: the attempt that arrived, its acknowledgment and the access before it; `air_retries`: from a packet's
first attempt to its last), waiting for the air while others had it (`air_others`), or on the USB bus (`usb`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables import CATEGORIES, POINTS
from wlanlens.tables.columns import filled, find

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, np.dtype[Any]]

#: The time is divided in pieces of this length; inside one the order of the categories is not kept. A second of a busy channel
#: has a thousand frames, and a ledger that names each would be longer than the capture.
PIECE_NS = 100_000_000

#: Before a first attempt a station waits for DIFS and up to 31 slots of 20 us (IEEE 802.11b: 15.2, 18.3.3), the longest of
#: all PHYs: an idle channel for so long is the price of access. For longer, nothing was ready to be sent.
ACCESS_NS = 670_000

#: The categories in the order in which they are laid into a piece; what is left stays `path`.
_LAID = ("usb", "air_others", "air_retries", "air_useful", "path")


@dataclass(frozen=True)
class Spans:
    """Stretches of time, joined where they overlap, in order."""

    start: Array
    end: Array

    @classmethod
    def of(cls, start: Array, end: Array) -> Spans:
        """From any; those without length are left out."""
        kept = end > start
        start, end = start[kept], end[kept]
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order]) if len(order) else end
        begins = np.append(True, start[1:] > reach[:-1]) if len(start) else np.zeros(0, bool)
        last = np.append(np.flatnonzero(begins)[1:] - 1, len(start) - 1) if len(start) else np.zeros(0, np.int64)
        return cls(start[begins], reach[last])

    def holds(self, t_ns: Array) -> Array:
        """Whether each time is in one of them."""
        at = np.searchsorted(self.start, t_ns, side="right") - 1
        return (at >= 0) & (t_ns < self.end[np.maximum(at, 0)]) if len(self.start) else np.zeros(len(t_ns), bool)

    def before(self, t_ns: Array) -> Array:
        """How much of them is before each time, ns."""
        if not len(self.start):
            return np.zeros(len(t_ns), np.int64)
        total = np.concatenate(([0], np.cumsum(self.end - self.start)))
        at = np.searchsorted(self.start, t_ns, side="right")
        behind = np.maximum(self.end[np.maximum(at - 1, 0)] - t_ns, 0)
        return np.asarray(np.where(at > 0, total[at] - behind, 0))

    def ended(self, t_ns: Array) -> Array:
        """When the latest of them before each time was over; a time in one is that time itself."""
        at = np.searchsorted(self.start, t_ns, side="left") - 1
        least = np.iinfo(np.int64).min // 2
        return (
            np.where(at >= 0, np.minimum(self.end[np.maximum(at, 0)], t_ns), least)
            if len(self.start)
            else t_ns * 0 + least
        )


class Carriers:
    """Where the packets of each connection were, by captures of the air and of the bus."""

    def __init__(self, below: Mapping[str, pa.Table]) -> None:
        links = below["links"].filter(_valid(below["links"], "flow"))
        self._links = {
            name: _whole(links, name) for name in ("flow", "air_packet", "air_t_ns", "air_last_ns", "usb_packet")
        }
        times = np.stack([_whole(links, f"{point}_t_ns") for point in POINTS])
        self._links["first"] = np.where(times == _NONE, np.iinfo(np.int64).max, times).min(axis=0)
        self._air(below["frames"], below["exchanges"])
        self._urbs = {name: _whole(below["urbs"], name) for name in ("ip_packet", "t_submit_ns", "t_complete_ns")}
        self._urbs = _rows(self._urbs, self._urbs["ip_packet"] != _NONE)
        order = np.argsort(self._links["flow"], kind="stable")
        self._links = _rows(self._links, order)
        order = np.argsort(self._urbs["ip_packet"], kind="stable")
        self._urbs = _rows(self._urbs, order)

    def _air(self, frames: pa.Table, exchanges: pa.Table) -> None:
        number, t = _whole(frames, "packet"), _whole(frames, "t_ns")
        airtime = np.nan_to_num(np.asarray(frames.column("airtime_us").to_numpy(), float)) * 1000
        length = airtime.astype(np.int64)
        mine = {
            name: _whole(exchanges, name) for name in ("flow", "last_packet", "t_first_ns", "t_last_ns", "t_ack_ns")
        }
        mine |= {"ack_packet": _whole(exchanges, "ack_packet")}
        mine = _rows(mine, (mine["flow"] != _NONE) & (mine["t_last_ns"] != _NONE) & (mine["t_ack_ns"] != _NONE))
        data, ack = (_at(number, length, mine[name]) for name in ("last_packet", "ack_packet"))
        # A stamp is of a frame's begin or of its end: between those of a frame and of its acknowledgment lies one of both.
        apart = mine["t_ack_ns"] - mine["t_last_ns"]
        ends = bool(np.median(np.abs(apart - ack)) <= np.median(np.abs(apart - data))) if len(apart) else True
        shift = int(ends)
        self.busy = Spans.of(t - length * shift, t + length * (1 - shift))
        # The first attempt may be damaged, and is in no exchange then.
        self._links["begun"] = self._links["air_t_ns"] - _at(number, length, self._links["air_packet"]) * shift
        self._useful = {
            "flow": mine["flow"],
            "start": mine["t_last_ns"] - data * shift,
            "end": mine["t_ack_ns"] + ack * (1 - shift),
            "retried": mine["t_first_ns"] < mine["t_last_ns"],
        }
        order = np.argsort(self._useful["flow"], kind="stable")
        self._useful = _rows(self._useful, order)

    def seconds(self, flow: int, start: Array, end: Array) -> Array:
        """ns of each category of `_LAID` in pieces of time, which follow one another: one row a piece."""
        useful, retries, waiting, bus = self._of(flow)
        edges = [start, end, *(edge for spans in (useful, retries, waiting, bus) for edge in (spans.start, spans.end))]
        bounds = np.unique(np.clip(np.concatenate(edges), start[0], end[-1]))
        low, high = bounds[:-1], bounds[1:]
        piece = np.searchsorted(start, low, side="right") - 1
        inside = low < end[piece]
        low, high, piece = low[inside], high[inside], piece[inside]
        length = high - low
        on_air, again = useful.holds(low), retries.holds(low)
        free = ~on_air & ~again
        others = np.where(free & waiting.holds(low), self.busy.before(high) - self.busy.before(low), 0)
        on_bus = np.where(free & bus.holds(low), length - others, 0)
        out = np.zeros((len(start), len(_LAID)), np.int64)
        spent = {
            "usb": on_bus,
            "air_others": others,
            "air_retries": np.where(again & ~on_air, length, 0),
            "air_useful": np.where(on_air, length, 0),
        }
        for name, values in spent.items():
            np.add.at(out[:, _LAID.index(name)], piece, values)
        out[:, _LAID.index("path")] = end - start - out.sum(axis=1)
        return out

    def knows(self, flow: int) -> bool:
        """Whether a packet of a connection was seen on the air or on the bus."""
        rows = _part(self._links, flow)
        return bool(((rows["air_t_ns"] != _NONE) | (rows["usb_packet"] != _NONE)).any())

    def _of(self, flow: int) -> tuple[Spans, Spans, Spans, Spans]:
        """Of one connection: useful time on the air, its retries, waiting for the air, on the bus."""
        links, mine = _part(self._links, flow), _part(self._useful, flow)
        heard = links["air_t_ns"] != _NONE
        first, air = links["first"][heard], links["air_t_ns"][heard]
        last = np.where(links["air_last_ns"][heard] == _NONE, air, links["air_last_ns"][heard])
        waiting = Spans.of(first, last)
        begun = np.maximum(self.busy.ended(mine["start"]), mine["start"] - ACCESS_NS)
        ready = waiting.holds(begun) & ~mine["retried"]
        useful = Spans.of(np.where(ready, begun, mine["start"]), mine["end"])
        at = np.searchsorted(self._urbs["ip_packet"], links["usb_packet"])
        hit = np.flatnonzero(at < len(self._urbs["ip_packet"]))
        hit = hit[self._urbs["ip_packet"][at[hit]] == links["usb_packet"][hit]]
        # What comes to the host waits in a transfer that was submitted long before: only what leaves it is on the bus.
        out = hit[links["first"][hit] <= self._urbs["t_submit_ns"][at[hit]]] if len(hit) else hit
        out = out[self._urbs["t_complete_ns"][at[out]] != _NONE]
        bus = Spans.of(self._urbs["t_submit_ns"][at[out]], self._urbs["t_complete_ns"][at[out]])
        retried = last > air
        return useful, Spans.of(links["begun"][heard][retried], last[retried]), waiting, bus


def divide(
    flow: Array, start: Array, end: Array, category: Array, below: Mapping[str, pa.Table]
) -> tuple[Array, Array, Array, Array]:
    """Intervals with `path` divided among what carried it: of each the row it comes from, start, end and category.

    Rows stand in order of connection, direction and time, and so do the results; no nanosecond is lost.
    """
    path = CATEGORIES.index("path")
    mine = np.flatnonzero(category == path)
    carriers = Carriers(below) if len(mine) else None
    parts = [(row, start[row], end[row], category[row]) for row in (np.flatnonzero(category != path),)]
    breaks = np.flatnonzero((np.diff(flow[mine]) != 0) | (start[mine][1:] < end[mine][:-1])) + 1
    for rows in np.split(mine, breaks):
        if carriers is None or not len(rows):
            continue
        if not carriers.knows(int(flow[rows[0]])):
            parts.append((rows, start[rows], end[rows], category[rows]))
            continue
        row, a, b = _pieces(rows, start, end)
        lengths = carriers.seconds(int(flow[rows[0]]), a, b)
        until = a[:, None] + np.cumsum(lengths, axis=1)
        at, which = np.nonzero(lengths)
        codes = np.array([CATEGORIES.index(name) for name in _LAID], category.dtype)
        parts.append((row[at], (until - lengths)[at, which], until[at, which], codes[which]))
    row, a, b, code = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((b, a, row))
    return row[order], a[order], b[order], code[order]


def _pieces(rows: Array, start: Array, end: Array) -> tuple[Array, Array, Array]:
    """Intervals in pieces of `PIECE_NS` at most: row, start and end of each; those without length are none."""
    count = -(-(end[rows] - start[rows]) // PIECE_NS)
    row = np.repeat(rows, count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    a = start[row] + nth * PIECE_NS
    return row, a, np.minimum(a + PIECE_NS, end[row])


_NONE = -(2**62)


def _whole(table: pa.Table, name: str) -> Array:
    """A column as whole numbers; `_NONE` for null."""
    import pyarrow as pa

    return filled(table.column(name).cast(pa.int64()), _NONE)


def _valid(table: pa.Table, name: str) -> Any:
    import pyarrow.compute as pc

    return pc.is_valid(table.column(name))


def _rows(columns: dict[str, Array], which: Array) -> dict[str, Array]:
    return {name: values[which] for name, values in columns.items()}


def _part(columns: dict[str, Array], flow: int) -> dict[str, Array]:
    """The rows of one connection, of columns in its order."""
    low, high = np.searchsorted(columns["flow"], [flow, flow + 1])
    return {name: values[low:high] for name, values in columns.items()}


def _at(keys: Array, values: Array, wanted: Array) -> Array:
    """The value of each key; 0 for one that is not there."""
    at = find(keys, wanted)
    return np.where(at >= 0, values[at], 0) if len(keys) else wanted * 0

"""When the air is full of one connection, or of all together, by the frames on it alone.

Without other captures nothing shows since when a packet waits for the air: it does where the channel is idle for no longer than its access takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.air import ACCESS_NS, IDLE_PART, NONE, Air, numbers_of, part, rows_of
from wlanlens.ledger.classify import DELAYED_ACK_NS
from wlanlens.ledger.full_links import FullTimes
from wlanlens.ledger.spans import Spans
from wlanlens.tables.columns import Array, coded

if TYPE_CHECKING:
    import pyarrow as pa

_DIRECTIONS = ("a2b", "b2a")


class FullAir:
    """The exchanges of each connection on the air; `rtt_ns`: its least round trip, by number and direction, 0 for a to b; `flows`: its hosts.

    `links`: with more captures those show better when the air is full of one connection.
    """

    def __init__(
        self,
        air: Air,
        exchanges: pa.Table,
        rtt_ns: Mapping[tuple[int, int], int],
        flows: pa.Table | None,
        links: pa.Table | None = None,
    ) -> None:
        self._rtt_ns, self._alone = rtt_ns, links is None
        columns = {
            name: numbers_of(exchanges, name)
            for name in ("flow", "first_packet", "last_packet", "ack_packet", "t_first_ns", "t_last_ns", "t_ack_ns")
        }
        columns["back"] = coded(exchanges.column("direction"), _DIRECTIONS).astype(np.int64)
        columns["data"] = coded(exchanges.column("carries"), ("tcp_data",)).astype(np.int64) == 0
        columns = rows_of(
            columns, (columns["flow"] != NONE) & (columns["t_first_ns"] != NONE) & (columns["t_ack_ns"] != NONE)
        )
        columns["begin"] = columns["t_first_ns"] - air.length_of(columns["first_packet"]) * air.shift
        columns["end"] = air.end_of(columns)
        columns["up"] = air.goes_up(columns["first_packet"])
        self._exchanges = rows_of(columns, np.lexsort((columns["begin"], columns["flow"])))
        self._busy, self._free = air.busy, air.free
        self._beyond_ns = {} if flows is None else least_beyond(self._exchanges, rtt_ns, flows)
        # Its bus takes time, too, before a station's packet waits for the air.
        for flow in () if links is None else over_usb(links, columns["first_packet"][columns["up"]]):
            self._beyond_ns.pop(flow, None)

    def full(self, flow: int, back: int) -> FullTimes | None:
        """When more data of a connection would only have waited for the air, for a round trip at least and until data is answered."""
        mine = part(self._exchanges, flow)
        begin, end = mine["begin"], mine["end"]
        data, answer = mine["data"] & (mine["back"] == back), mine["back"] != back
        trip = self._rtt_ns.get((flow, back), 0)
        if not trip or not data.any() or not answer.any():
            return None
        both = (self._of_all(flow, mine), *((self._of_one(mine),) if self._alone else ()))
        spans = [_answered(full, trip, begin, end, data, answer) for full in both]
        full = Spans.of(*(np.concatenate([getattr(one, edge) for one in spans]) for edge in ("start", "end")))
        # What opens the connection waits for the answer of the other end, however full the air is.
        full = Spans.of(np.maximum(full.start, _opened(end, answer)), full.end)
        return FullTimes(full, full)

    def _of_one(self, mine: dict[str, Array]) -> Spans:
        """When the air had a packet of the connection, but for gaps of a tenth of the time before each. Others' frames between two of its own
        count as its wait for the air.
        """
        begin, reach = mine["begin"], np.maximum.accumulate(mine["end"])
        idle = self._busy.outside(reach[:-1], begin[1:])
        return _spans(begin, reach, idle > ACCESS_NS).joined_over(IDLE_PART)

    def _of_all(self, flow: int, mine: dict[str, Array]) -> Spans:
        """When all stations together kept the air busy: each packet waited for its turn, but while it was beyond the access point."""
        begin, reach, up = mine["begin"], np.maximum.accumulate(mine["end"]), mine["up"]
        beyond = self._beyond_ns.get(flow)
        if not beyond:
            return Spans(begin[:0], begin[:0])
        gap, free = begin[1:] - reach[:-1], self._free.inside(reach[:-1], begin[1:])
        # A station may delay its ACK.
        delays = ~up[:-1] & up[1:] & mine["data"][:-1] & ~mine["data"][1:] & (gap >= DELAYED_ACK_NS)
        spans = _spans(begin, reach, delays | (free * IDLE_PART > gap))
        turns = np.searchsorted(begin[1:][up[:-1] & ~up[1:]], np.stack((spans.start, spans.end)))
        # On a channel that was never free for as long, the least round trip waited, too.
        alone = self._free.inside(begin[:1], reach[-1:])
        most = beyond * (IDLE_PART if alone[0] >= beyond else 2)
        waits = (turns[1] - turns[0]) * most <= spans.end - spans.start
        return Spans(spans.start[waits], spans.end[waits])


def least_beyond(exchanges: dict[str, Array], rtt_ns: Mapping[tuple[int, int], int], flows: pa.Table) -> dict[int, int]:
    """The least round trip of each connection of a station, over all connections of the host beyond its access point, ns."""
    columns = (flows.column(name).to_pylist() for name in ("flow", "direction", "ip_dst"))
    to = {(flow, _DIRECTIONS.index(direction)): host for flow, direction, host in zip(*columns, strict=True)}
    up = exchanges["up"]
    ways = np.unique(np.stack((exchanges["flow"][up], exchanges["back"][up])), axis=1).T.tolist()
    number_of_ways = Counter(flow for flow, _ in ways)
    # Between two stations both directions go up.
    beyond = {flow: to[flow, back] for flow, back in ways if number_of_ways[flow] == 1 and (flow, back) in to}
    least: dict[str, int] = {}
    for (flow, _), ns in rtt_ns.items():
        if flow in beyond:
            least[beyond[flow]] = min(ns, least.get(beyond[flow], ns))
    return {flow: least[host] for flow, host in beyond.items() if host in least}


def over_usb(links: pa.Table, packets: Array) -> set[int]:
    """Connections of which the captured bus carried a packet of these frames."""
    sent = np.isin(numbers_of(links, "air_packet"), packets) & (numbers_of(links, "usb_packet") != NONE)
    return set(numbers_of(links, "flow")[sent].tolist())


def _spans(begin: Array, reach: Array, apart: Array) -> Spans:
    """From the begin of each exchange that is `apart` from the one before to the reach of the last one before the next such."""
    first: Array = np.append(True, apart)
    last = np.append(np.flatnonzero(first)[1:] - 1, len(begin) - 1)
    return Spans(begin[first], reach[last])


def _opened(end: Array, answer: Array) -> int:
    """When the first answer of the other end has been on the air, once or, from station to station, twice: up to the packet that follows it."""
    first = int(np.argmax(answer))
    later = np.flatnonzero(~answer[first:])
    return int(end[first : first + later[0] if len(later) else None].max())


def _answered(spans: Spans, trip: int, begin: Array, end: Array, data: Array, answer: Array) -> Spans:
    """Those that last for a round trip after their first data, which is answered in them."""
    whole = np.searchsorted(spans.start, begin, side="right") - 1
    inside = spans.holds(begin)
    first = np.full(len(spans.start), np.iinfo(np.int64).max)
    np.minimum.at(first, whole[data & inside], end[data & inside])
    answered = np.zeros(len(first), bool)
    some = answer & inside
    answered[whole[some][begin[some] >= first[whole[some]]]] = True
    kept = answered & (spans.end - trip >= first)
    return Spans(spans.start[kept], spans.end[kept])

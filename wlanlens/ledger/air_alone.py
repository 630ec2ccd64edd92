"""When the air is full of one connection, from a capture of the air alone.

No other capture shows since when a packet waits for the air: it does where the channel is idle for no longer than its access takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.air import ACCESS_NS, IDLE_PART, NONE, Air, numbers_of, part, rows_of
from wlanlens.ledger.full_links import FullTimes
from wlanlens.ledger.spans import Spans
from wlanlens.tables.columns import Array, coded

if TYPE_CHECKING:
    import pyarrow as pa

_DIRECTIONS = ("a2b", "b2a")


class AirAlone:
    """The exchanges of each connection; `rtt_ns`: its least round trip, by number and direction, 0 for a to b."""

    def __init__(self, frames: pa.Table, exchanges: pa.Table, rtt_ns: Mapping[tuple[int, int], int]) -> None:
        self._rtt_ns = rtt_ns
        air = Air(frames, exchanges)
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
        self._exchanges = rows_of(columns, np.lexsort((columns["begin"], columns["flow"])))
        self._busy = air.busy

    def full(self, flow: int, back: int) -> FullTimes | None:
        """When the air had a packet of a connection, but for gaps of a tenth of the time before each, for a round trip and until data is answered.

        Others' frames between two of its own count as its wait for the air.
        """
        mine = part(self._exchanges, flow)
        begin, end = mine["begin"], mine["end"]
        data, answer = mine["data"] & (mine["back"] == back), mine["back"] != back
        trip = self._rtt_ns.get((flow, back), 0)
        if not trip or not data.any() or not answer.any():
            return None
        reach = np.maximum.accumulate(end)
        idle = self._busy.outside(reach[:-1], begin[1:])
        apart: Array = np.append(True, idle > ACCESS_NS)
        last = np.append(np.flatnonzero(apart)[1:] - 1, len(begin) - 1)
        spans = Spans(begin[apart], reach[last]).joined_over(IDLE_PART)
        whole = np.searchsorted(spans.start, begin, side="right") - 1
        first = np.full(len(spans.start), np.iinfo(np.int64).max)
        np.minimum.at(first, whole[data], end[data])
        answered = np.zeros(len(first), bool)
        answered[whole[answer & (begin >= first[whole])]] = True
        kept = answered & (spans.end - trip >= first)
        full = Spans(spans.start[kept], spans.end[kept])
        return FullTimes(full, full)

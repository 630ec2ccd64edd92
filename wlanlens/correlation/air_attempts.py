"""The attempts at packets that were heard on the air."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables.columns import filled, find

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture
    from wlanlens.correlation.packet_index import Journeys

Array = np.ndarray[Any, Any]


class Attempts:
    """The attempts heard on the air, in the order of journeys and time.

    Attributes
    ----------
    journey, start, end, capture : int64 arrays
        Of each attempt its journey, when it began and ended, and the capture that heard it.
    """

    def __init__(self, count: int, heard: Sequence[tuple[Array, ...]]) -> None:
        names = ("journey", "start", "end", "packet", "rate", "damaged", "capture", "ack_t_ns", "ack_packet")
        columns = [np.concatenate([part[k] for part in heard]) if heard else np.zeros(0) for k in range(len(names))]
        order = np.lexsort((columns[1], columns[0]))
        self.count = count
        self.journey: Array = columns[0][order].astype(np.int64)
        self.start: Array = columns[1][order].astype(np.int64)
        self.end: Array = columns[2][order].astype(np.int64)
        self._packet: Array = columns[3][order].astype(np.uint64)
        self._rate: Array = columns[4][order].astype(float)
        self._damaged: Array = columns[5][order].astype(bool)
        self.capture: Array = columns[6][order].astype(np.int64)
        self._ack_t_ns: Array = columns[7][order].astype(np.int64)
        self._ack_packet: Array = columns[8][order].astype(np.uint64)

    @classmethod
    def of(
        cls,
        captures: Sequence[Capture],
        journeys: Journeys,
        frames: Sequence[pa.Table],
        exchanges: Sequence[pa.Table],
    ) -> Attempts:
        """The attempts of each journey, by the first sniffer that heard any of them."""
        import pyarrow as pa

        taken = np.zeros(len(journeys.rows), bool)
        heard = []
        for c, capture in enumerate(captures):
            rows = np.flatnonzero(journeys.of[c] >= 0)
            rows = rows[~taken[journeys.of[c][rows]]]
            if capture.point != "air" or not len(rows):
                continue
            of, record = journeys.of[c][rows], journeys.packets[c].column("packet").to_numpy()[rows]
            # Packets of one frame, an A-MSDU, are attempts of each.
            of, record = _distinct(of, record)
            at = find(frames[c].column("packet").to_numpy(), record)
            of, record, at = of[at >= 0], record[at >= 0], at[at >= 0]
            t_ns = filled(frames[c].column("t_ns"))[at]
            airtime = np.rint(filled(frames[c].column("airtime_us"), 0.0)[at] * 1e3).astype(np.int64)
            begin = t_ns if _names_start(capture) else t_ns - airtime
            damaged = ~filled(frames[c].column("fcs_ok"), True)[at]
            rate = frames[c].column("rate_mbps").cast(pa.float64()).to_numpy(zero_copy_only=False)[at]
            where = np.full(len(at), c)
            heard.append((of, begin, begin + airtime, record, rate, damaged, where, *_answered(exchanges[c], record)))
            taken[of] = True
        return cls(len(journeys.rows), heard)

    def first(self) -> tuple[Array, Array]:
        """The journeys, and the first attempt of each."""
        at = np.flatnonzero(np.diff(self.journey, prepend=-1))
        return self.journey[at], at

    def last(self) -> tuple[Array, Array]:
        """The journeys, and the last attempt of each."""
        at = np.flatnonzero(np.diff(self.journey, append=-1))
        return self.journey[at], at

    def answers(self) -> dict[str, pa.Array]:
        """The MAC acknowledgment that was heard, as columns."""
        import pyarrow as pa

        t_ns, packet = np.zeros(self.count, np.int64), np.zeros(self.count, np.uint64)
        told = self._ack_packet > 0
        # Of several exchanges, hops among them, the last.
        t_ns[self.journey[told]], packet[self.journey[told]] = self._ack_t_ns[told], self._ack_packet[told]
        return {
            "mac_ack_packet": pa.array(packet, mask=packet == 0),
            "mac_ack_t_ns": pa.array(t_ns, mask=packet == 0),
        }

    def column(self) -> pa.ListArray:
        """The column `attempts`."""
        import pyarrow as pa

        values = pa.StructArray.from_arrays(
            [
                pa.array(self._packet),
                pa.array(self.start),
                pa.array(self.end),
                pa.array(self._rate, mask=np.isnan(self._rate)),
                pa.array(self._damaged),
            ],
            names=["packet", "t_start_ns", "t_end_ns", "rate_mbps", "damaged"],
        )
        offsets = np.concatenate(([0], np.cumsum(np.bincount(self.journey, minlength=self.count))))
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def _distinct(of: Array, record: Array) -> tuple[Array, Array]:
    """Pairs, each once, in their order."""
    order = np.lexsort((record, of))
    of, record = of[order], record[order]
    fresh = np.append(True, (of[1:] != of[:-1]) | (record[1:] != record[:-1]))[: len(of)]
    return of[fresh], record[fresh]


def _names_start(capture: Capture) -> bool:
    """Whether the capture's times are those of frames' starts: as responses show; a host stamps what has come whole."""
    stamps = capture.info.get("stamps") or {}
    at = stamps.get("stamp_at") or ()
    return stamps.get("clock") == "capture" and bool(at) and "ppdu_end" not in at


def _answered(exchanges: pa.Table, frames: Array) -> tuple[Array, Array]:
    """Time and record of the ACK that settled the exchange of each frame; 0: none was heard."""
    lists = exchanges.column("packets").combine_chunks()
    of = np.repeat(np.arange(exchanges.num_rows), lists.value_lengths().fill_null(0).to_numpy())
    at = find(lists.flatten().to_numpy(), frames)
    found = at >= 0
    packet, t_ns = np.zeros(len(frames), np.uint64), np.zeros(len(frames), np.int64)
    packet[found] = filled(exchanges.column("ack_packet"))[of[at[found]]]
    t_ns[found] = filled(exchanges.column("t_ack_ns"))[of[at[found]]]
    return t_ns, packet

"""The 802.11 transmissions of packets that sniffers heard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables.columns import filled, find

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture
    from wlanlens.correlation.packet_index import PacketIndex

Array = np.ndarray[Any, Any]


class AirTransmissions:
    """The transmissions heard on the air, in order of packet and time.

    Attributes
    ----------
    packet, start, end, capture : int64 arrays
        Packet, start, end and capture of each transmission.
    """

    def __init__(self, count: int, heard: Sequence[tuple[Array, ...]]) -> None:
        names = ("packet", "start", "end", "record", "rate", "damaged", "capture", "ack_t_ns", "ack_record")
        columns = [np.concatenate([part[k] for part in heard]) if heard else np.zeros(0) for k in range(len(names))]
        order = np.lexsort((columns[1], columns[0]))
        self.count = count
        self.packet: Array = columns[0][order].astype(np.int64)
        self.start: Array = columns[1][order].astype(np.int64)
        self.end: Array = columns[2][order].astype(np.int64)
        self._record: Array = columns[3][order].astype(np.uint64)
        self._rate: Array = columns[4][order].astype(float)
        self._damaged: Array = columns[5][order].astype(bool)
        self.capture: Array = columns[6][order].astype(np.int64)
        self._ack_t_ns: Array = columns[7][order].astype(np.int64)
        self._ack_record: Array = columns[8][order].astype(np.uint64)

    @classmethod
    def of(
        cls,
        captures: Sequence[Capture],
        index: PacketIndex,
        frames: Sequence[pa.Table],
        exchanges: Sequence[pa.Table],
    ) -> AirTransmissions:
        """The transmissions of each packet, by the first sniffer that heard any of them."""
        import pyarrow as pa

        taken = np.zeros(len(index.rows), bool)
        heard = []
        for c, capture in enumerate(captures):
            rows = np.flatnonzero(index.packet_of[c] >= 0)
            rows = rows[~taken[index.packet_of[c][rows]]]
            if capture.point != "air" or not len(rows):
                continue
            of, record = index.packet_of[c][rows], index.packets[c].column("packet").to_numpy()[rows]
            # The frame of an A-MSDU is a transmission of each of its packets.
            of, record = _distinct(of, record)
            at = find(frames[c].column("packet").to_numpy(), record)
            of, record, at = of[at >= 0], record[at >= 0], at[at >= 0]
            t_ns = filled(frames[c].column("t_ns"))[at]
            airtime = np.rint(filled(frames[c].column("airtime_us"), 0.0)[at] * 1e3).astype(np.int64)
            begin = t_ns if _timestamps_start(capture) else t_ns - airtime
            damaged = ~filled(frames[c].column("fcs_ok"), True)[at]
            rate = filled(frames[c].column("rate_mbps").cast(pa.float64()), np.nan)[at]
            where = np.full(len(at), c)
            heard.append((of, begin, begin + airtime, record, rate, damaged, where, *_mac_acks(exchanges[c], record)))
            taken[of] = True
        return cls(len(index.rows), heard)

    def first(self) -> tuple[Array, Array]:
        """The packets, and the first transmission of each."""
        at = np.flatnonzero(np.diff(self.packet, prepend=-1))
        return self.packet[at], at

    def last(self) -> tuple[Array, Array]:
        """The packets, and the last transmission of each."""
        at = np.flatnonzero(np.diff(self.packet, append=-1))
        return self.packet[at], at

    def mac_acks(self) -> dict[str, pa.Array]:
        """The MAC acknowledgment of each packet, as columns."""
        import pyarrow as pa

        t_ns, packet = np.zeros(self.count, np.int64), np.zeros(self.count, np.uint64)
        heard = self._ack_record > 0
        # Of several exchanges, such as hops, the last.
        of = self.packet[heard]
        t_ns[of], packet[of] = self._ack_t_ns[heard], self._ack_record[heard]
        return {
            "mac_ack_packet": pa.array(packet, mask=packet == 0),
            "mac_ack_t_ns": pa.array(t_ns, mask=packet == 0),
        }

    def column(self) -> pa.ListArray:
        """The column `transmissions_heard`."""
        import pyarrow as pa

        values = pa.StructArray.from_arrays(
            [
                pa.array(self._record),
                pa.array(self.start),
                pa.array(self.end),
                pa.array(self._rate, mask=np.isnan(self._rate)),
                pa.array(self._damaged),
            ],
            names=["packet", "t_start_ns", "t_end_ns", "rate_mbps", "damaged"],
        )
        offsets = np.concatenate(([0], np.cumsum(np.bincount(self.packet, minlength=self.count))))
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def _distinct(of: Array, record: Array) -> tuple[Array, Array]:
    """The distinct pairs, sorted."""
    order = np.lexsort((record, of))
    of, record = of[order], record[order]
    fresh = np.append(True, (of[1:] != of[:-1]) | (record[1:] != record[:-1]))[: len(of)]
    return of[fresh], record[fresh]


def _timestamps_start(capture: Capture) -> bool:
    """Whether timestamps are those of the start of frames, as responses show; a host's timestamp is set after the frame."""
    stamps = capture.info.get("stamps") or {}
    at = stamps.get("stamp_at") or ()
    return stamps.get("clock") == "capture" and bool(at) and "ppdu_end" not in at


def _mac_acks(exchanges: pa.Table, frames: Array) -> tuple[Array, Array]:
    """Time and record of the MAC acknowledgment of each frame's exchange; 0: none was heard."""
    lists = exchanges.column("packets").combine_chunks()
    of = np.repeat(np.arange(exchanges.num_rows), filled(lists.value_lengths()))
    at = find(lists.flatten().to_numpy(), frames)
    found = at >= 0
    packet, t_ns = np.zeros(len(frames), np.uint64), np.zeros(len(frames), np.int64)
    packet[found] = filled(exchanges.column("ack_packet"))[of[at[found]]]
    t_ns[found] = filled(exchanges.column("t_ack_ns"))[of[at[found]]]
    return t_ns, packet

"""What a receiver acknowledged, from the capture at the far end of the path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables.columns import coded, filled, integers, known, narrow

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

#: ACKs examined before a packet: cumulative ACKs rise, so the last few decide even with reordering.
_LATEST = 64

#: Packets whose ACKs are examined together.
_ROWS = 1 << 13


class ReceiverAcks:
    """The ACKs in one capture, by the direction of the data that they acknowledge.

    Attributes
    ----------
    t_ns, seq : int64 and uint32 arrays
        Time and sequence number, as on the wire, of each row of its `packets`.
    """

    def __init__(self, packets: pa.Table) -> None:
        ack = packets.column("tcp_ack")
        flow = integers(packets.column("flow"), -1)
        # ACKs travel in the direction opposite to the data.
        stream = 2 * flow + (coded(packets.column("direction"), ["b2a"]) < 0)
        stream[flow < 0] = -1
        if ack.null_count:
            stream[~known(ack)] = -1
        #: Of each row, the stream that it acknowledges: twice the connection, plus 1 for b2a; -1: none.
        self._stream: Array = stream
        self._ack: Array = filled(ack)
        self._tsval, self._tsecr = packets.column("tcp_tsval"), packets.column("tcp_tsecr")
        self.t_ns: Array = filled(packets.column("t_ns"))
        self.seq: Array = filled(packets.column("tcp_seq"))

    def acked(self, key: Array, raw_end: Array, before_row: Array) -> Array:
        """Whether the receiver had acknowledged each segment before a row of its capture.

        Parameters
        ----------
        key : array
            Twice the connection of each segment, plus 1 for b2a.
        raw_end : array
            End of the segment, as on the wire.
        before_row : array
            Row of `packets`.
        """
        out = np.zeros(len(key), bool)
        acked, row = self._of(key)
        if not len(row):
            return out
        behind = self._behind(acked, row, key, before_row)
        first = np.searchsorted(acked, key)
        ack = self._ack.take(row).astype(np.int64)
        for k in range(0, len(key), _ROWS):
            part = slice(k, k + _ROWS)
            at = behind[part, None] - np.arange(1, _LATEST + 1)
            there = at >= first[part, None]
            ahead = _ahead(ack.take(np.where(there, at, 0)), raw_end[part, None])
            out[part] = (there & (ahead >= 0)).any(axis=1)
        return out

    def echoed_newer(self, key: Array, row: Array) -> Array:
        """Whether the latest ACK before each segment, a row of `packets`, echoes a newer timestamp than it has."""
        acked, of = self._of(key)
        if not len(of):
            return np.zeros(len(key), bool)
        at = self._behind(acked, of, key, row) - 1
        echo = integers(self._tsecr.take(of.take(np.maximum(at, 0))), -1)
        tsval = integers(self._tsval.take(row), -1)
        there = (at >= 0) & (acked.take(at, mode="clip") == key) & (tsval >= 0) & (echo > 0)
        return np.asarray(there & (_ahead(echo, tsval) > 0))

    def _of(self, streams: Array) -> tuple[Array, Array]:
        """The ACKs of some streams, by stream and then in order: the stream and the row of each."""
        wanted = np.zeros(int(max(streams.max(initial=-1), self._stream.max(initial=-1))) + 2, bool)
        wanted[streams] = True
        # The last place is for rows that acknowledge nothing.
        wanted[-1] = False
        row = np.flatnonzero(wanted.take(self._stream))
        stream = self._stream.take(row)
        order = np.argsort(narrow(stream), kind="stable")
        return stream.take(order), row.take(order)

    def _behind(self, acked: Array, row: Array, key: Array, before_row: Array) -> Array:
        """Index of the first ACK that is not before a row."""
        width = len(self.t_ns) + 1
        return np.searchsorted(acked * width + row, key * width + before_row)

    def covering(self, key: int, raw_end: int, before_ns: int) -> Array:
        """Rows of ACKs of at least `raw_end` that passed before a time."""
        rows = np.flatnonzero(self._stream == key)
        ack = self._ack.take(rows).astype(np.int64)
        return np.asarray(rows[(self.t_ns.take(rows) < before_ns) & (_ahead(ack, raw_end) >= 0)])


def _ahead(ack: Array, raw_end: Array | int) -> Array:
    """Difference of sequence numbers, modulo 2^32."""
    return np.asarray((ack - raw_end + (1 << 31)) % (1 << 32) - (1 << 31))

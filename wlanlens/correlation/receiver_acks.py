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
    t_ns, seq : int64 arrays
        Time and sequence number, as on the wire, of each row of its `packets`.
    """

    def __init__(self, packets: pa.Table) -> None:
        rows = np.flatnonzero(known(packets.column("tcp_ack")) & known(packets.column("flow")))
        back = coded(packets.column("direction"), ["b2a"])[rows] == 0
        # ACKs travel in the direction opposite to the data.
        key = 2 * filled(packets.column("flow"))[rows].astype(np.int64) + ~back
        order = np.argsort(narrow(key), kind="stable")
        self._key, self._row = key[order], rows[order]
        self._ack = filled(packets.column("tcp_ack")).astype(np.int64)[rows][order]
        self._echo = integers(packets.column("tcp_tsecr"), -1)[rows][order]
        self._tsval = packets.column("tcp_tsval")
        self.t_ns: Array = filled(packets.column("t_ns"))
        self.seq: Array = filled(packets.column("tcp_seq")).astype(np.int64)

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
        behind = self._behind(key, before_row)
        first = np.searchsorted(self._key, key)
        out = np.zeros(len(key), bool)
        for k in range(0, len(key), _ROWS):
            part = slice(k, k + _ROWS)
            at = behind[part, None] - np.arange(1, _LATEST + 1)
            there = at >= first[part, None]
            ahead = _ahead(self._ack[np.where(there, at, 0)], raw_end[part, None]) if len(self._ack) else at
            out[part] = (there & (ahead >= 0)).any(axis=1)
        return out

    def echoed_newer(self, key: Array, row: Array) -> Array:
        """Whether the latest ACK before each segment, a row of `packets`, echoes a newer timestamp than it has."""
        if not len(self._key):
            return np.zeros(len(key), bool)
        at = self._behind(key, row) - 1
        tsval = integers(self._tsval.take(row), -1)
        there = (at >= 0) & (self._key[at] == key) & (tsval >= 0) & (self._echo[at] > 0)
        return np.asarray(there & (_ahead(self._echo[at], tsval) > 0))

    def _behind(self, key: Array, before_row: Array) -> Array:
        """Index of the first ACK that is not before a row."""
        width = len(self.t_ns) + 1
        return np.searchsorted(self._key * width + self._row, key * width + before_row)

    def covering(self, key: int, raw_end: int, before_ns: int) -> Array:
        """Rows of ACKs of at least `raw_end` that passed before a time."""
        low, high = np.searchsorted(self._key, [key, key + 1])
        part = self._row[low:high]
        return np.asarray(part[(self.t_ns[part] < before_ns) & (_ahead(self._ack[low:high], raw_end) >= 0)])


def _ahead(ack: Array, raw_end: Array | int) -> Array:
    """Difference of sequence numbers, modulo 2^32."""
    return np.asarray((ack - raw_end + (1 << 31)) % (1 << 32) - (1 << 31))

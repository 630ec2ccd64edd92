"""What the tap at the far end saw a receiver acknowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables.columns import coded, filled, known, narrow

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

#: ACKs looked at before a packet: cumulative ones rise, the last few tell, whatever overtook whatever.
_LATEST = 64

#: Packets whose ACKs are looked at together.
_ROWS = 1 << 13


class Receiver:
    """The ACKs in one capture, by the direction of the data that they are for.

    Attributes
    ----------
    t_ns, seq : int64 arrays
        Of each row of its `packets` the time, and the sequence number as on the wire.
    """

    def __init__(self, packets: pa.Table) -> None:
        rows = np.flatnonzero(known(packets.column("tcp_ack")) & known(packets.column("flow")))
        back = coded(packets.column("direction"), ["b2a"])[rows] == 0
        # ACKs of a direction travel in the other one.
        key = 2 * filled(packets.column("flow"))[rows].astype(np.int64) + ~back
        order = np.argsort(narrow(key), kind="stable")
        self._key, self._row = key[order], rows[order]
        self._ack = filled(packets.column("tcp_ack")).astype(np.int64)[rows][order]
        self.t_ns: Array = filled(packets.column("t_ns"))
        self.seq: Array = filled(packets.column("tcp_seq")).astype(np.int64)

    def acked(self, key: Array, raw_end: Array, before_row: Array) -> Array:
        """Of each of some segments whether the receiver had acknowledged up to `raw_end` before a row of its capture; `key`
        is twice its connection, and 1 for the way back."""
        width = len(self.t_ns) + 1
        behind = np.searchsorted(self._key * width + self._row, key * width + before_row)
        first = np.searchsorted(self._key, key)
        out = np.zeros(len(key), bool)
        for k in range(0, len(key), _ROWS):
            part = slice(k, k + _ROWS)
            at = behind[part, None] - np.arange(1, _LATEST + 1)
            there = at >= first[part, None]
            ahead = _ahead(self._ack[np.where(there, at, 0)], raw_end[part, None]) if len(self._ack) else at
            out[part] = (there & (ahead >= 0)).any(axis=1)
        return out

    def covering(self, key: int, raw_end: int, before_ns: int) -> Array:
        """Rows of ACKs up to `raw_end` or beyond that passed before a time."""
        low, high = np.searchsorted(self._key, [key, key + 1])
        part = self._row[low:high]
        return np.asarray(part[(self.t_ns[part] < before_ns) & (_ahead(self._ack[low:high], raw_end) >= 0)])


def _ahead(ack: Array, raw_end: Array | int) -> Array:
    """By how much sequence numbers are ahead of others, modulo 2^32."""
    return np.asarray((ack - raw_end + (1 << 31)) % (1 << 32) - (1 << 31))

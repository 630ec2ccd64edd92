"""What had been acknowledged when: ACKs of chosen directions, searchable by packet and by byte."""

from __future__ import annotations

import numpy as np

from wlanlens.detectors._common import NULL, Array, Facts

#: Wider than any relative number or packet number in a capture: keys and numbers share one sorted vector.
_SPAN = 1 << 44


class Acks:
    """The highest ACK so far, for the data directions in `keys`."""

    def __init__(self, facts: Facts, keys: Array) -> None:
        self._keys = np.unique(keys)
        rows = facts.rows("segments", ["packet", "t_ns", "rel_ack"], valid=("rel_ack",), keys=self._keys ^ 1)
        # The ACKs of a direction's data travel the other way.
        rank = np.searchsorted(self._keys, rows.key ^ 1)
        order = np.argsort(rank, kind="stable")
        rank = rank[order]
        self._packet, self._t = rows["packet"][order], rows["t_ns"][order]
        ack = np.clip(rows["rel_ack"][order], 0, _SPAN - 2)
        self._by_packet = rank * _SPAN + np.minimum(self._packet, _SPAN - 2)
        self._by_ack = np.maximum.accumulate(rank * _SPAN + ack) if len(rank) else rank

    def _rank(self, keys: Array) -> Array:
        return np.searchsorted(self._keys, keys)

    def before(self, keys: Array, packets: Array) -> tuple[Array, Array]:
        """Highest ACK seen before each packet, and position of the first ACK that said so; NULL, -1 for none."""
        rank = self._rank(keys)
        at = np.searchsorted(self._by_packet, rank * _SPAN + packets) - 1
        known = (at >= 0) & (self._by_ack[np.maximum(at, 0)] // _SPAN == rank) if len(self._by_ack) else at >= 0
        highest = np.where(known, self._by_ack[np.maximum(at, 0)] % _SPAN, NULL) if len(self._by_ack) else at * 0 + NULL
        return highest, np.where(known, at, -1)

    def first_reaching(self, keys: Array, bytes_: Array) -> Array:
        """Position of the first ACK at or above each relative byte; -1 for none."""
        rank = self._rank(keys)
        at = np.searchsorted(self._by_ack, rank * _SPAN + np.clip(bytes_, 0, _SPAN - 1))
        inside = at < len(self._by_ack)
        inside &= self._by_ack[np.minimum(at, max(0, len(self._by_ack) - 1))] // _SPAN == rank if len(at) else inside
        return np.where(inside, at, -1)

    def packet(self, positions: Array) -> Array:
        """Packet numbers; NULL for -1."""
        return np.where(positions >= 0, self._packet[positions], NULL) if len(self._packet) else positions * 0 + NULL

    def t_ns(self, positions: Array) -> Array:
        """Times; NULL for -1."""
        return np.where(positions >= 0, self._t[positions], NULL) if len(self._t) else positions * 0 + NULL

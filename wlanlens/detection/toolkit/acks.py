"""The ACKs of each direction with data, searchable by packet, by byte and by time."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.tables.columns import NULL, Array

#: Duplicate ACKs that make a sender retransmit (RFC 5681 section 3.2): fewer may come of reordering.
DUPACK_THRESHOLD = 3

#: Keys and numbers share one sorted vector: room for 10^12 bytes or packets in each of 8 million directions.
_SPAN = 1 << 40


class Acks:
    """The highest ACK so far of each direction that carries data.

    Keys are those of the data. Positions name ACKs; `packet` and `t_ns` look them up.
    """

    def __init__(self, facts: Facts) -> None:
        self._keys = facts.all_data_keys()
        rows = facts.rows("segments", ["packet", "t_ns", "rel_ack"], valid=("rel_ack", "t_ns"), keys=self._keys ^ 1)
        # The ACKs of a direction's data travel in the other direction.
        first, length = key_groups(rows.key)
        rank = np.repeat(np.searchsorted(self._keys, rows.key[first] ^ 1), length)
        self._packet, self._t, ack = rows["packet"], rows["t_ns"], rows["rel_ack"]
        if len(rank) and (rank[1:] < rank[:-1]).any():
            order = np.argsort(rank, kind="stable")
            rank, self._packet, self._t, ack = rank[order], self._packet[order], self._t[order], ack[order]
        self._by_packet = rank * _SPAN + np.minimum(self._packet, _SPAN - 2)
        self._by_ack = np.maximum.accumulate(rank * _SPAN + np.clip(ack, 0, _SPAN - 2)) if len(rank) else rank

    def _rank(self, keys: Array) -> Array:
        """Rank of each key among those with data; one beyond the last where it carries none."""
        at = np.searchsorted(self._keys, keys)
        known = at < len(self._keys)
        known[known] &= self._keys[at[known]] == keys[known]
        return np.where(known, at, len(self._keys))

    def highest_before(self, keys: Array, packets: Array) -> Array:
        """Highest ACK captured before each packet; `NULL` for none."""
        if not len(self._by_packet):
            return np.full(len(keys), NULL)
        rank = self._rank(keys)
        at = np.searchsorted(self._by_packet, rank * _SPAN + packets) - 1
        highest = self._by_ack[np.maximum(at, 0)]
        return np.where((at >= 0) & (highest // _SPAN == rank), highest % _SPAN, NULL)

    def highest_until(self, keys: Array, t_ns: Array) -> Array:
        """Highest ACK captured up to each time; 1 for none."""
        by_t = self._by_t
        at = by_t.last_until("t_ns", keys, t_ns)
        return np.where(at >= 0, by_t["ack"][np.maximum(at, 0)], 1) if len(by_t) else np.ones(len(keys), np.int64)

    def silence_before_ns(self, keys: Array, t_ns: Array) -> Array:
        """Time since the last ACK before each time; `NULL` for none."""
        by_t = self._by_t
        at = by_t.last_until("t_ns", keys, t_ns - 1)
        return (
            np.where(at >= 0, t_ns - by_t["t_ns"][np.maximum(at, 0)], NULL) if len(by_t) else np.full(len(keys), NULL)
        )

    @cached_property
    def _by_t(self) -> Rows:
        """The ACKs by key of the data and time."""
        columns = {"t_ns": self._t, "ack": self._by_ack % _SPAN}
        return Rows(self._keys[self._by_ack // _SPAN], columns).sorted_by("t_ns")

    def first_covering(self, keys: Array, rel_byte: Array) -> Array:
        """Position of the first ACK at or above each relative byte; -1 for none."""
        if not len(self._by_ack):
            return np.full(len(keys), -1)
        rank = self._rank(keys)
        at = np.searchsorted(self._by_ack, rank * _SPAN + np.clip(rel_byte, 0, _SPAN - 1))
        found = self._by_ack[np.minimum(at, len(self._by_ack) - 1)]
        return np.where((at < len(self._by_ack)) & (found // _SPAN == rank), at, -1)

    def packet(self, positions: Array) -> Array:
        """Packet numbers of ACKs; `NULL` for position -1."""
        return self._at(self._packet, positions)

    def t_ns(self, positions: Array) -> Array:
        """Times of ACKs; `NULL` for position -1."""
        return self._at(self._t, positions)

    @staticmethod
    def _at(column: Array, positions: Array) -> Array:
        return np.where(positions >= 0, column[positions], NULL) if len(column) else np.full(len(positions), NULL)

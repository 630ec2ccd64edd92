"""Data segments of one direction: when each copy was sent, retransmitted and acknowledged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array


class SentData:
    """Data segments of one direction in the capture that holds its facts, by packet number."""

    def __init__(self, facts: Facts, key: int) -> None:
        self._acks, self._key = facts.cached(Acks), key
        self._end_ns = int(facts.last_packet_ns(np.array([key]))[0])
        rows = facts.cached(_data).of_key(key)
        rows = rows.take(np.lexsort((rows["t_ns"], rows["rel_seq"])))
        same = np.append(rows["rel_seq"][1:] == rows["rel_seq"][:-1], False) if len(rows) else np.zeros(0, bool)
        following = np.append(rows["t_ns"][1:], NULL) if len(rows) else rows["t_ns"]
        retransmitted = np.where(same, following, NULL)
        order = np.argsort(rows["packet"], kind="stable")
        self._rows, self._retransmitted = rows.take(order), retransmitted[order]
        by_t = np.argsort(rows["t_ns"], kind="stable")
        self._t, self._by_t = rows["t_ns"][by_t], rows["packet"][by_t]

    def _at(self, packets: Array) -> Array:
        return np.searchsorted(self._rows["packet"], packets)

    def retransmitted_ns(self, packets: Array) -> Array:
        """When the segment of each packet was sent next; `NULL` for never."""
        if not len(self._rows):
            return np.full(len(packets), NULL)
        at = np.minimum(self._at(packets), len(self._rows) - 1)
        return np.where(self._rows["packet"][at] == packets, self._retransmitted[at], NULL)

    def retransmissions(self, packets: Array) -> Array:
        """The packets that sent the segments of these packets next."""
        following = np.searchsorted(self._t, self.retransmitted_ns(packets))
        return self._by_t[np.minimum(following, max(0, len(self._by_t) - 1))]

    def sent_between(self, start: int, end: int) -> int:
        """Number of segments sent from one time until before another."""
        return int(np.searchsorted(self._t, end) - np.searchsorted(self._t, start))

    def acked_ns(self, packet: int) -> int:
        """When the bytes of a packet were acknowledged; the end of the connection for never."""
        i = int(self._at(np.array([packet]))[0])
        end = self._rows["rel_seq"][i : i + 1] + self._rows["len"][i : i + 1]
        acked = self._acks.t_ns(self._acks.first_covering(np.array([self._key]), end))
        return int(acked[0]) if acked[0] != NULL else self._end_ns

    def episodes(self, packets: Array) -> Iterator[slice]:
        """Split losses, in order of time: those sent before the first of them was retransmitted are one episode."""
        sent, again = self._rows["t_ns"][self._at(packets)], self.retransmitted_ns(packets)
        begin, known = 0, NULL
        for i in range(len(packets)):
            if i == begin:
                known = int(again[i])
            elif sent[i] >= known:
                yield slice(begin, i)
                begin, known = i, int(again[i])
            known = min(known, int(again[i]))
        if len(packets):
            yield slice(begin, len(packets))


def _data(facts: Facts) -> Rows:
    rows = facts.rows("segments", ["packet", "t_ns", "rel_seq", "len"], valid=("rel_seq", "t_ns"))
    return rows.take(rows["len"] > 0)

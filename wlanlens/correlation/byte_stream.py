"""Connections' bytes in all captures: which packets hold the same bytes, and what receivers acknowledged and asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables.columns import narrow, numbered

if TYPE_CHECKING:
    from wlanlens.correlation.packet_index import Journeys

Array = np.ndarray[Any, Any]

#: Packets behind one that are looked at.
_BEHIND = 64

#: Rows of a table of those that is held at once.
_ROWS = 1 << 14

#: Places in a stream are told apart up to here: more than a connection brings while a slice is under way.
_FAR = 1 << 39

_LEAST = np.iinfo(np.int64).min


class Streams:
    """The place of each packet of some connections in its stream of bytes, unwrapped.

    Attributes
    ----------
    rows : int64 array
        The journeys of those connections; all else is of these, in their order.
    acked : bool array
        It holds data, and its receiver acknowledged all of that.
    data : bool array
        It occupies sequence space.
    """

    def __init__(self, journeys: Journeys, wanted: Array) -> None:
        """`wanted`: journeys whose connections are looked at."""
        way = journeys.way
        connections = np.zeros(int(way.max(initial=-1)) // 2 + 2, bool)
        connections[way[wanted] // 2] = way[wanted] >= 0
        seq, tcp = journeys.number("tcp_seq")
        self.rows: Array = np.flatnonzero(connections[way // 2] & (way >= 0) & tcp)
        ack, has_ack = (values[self.rows] for values in journeys.number("tcp_ack"))
        flags, length = (journeys.number(name)[0][self.rows] for name in ("tcp_flags", "payload_bytes"))
        self._seen, self._t_ns = journeys.seen[self.rows], journeys.t_ns[self.rows]
        _, of = numbered(way[self.rows] // 2)
        #: Twice the number of its connection here, and 1 for the way back.
        self._key: Array = 2 * of + way[self.rows] % 2
        length = length.astype(np.int64) + ((flags & 0x03) > 0)
        # Journeys are in the order of time; those whose time is not known come first here.
        timed = self._seen.any(axis=1)
        in_time = np.concatenate((np.flatnonzero(~timed), np.flatnonzero(timed)))
        self._place(seq[self.rows], ack, has_ack, length, in_time)
        self._sent: Array = in_time[np.argsort(narrow(self._key[in_time]), kind="stable")]
        self._nth: Array = np.zeros(len(self.rows), np.int64)
        self._nth[self._sent] = np.arange(len(self.rows))

    def _place(self, seq: Array, ack: Array, has_ack: Array, length: Array, in_time: Array) -> None:
        """Unwrap the numbers: each connection's data one way with the ACKs that come the other way, in the order of time.
        Both move together, so that differences of 32 bits can be added up."""
        self._begin: Array = np.zeros(len(seq), np.int64)
        self._reached: Array = np.full(int(self._key.max(initial=-1)) + 2, _LEAST)
        whose, values, asks = ([np.zeros(0, np.int64)] for _ in range(3))
        connection = self._key // 2
        order = in_time[np.argsort(narrow(connection[in_time]), kind="stable")]
        for back in (0, 1):
            data = self._key[order] % 2 == back
            taken = order[data | has_ack[order]]
            data = self._key[taken] % 2 == back
            step = _steps(np.where(data, seq[taken], ack[taken]))
            fresh = np.diff(connection[taken], prepend=-1) != 0
            step[fresh] = 0
            total = np.cumsum(step)
            total -= np.repeat(total[fresh], np.diff(np.append(np.flatnonzero(fresh), len(taken))))
            total = np.clip(total, -_FAR, _FAR - 1)
            self._begin[taken[data]] = total[data]
            asking, value = taken[~data], total[~data]
            np.maximum.at(self._reached, 2 * connection[asking] + back, value)
            whose.append(2 * connection[asking] + back)
            values.append(value)
            asks.append(asking)
        self._end: Array = self._begin + length
        self._asked = _at(np.concatenate(whose), np.concatenate(values))
        self._asking = np.concatenate(asks)
        self.data: Array = length > 0
        self.acked: Array = self.data & (self._reached[self._key] >= self._end)

    def copies(self, chosen: Array, kept: Array) -> tuple[Array, Array]:
        """Of each of some packets with data, whether there are others with some of its bytes; and, a column of `kept` each,
        whether any of those is kept."""
        data = np.flatnonzero(self.data)
        data = data[np.argsort(_at(self._key[data], self._begin[data]), kind="stable")]
        begins = _at(self._key[data], self._begin[data])
        ends = np.sort(_at(self._key[data], self._end[data]))
        begin, end = (_at(self._key[chosen], values[chosen]) for values in (self._begin, self._end))
        before = np.searchsorted(begins, end)
        others = before - np.searchsorted(ends, begin, side="right") > 1
        found = np.zeros((len(chosen), kept.shape[1]), bool)
        for k in range(kept.shape[1] if len(data) else 0):
            # How far any kept one that begins before reaches; streams follow each other.
            reach = np.maximum.accumulate(np.where(kept[data, k], _at(self._key[data], self._end[data]), _LEAST))
            found[:, k] = (before > 0) & (reach[before - 1] > begin)
        return others, found

    def asked_for(self, chosen: Array, capture: int) -> Array:
        """Of each of some packets with data, whether its first byte was asked for after a packet sent behind it had passed a
        capture, by that capture's ACKs."""
        wanted, last = self._last_asked(capture)
        if not len(wanted):
            return np.zeros(len(chosen), bool)
        byte = _at(self._key[chosen], self._begin[chosen])
        at = np.minimum(np.searchsorted(wanted, byte), len(wanted) - 1)
        out: Array = wanted[at] == byte
        came = np.where(self._seen[:, capture], self._t_ns[:, capture], np.iinfo(np.int64).max)
        some = np.flatnonzero(out)
        for k in range(0, len(some), _ROWS):
            rows = some[k : k + _ROWS]
            mine = chosen[rows]
            near = np.minimum(self._nth[mine][:, None] + np.arange(1, _BEHIND + 1), len(self._sent) - 1)
            behind = self._sent[near]
            later = (self._key[behind] == self._key[mine][:, None]) & (self._begin[behind] > self._begin[mine][:, None])
            out[rows] = np.where(later, came[behind], np.iinfo(np.int64).max).min(axis=1) < last[at[rows]]
        return out

    def _last_asked(self, capture: int) -> tuple[Array, Array]:
        """Bytes, and when each was last asked for by the ACKs of what lies before it that a capture has."""
        here = np.flatnonzero(self._seen[self._asking, capture])
        t_ns = self._t_ns[self._asking[here], capture]
        order = np.lexsort((t_ns, self._asked[here]))
        asked = self._asked[here][order]
        last = np.append(asked[1:] != asked[:-1], True) if len(asked) else np.zeros(0, bool)
        return asked[last], t_ns[order][last]


def _steps(numbers: Array) -> Array:
    """Differences of numbers that wrap at 32 bits."""
    values = numbers.astype(np.uint32)
    return np.diff(values, prepend=values[:1]).astype(np.int32).astype(np.int64)


def _at(key: Array, byte: Array) -> Array:
    """One number for a byte of a stream, in the order of streams and bytes."""
    out: Array = key * (2 * _FAR) + byte
    return out

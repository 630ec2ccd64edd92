"""Byte streams of connections: which packets have the same bytes, and what receivers acknowledged and asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables.columns import narrow, ordered_by, picked

if TYPE_CHECKING:
    from wlanlens.correlation.packet_index import PacketIndex

Array = np.ndarray[Any, Any]

#: Packets sent after one that are examined.
_AFTER = 64

#: Packets that are examined together.
_ROWS = 1 << 14

#: Largest position in a stream: more than a connection transfers within one chunk of time.
_FAR = 1 << 39

#: Numbers that differ less from one of their stream differ by less than half of the 32-bit numbers from one another.
_NEAR = 1 << 30

_LEAST = np.iinfo(np.int64).min


class ByteStreams:
    """The position of each packet of some connections in its byte stream, with unwrapped sequence numbers.

    Attributes
    ----------
    rows : int64 array
        The packets of those connections; all other arrays are in this order.
    acked : bool array
        It has data, and its receiver acknowledged all of it.
    data : bool array
        It occupies sequence space.
    """

    def __init__(self, index: PacketIndex, wanted: Array) -> None:
        """Read the connections of the packets `wanted`."""
        stream = index.stream
        # Of a connection's two streams, -1 for neither: a shift takes half the time of a division.
        connection = stream >> 1
        connections = np.zeros(int(connection.max(initial=-1)) + 2, bool)
        connections[connection[wanted]] = stream[wanted] >= 0
        seq, tcp = index.values("tcp_seq")
        self.rows: Array = np.flatnonzero(connections.take(connection) & (stream >= 0) & tcp)
        ack, has_ack = (values.take(self.rows) for values in index.values("tcp_ack"))
        flags, length = (index.values(name)[0].take(self.rows) for name in ("tcp_flags", "payload_bytes"))
        self._seen, self._t_ns = picked(index.seen, self.rows), picked(index.t_ns, self.rows)
        of = np.cumsum(connections) - 1
        #: Twice the number of its connection here, plus 1 for b2a.
        self._key: Array = 2 * of.take(connection.take(self.rows)) + (stream.take(self.rows) & 1)
        length = length.astype(np.int64) + ((flags & 0x03) > 0)
        # Packets without a known time come first.
        timed = self._seen.any(axis=1)
        in_time = np.concatenate((np.flatnonzero(~timed), np.flatnonzero(timed)))
        self._place(seq.take(self.rows), ack, has_ack, length, in_time)
        self._sent: Array = in_time.take(np.argsort(narrow(self._key.take(in_time)), kind="stable"))
        self._nth: Array = np.zeros(len(self.rows), np.int64)
        self._nth[self._sent] = np.arange(len(self.rows))
        # ACKs rise along a stream: in this order, sorting them only merges runs.
        place = np.cumsum(has_ack) - 1
        self._asking: Array = self._sent.take(np.flatnonzero(has_ack.take(self._sent)))
        self._asked: Array = self._asked.take(place.take(self._asking))

    def _place(self, seq: Array, ack: Array, has_ack: Array, length: Array, in_time: Array) -> None:
        """Unwrap the numbers: a connection's data in one direction with the ACKs of the other."""
        asking = np.flatnonzero(has_ack)
        of = self._key.take(asking) ^ 1
        begin, asked = _near(self._key, seq, of, ack.take(asking))
        if max(np.abs(begin).max(initial=0), np.abs(asked).max(initial=0)) >= _NEAR:
            begin, asked = self._unwrapped(seq, ack, has_ack, in_time)
        self._begin: Array = begin
        self._end: Array = begin + length
        self._reached: Array = np.full(int(self._key.max(initial=-1)) + 2, _LEAST)
        np.maximum.at(self._reached, of, asked)
        self._asked, self._asking = _at(of, asked), asking
        self.data: Array = length > 0
        self.acked: Array = self.data & (self._reached.take(self._key) >= self._end)

    def _unwrapped(self, seq: Array, ack: Array, has_ack: Array, in_time: Array) -> tuple[Array, Array]:
        """Positions of the data, and those that ACKs ask for, where numbers wrap or jump.

        In order of time data and its ACKs advance together, so that 32-bit differences can be summed.
        """
        begin, asked = np.zeros(len(seq), np.int64), np.zeros(len(seq), np.int64)
        order = in_time[np.argsort(narrow(self._key[in_time] // 2), kind="stable")]
        key, seq, ack, acks = (values[order] for values in (self._key, seq, ack, has_ack))
        for direction in (0, 1):
            data = key % 2 == direction
            taken = np.flatnonzero(data | acks)
            data, stream = data[taken], key[taken] // 2 * 2 + direction
            step = _steps(np.where(data, seq[taken], ack[taken]))
            fresh = np.flatnonzero(np.diff(stream, prepend=-1))
            step[fresh] = 0
            total = np.cumsum(step)
            total -= np.repeat(total[fresh], np.diff(np.append(fresh, len(taken))))
            total = np.clip(total, -_FAR, _FAR - 1)
            begin[order[taken[data]]] = total[data]
            asked[order[taken[~data]]] = total[~data]
        return begin, asked[has_ack]

    def copies(self, chosen: Array, kept: Array) -> tuple[Array, Array]:
        """Whether other packets have some bytes of each chosen packet, and, for each column of `kept`, whether one of them is
        kept."""
        data = np.flatnonzero(self.data)
        data = data[ordered_by(self._key[data], self._begin[data])]
        begins, ends_in_order = (_at(self._key[data], values[data]) for values in (self._begin, self._end))
        ends = np.sort(ends_in_order)
        begin, end = (_at(self._key[chosen], values[chosen]) for values in (self._begin, self._end))
        before = np.searchsorted(begins, end)
        others = before - np.searchsorted(ends, begin, side="right") > 1
        found = np.zeros((len(chosen), kept.shape[1]), bool)
        for k in range(kept.shape[1] if len(data) else 0):
            # The last byte of all kept packets that begin before it; streams are in order.
            reach = np.maximum.accumulate(np.where(kept[:, k][data], ends_in_order, _LEAST))
            found[:, k] = (before > 0) & (reach[before - 1] > begin)
        return others, found

    def asked_for(self, chosen: Array, capture: int) -> Array:
        """Whether the first byte of each chosen packet was asked for after a packet sent later had passed a capture, by the ACKs in
        that capture."""
        wanted, last = self._last_asked(capture)
        if not len(wanted):
            return np.zeros(len(chosen), bool)
        byte = _at(self._key[chosen], self._begin[chosen])
        at = np.minimum(np.searchsorted(wanted, byte), len(wanted) - 1)
        out: Array = wanted[at] == byte
        passed = np.where(self._seen[:, capture], self._t_ns[:, capture], np.iinfo(np.int64).max)
        some = np.flatnonzero(out)
        for k in range(0, len(some), _ROWS):
            rows = some[k : k + _ROWS]
            mine = chosen[rows]
            near = np.minimum(self._nth[mine][:, None] + np.arange(1, _AFTER + 1), len(self._sent) - 1)
            later_sent = self._sent[near]
            later = (self._key[later_sent] == self._key[mine][:, None]) & (
                self._begin[later_sent] > self._begin[mine][:, None]
            )
            out[rows] = np.where(later, passed[later_sent], np.iinfo(np.int64).max).min(axis=1) < last[at[rows]]
        return out

    def _last_asked(self, capture: int) -> tuple[Array, Array]:
        """Byte positions, and when an ACK in a capture last asked for each."""
        here = np.flatnonzero(self._seen[:, capture].take(self._asking))
        t_ns = self._t_ns[:, capture].take(self._asking.take(here))
        asked = self._asked.take(here)
        order = np.argsort(asked, kind="stable")
        asked = asked.take(order)
        if not len(asked):
            return asked, t_ns
        first = np.flatnonzero(np.append(True, asked[1:] != asked[:-1]))
        return asked[first], np.maximum.reduceat(t_ns.take(order), first)


def _near(of_data: Array, seq: Array, of_ack: Array, ack: Array) -> tuple[Array, Array]:
    """Positions of data and of what ACKs ask for, from some number of their stream on, if all of them are near it."""
    base = np.zeros(int(of_data.max(initial=-1)) + 2, np.uint32)
    base[of_ack] = ack
    base[of_data] = seq
    data, acks = (
        (numbers.astype(np.uint32) - base.take(of)).view(np.int32).astype(np.int64)
        for of, numbers in ((of_data, seq), (of_ack, ack))
    )
    return data, acks


def _steps(numbers: Array) -> Array:
    """Differences of 32-bit numbers that wrap."""
    values = numbers.astype(np.uint32)
    return np.diff(values, prepend=values[:1]).astype(np.int32).astype(np.int64)


def _at(key: Array, byte: Array) -> Array:
    """One number for a byte of a stream, in order of streams and bytes."""
    out: Array = key * (2 * _FAR) + byte
    return out

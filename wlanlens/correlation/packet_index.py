"""Which rows of the captures' `packets` are the same packet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.alignment.align import Alignment
from wlanlens.tables.columns import coded, count_true, filled, find, known, numbered
from wlanlens.tables.lazy_tables import lazy_property

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

#: How two rows are the same packet, in the order of their codes here.
_KINDS = ("same", "again", "part", "fragment")
_SAME, _AGAIN, _PART, _FRAGMENT = range(len(_KINDS))

_NEVER = np.iinfo(np.int64).max


class PacketIndex:
    """Which rows of the captures' `packets` are the same packet. Packets are in order of the time of their first row.

    Attributes
    ----------
    rows : int64 array
        [packet, capture]: the row of the capture's `packets`, -1 where it has none.
    t_ns, seen : int64 and bool arrays
        [packet, capture]: the time, and whether it is known; 0 without a row or a valid timestamp.
    packet_of : list of int64 arrays
        The packet of each row of a capture's `packets`, -1 for rows without a packet.
    row_counts : int64 array
        Number of rows of each packet in all captures.
    copy_safe : bool array
        Its bytes or its IP id distinguish it from every other copy.
    whole : bool array
        No capture has it as part of a super-segment or in fragments.
    ends : pair of int or None
        The two captures at the ends of the path.
    """

    def __init__(self, packets: Sequence[pa.Table], alignment: Alignment, exchanges: Sequence[pa.Table]) -> None:
        self.packets = list(packets)
        self._values: dict[str, tuple[Array, Array]] = {}
        is_packet = [known(p.column("protocol")) for p in packets]
        damaged = [coded(p.column("stop"), ["bad_fcs", "bad_checksum"]) >= 0 for p in packets]
        pairs = {both: _read(made.rows) for both, made in alignment.pairs.items()}
        self.ends = alignment.ends
        self.packet_of: list[Array] = [np.full(len(readable), -1, np.int64) for readable in is_packet]
        self.row_counts: Array = np.zeros(0, np.int64)
        self.copy_safe: Array = np.zeros(0, bool)
        primaries = [readable.copy() for readable in is_packet]
        done: list[int] = []
        # Captures with damaged frames come last: a damaged frame is either a packet of another capture or noise.
        for j in sorted(range(len(is_packet)), key=lambda j: int(damaged[j].sum())):
            own = self.packet_of[j]
            for i in done:
                rows_i, rows_j, kind, safe = _in_order(pairs, i, j)
                free = (own[rows_j] < 0) & (kind == _SAME)
                own[rows_j[free]] = self.packet_of[i][rows_i[free]]
                unsafe = self.packet_of[i][rows_i[free & ~safe]]
                self.copy_safe[unsafe[unsafe >= 0]] = False
                again = (own[rows_j] < 0) & (kind == _AGAIN)
                own[rows_j[again]] = self.packet_of[i][rows_i[again]]
                primaries[j][rows_j[again]] = False
            fresh = np.flatnonzero(is_packet[j] & (own < 0) & ~damaged[j])
            # Transmissions of one exchange are one packet, if no other capture has it.
            first = of = np.arange(len(fresh))
            if exchanges[j].num_rows:
                first, of = _first_of(_exchange_keys(packets[j], exchanges[j], fresh))
            own[fresh] = len(self.copy_safe) + of
            primaries[j][np.delete(fresh, first)] = False
            self.copy_safe = np.concatenate((self.copy_safe, np.ones(len(first), bool)))
            done.append(j)
        self._assign_damaged(pairs, done)
        self.whole: Array = np.ones(len(self.copy_safe), bool)
        self.row_counts = np.zeros(len(self.copy_safe), np.int64)
        self.rows: Array = np.full((len(self.copy_safe), len(packets)), -1, np.int64, order="F")
        for j, (own, primary) in enumerate(zip(self.packet_of, primaries, strict=True)):
            self.row_counts += np.bincount(own[own >= 0], minlength=len(self.copy_safe))
            mine = np.flatnonzero(primary & (own >= 0))[::-1]
            # The first row of several.
            self.rows[own[mine], j] = mine
        self._split_parts(pairs, [filled(p.column("payload_bytes")) for p in packets])
        self._sort_by_time()

    def _assign_damaged(self, pairs: _Pairs, done: Sequence[int]) -> None:
        """Assign damaged frames to packets of captures that were indexed after their own."""
        for place, j in enumerate(done):
            own = self.packet_of[j]
            for i in done[place + 1 :]:
                rows_i, rows_j, kind, _ = _in_order(pairs, i, j)
                free = (own[rows_j] < 0) & (kind <= _AGAIN)
                own[rows_j[free]] = self.packet_of[i][rows_i[free]]

    def _split_parts(self, pairs: _Pairs, lengths: Sequence[Array]) -> None:
        """Assign a super-segment or a fragmented datagram to each of its parts; it is no packet of its own."""
        gone = np.zeros(len(self.row_counts), bool)
        for (i, j), (*columns, kind, copy_safe) in pairs.items():
            cut = np.flatnonzero(kind >= _PART)
            rows_i, rows_j, safe = (values[cut] for values in (*columns, copy_safe))
            larger_i = lengths[i][rows_i] >= lengths[j][rows_j]
            for here, (large, large_rows), (small, small_rows) in (
                (larger_i, (i, rows_i), (j, rows_j)),
                (~larger_i, (j, rows_j), (i, rows_i)),
            ):
                part, whole = self.packet_of[small][small_rows[here]], large_rows[here]
                self.rows[part, large] = whole
                self.whole[part] = False
                self.copy_safe[part] &= safe[here]
                self.row_counts[part] += 1
                gone[self.packet_of[large][whole]] = True
        if gone.any():
            self._keep(np.flatnonzero(~gone))

    def _sort_by_time(self) -> None:
        """Sort the packets by time, and store the times."""
        self.t_ns: Array = np.zeros(self.rows.shape, np.int64, order="F")
        self.seen: Array = np.zeros(self.rows.shape, bool, order="F")
        first = np.full(len(self.rows), _NEVER)
        for j, table in enumerate(self.packets):
            if not table.num_rows:
                continue
            column, rows = table.column("t_ns"), np.maximum(self.rows[:, j], 0)
            seen = self.rows[:, j] >= 0
            if column.null_count:
                seen &= known(column).take(rows)
            np.copyto(self.t_ns[:, j], filled(column).take(rows), where=seen)
            self.seen[:, j] = seen
            np.minimum(first, self.t_ns[:, j], out=first, where=seen)
        order = np.argsort(first, kind="stable")
        self._keep(order)
        for j in range(len(self.packets)):
            self.t_ns[:, j], self.seen[:, j] = self.t_ns[:, j].take(order), self.seen[:, j].take(order)

    def _keep(self, order: Array) -> None:
        """Keep only some packets, in a new order."""
        number = np.full(len(self.rows) + 1, -1, np.int64)
        number[order] = np.arange(len(order))
        rows = np.empty((len(order), len(self.packets)), np.int64, order="F")
        for j in range(len(self.packets)):
            self.rows[:, j].take(order, out=rows[:, j], mode="clip")
        self.rows, self.row_counts = rows, self.row_counts.take(order)
        self.copy_safe, self.whole = self.copy_safe.take(order), self.whole.take(order)
        # The last place is for rows without a packet.
        self.packet_of = [number.take(own) for own in self.packet_of]

    @lazy_property
    def first(self) -> Array:
        """The first capture that has each packet."""
        out: Array = np.zeros(len(self.rows), np.int64)
        for j in reversed(range(len(self.packets))):
            out[self.rows[:, j] >= 0] = j
        return out

    @lazy_property
    def captures_seen(self) -> Array:
        """How many captures have each packet."""
        return count_true(self.rows >= 0)

    @lazy_property
    def _numbers(self) -> list[Array]:
        """The packet numbers of each capture's rows."""
        return [table.column("packet").to_numpy() for table in self.packets]

    def number(self, capture: int, rows: Array) -> Array:
        """The packet numbers of some rows of a capture."""
        return np.asarray(self._numbers[capture].take(rows))

    @lazy_property
    def numbers(self) -> Array:
        """[packet, capture]: the number of the packet in the capture, 0 where it has none."""
        out: Array = np.zeros(self.rows.shape, np.uint64, order="F")
        for j, table in enumerate(self.packets):
            if table.num_rows:
                rows = self.rows[:, j]
                np.copyto(out[:, j], self.number(j, np.maximum(rows, 0)), where=rows >= 0)
        return out

    @lazy_property
    def first_rows(self) -> list[tuple[Array, Array]]:
        """For each capture: the packets that it is the first to have, and their rows."""
        mine = [np.flatnonzero(self.first == j) for j in range(len(self.packets))]
        return [(here, self.rows[here, j]) for j, here in enumerate(mine)]

    @lazy_property
    def _first_places(self) -> Array:
        """The row of each packet in the first capture that has it, counted over the rows of all captures."""
        out: Array = np.zeros(len(self.rows), np.int64)
        begin = 0
        for (here, rows), table in zip(self.first_rows, self.packets, strict=True):
            out[here] = begin + rows
            begin += table.num_rows
        return out

    def values(self, name: str) -> tuple[Array, Array]:
        """A numeric column of `packets` that is the same in all captures, and where it is not null. Do not change it."""
        if name not in self._values:
            self._values[name] = self._read_values(name)
        return self._values[name]

    def _read_values(self, name: str) -> tuple[Array, Array]:
        columns = [table.column(name) for table in self.packets]
        values = np.concatenate([filled(column) for column in columns]).take(self._first_places)
        if not any(column.null_count for column in columns):
            return values, np.ones(len(values), bool)
        return values, np.concatenate([known(column) for column in columns]).take(self._first_places)

    def codes(self, name: str, words: Sequence[str]) -> Array:
        """A text column of `packets` that is the same in all captures, as indices in `words`; -1 for null and other texts."""
        found = np.concatenate([coded(table.column(name), words) for table in self.packets])
        return np.asarray(found.take(self._first_places).astype(np.int64))

    def hosts(self) -> Array:
        """[2, packet]: source and destination as numbers from 0; -1: not known."""
        import pyarrow as pa

        ends = ("ip_src", "ip_dst")
        words = [table.column(name).combine_chunks().dictionary for table in self.packets for name in ends]
        names = pa.chunked_array([part.cast(pa.string()) for part in words], pa.string()).unique().to_pylist()
        return np.stack([self.codes(name, names) for name in ends])

    @lazy_property
    def stream(self) -> Array:
        """The direction of a connection of each packet: twice the connection, plus 1 for b2a; -1 without a connection."""
        flow, tcp = self.values("flow")
        return np.where(tcp, 2 * flow.astype(np.int64) + (self.direction == 1), -1)

    @lazy_property
    def direction(self) -> Array:
        """The direction of each packet: 0 for a2b, 1 for b2a, -1 without a connection."""
        return self.codes("direction", ("a2b", "b2a"))

    def time_span(self, capture: int) -> tuple[int | None, int | None]:
        """Times of a capture's first and last packet."""
        import pyarrow.compute as pc

        span = pc.min_max(self.packets[capture].column("t_ns")).as_py()
        return span["min"], span["max"]


_Pairs = dict[tuple[int, int], tuple[Array, Array, Array, Array]]


def _first_of(groups: Array) -> tuple[Array, Array]:
    """The first member of each group, and the group of each member, groups in order of first occurrence."""
    distinct, of = numbered(groups)
    first = np.zeros(len(distinct), np.int64)
    first[of[::-1]] = np.arange(len(of))[::-1]
    return first, of


def _exchange_keys(packets: pa.Table, exchanges: pa.Table, rows: Array) -> Array:
    """A number for each row, equal for rows of one exchange on the air; in a frame of several packets, for the n-th of each."""
    out: Array = -1 - np.arange(len(rows))
    number = packets.column("packet").to_numpy()
    place = rows - np.searchsorted(number, number[rows])
    lists = exchanges.column("packets").combine_chunks()
    exchange = np.repeat(np.arange(exchanges.num_rows), filled(lists.value_lengths()))
    at = find(lists.flatten().to_numpy(), number[rows])
    held = at >= 0
    out[held] = exchange[at[held]] * (int(place.max(initial=0)) + 1) + place[held]
    return out


def _in_order(pairs: _Pairs, i: int, j: int) -> tuple[Array, Array, Array, Array]:
    """Rows of captures i and j, in either order, that are the same packet."""
    if i < j:
        return pairs[i, j]
    rows_j, rows_i, kind, safe = pairs[j, i]
    return rows_i, rows_j, kind, safe


def _read(rows: pa.Table) -> tuple[Array, Array, Array, Array]:
    return (
        filled(rows.column("row_a")).astype(np.int64),
        filled(rows.column("row_b")).astype(np.int64),
        coded(rows.column("kind"), _KINDS),
        filled(rows.column("copy_safe"), False),
    )

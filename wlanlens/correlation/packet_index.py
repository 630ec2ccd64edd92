"""Journeys: which rows of the captures' `packets` are the same packet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.alignment.align import Joined
from wlanlens.tables.columns import coded, filled, find, known, numbered

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

#: How two rows are the same packet, in the order of their codes here.
_KINDS = ("same", "again", "part", "fragment")
_SAME, _AGAIN, _PART, _FRAGMENT = range(len(_KINDS))

_NEVER = np.iinfo(np.int64).max


class Journeys:
    """Which rows of the captures' `packets` are the same packet, in the order of the time at which any capture saw it first.

    Attributes
    ----------
    rows : int64 array
        One row a journey, one column a capture: the row of its `packets`, -1 where it was not seen.
    t_ns, seen : int64 and bool arrays
        The same way: when it passed there, and whether that is known; 0 where it was not seen or the stamp cannot be
        represented.
    of : list of int64 arrays
        The journey of each row of a capture's `packets`, -1 for rows that are no packet.
    ends : pair of int or None
        The two captures that are farthest apart.
    """

    def __init__(self, packets: Sequence[pa.Table], joined: Joined, exchanges: Sequence[pa.Table]) -> None:
        self.packets = list(packets)
        is_packet = [known(p.column("protocol")) for p in packets]
        damaged = [coded(p.column("stop"), ["bad_fcs"]) == 0 for p in packets]
        pairs = {both: _read(made.rows) for both, made in joined.pairs.items()}
        self.ends = joined.ends
        self.of: list[Array] = [np.full(len(readable), -1, np.int64) for readable in is_packet]
        self.sightings: Array = np.zeros(0, np.int64)
        self.sure: Array = np.zeros(0, bool)
        primaries = [readable.copy() for readable in is_packet]
        done: list[int] = []
        # A damaged frame is a packet that another capture knows, or noise: those that have any come last.
        for j in sorted(range(len(is_packet)), key=lambda j: int(damaged[j].sum())):
            own = self.of[j]
            for i in done:
                rows_i, rows_j, kind, sure = _turned(pairs, i, j)
                free = (own[rows_j] < 0) & (kind == _SAME)
                own[rows_j[free]] = self.of[i][rows_i[free]]
                unsure = self.of[i][rows_i[free & ~sure]]
                self.sure[unsure[unsure >= 0]] = False
                again = (own[rows_j] < 0) & (kind == _AGAIN)
                own[rows_j[again]] = self.of[i][rows_i[again]]
                primaries[j][rows_j[again]] = False
            fresh = np.flatnonzero(is_packet[j] & (own < 0) & ~damaged[j])
            # Attempts of one exchange are one packet, if no other capture has it.
            first, of = _first_of(_exchanged(packets[j], exchanges[j], fresh))
            own[fresh] = len(self.sure) + of
            primaries[j][np.delete(fresh, first)] = False
            self.sure = np.concatenate((self.sure, np.ones(len(first), bool)))
            done.append(j)
        self._recognise(pairs, done)
        self.whole: Array = np.ones(len(self.sure), bool)
        self.sightings = np.zeros(len(self.sure), np.int64)
        self.rows: Array = np.full((len(self.sure), len(packets)), -1, np.int64, order="F")
        for j, (own, primary) in enumerate(zip(self.of, primaries, strict=True)):
            self.sightings += np.bincount(own[own >= 0], minlength=len(self.sure))
            mine = np.flatnonzero(primary & (own >= 0))[::-1]
            # The first row of several.
            self.rows[own[mine], j] = mine
        self._parts(pairs, [filled(p.column("payload_bytes")) for p in packets])
        self._in_time()

    def _recognise(self, pairs: _Pairs, done: Sequence[int]) -> None:
        """Damaged frames that only a capture behind their own knows."""
        for place, j in enumerate(done):
            own = self.of[j]
            for i in done[place + 1 :]:
                rows_i, rows_j, kind, _ = _turned(pairs, i, j)
                free = (own[rows_j] < 0) & (kind <= _AGAIN)
                own[rows_j[free]] = self.of[i][rows_i[free]]

    def _parts(self, pairs: _Pairs, lengths: Sequence[Array]) -> None:
        """A super-segment or a fragmented datagram goes with each of its parts, and is no journey of its own."""
        gone = np.zeros(len(self.sightings), bool)
        for (i, j), (*columns, kind, told) in pairs.items():
            cut = np.flatnonzero(kind >= _PART)
            rows_i, rows_j, sure = (values[cut] for values in (*columns, told))
            larger_i = lengths[i][rows_i] >= lengths[j][rows_j]
            for here, (large, large_rows), (small, small_rows) in (
                (larger_i, (i, rows_i), (j, rows_j)),
                (~larger_i, (j, rows_j), (i, rows_i)),
            ):
                part, whole = self.of[small][small_rows[here]], large_rows[here]
                self.rows[part, large] = whole
                self.whole[part] = False
                self.sure[part] &= sure[here]
                self.sightings[part] += 1
                gone[self.of[large][whole]] = True
        self._keep(np.flatnonzero(~gone))

    def _in_time(self) -> None:
        """Put them in the order of time, and note the times."""
        self.t_ns: Array = np.zeros(self.rows.shape, np.int64, order="F")
        self.seen: Array = np.zeros(self.rows.shape, bool, order="F")
        first = np.full(len(self.rows), _NEVER)
        for j, table in enumerate(self.packets):
            here = np.flatnonzero(self.rows[:, j] >= 0)
            column, rows = table.column("t_ns"), self.rows[here, j]
            self.t_ns[here, j], self.seen[here, j] = filled(column)[rows], known(column)[rows]
            np.minimum(first, np.where(self.seen[:, j], self.t_ns[:, j], _NEVER), out=first)
        order = np.argsort(first, kind="stable")
        self._keep(order)
        for j in range(len(self.packets)):
            self.t_ns[:, j], self.seen[:, j] = self.t_ns[order, j], self.seen[order, j]

    def _keep(self, order: Array) -> None:
        """Leave only some, in a new order."""
        number = np.full(len(self.rows) + 1, -1, np.int64)
        number[order] = np.arange(len(order))
        rows = np.empty((len(order), len(self.packets)), np.int64, order="F")
        for j in range(len(self.packets)):
            rows[:, j] = self.rows[order, j]
        self.rows, self.sightings = rows, self.sightings[order]
        self.sure, self.whole = self.sure[order], self.whole[order]
        self.of = [number[own] for own in self.of]

    @cached_property
    def first(self) -> Array:
        """The first capture that has each."""
        out: Array = np.zeros(len(self.rows), np.int64)
        for j in reversed(range(len(self.packets))):
            out[self.rows[:, j] >= 0] = j
        return out

    @cached_property
    def _places(self) -> list[tuple[Array, Array]]:
        """Of each capture the journeys that it is the first to have, and their rows."""
        mine = [np.flatnonzero(self.first == j) for j in range(len(self.packets))]
        return [(here, self.rows[here, j]) for j, here in enumerate(mine)]

    def number(self, name: str) -> tuple[Array, Array]:
        """A column of `packets` that is the same wherever a packet is seen, and where it is known: from the first capture
        that has it."""
        values = [filled(table.column(name)) for table in self.packets]
        out: Array = np.zeros(len(self.rows), values[0].dtype)
        valid: Array = np.zeros(len(self.rows), bool)
        for (here, rows), table, column in zip(self._places, self.packets, values, strict=True):
            out[here], valid[here] = column[rows], known(table.column(name))[rows]
        return out, valid

    def word(self, name: str, words: Sequence[str]) -> Array:
        """The same of a dictionary-encoded column, as places in `words`; -1 for null and other words."""
        out: Array = np.zeros(len(self.rows), np.int64)
        for (here, rows), table in zip(self._places, self.packets, strict=True):
            out[here] = coded(table.column(name), words)[rows]
        return out

    @cached_property
    def way(self) -> Array:
        """Twice the connection of each, and 1 for the way back; -1 for what belongs to none."""
        flow, tcp = self.number("flow")
        back = self.word("direction", ("a2b", "b2a"))
        return np.where(tcp, 2 * flow.astype(np.int64) + (back == 1), -1)

    def span(self, capture: int) -> tuple[int | None, int | None]:
        """Times of a capture's first and last packet."""
        import pyarrow.compute as pc

        span = pc.min_max(self.packets[capture].column("t_ns")).as_py()
        return span["min"], span["max"]


_Pairs = dict[tuple[int, int], tuple[Array, Array, Array, Array]]


def _first_of(groups: Array) -> tuple[Array, Array]:
    """The first member of each group, and the group of each member, groups in the order in which they come."""
    distinct, of = numbered(groups)
    first = np.zeros(len(distinct), np.int64)
    first[of[::-1]] = np.arange(len(of))[::-1]
    return first, of


def _exchanged(packets: pa.Table, exchanges: pa.Table, rows: Array) -> Array:
    """A number for each row, the same for rows of one exchange on the air; of a frame with several packets, the n-th each."""
    out: Array = -1 - np.arange(len(rows))
    if not exchanges.num_rows:
        return out
    number = packets.column("packet").to_numpy()
    place = rows - np.searchsorted(number, number[rows])
    lists = exchanges.column("packets").combine_chunks()
    exchange = np.repeat(np.arange(exchanges.num_rows), lists.value_lengths().fill_null(0).to_numpy())
    at = find(lists.flatten().to_numpy(), number[rows])
    held = at >= 0
    out[held] = exchange[at[held]] * (int(place.max(initial=0)) + 1) + place[held]
    return out


def _turned(pairs: _Pairs, i: int, j: int) -> tuple[Array, Array, Array, Array]:
    """Rows of captures i and j, in either order, that are the same packet."""
    if i < j:
        return pairs[i, j]
    rows_j, rows_i, kind, sure = pairs[j, i]
    return rows_i, rows_j, kind, sure


def _read(rows: pa.Table) -> tuple[Array, Array, Array, Array]:
    return (
        rows.column("row_a").to_numpy().astype(np.int64),
        rows.column("row_b").to_numpy().astype(np.int64),
        coded(rows.column("kind"), _KINDS),
        np.asarray(rows.column("copy_safe").to_numpy(), bool),
    )

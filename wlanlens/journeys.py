"""Journeys: the table `links`, one row an IP packet with its row at every point that saw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import lost, tables
from wlanlens.alignment import Joined

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture import Capture

Array = np.ndarray[Any, Any]

#: Columns of `packets` that are the same wherever a packet is seen.
_ABOUT = ["flow", "direction", "protocol", "payload_bytes", "tcp_seq", "tcp_ack", "tcp_flags"]


class Journeys:
    """Which rows of the captures' `packets` are the same packet.

    Attributes
    ----------
    rows : int64 array
        One row a journey, one column a capture: the row of its `packets`, -1 where it was not seen.
    of : list of int64 arrays
        The journey of each row of a capture's `packets`, -1 for rows that are no packet.
    ends : pair of int or None
        The two captures that are farthest apart.
    order : int64 array
        The journey of each row of `links`, once that is made.
    """

    def __init__(self, packets: Sequence[pa.Table], joined: Joined, exchanges: Sequence[pa.Table]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        known = [np.asarray(p.column("protocol").is_valid().to_numpy(zero_copy_only=False), bool) for p in packets]
        lengths = [p.column("payload_bytes").fill_null(0).to_numpy() for p in packets]
        damaged = [
            np.asarray(pc.equal(p.column("stop").cast(pa.string()), "bad_fcs").fill_null(False), bool) for p in packets
        ]
        self.ends = joined.ends
        self.order: Array = np.zeros(0, np.int64)
        self.of: list[Array] = [np.full(len(is_packet), -1, np.int64) for is_packet in known]
        self.sightings: Array = np.zeros(0, np.int64)
        self.sure: Array = np.zeros(0, bool)
        self.whole: Array = np.zeros(0, bool)
        primaries = [is_packet.copy() for is_packet in known]
        done: list[int] = []
        # A damaged frame is a packet that another capture knows, or noise: those that have any come last.
        for j in sorted(range(len(known)), key=lambda j: int(damaged[j].sum())):
            own = self.of[j]
            for i in done:
                rows_i, rows_j, kind, sure = _pair(joined, i, j)
                free = (own[rows_j] < 0) & (kind == "same")
                own[rows_j[free]] = self.of[i][rows_i[free]]
                unsure = self.of[i][rows_i[free & ~sure]]
                self.sure[unsure[unsure >= 0]] = False
                again = (own[rows_j] < 0) & (kind == "again")
                own[rows_j[again]] = self.of[i][rows_i[again]]
                primaries[j][rows_j[again]] = False
            fresh = np.flatnonzero(known[j] & (own < 0) & ~damaged[j])
            # Attempts of one exchange are one packet, if no other capture has it.
            groups, first, of = np.unique(
                _exchanged(packets[j], exchanges[j], fresh), return_index=True, return_inverse=True
            )
            grown = len(groups)
            own[fresh] = len(self.sightings) + of
            primaries[j][np.delete(fresh, first)] = False
            self.sightings = np.concatenate((self.sightings, np.zeros(grown, np.int64)))
            self.sure = np.concatenate((self.sure, np.ones(grown, bool)))
            self.whole = np.concatenate((self.whole, np.ones(grown, bool)))
            done.append(j)
        self._recognise(joined, done)
        for own in self.of:
            np.add.at(self.sightings, own[own >= 0], 1)
        links = [
            (j, own[mine], mine)
            for j, (own, primary) in enumerate(zip(self.of, primaries, strict=True))
            for mine in (np.flatnonzero(primary & (own >= 0)),)
        ]
        self.rows: Array = np.full((len(self.sightings), len(packets)), -1, np.int64)
        for j, journeys, rows in reversed(links):
            # The first row of several.
            self.rows[journeys[::-1], j] = rows[::-1]
        self._parts(joined, lengths)

    def _recognise(self, joined: Joined, done: Sequence[int]) -> None:
        """Damaged frames that only a capture behind their own knows."""
        for place, j in enumerate(done):
            own = self.of[j]
            for i in done[place + 1 :]:
                rows_i, rows_j, kind, _ = _pair(joined, i, j)
                free = (own[rows_j] < 0) & np.isin(kind, ("same", "again"))
                own[rows_j[free]] = self.of[i][rows_i[free]]

    def _parts(self, joined: Joined, lengths: Sequence[Array]) -> None:
        """A super-segment or a fragmented datagram goes with each of its parts, and is no journey of its own."""
        gone = np.zeros(len(self.sightings), bool)
        for (i, j), made in joined.pairs.items():
            rows_i, rows_j, kind, sure = _read(made.rows)
            cut = (kind == "part") | (kind == "fragment")
            rows_i, rows_j, sure = rows_i[cut], rows_j[cut], sure[cut]
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
        keep = ~gone
        number = np.cumsum(keep) - 1
        self.rows, self.sightings = self.rows[keep], self.sightings[keep]
        self.sure, self.whole = self.sure[keep], self.whole[keep]
        self.of = [np.where((own >= 0) & keep[own], number[own], -1) for own in self.of]


def _exchanged(packets: pa.Table, exchanges: pa.Table, rows: Array) -> Array:
    """A number for each row, the same for rows of one exchange on the air; of a frame with several packets, the n-th each."""
    number = packets.column("packet").to_numpy()
    place = rows - np.searchsorted(number, number[rows])
    lists = exchanges.column("packets").combine_chunks()
    exchange = np.repeat(np.arange(exchanges.num_rows), lists.value_lengths().fill_null(0).to_numpy())
    at = find(lists.flatten().to_numpy(), number[rows])
    held = at >= 0
    out: Array = -1 - np.arange(len(rows))
    out[held] = exchange[at[held]] * (int(place.max(initial=0)) + 1) + place[held]
    return out


def find(where: Array, wanted: Array) -> Array:
    """Index of each wanted number in an array, -1 where it is not there."""
    if not len(where):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(where, kind="stable")
    at = np.minimum(np.searchsorted(where[order], wanted), len(where) - 1)
    found: Array = np.where(where[order[at]] == wanted, order[at], -1)
    return found


def _pair(joined: Joined, i: int, j: int) -> tuple[Array, Array, Array, Array]:
    """Rows of captures i and j, in either order, that are the same packet."""
    if i < j:
        return _read(joined.pairs[i, j].rows)
    rows_j, rows_i, kind, sure = _read(joined.pairs[j, i].rows)
    return rows_i, rows_j, kind, sure


def _read(rows: pa.Table) -> tuple[Array, Array, Array, Array]:
    kind = np.asarray(rows.column("kind").cast("string").to_numpy(zero_copy_only=False), object)
    sure = np.asarray(rows.column("copy_safe").to_numpy(zero_copy_only=False), bool)
    return (
        rows.column("row_a").to_numpy().astype(np.int64),
        rows.column("row_b").to_numpy().astype(np.int64),
        kind,
        sure,
    )


def table(
    captures: Sequence[Capture], packets: Sequence[pa.Table], journeys: Journeys, exchanges: Sequence[pa.Table]
) -> pa.Table:
    """The table `links`, in the order of time; `packets` and `exchanges` are on the common axis."""
    import pyarrow as pa

    if not len(journeys.rows):
        return tables.empty("links")
    columns: dict[str, Any] = about(packets, journeys)
    for point in tables.POINTS:
        there = [j for j, capture in enumerate(captures) if capture.vantage == point]
        number, t_ns, seen = _at(packets, journeys, there)
        columns[f"{point}_packet"] = pa.array(number, pa.uint64(), mask=~seen)
        columns[f"{point}_t_ns"] = pa.array(t_ns, pa.int64(), mask=~seen)
    at = times(packets, journeys)
    seen_count = (journeys.rows >= 0).sum(axis=1)
    columns["rows"] = _rows(captures, packets, journeys, at)
    columns["seen"] = pa.array(seen_count.astype(np.uint8))
    columns["sightings"] = pa.array(journeys.sightings.astype(np.uint32))
    columns["whole"], columns["copy_safe"] = pa.array(journeys.whole), pa.array(journeys.sure)
    # Packets that a capture hides are added where they are known (unhidden.py).
    columns["inferred"] = pa.array(np.zeros(len(seen_count), bool))
    first, last = at.min(axis=1), at.max(axis=1)
    several = at.count(axis=1) > 1
    way = np.ma.filled(last - first, 0).astype(np.int64)
    columns["one_way_ns"] = pa.array(way, pa.int64(), mask=~several)
    columns.update(_air(captures, journeys, packets, exchanges))
    ways = _ways(columns)
    columns["fate"] = _fate(at, packets, ways, journeys.ends)
    columns["lost"] = lost.places([c.vantage for c in captures], at, ways, columns["fate"], columns["acked"])
    schema = tables.schema("links")
    made = pa.table([columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema)
    journeys.order = in_time(at)
    return made.take(pa.array(journeys.order))


def times(packets: Sequence[pa.Table], journeys: Journeys) -> Any:
    """[journey, capture]: when it passed there; masked where it was not seen or the stamp cannot be represented."""
    return np.ma.stack([_times(p, journeys.rows[:, j]) for j, p in enumerate(packets)], axis=1)


def in_time(at: Any) -> Array:
    """The journeys in the order of `links`: by the first time at which any capture saw them."""
    first = np.ma.filled(at.min(axis=1), np.iinfo(np.int64).max)
    order: Array = np.argsort(first, kind="stable")
    return order


def _times(packets: pa.Table, rows: Array) -> Any:
    """Times of some rows of `packets`; masked where there is no row or no time."""
    column = packets.column("t_ns")
    if not packets.num_rows:
        return np.ma.MaskedArray(np.zeros(len(rows), np.int64), True)
    stamped = np.asarray(column.is_valid().to_numpy(), bool)[rows]
    return np.ma.MaskedArray(column.fill_null(0).to_numpy()[rows], (rows < 0) | ~stamped)


def _rows(captures: Sequence[Capture], packets: Sequence[pa.Table], journeys: Journeys, at: Any) -> pa.Array:
    """The column `rows`."""
    import pyarrow as pa

    t_ns = np.ma.filled(at, 0)
    late = np.where(np.ma.getmaskarray(at), np.iinfo(np.int64).max, t_ns)
    late = np.where(journeys.rows >= 0, np.minimum(late, np.iinfo(np.int64).max - 1), np.iinfo(np.int64).max)
    order = np.argsort(late, axis=1, kind="stable")
    row = np.take_along_axis(journeys.rows, order, axis=1)
    held = row >= 0
    which = order[held]
    number = np.zeros(len(which), np.uint64)
    for j, table_ in enumerate(packets):
        here = which == j
        number[here] = table_.column("packet").to_numpy()[row[held][here]]
    unstamped = np.take_along_axis(np.ma.getmaskarray(at), order, axis=1)[held]
    names = pa.array([capture.name for capture in captures]).take(pa.array(which))
    values = pa.StructArray.from_arrays(
        [
            names,
            pa.array(number),
            pa.array(np.take_along_axis(t_ns, order, axis=1)[held], pa.int64(), mask=unstamped),
        ],
        names=["capture", "packet", "t_ns"],
    )
    offsets = np.concatenate(([0], np.cumsum(held.sum(axis=1)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def about(packets: Sequence[pa.Table], journeys: Journeys) -> dict[str, Any]:
    """What the packet is, from the first capture that has it."""
    import pyarrow as pa

    first = (journeys.rows >= 0).argmax(axis=1)
    where = np.zeros(len(first), np.int64)
    base = 0
    parts = []
    for j, table_ in enumerate(packets):
        here = first == j
        where[here] = base + journeys.rows[here, j]
        base += table_.num_rows
        slim = table_.select(_ABOUT)
        parts.append(slim.set_column(1, "direction", slim.column("direction").cast(pa.string())))
    rows = pa.concat_tables(parts).take(pa.array(where))
    return {
        **{name: rows.column(name) for name in _ABOUT},
        "direction": rows.column("direction").combine_chunks().dictionary_encode(),
    }


def _at(packets: Sequence[pa.Table], journeys: Journeys, captures: Sequence[int]) -> tuple[Array, Array, Array]:
    """Packet number and time at one point: of several captures there, the first that has it."""
    count = len(journeys.rows)
    number, t_ns, seen = np.zeros(count, np.uint64), np.zeros(count, np.int64), np.zeros(count, bool)
    for j in captures:
        here = (journeys.rows[:, j] >= 0) & ~seen
        rows = journeys.rows[here, j]
        number[here] = packets[j].column("packet").to_numpy()[rows]
        t_ns[here] = packets[j].column("t_ns").fill_null(0).to_numpy()[rows]
        seen |= here
    return number, t_ns, seen


def _air(
    captures: Sequence[Capture], journeys: Journeys, packets: Sequence[pa.Table], exchanges: Sequence[pa.Table]
) -> dict[str, Any]:
    """Attempts, the last one's time and rate, and acknowledgment of packets on the air."""
    import pyarrow as pa

    count = len(journeys.rows)
    attempts, rate, acked = np.zeros(count, np.uint16), np.zeros(count), np.zeros(count, bool)
    known, told = np.zeros(count, bool), np.zeros(count, bool)
    last, timed = np.zeros(count, np.int64), np.zeros(count, bool)
    for j, rows in enumerate(exchanges):
        if captures[j].vantage != "air" or not rows.num_rows:
            continue
        lists = rows.column("packets").combine_chunks()
        exchange_of = np.repeat(np.arange(rows.num_rows), lists.value_lengths().fill_null(0).to_numpy())
        frames = lists.flatten().to_numpy()
        order = np.argsort(frames, kind="stable")
        frames, exchange_of = frames[order], exchange_of[order]
        # Of all its frames: the first that was heard may be damaged, and those are in no exchange.
        mine = np.flatnonzero(journeys.of[j] >= 0)
        numbers = packets[j].column("packet").to_numpy()[mine]
        at = np.minimum(np.searchsorted(frames, numbers), len(frames) - 1)
        mine, at = (v[frames[at] == numbers] for v in (mine, at))
        here, first = np.unique(journeys.of[j][mine], return_index=True)
        which = exchange_of[at[first]][~known[here]]
        here = here[~known[here]]
        attempts[here] = rows.column("attempts").to_numpy()[which]
        rates = rows.column("rates_mbps").to_pylist()
        rate[here] = [next((r for r in reversed(rates[k] or []) if r is not None), np.nan) for k in which]
        valid = np.asarray(rows.column("acked").is_valid().to_numpy(), bool)[which]
        acked[here] = np.asarray(rows.column("acked").fill_null(False).to_numpy(zero_copy_only=False), bool)[which]
        known[here], told[here] = True, valid
        ends = rows.column("t_last_ns")
        last[here] = ends.fill_null(0).to_numpy()[which]
        timed[here] = np.asarray(ends.is_valid().to_numpy(), bool)[which]
    return {
        "air_last_ns": pa.array(last, pa.int64(), mask=~timed),
        "attempts": pa.array(attempts, pa.uint16(), mask=~known),
        "rate_mbps": pa.array(rate, pa.float64(), mask=~known | np.isnan(rate)),
        "acked": pa.array(acked, pa.bool_(), mask=~told),
    }


def _ways(columns: dict[str, Any]) -> Array:
    """A number for each direction of a connection; -1 for what belongs to none."""
    flow = columns["flow"].cast("int64").fill_null(-1).to_numpy()
    back = np.asarray(columns["direction"].cast("string").to_numpy(zero_copy_only=False) == "b2a", bool)
    return np.where(flow < 0, -1, 2 * flow + back)


def _fate(at: Any, packets: Sequence[pa.Table], ways: Array, ends: tuple[int, int] | None) -> pa.Array:
    """Whether the last capture on a packet's way has it. `ends` are the two captures farthest apart; which is first is
    told, of each connection's direction, by its packets that both have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(["arrived", "not_seen", "outside", "unknown"])
    codes = np.full(at.shape[0], 3, np.int8)
    seen = ~np.ma.getmaskarray(at)
    if ends is not None:
        one, other = ends
        t_ns = np.ma.filled(at, 0)
        both = seen[:, one] & seen[:, other]
        codes[both] = 0
        told = both & (ways >= 0)
        forward = np.zeros(int(ways.max(initial=-1)) + 1)
        np.add.at(forward, ways[told], np.sign(t_ns[:, other] - t_ns[:, one])[told])
        onward = np.where(ways >= 0, forward[np.maximum(ways, 0)], 0.0) if len(forward) else np.zeros(len(ways))
        for here, there, sign in ((one, other, 1), (other, one, -1)):
            alone = seen[:, here] & ~seen[:, there] & (onward != 0)
            span = pc.min_max(packets[there].column("t_ns")).as_py()
            away = (t_ns[:, here] < (span["min"] or 0)) | (t_ns[:, here] > (span["max"] or 0))
            left = np.sign(onward) == sign
            codes[alone & left] = np.where(away, 2, 1)[alone & left]
            codes[alone & ~left] = 0
    return pa.DictionaryArray.from_arrays(pa.array(codes), names)

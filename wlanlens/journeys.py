"""Journeys: the table `links`, one row an IP packet with its row at every point that saw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.alignment import Joined

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture import Capture

Array = np.ndarray[Any, Any]


class Journeys:
    """Which rows of the captures' `packets` are the same packet.

    Attributes
    ----------
    rows : int64 array
        One row a journey, one column a capture: the row of its `packets`, -1 where it was not seen.
    of : list of int64 arrays
        The journey of each row of a capture's `packets`, -1 for rows that are no packet.
    """

    def __init__(self, packets: Sequence[pa.Table], joined: Joined) -> None:
        known = [np.asarray(p.column("protocol").is_valid().to_numpy(zero_copy_only=False), bool) for p in packets]
        lengths = [p.column("payload_bytes").fill_null(0).to_numpy() for p in packets]
        self.of: list[Array] = []
        self.sightings: Array = np.zeros(0, np.int64)
        self.sure: Array = np.zeros(0, bool)
        self.whole: Array = np.zeros(0, bool)
        links: list[tuple[int, Array, Array]] = []
        for j, is_packet in enumerate(known):
            own = np.full(len(is_packet), -1, np.int64)
            primary = is_packet.copy()
            for i in range(j):
                rows_i, rows_j, kind, sure = _read(joined.pairs[i, j].rows)
                free = (own[rows_j] < 0) & (kind == "same")
                own[rows_j[free]] = self.of[i][rows_i[free]]
                self.sure[self.of[i][rows_i[free & ~sure]]] = False
                again = (own[rows_j] < 0) & (kind == "again")
                own[rows_j[again]] = self.of[i][rows_i[again]]
                primary[rows_j[again]] = False
            fresh = np.flatnonzero(is_packet & (own < 0))
            own[fresh] = len(self.sightings) + np.arange(len(fresh))
            grown = len(fresh)
            self.sightings = np.concatenate((self.sightings, np.zeros(grown, np.int64)))
            self.sure = np.concatenate((self.sure, np.ones(grown, bool)))
            self.whole = np.concatenate((self.whole, np.ones(grown, bool)))
            self.of.append(own)
            mine = np.flatnonzero(primary & (own >= 0))
            links.append((j, own[mine], mine))
            np.add.at(self.sightings, own[own >= 0], 1)
        self.rows: Array = np.full((len(self.sightings), len(packets)), -1, np.int64)
        for j, journeys, rows in reversed(links):
            # The first row of several.
            self.rows[journeys[::-1], j] = rows[::-1]
        self._parts(joined, lengths)

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


def _read(rows: pa.Table) -> tuple[Array, Array, Array, Array]:
    kind = np.asarray(rows.column("kind").cast("string").to_numpy(zero_copy_only=False), object)
    sure = np.asarray(rows.column("copy_safe").to_numpy(zero_copy_only=False), bool)
    return rows.column("row_a").to_numpy().astype(np.int64), rows.column("row_b").to_numpy().astype(np.int64), kind, sure


def table(
    captures: Sequence[Capture], packets: Sequence[pa.Table], journeys: Journeys, exchanges: Sequence[pa.Table]
) -> pa.Table:
    """The table `links`, in the order of time; `packets` and `exchanges` are on the common axis."""
    import pyarrow as pa

    if not len(journeys.rows):
        return tables.empty("links")
    columns: dict[str, Any] = _about(packets, journeys)
    times: list[Array] = []
    points: list[str] = []
    for point in tables.POINTS:
        at = [j for j, capture in enumerate(captures) if capture.vantage == point]
        number, t_ns, seen = _at(packets, journeys, at)
        columns[f"{point}_packet"] = pa.array(number, pa.uint64(), mask=~seen)
        columns[f"{point}_t_ns"] = pa.array(t_ns, pa.int64(), mask=~seen)
        if at:
            times.append(np.ma.MaskedArray(t_ns, ~seen))
            points.append(point)
    elsewhere = [j for j, capture in enumerate(captures) if capture.vantage not in tables.POINTS]
    seen_count = (journeys.rows >= 0).sum(axis=1)
    columns["seen"] = pa.array(seen_count.astype(np.uint8))
    columns["sightings"] = pa.array(journeys.sightings.astype(np.uint32))
    columns["whole"], columns["copy_safe"] = pa.array(journeys.whole), pa.array(journeys.sure)
    stacked = np.ma.stack(times) if times else np.ma.masked_all((1, len(seen_count)))
    first, last = stacked.min(axis=0), stacked.max(axis=0)
    several = stacked.count(axis=0) > 1
    way = np.ma.filled(last - first, 0).astype(np.int64)
    columns["one_way_ns"] = pa.array(way, pa.int64(), mask=~several)
    columns.update(_air(captures, journeys, packets, exchanges))
    columns["fate"] = _fate(points, stacked, _covered(captures, packets), bool(elsewhere), _ways(columns))
    schema = tables.schema("links")
    made = pa.table([columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema)
    order = np.argsort(np.ma.filled(first, np.iinfo(np.int64).max), kind="stable")
    return made.take(pa.array(order))


def _about(packets: Sequence[pa.Table], journeys: Journeys) -> dict[str, Any]:
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
        slim = table_.select(["flow", "direction", "protocol", "payload_bytes"])
        parts.append(slim.set_column(1, "direction", slim.column("direction").cast(pa.string())))
    rows = pa.concat_tables(parts).take(pa.array(where))
    return {
        "flow": rows.column("flow"),
        "direction": rows.column("direction").combine_chunks().dictionary_encode(),
        "protocol": rows.column("protocol"),
        "payload_bytes": rows.column("payload_bytes"),
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
    """Attempts, last rate and acknowledgment of packets on the air."""
    import pyarrow as pa

    count = len(journeys.rows)
    attempts, rate, acked = np.zeros(count, np.uint16), np.zeros(count), np.zeros(count, bool)
    known, told = np.zeros(count, bool), np.zeros(count, bool)
    for j, rows in enumerate(exchanges):
        if captures[j].vantage != "air" or not rows.num_rows:
            continue
        lengths = rows.column("packets").combine_chunks().value_lengths().fill_null(0).to_numpy()
        of = np.repeat(np.arange(rows.num_rows), lengths)
        frames = rows.column("packets").combine_chunks().flatten().to_numpy()
        order = np.argsort(frames, kind="stable")
        frames, of = frames[order], of[order]
        here = np.flatnonzero((journeys.rows[:, j] >= 0) & ~known)
        numbers = packets[j].column("packet").to_numpy()[journeys.rows[here, j]]
        at = np.searchsorted(frames, numbers)
        found = (at < len(frames)) & (frames[np.minimum(at, len(frames) - 1)] == numbers) if len(frames) else at < 0
        here, which = here[found], of[at[found]]
        attempts[here] = rows.column("attempts").to_numpy()[which]
        rates = rows.column("rates_mbps").to_pylist()
        rate[here] = [next((r for r in reversed(rates[k] or []) if r is not None), np.nan) for k in which]
        valid = rows.column("acked").is_valid().to_numpy()[which]
        acked[here] = np.asarray(rows.column("acked").fill_null(False).to_numpy(zero_copy_only=False), bool)[which]
        known[here], told[here] = True, valid
    return {
        "attempts": pa.array(attempts, pa.uint16(), mask=~known),
        "rate_mbps": pa.array(rate, pa.float64(), mask=~known | np.isnan(rate)),
        "acked": pa.array(acked, pa.bool_(), mask=~told),
    }


def _covered(captures: Sequence[Capture], packets: Sequence[pa.Table]) -> dict[str, tuple[int, int]]:
    """From when to when each point was capturing."""
    import pyarrow.compute as pc

    out: dict[str, tuple[int, int]] = {}
    for capture, rows in zip(captures, packets, strict=True):
        low, high = pc.min(rows.column("t_ns")).as_py(), pc.max(rows.column("t_ns")).as_py()
        if low is not None:
            was = out.get(capture.vantage, (low, high))
            out[capture.vantage] = (min(low, was[0]), max(high, was[1]))
    return out


def _ways(columns: dict[str, Any]) -> Array:
    """A number for each direction of a connection; -1 for what belongs to none."""
    flow = columns["flow"].cast("int64").fill_null(-1).to_numpy()
    back = np.asarray(columns["direction"].cast("string").to_numpy(zero_copy_only=False) == "b2a", bool)
    return np.where(flow < 0, -1, 2 * flow + back)


def _fate(
    points: Sequence[str], times: Any, covered: dict[str, tuple[int, int]], others: bool, ways: Array
) -> pa.Array:
    """Whether the last point on a packet's way saw it. A connection's way is told by its packets that both ends saw."""
    import pyarrow as pa

    names = pa.array(["arrived", "not_seen", "outside", "unknown"])
    codes = np.full(times.shape[1], 3, np.int8)
    if len(points) > 1 and not others:
        seen = ~np.ma.getmaskarray(times)
        t_ns = np.ma.filled(times, 0)
        both = seen[0] & seen[-1]
        codes[both] = 0
        told = both & (ways >= 0)
        forward = np.zeros(int(ways.max(initial=-1)) + 1)
        np.add.at(forward, ways[told], np.sign(t_ns[-1] - t_ns[0])[told])
        onward = np.where(ways >= 0, forward[np.maximum(ways, 0)], 0.0) if len(forward) else np.zeros(len(ways))
        for here, there, sign in ((0, -1, 1), (-1, 0, -1)):
            alone = seen[here] & ~seen[there] & (onward != 0)
            low, high = covered[points[there]]
            away = (t_ns[here] < low) | (t_ns[here] > high)
            left = np.sign(onward) == sign
            codes[alone & left] = np.where(away, 2, 1)[alone & left]
            codes[alone & ~left] = 0
    return pa.DictionaryArray.from_arrays(pa.array(codes), names)

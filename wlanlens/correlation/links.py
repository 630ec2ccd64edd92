"""The table `links`: one row an IP packet with its row at every point that saw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.correlation import loss_location
from wlanlens.tables import ARRIVALS
from wlanlens.tables.columns import filled, known, latest, spread

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.path_order import Ways
    from wlanlens.capture.capture import Capture
    from wlanlens.correlation.packet_index import Journeys

Array = np.ndarray[Any, Any]

#: Columns of `packets` that are the same wherever a packet is seen.
_ABOUT = ("flow", "protocol", "payload_bytes", "tcp_seq", "tcp_ack", "tcp_flags")

_DIRECTIONS = ("a2b", "b2a")

_NEVER = np.iinfo(np.int64).max


def table(
    captures: Sequence[Capture], journeys: Journeys, ways: Ways, codes: Array, exchanges: Sequence[pa.Table]
) -> pa.Table:
    """The table `links`, in the order of time; `codes` are their fates, and `exchanges` are on the common axis."""
    import pyarrow as pa

    if not len(journeys.rows):
        return tables.empty("links")
    columns: dict[str, Any] = about(journeys)
    for point in tables.POINTS:
        there = [j for j, capture in enumerate(captures) if capture.point == point]
        number, t_ns, seen = _at(journeys, there)
        columns[f"{point}_packet"] = pa.array(number, pa.uint64(), mask=~seen)
        columns[f"{point}_t_ns"] = pa.array(t_ns, pa.int64(), mask=~seen)
    columns["rows"] = _rows(captures, journeys)
    columns["seen"] = pa.array(_count(journeys.rows >= 0).astype(np.uint8))
    columns["sightings"] = pa.array(journeys.sightings.astype(np.uint32))
    columns["whole"], columns["copy_safe"] = pa.array(journeys.whole), pa.array(journeys.sure)
    # Packets that a capture hides are added where they are known (unhidden.py).
    columns["inferred"] = pa.array(np.zeros(len(journeys.rows), bool))
    columns["one_way_ns"] = _one_way(journeys)
    columns.update(_air(captures, journeys, exchanges))
    columns["fate"] = _fate(journeys)
    points = [capture.point for capture in captures]
    columns["lost"] = loss_location.places(points, journeys, ways, codes, columns["fate"], columns["acked"])
    schema = tables.schema("links")
    return pa.table([columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema)


def about(journeys: Journeys) -> dict[str, Any]:
    """What the packet is, from the first capture that has it."""
    import pyarrow as pa

    out: dict[str, Any] = {}
    for name in _ABOUT:
        values, valid = journeys.number(name)
        out[name] = pa.array(values, mask=~valid)
    back = journeys.word("direction", _DIRECTIONS)
    out["direction"] = spread(back, _DIRECTIONS, back < 0)
    return out


def _count(truths: Array) -> Array:
    """How many of each row are true: quicker than a sum along so short an axis."""
    out: Array = np.zeros(len(truths), np.int64)
    for j in range(truths.shape[1]):
        out += truths[:, j]
    return out


def _one_way(journeys: Journeys) -> pa.Array:
    """The column `one_way_ns`."""
    import pyarrow as pa

    first, last = np.full(len(journeys.rows), _NEVER), np.full(len(journeys.rows), -_NEVER)
    for j in range(journeys.rows.shape[1]):
        t_ns, seen = journeys.t_ns[:, j], journeys.seen[:, j]
        np.minimum(first, t_ns, out=first, where=seen)
        np.maximum(last, t_ns, out=last, where=seen)
    several = _count(journeys.seen) > 1
    return pa.array(np.where(several, last - first, 0), pa.int64(), mask=~several)


def _rows(captures: Sequence[Capture], journeys: Journeys) -> pa.ListArray:
    """The column `rows`: those without a time behind the others."""
    import pyarrow as pa

    held = journeys.rows >= 0
    late = np.where(journeys.seen, journeys.t_ns, np.where(held, _NEVER - 1, _NEVER))
    order = np.argsort(late, axis=1, kind="stable")
    at = (np.arange(len(order))[:, None], order)
    kept = held[at]
    which, t_ns, stamped = order[kept], journeys.t_ns[at][kept], journeys.seen[at][kept]
    names = pa.array([capture.name for capture in captures]).take(pa.array(which))
    number = numbers(journeys, which, journeys.rows[at][kept])
    values = pa.StructArray.from_arrays(
        [names, pa.array(number), pa.array(t_ns, pa.int64(), mask=~stamped)], names=["capture", "packet", "t_ns"]
    )
    offsets = np.concatenate(([0], np.cumsum(_count(held)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def numbers(journeys: Journeys, capture: Array, row: Array) -> Array:
    """The packet number of some rows of `packets`, 0 where there is none."""
    number = np.zeros(len(row), np.uint64)
    for j, table_ in enumerate(journeys.packets):
        here = np.flatnonzero((capture == j) & (row >= 0))
        number[here] = table_.column("packet").to_numpy()[row[here]]
    return number


def _at(journeys: Journeys, captures: Sequence[int]) -> tuple[Array, Array, Array]:
    """Packet number and time at one point: of several captures there, the first that has it."""
    count = len(journeys.rows)
    number, t_ns, seen = np.zeros(count, np.uint64), np.zeros(count, np.int64), np.zeros(count, bool)
    for j in captures:
        here = np.flatnonzero((journeys.rows[:, j] >= 0) & ~seen)
        number[here] = journeys.packets[j].column("packet").to_numpy()[journeys.rows[here, j]]
        t_ns[here] = journeys.t_ns[here, j]
        seen[here] = True
    return number, t_ns, seen


def _air(captures: Sequence[Capture], journeys: Journeys, exchanges: Sequence[pa.Table]) -> dict[str, Any]:
    """Attempts, the last one's time and rate, and acknowledgment of packets on the air."""
    import pyarrow as pa

    count = len(journeys.rows)
    attempts, rate, acked = np.zeros(count, np.uint16), np.zeros(count), np.zeros(count, bool)
    told_of, told = np.zeros(count, bool), np.zeros(count, bool)
    last, timed = np.zeros(count, np.int64), np.zeros(count, bool)
    for j, rows in enumerate(exchanges):
        if captures[j].point != "air" or not rows.num_rows:
            continue
        lists = rows.column("packets").combine_chunks()
        exchange_of = np.repeat(np.arange(rows.num_rows), lists.value_lengths().fill_null(0).to_numpy())
        frames = lists.flatten().to_numpy()
        order = np.argsort(frames, kind="stable")
        frames, exchange_of = frames[order], exchange_of[order]
        # Of all its frames: the first that was heard may be damaged, and those are in no exchange.
        mine = np.flatnonzero(journeys.of[j] >= 0)
        numbers = journeys.packets[j].column("packet").to_numpy()[mine]
        at = np.minimum(np.searchsorted(frames, numbers), len(frames) - 1)
        mine, at = (v[frames[at] == numbers] for v in (mine, at))
        here, first = np.unique(journeys.of[j][mine], return_index=True)
        which = exchange_of[at[first]][~told_of[here]]
        here = here[~told_of[here]]
        attempts[here] = rows.column("attempts").to_numpy()[which]
        rate[here] = latest(rows.column("rates_mbps").combine_chunks())[which]
        acked[here] = filled(rows.column("acked"), False)[which]
        told_of[here], told[here] = True, known(rows.column("acked"))[which]
        last[here] = filled(rows.column("t_last_ns"))[which]
        timed[here] = known(rows.column("t_last_ns"))[which]
    return {
        "air_last_ns": pa.array(last, pa.int64(), mask=~timed),
        "attempts": pa.array(attempts, pa.uint16(), mask=~told_of),
        "rate_mbps": pa.array(rate, pa.float64(), mask=~told_of | np.isnan(rate)),
        "acked": pa.array(acked, pa.bool_(), mask=~told),
    }


def _fate(journeys: Journeys) -> pa.Array:
    """Whether the last capture on a packet's way has it. Which of the two captures farthest apart is first is told, of each
    connection's direction, by its packets that both have."""
    codes = np.full(len(journeys.rows), ARRIVALS.index("unknown"), np.int8)
    if journeys.ends is not None:
        one, other = journeys.ends
        seen, t_ns, way = journeys.seen, journeys.t_ns, journeys.way
        both = seen[:, one] & seen[:, other]
        codes[both] = ARRIVALS.index("arrived")
        told = np.flatnonzero(both & (way >= 0))
        sign = np.sign(t_ns[told, other] - t_ns[told, one])
        forward = np.bincount(way[told], sign, minlength=int(way.max(initial=-1)) + 2)
        onward = np.where(way >= 0, forward[way], 0.0)
        for here, there, towards in ((one, other, 1), (other, one, -1)):
            alone = np.flatnonzero(seen[:, here] & ~seen[:, there] & (onward != 0))
            least, most = journeys.span(there)
            away = (t_ns[alone, here] < (least or 0)) | (t_ns[alone, here] > (most or 0))
            left = np.sign(onward[alone]) == towards
            codes[alone] = np.where(left, np.where(away, 2, 1), 0)
    return spread(codes, ARRIVALS)

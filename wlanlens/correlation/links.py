"""The table `links` without its delays: each IP packet's rows, outcomes, arrival and transmissions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.correlation.loss_location import loss_locations
from wlanlens.correlation.observation import (
    LOST_AFTER,
    LOST_BEFORE,
    MISSED,
    NOT_CAPTURING,
    SEEN,
    UNKNOWN,
)
from wlanlens.correlation.stream_order import StreamOrder
from wlanlens.tables import ARRIVALS, OUTCOMES
from wlanlens.tables.columns import count_true, filled, known, latest, places, spread

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.path_order import PathOrder
    from wlanlens.capture.capture import Capture
    from wlanlens.correlation.packet_index import PacketIndex

Array = np.ndarray[Any, Any]

#: Columns of `packets` that are the same in all captures.
_SAME_EVERYWHERE = ("flow", "protocol", "payload_bytes", "tcp_seq", "tcp_ack", "tcp_flags")

#: Of several captures at one point, the outcome that comes first here is the point's.
_BEST_OUTCOMES = (SEEN, LOST_AFTER, MISSED, LOST_BEFORE, UNKNOWN, NOT_CAPTURING)

_NEVER = np.iinfo(np.int64).max


def without_delays(
    captures: Sequence[Capture],
    index: PacketIndex,
    paths: PathOrder,
    order: StreamOrder,
    codes: Array,
    exchanges: Sequence[pa.Table],
) -> pa.Table:
    """The columns of `links` but for delays and the records on the bus and the air, in order of time.

    Parameters
    ----------
    codes : array
        [packet, capture]: what became of the packet there.
    exchanges : sequence of tables
        Each capture's table, on the common axis.
    """
    import pyarrow as pa

    if not len(index.rows):
        return tables.empty("links")
    columns: dict[str, Any] = _packet_columns(index)
    for point in tables.POINTS:
        there = [j for j, capture in enumerate(captures) if capture.point == point]
        columns[f"{point}_packet"], columns[f"{point}_t_ns"] = _at(index, there)
        columns[f"{point}_outcome"] = _outcome(codes[:, there])
    columns["rows"] = _rows(captures, index)
    columns["points"] = _points(captures, index, codes, paths)
    columns["captures_seen"] = pa.array(index.captures_seen.astype(np.uint8))
    columns["row_count"] = pa.array(index.row_counts.astype(np.uint32))
    columns["whole"], columns["copy_safe"] = pa.array(index.whole), pa.array(index.copy_safe)
    columns["inferred"] = pa.array(np.zeros(len(index.rows), bool))
    columns["one_way_ns"] = _one_way(index)
    columns.update(_on_air(captures, index, exchanges))
    columns["arrival"] = _arrival(index, order)
    points = [capture.point for capture in captures]
    columns["loss_location"] = loss_locations(points, index, paths, codes, columns["arrival"], columns["acked"])
    return assembled(columns)


def assembled(columns: dict[str, Any]) -> pa.Table:
    """Columns of `links` in the order and with the types of its schema."""
    import pyarrow as pa

    schema = pa.schema([field for field in tables.schema("links") if field.name in columns])
    return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)


def _packet_columns(index: PacketIndex) -> dict[str, Any]:
    """The packet itself, from the first capture that has it."""
    import pyarrow as pa

    out: dict[str, Any] = {}
    for name in _SAME_EVERYWHERE:
        values, valid = index.values(name)
        out[name] = pa.array(values, mask=~valid)
    out["direction"] = spread(index.direction, ("a2b", "b2a"), index.direction < 0)
    return out


def _one_way(index: PacketIndex) -> pa.Array:
    """The column `one_way_ns`."""
    import pyarrow as pa

    first, last = np.full(len(index.rows), _NEVER), np.full(len(index.rows), -_NEVER)
    for j in range(index.rows.shape[1]):
        t_ns, seen = index.t_ns[:, j], index.seen[:, j]
        np.minimum(first, t_ns, out=first, where=seen)
        np.maximum(last, t_ns, out=last, where=seen)
    several = count_true(index.seen) > 1
    return pa.array(np.where(several, last - first, 0), pa.int64(), mask=~several)


def _rows(captures: Sequence[Capture], index: PacketIndex) -> pa.ListArray:
    """The column `rows`; rows without a time come last."""
    import pyarrow as pa

    held, count = index.rows >= 0, index.captures_seen
    late = np.where(index.seen, index.t_ns, np.where(held, _NEVER - 1, _NEVER))
    order = _by_time(late)
    packet = np.repeat(np.arange(len(order)), count)
    # Captures without the packet come last.
    which = order[np.arange(order.shape[1]) < count[:, None]]
    at = places(packet, which, len(order))
    number, t_ns, timed = (values.ravel(order="F").take(at) for values in (index.numbers, index.t_ns, index.seen))
    names = pa.array([capture.name for capture in captures]).take(pa.array(which))
    values = pa.StructArray.from_arrays(
        [names, pa.array(number), pa.array(t_ns, pa.int64(), mask=~timed)], names=["capture", "packet", "t_ns"]
    )
    offsets = np.concatenate(([0], np.cumsum(count))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _by_time(times: Array) -> Array:
    """For each row the columns in order of time, equal ones in their order."""
    if times.shape[1] != 2:
        return np.argsort(times, axis=1, kind="stable")
    # A comparison takes a fortieth of the time of a sort of each pair.
    swapped = times[:, 1] < times[:, 0]
    return np.stack((swapped, ~swapped), axis=1).astype(np.int64)


def _points(captures: Sequence[Capture], index: PacketIndex, codes: Array, paths: PathOrder) -> pa.ListArray:
    """The column `points`: every capture in the order of the packet's path."""
    import pyarrow as pa

    count, width = index.rows.shape
    which = np.argsort(paths.rank(), axis=1, kind="stable").take(paths.path, axis=0).ravel()
    packet = np.repeat(np.arange(count), width)
    at = places(packet, which, count)
    rows, number, t_ns, seen, became = (
        values.ravel(order="F").take(at) for values in (index.rows, index.numbers, index.t_ns, index.seen, codes)
    )
    values = pa.StructArray.from_arrays(
        [
            pa.array([capture.name for capture in captures]).take(pa.array(which)),
            pa.array(number, mask=rows < 0),
            pa.array(t_ns, mask=~seen),
            pa.array(OUTCOMES).take(pa.array(became)),
        ],
        names=["capture", "packet", "t_ns", "outcome"],
    )
    return pa.ListArray.from_arrays(pa.array(np.arange(0, count * width + 1, width, dtype=np.int32)), values)


def _at(index: PacketIndex, captures: Sequence[int]) -> tuple[pa.Array, pa.Array]:
    """Packet number and time at one point: of several captures there, the first that has it."""
    import pyarrow as pa

    count = len(index.rows)
    if not captures:
        return pa.nulls(count, pa.uint64()), pa.nulls(count, pa.int64())
    number, t_ns, seen = np.zeros(count, np.uint64), np.zeros(count, np.int64), np.zeros(count, bool)
    for j in captures:
        here = (index.rows[:, j] >= 0) & ~seen
        np.copyto(number, index.numbers[:, j], where=here)
        np.copyto(t_ns, index.t_ns[:, j], where=here)
        seen |= here
    return pa.array(number, pa.uint64(), mask=~seen), pa.array(t_ns, pa.int64(), mask=~seen)


def _outcome(codes: Array) -> pa.DictionaryArray:
    """The outcome at one point: the best of the captures there; null without a capture."""
    words = tuple(OUTCOMES)
    if not codes.shape[1]:
        return spread(np.zeros(len(codes)), words, np.ones(len(codes), bool))
    if codes.shape[1] == 1:
        return spread(codes[:, 0], words)
    rank = np.argsort(_BEST_OUTCOMES).astype(np.int8)
    best = rank[codes[:, 0]]
    for k in range(1, codes.shape[1]):
        best = np.minimum(best, rank[codes[:, k]])
    return spread(np.array(_BEST_OUTCOMES, np.int8)[best], words)


def _on_air(captures: Sequence[Capture], index: PacketIndex, exchanges: Sequence[pa.Table]) -> dict[str, Any]:
    """Number of transmissions, time and rate of the last one, and its acknowledgment."""
    import pyarrow as pa

    count = len(index.rows)
    transmissions, rate, acked = np.zeros(count, np.uint16), np.zeros(count), np.zeros(count, bool)
    found, answered = np.zeros(count, bool), np.zeros(count, bool)
    last, timed = np.zeros(count, np.int64), np.zeros(count, bool)
    for j, rows in enumerate(exchanges):
        if captures[j].point != "air" or not rows.num_rows:
            continue
        lists = rows.column("packets").combine_chunks()
        exchange_of = np.repeat(np.arange(rows.num_rows), filled(lists.value_lengths()))
        frames = lists.flatten().to_numpy()
        order = np.argsort(frames, kind="stable")
        frames, exchange_of = frames[order], exchange_of[order]
        # All frames of the packet: the first one heard may be damaged, and damaged frames are in no exchange.
        mine = np.flatnonzero(index.packet_of[j] >= 0)
        numbers = index.packets[j].column("packet").to_numpy()[mine]
        at = np.minimum(np.searchsorted(frames, numbers), len(frames) - 1)
        mine, at = (v[frames[at] == numbers] for v in (mine, at))
        here, first = np.unique(index.packet_of[j][mine], return_index=True)
        which = exchange_of[at[first]][~found[here]]
        here = here[~found[here]]
        transmissions[here] = rows.column("attempts").to_numpy()[which]
        rate[here] = latest(rows.column("rates_mbps").combine_chunks())[which]
        acked[here] = filled(rows.column("acked"), False)[which]
        found[here], answered[here] = True, known(rows.column("acked"))[which]
        last[here] = filled(rows.column("t_last_ns"))[which]
        timed[here] = known(rows.column("t_last_ns"))[which]
    return {
        "air_last_ns": pa.array(last, pa.int64(), mask=~timed),
        "transmissions": pa.array(transmissions, pa.uint16(), mask=~found),
        "rate_mbps": pa.array(rate, pa.float64(), mask=~found | np.isnan(rate)),
        "acked": pa.array(acked, pa.bool_(), mask=~answered),
    }


def _arrival(index: PacketIndex, order: StreamOrder) -> pa.DictionaryArray:
    """Whether the last capture on a packet's path has it: of the two captures at the ends, the one that its direction reaches last."""
    codes = np.full(len(index.rows), ARRIVALS.index("unknown"), np.int8)
    if index.ends is not None:
        one, other = index.ends
        seen, t_ns, stream = index.seen, index.t_ns, index.stream
        codes[seen[:, one] & seen[:, other]] = ARRIVALS.index("arrived")
        onward = order.forward(stream)
        for here, there, towards in ((one, other, 1), (other, one, -1)):
            alone = np.flatnonzero(seen[:, here] & ~seen[:, there] & (onward != 0))
            least, most = index.time_span(there)
            absent = (t_ns[alone, here] < (least or 0)) | (t_ns[alone, here] > (most or 0))
            leaving = onward[alone] == towards
            missing = np.where(absent, ARRIVALS.index("not_capturing"), ARRIVALS.index("not_seen"))
            codes[alone] = np.where(leaving, missing, ARRIVALS.index("arrived"))
    return spread(codes, ARRIVALS)

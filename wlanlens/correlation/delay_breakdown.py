"""The table `journeys`: the stages of each packet's way, with what the clocks allow to say of them, and its fate at each point.

A stage lies between two instants that captures saw. Its length is right within its bound: what the clocks of both
captures may be off, and a tick of each; within one capture two ticks. A stage shorter than its bound may have been nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.correlation import links
from wlanlens.correlation.air_attempts import Attempts
from wlanlens.correlation.event_times import (
    AIR_END,
    AIR_START,
    COMPLETE,
    EVENTS,
    RECEIVER,
    SENDER,
    SUBMIT,
    Instants,
    Patterns,
)
from wlanlens.correlation.observation import FATES, LOST_AFTER, LOST_BEFORE, NOT_CAPTURED, OUTSIDE, SEEN, UNKNOWN
from wlanlens.tables.columns import filled, spread

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.clock import ClockMap
    from wlanlens.alignment.path_order import Ways
    from wlanlens.capture.capture import Capture
    from wlanlens.correlation.packet_index import Journeys

Array = np.ndarray[Any, Any]

_HOSTS = (SENDER, RECEIVER)
_USB = (SUBMIT, COMPLETE)

#: Of several captures at one point the one that tells most.
_TOLD = (SEEN, LOST_AFTER, NOT_CAPTURED, LOST_BEFORE, UNKNOWN, OUTSIDE)


def table(
    captures: Sequence[Capture],
    clocks: Sequence[ClockMap],
    journeys: Journeys,
    ways: Ways,
    codes: Array,
    frames: Sequence[pa.Table],
    exchanges: Sequence[pa.Table],
    urbs: Sequence[pa.Table],
) -> pa.Table:
    """The table `journeys`, a row for each of `links`; `codes` are their fates, and all tables are on the common axis."""
    import pyarrow as pa

    count = len(journeys.rows)
    if not count:
        return tables.empty("journeys")
    bounds, bounded = _bounds(clocks, journeys)
    instants = Instants(captures, journeys)
    transfers = instants.add_transfers(journeys, urbs)
    attempts = Attempts.of(captures, journeys, frames, exchanges)
    instants.add_attempts(attempts)
    patterns = instants.patterns(ways)
    doubt = instants.settle(attempts, patterns, bounds)
    stages = _stages(instants, patterns, bounds, bounded, [max(clock.tick_ns, 1) for clock in clocks], doubt)
    columns: dict[str, Any] = {"journey": pa.array(np.arange(count), pa.uint64()), **links.about(journeys)}
    first, last, timed = instants.ends()
    columns["t_start_ns"], columns["t_end_ns"] = (pa.array(values, mask=~timed) for values in (first, last))
    for point in tables.POINTS:
        at = [c for c, capture in enumerate(captures) if capture.point == point]
        columns[f"{point}_fate"] = _fate(codes[:, at])
    columns.update(transfers)
    columns.update(_sums(stages, count))
    columns["stages"] = _stage_list(stages, count)
    columns["attempts"] = attempts.column()
    columns.update(attempts.answers())
    columns["points"] = _points(captures, journeys, codes, ways)
    schema = tables.schema("journeys")
    return pa.table([columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema)


def _fate(codes: Array) -> pa.DictionaryArray:
    """The fate at one point, of the capture there that tells most; null without a capture."""
    if not codes.shape[1]:
        return spread(np.zeros(len(codes)), FATES, np.ones(len(codes), bool))
    told = np.argsort(_TOLD).astype(np.int8)
    best = told[codes[:, 0]]
    for k in range(1, codes.shape[1]):
        best = np.minimum(best, told[codes[:, k]])
    return spread(np.array(_TOLD, np.int8)[best], FATES)


def _bounds(clocks: Sequence[ClockMap], journeys: Journeys) -> tuple[Array, Array]:
    """[journey, capture]: how far the capture's time of it may be off on the axis, ns, and whether that is known."""
    bounds = np.zeros(journeys.rows.shape, np.int64, order="F")
    known = np.zeros(journeys.rows.shape, bool, order="F")
    for c, clock in enumerate(clocks):
        here = np.flatnonzero(journeys.rows[:, c] >= 0) if clock.pieces else np.arange(len(journeys.rows))
        bounds[here, c], known[here, c] = _bound(clock, journeys.packets[c], journeys.rows[here, c])
    return bounds, known


def _bound(clock: ClockMap, packets: pa.Table, rows: Array) -> tuple[Array, Array]:
    """The bounds of some rows of a capture, and whether they are known: least where the offset is known best, growing as the
    drift allows, and no more than the greatest anywhere between its pairs."""
    import pyarrow as pa

    out, known = np.zeros(len(rows), np.int64), np.full(len(rows), not clock.pieces)
    if not clock.pieces:
        return out, known
    own = filled(packets.column("time").cast(pa.int64()))[rows]
    number = packets.column("packet").to_numpy()[rows]
    which = np.searchsorted([piece.first_packet for piece in clock.pieces[1:]], number, side="right")
    for k, piece in enumerate(clock.pieces):
        if piece.bound_ns is None:
            continue
        here = np.flatnonzero(which == k)
        grown = piece.bound_ns + np.abs(own[here] - piece.at_ns) * ((piece.drift_bound_ppm or 0.0) * 1e-6)
        most = np.inf if piece.bound_most_ns is None or piece.drift_bound_ppm is None else piece.bound_most_ns
        out[here] = np.ceil(np.minimum(grown, max(most, piece.bound_ns))).astype(np.int64)
        known[here] = True
    return out, known


@dataclass(frozen=True)
class _Stages:
    """All stages, in the order of journeys and of their way: the journey of each, its kind, where it begins and ends, its
    bound, and whether that is known."""

    journey: Array
    kind: Array
    start: Array
    end: Array
    bound: Array
    bounded: Array


def _stages(
    instants: Instants, patterns: Patterns, bounds: Array, bounded: Array, ticks: Sequence[int], doubt: Array
) -> _Stages:
    """The stages between instants that follow each other on a packet's way; `doubt` of the end on the air."""
    one, other = patterns.order[:, :-1], patterns.order[:, 1:]
    kinds = _kinds(one, other, patterns.out[:, None])
    first, second = (np.take_along_axis(patterns.capture, events, axis=1) for events in (one, other))
    tick = np.array(ticks)[first] + np.array(ticks)[second]
    doubtful = (one == AIR_END) | (other == AIR_END)
    count = np.maximum(patterns.seen - 1, 0)[patterns.of]
    journey = np.repeat(np.arange(len(count)), count)
    nth = np.arange(len(journey)) - np.repeat(np.cumsum(count) - count, count)
    # A place in those small tables for each stage.
    at = patterns.of[journey] * (len(EVENTS) - 1) + nth
    first, second = first.ravel()[at], second.ravel()[at]
    off = tick.ravel()[at] + np.where(doubtful.ravel()[at], doubt[journey], 0)
    apart = np.flatnonzero(first != second)
    known = np.ones(len(journey), bool)
    for capture in (first[apart], second[apart]):
        off[apart] += bounds[journey[apart], capture]
        known[apart] &= bounded[journey[apart], capture]
    start, end = (instants.t_ns[journey, events.ravel()[at]] for events in (one, other))
    return _Stages(journey, kinds.ravel()[at], start, end, off, known)


def _kinds(one: Array, other: Array, out: Array) -> Array:
    """What lies between two instants that follow each other."""
    queue, bus, wait, air, wire, apart = range(len(tables.STAGES))
    out = np.broadcast_to(out, one.shape)
    kind = np.full(one.shape, wire)
    kind[np.isin(one, _HOSTS) & np.isin(other, _HOSTS)] = apart
    # The bus without the air: what lies beyond the adapter is not told apart.
    kind[np.isin(one, _USB) | np.isin(other, _USB)] = apart
    kind[np.isin(one, _HOSTS) & (other == SUBMIT)] = queue
    kind[(one == COMPLETE) & np.isin(other, _HOSTS) & ~out] = queue
    kind[((one == SUBMIT) & (other == COMPLETE)) | ((one == AIR_END) & (other == COMPLETE))] = bus
    kind[other == AIR_START] = wait
    kind[(one == AIR_START) & (other == AIR_END)] = air
    return kind


def _sums(stages: _Stages, count: int) -> dict[str, pa.Array]:
    """Of each kind of stage its time and bound, a column each."""
    import pyarrow as pa

    out = {}
    for k, name in enumerate(tables.STAGES):
        here = np.flatnonzero(stages.kind == k)
        if not len(here):
            out[f"{name}_ns"] = out[f"{name}_bound_ns"] = pa.nulls(count, pa.int64())
            continue
        of = stages.journey[here]
        total, bound = np.zeros(count, np.int64), np.zeros(count, np.int64)
        np.add.at(total, of, stages.end[here] - stages.start[here])
        np.add.at(bound, of, np.where(stages.bounded[here], stages.bound[here], 0))
        none, unknown = np.ones(count, bool), np.zeros(count, bool)
        none[of] = False
        unknown[of[~stages.bounded[here]]] = True
        out[f"{name}_ns"] = pa.array(total, mask=none)
        out[f"{name}_bound_ns"] = pa.array(bound, mask=none | unknown)
    return out


def _stage_list(stages: _Stages, count: int) -> pa.ListArray:
    """The column `stages`."""
    import pyarrow as pa

    values = pa.StructArray.from_arrays(
        [
            pa.array(tables.STAGES).take(pa.array(stages.kind)),
            pa.array(stages.start),
            pa.array(stages.end),
            pa.array(stages.bound, mask=~stages.bounded),
        ],
        names=["stage", "t_start_ns", "t_end_ns", "bound_ns"],
    )
    offsets = np.concatenate(([0], np.cumsum(np.bincount(stages.journey, minlength=count))))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def _points(captures: Sequence[Capture], journeys: Journeys, codes: Array, ways: Ways) -> pa.ListArray:
    """The column `points`: every capture in the order of the packet's way."""
    import pyarrow as pa

    count, width = journeys.rows.shape
    which = np.argsort(ways.rank(), axis=1, kind="stable")[ways.of].ravel()
    at = (np.repeat(np.arange(count), width), which)
    rows = journeys.rows[at]
    values = pa.StructArray.from_arrays(
        [
            pa.array([capture.name for capture in captures]).take(pa.array(which)),
            pa.array(links.numbers(journeys, which, rows), mask=rows < 0),
            pa.array(journeys.t_ns[at], mask=~journeys.seen[at]),
            pa.array(FATES).take(pa.array(codes[at])),
        ],
        names=["capture", "packet", "t_ns", "fate"],
    )
    return pa.ListArray.from_arrays(pa.array(np.arange(0, count * width + 1, width, dtype=np.int32)), values)

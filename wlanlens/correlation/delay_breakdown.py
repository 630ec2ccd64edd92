"""The delays of `links`: the stages of each packet's path, with error bounds from the clocks.

A stage lies between two recorded times. The error of its length is at most its bound: the bounds of both clocks and a tick of
each, or two ticks within one capture. A stage shorter than its bound may have taken no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.correlation.air_transmissions import AirTransmissions
from wlanlens.correlation.event_times import (
    AIR_END,
    AIR_START,
    COMPLETE,
    EVENTS,
    RECEIVER,
    SENDER,
    SUBMIT,
    EventPatterns,
    EventTimes,
)
from wlanlens.tables.columns import entries, filled

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.clock_map import ClockMap
    from wlanlens.alignment.path_order import PathOrder
    from wlanlens.capture.capture import Capture
    from wlanlens.correlation.packet_index import PacketIndex

Array = np.ndarray[Any, Any]

_HOSTS = (SENDER, RECEIVER)
_USB = (SUBMIT, COMPLETE)


def delay_columns(
    captures: Sequence[Capture],
    clocks: Sequence[ClockMap],
    index: PacketIndex,
    paths: PathOrder,
    frames: Sequence[pa.Table],
    exchanges: Sequence[pa.Table],
    urbs: Sequence[pa.Table],
) -> dict[str, pa.Array]:
    """The columns of `links` with stages, and with records on the bus and the air. All tables are on the common axis."""
    import pyarrow as pa

    count = len(index.rows)
    bounds, bounded = _bounds(clocks, index)
    events = EventTimes(captures, index)
    columns = events.add_transfers(index, urbs)
    transmissions = AirTransmissions.of(captures, index, frames, exchanges)
    events.add_transmissions(transmissions)
    patterns = events.patterns(paths)
    uncertainty = events.settle_air_end(transmissions, patterns, bounds)
    ticks = [max(clock.tick_ns, 1) for clock in clocks]
    stages = _stages(events, patterns, bounds, bounded, ticks, uncertainty)
    first, last, timed = events.ends()
    columns["t_start_ns"], columns["t_end_ns"] = (pa.array(values, mask=~timed) for values in (first, last))
    columns.update(_sums(stages, count))
    columns["stages"] = _stage_list(stages, count)
    columns["transmissions_heard"] = transmissions.column()
    columns.update(transmissions.mac_acks())
    return columns


def _bounds(clocks: Sequence[ClockMap], index: PacketIndex) -> tuple[Array, Array]:
    """[packet, capture]: the error bound of the packet's time on the axis, ns, and whether there is one."""
    bounds = np.zeros(index.rows.shape, np.int64, order="F")
    known = np.zeros(index.rows.shape, bool, order="F")
    for c, clock in enumerate(clocks):
        if not clock.pieces:
            known[:, c] = True
            continue
        here = np.flatnonzero(index.rows[:, c] >= 0)
        bounds[here, c], known[here, c] = _bound(clock, index.packets[c], index.rows[here, c])
    return bounds, known


def _bound(clock: ClockMap, packets: pa.Table, rows: Array) -> tuple[Array, Array]:
    """The bounds of some rows of a capture, and whether there are any.

    The bound is least where the error of the offset is least, grows with the error of the drift, and is at most the bound that
    holds for all its pairs.
    """
    import pyarrow as pa

    out, known = np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)
    own = filled(packets.column("time").cast(pa.int64())).take(rows)
    number = packets.column("packet").to_numpy().take(rows)
    which = np.searchsorted([piece.first_packet for piece in clock.pieces[1:]], number, side="right")
    for k, piece in enumerate(clock.pieces):
        if piece.bound_ns is None:
            continue
        here = np.flatnonzero(which == k) if len(clock.pieces) > 1 else slice(None)
        grown = piece.bound_ns + np.abs(own[here] - piece.at_ns) * ((piece.drift_bound_ppm or 0.0) * 1e-6)
        most = np.inf if piece.bound_most_ns is None or piece.drift_bound_ppm is None else piece.bound_most_ns
        out[here] = np.ceil(np.minimum(grown, most)).astype(np.int64)
        known[here] = True
    return out, known


@dataclass(frozen=True)
class _Stages:
    """All stages in order of packet and path: packet, kind, start, end, bound, and whether there is a bound."""

    packet: Array
    kind: Array
    start: Array
    end: Array
    bound: Array
    bounded: Array


def _stages(
    events: EventTimes, patterns: EventPatterns, bounds: Array, bounded: Array, ticks: Sequence[int], uncertainty: Array
) -> _Stages:
    """The stages between consecutive events on a packet's path; `uncertainty` is that of the end on the air."""
    one, other = patterns.order[:, :-1], patterns.order[:, 1:]
    kinds = _kinds(one, other, patterns.to_adapter[:, None])
    first, second = (np.take_along_axis(patterns.capture, which, axis=1) for which in (one, other))
    tick = np.array(ticks)[first] + np.array(ticks)[second]
    uncertain = (one == AIR_END) | (other == AIR_END)
    count = np.maximum(patterns.count - 1, 0)[patterns.pattern_of]
    packet = np.repeat(np.arange(len(count)), count)
    nth = np.arange(len(packet)) - np.repeat(np.cumsum(count) - count, count)
    # The entry of each stage in these small tables.
    at = patterns.pattern_of.take(packet) * (len(EVENTS) - 1) + nth
    first, second = first.ravel().take(at), second.ravel().take(at)
    off = tick.ravel().take(at)
    if uncertain.any():
        off += np.where(uncertain.ravel().take(at), uncertainty.take(packet), 0)
    apart = np.flatnonzero(first != second)
    known = np.ones(len(packet), bool)
    for capture in (first[apart], second[apart]):
        off[apart] += entries(bounds, packet[apart], capture)
        known[apart] &= entries(bounded, packet[apart], capture)
    start, end = (entries(events.t_ns, packet, which.ravel().take(at)) for which in (one, other))
    return _Stages(packet, kinds.ravel().take(at), start, end, off, known)


def _kinds(one: Array, other: Array, to_adapter: Array) -> Array:
    """The kind of stage between two consecutive events."""
    queue, bus, wait, air, wire, apart = range(len(tables.STAGES))
    to_adapter = np.broadcast_to(to_adapter, one.shape)
    kind = np.full(one.shape, wire)
    kind[np.isin(one, _HOSTS) & np.isin(other, _HOSTS)] = apart
    # The bus without the air: stages beyond the adapter are not separable.
    kind[np.isin(one, _USB) | np.isin(other, _USB)] = apart
    kind[np.isin(one, _HOSTS) & (other == SUBMIT)] = queue
    kind[(one == COMPLETE) & np.isin(other, _HOSTS) & ~to_adapter] = queue
    kind[((one == SUBMIT) & (other == COMPLETE)) | ((one == AIR_END) & (other == COMPLETE))] = bus
    kind[other == AIR_START] = wait
    kind[(one == AIR_START) & (other == AIR_END)] = air
    return kind


def _sums(stages: _Stages, count: int) -> dict[str, pa.Array]:
    """Time and bound of each kind of stage, a column each."""
    import pyarrow as pa

    out = {}
    for k, name in enumerate(tables.STAGES):
        here = np.flatnonzero(stages.kind == k)
        if not len(here):
            out[f"{name}_ns"] = out[f"{name}_bound_ns"] = pa.nulls(count, pa.int64())
            continue
        of = stages.packet[here]
        total, bound = np.zeros(count, np.int64), np.zeros(count, np.int64)
        # Stages of one packet are neighbours.
        first = np.flatnonzero(np.diff(of, prepend=-1))
        total[of[first]] = np.add.reduceat(stages.end[here] - stages.start[here], first)
        bound[of[first]] = np.add.reduceat(np.where(stages.bounded[here], stages.bound[here], 0), first)
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
            pa.array(list(tables.STAGES)).take(pa.array(stages.kind)),
            pa.array(stages.start),
            pa.array(stages.end),
            pa.array(stages.bound, mask=~stages.bounded),
        ],
        names=["stage", "t_start_ns", "t_end_ns", "bound_ns"],
    )
    offsets = np.concatenate(([0], np.cumsum(np.bincount(stages.packet, minlength=count))))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)

"""Time in which another connection keeps the path of a connection's hosts full: what waits then, waits behind its packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.spans import Spans
from wlanlens.tables.columns import Array, filled

if TYPE_CHECKING:
    import pyarrow as pa


def full_ns(intervals: pa.Table, flows: pa.Table, full: Array) -> Array:
    """Of each interval, for how long others cover it that are `full` and belong to a connection of the same two hosts, ns.

    In either direction: data waits behind their data, its ACKs behind theirs.
    """
    path = _numbers(filled(intervals.column("flow")), flows, {}, ("ip_src", "ip_dst"))
    start, end = filled(intervals.column("t_start_ns")), filled(intervals.column("t_end_ns"))
    out: Array = np.zeros(len(start), np.int64)
    for number in np.unique(path[full]).tolist():
        of_path = path == number
        mine = of_path & ~full
        if number >= 0 and mine.any():
            spans = Spans.of(start[of_path & full], end[of_path & full])
            out[mine] = spans.inside(start[mine], end[mine])
    return out


def at_host_ns(intervals: pa.Table, flows: pa.Table, full: Array) -> Array:
    """Of each interval, for how long others cover it that are `full` and belong to a connection of one of its hosts, ns: of the host where
    that is longer.
    """
    flow = filled(intervals.column("flow"))
    start, end = filled(intervals.column("t_start_ns")), filled(intervals.column("t_end_ns"))
    out: Array = np.zeros(len(start), np.int64)
    hosts: dict[tuple[str, ...], int] = {}
    ends = [_numbers(flow, flows, hosts, (name,)) for name in ("ip_src", "ip_dst")]
    for number in np.unique(np.concatenate([of[full] for of in ends])).tolist():
        of_host = (ends[0] == number) | (ends[1] == number)
        mine = of_host & ~full
        if number >= 0 and mine.any():
            spans = Spans.of(start[of_host & full], end[of_host & full])
            out[mine] = np.maximum(out[mine], spans.inside(start[mine], end[mine]))
    return out


def _numbers(flow: Array, flows: pa.Table, numbers: dict[tuple[str, ...], int], columns: tuple[str, ...]) -> Array:
    """The number of each flow's hosts in these columns, in any order; -1 for a flow without a row. `numbers` gets the new ones."""
    of_flow: Array = np.full(int(flow.max()) + 1, -1, np.int64)
    for number, *hosts in zip(*(flows.column(c).to_pylist() for c in ("flow", *columns)), strict=True):
        if number < len(of_flow):
            of_flow[number] = numbers.setdefault(tuple(sorted(hosts)), len(numbers))
    return np.asarray(of_flow[flow])

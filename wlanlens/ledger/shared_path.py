"""Time in which another connection of the same two hosts keeps their path full: what waits then, waits behind its packets."""

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
    path = _paths(filled(intervals.column("flow")), flows)
    start, end = filled(intervals.column("t_start_ns")), filled(intervals.column("t_end_ns"))
    out: Array = np.zeros(len(start), np.int64)
    for number in np.unique(path[full]).tolist():
        of_path = path == number
        mine = of_path & ~full
        if number >= 0 and mine.any():
            spans = Spans.of(start[of_path & full], end[of_path & full])
            out[mine] = spans.inside(start[mine], end[mine])
    return out


def _paths(flow: Array, flows: pa.Table) -> Array:
    """A number for the two hosts of each flow; -1 for a flow without a row."""
    numbers: dict[tuple[str, ...], int] = {}
    of_flow: Array = np.full(int(flow.max()) + 1, -1, np.int64)
    for number, *hosts in zip(*(flows.column(c).to_pylist() for c in ("flow", "ip_src", "ip_dst")), strict=True):
        if number < len(of_flow):
            of_flow[number] = numbers.setdefault(tuple(sorted(hosts)), len(numbers))
    return np.asarray(of_flow[flow])

"""Time in which another connection keeps the path of a connection's hosts full: what waits then, waits behind its packets."""

from __future__ import annotations

from collections.abc import Sequence
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
    flow = filled(intervals.column("flow"))
    return _covered_ns([_numbers(flow, flows, {}, ("ip_src", "ip_dst"))], intervals, full)


def at_host_ns(intervals: pa.Table, flows: pa.Table, full: Array) -> Array:
    """Of each interval, for how long others cover it that are `full` and belong to a connection of one of its hosts, ns: of the host where
    that is longer.
    """
    flow, hosts = filled(intervals.column("flow")), dict[tuple[str, ...], int]()
    return _covered_ns([_numbers(flow, flows, hosts, (name,)) for name in ("ip_src", "ip_dst")], intervals, full)


def _covered_ns(numbers: Sequence[Array], intervals: pa.Table, full: Array) -> Array:
    """Of each interval, for how long `full` ones cover it that share one of its `numbers`, ns: the longest of these times. -1 is no number."""
    start, end = filled(intervals.column("t_start_ns")), filled(intervals.column("t_end_ns"))
    number, row = np.concatenate(numbers), np.tile(np.arange(len(full)), len(numbers))
    shared = np.flatnonzero((number >= 0) & np.isin(number, number[full[row]]))
    shared = shared[np.argsort(number[shared], kind="stable")]
    out: Array = np.zeros(len(start), np.int64)
    for rows in np.split(row[shared], np.flatnonzero(np.diff(number[shared])) + 1):
        theirs, mine = rows[full[rows]], rows[~full[rows]]
        spans = Spans.of(start[theirs], end[theirs])
        out[mine] = np.maximum(out[mine], spans.inside(start[mine], end[mine]))
    return out


def _numbers(flow: Array, flows: pa.Table, numbers: dict[tuple[str, ...], int], columns: tuple[str, ...]) -> Array:
    """The number of each flow's hosts in these columns, in any order; -1 for a flow without a row. `numbers` gets the new ones."""
    of_flow: Array = np.full(int(flow.max()) + 1, -1, np.int64)
    for number, *hosts in zip(*(flows.column(c).to_pylist() for c in ("flow", *columns)), strict=True):
        if number < len(of_flow):
            of_flow[number] = numbers.setdefault(tuple(sorted(hosts)), len(numbers))
    return np.asarray(of_flow[flow])

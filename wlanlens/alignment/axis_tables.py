"""A capture's tables on the common axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens import tables
from wlanlens.alignment.align import Alignment
from wlanlens.tables.columns import Array, coded, integers, known, spread

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture


def on_axis(capture: Capture, name: str, alignment: Alignment, number: int) -> pa.Table:
    """A capture's table with times on the axis, and the trace's numbers and directions of connections.

    Parameters
    ----------
    name : str
        The table.
    number : int
        The capture's place in the trace.
    """
    import pyarrow as pa

    table = capture.table(name)
    clock_map, own_start = alignment.clocks[number], capture.start_ns or 0
    stepped = clock_map.steps and "packet" in table.column_names
    packets = table.column("packet").to_numpy() if stepped else None
    for column in tables.axis_columns(name):
        values = table.column(column)
        own = integers(values)
        own += own_start
        times = clock_map.to_axis(own, packets)
        times -= alignment.start_ns
        table = _replace(table, column, pa.array(times, pa.int64(), mask=_null(values)))
    if "flow" in table.column_names:
        values = table.column("flow")
        own = integers(values)
        numbers = alignment.flows[number]
        if len(numbers):
            new = numbers.astype(np.uint32).take(own)
            table = _replace(table, "flow", pa.array(new, pa.uint32(), mask=_null(values)))
        if alignment.swapped[number].any() and "direction" in table.column_names:
            table = _replace(table, "direction", _swapped(table.column("direction"), alignment.swapped[number][own]))
    return table


def _null(values: pa.ChunkedArray) -> Array | None:
    return ~known(values) if values.null_count else None


def _replace(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    at = table.column_names.index(name)
    field = table.schema.field(at)
    return table.set_column(at, field, values if values.type == field.type else values.cast(field.type))


def _swapped(directions: pa.ChunkedArray, swap: Array) -> pa.DictionaryArray:
    """Directions, some of them reversed."""
    names = ("a2b", "b2a")
    code = coded(directions, names)
    return spread(np.where(swap & (code >= 0), 1 - code, code), names, code < 0)

"""Inferred packets in the table `links`: matched by length, direction and order (alignment/length_matching.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.alignment.align import Alignment
from wlanlens.tables.columns import find, integers, known, latest

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]


def attach(
    links: pa.Table, captures: Sequence[Capture], alignment: Alignment, exchanges: Sequence[pa.Table]
) -> pa.Table:
    """The table `links` with inferred numbers and times at the sniffer and on the bus."""
    import pyarrow.compute as pc

    for (readable, opaque), found in alignment.inferred.items():
        point = captures[opaque].point
        if point not in tables.POINTS or not links.num_rows:
            continue
        # The packet's number in the readable capture.
        lists = links.column("rows").combine_chunks()
        flat = lists.flatten()
        row_of = np.repeat(np.arange(links.num_rows), lists.value_lengths().to_numpy())
        mine = np.asarray(pc.equal(flat.field("capture"), captures[readable].name), bool)
        row_of, number = row_of[mine], integers(flat.field("packet"))[mine]
        order = np.argsort(number, kind="stable")
        at = find(number[order], found.seen_number)
        free = ~known(links.column(f"{point}_packet"))
        kept = np.flatnonzero((at >= 0) & free[row_of[order[np.maximum(at, 0)]]]) if len(number) else at[:0]
        row = row_of[order[at[kept]]]
        row, first = np.unique(row, return_index=True)
        kept = kept[first]
        hidden = found.hidden_number[kept]
        on_axis = alignment.clocks[opaque].to_axis(found.hidden_ns[kept], hidden) - alignment.start_ns
        values: dict[str, Array] = {
            f"{point}_packet": hidden,
            f"{point}_t_ns": on_axis,
            "inferred": np.ones(len(row), bool),
        }
        valid = {name: np.arange(len(row)) for name in values}
        if point == "air":
            first_of = integers(exchanges[opaque].column("first_packet"))
            which = find(first_of, hidden)
            here = np.flatnonzero(which >= 0)
            for name, column in _transmissions(exchanges[opaque], which[here]).items():
                values[name] = column.drop_null().to_numpy(zero_copy_only=False)
                valid[name] = here[known(column)]
        for name, new in values.items():
            links = _put(links, name, row[valid[name]], new)
    return links


def _transmissions(exchanges: pa.Table, rows: Array) -> dict[str, Any]:
    """Transmissions, last rate and acknowledgment of some exchanges."""
    import pyarrow as pa

    chosen = exchanges.take(pa.array(rows))
    rates = latest(chosen.column("rates_mbps").combine_chunks())
    return {
        "transmissions": chosen.column("attempts").combine_chunks(),
        "rate_mbps": pa.array(rates, mask=np.isnan(rates)),
        "acked": chosen.column("acked").combine_chunks(),
    }


def _put(table: pa.Table, name: str, rows: Array, values: Array) -> pa.Table:
    """A table with new values in some rows of a column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    field = table.schema.field(name)
    place = np.full(table.num_rows, -1, np.int64)
    place[rows] = np.arange(len(rows))
    new = pa.array(values).cast(field.type).take(pa.array(place, mask=place < 0))
    column = pc.if_else(pa.array(place >= 0), new, table.column(name))
    return table.set_column(table.schema.get_field_index(name), field, column)

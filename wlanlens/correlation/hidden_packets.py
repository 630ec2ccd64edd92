"""Hidden packets in the table `links`: what length, direction and order told of them (hidden.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.alignment.align import Joined
from wlanlens.tables.columns import find, latest

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]


def attach(links: pa.Table, captures: Sequence[Capture], joined: Joined, exchanges: Sequence[pa.Table]) -> pa.Table:
    """The table `links` with the numbers and times of hidden packets at the sniffer and on the bus."""
    import pyarrow.compute as pc

    for (shown, hider), found in joined.inferred.items():
        point = captures[hider].point
        if point not in tables.POINTS or not links.num_rows:
            continue
        # The journey's row in the capture that shows it.
        lists = links.column("rows").combine_chunks()
        flat = lists.flatten()
        journey = np.repeat(np.arange(links.num_rows), lists.value_lengths().to_numpy())
        mine = np.asarray(pc.equal(flat.field("capture"), captures[shown].name), bool)
        journey, number = journey[mine], flat.field("packet").to_numpy()[mine].astype(np.int64)
        order = np.argsort(number, kind="stable")
        at = find(number[order], found.seen_number)
        free = np.asarray(links.column(f"{point}_packet").is_null(), bool)
        kept = np.flatnonzero((at >= 0) & free[journey[order[np.maximum(at, 0)]]]) if len(number) else at[:0]
        row = journey[order[at[kept]]]
        row, first = np.unique(row, return_index=True)
        kept = kept[first]
        hidden = found.hidden_number[kept]
        on_axis = joined.clocks[hider].to_axis(found.hidden_ns[kept], hidden) - joined.start_ns
        values: dict[str, Array] = {
            f"{point}_packet": hidden,
            f"{point}_t_ns": on_axis,
            "inferred": np.ones(len(row), bool),
        }
        known = {name: np.arange(len(row)) for name in values}
        if point == "air":
            first_of = exchanges[hider].column("first_packet").fill_null(0).to_numpy().astype(np.int64)
            which = find(first_of, hidden)
            here = np.flatnonzero(which >= 0)
            for name, column in _attempts(exchanges[hider], which[here]).items():
                values[name] = column.drop_null().to_numpy(zero_copy_only=False)
                known[name] = here[np.asarray(column.is_valid(), bool)]
        for name, new in values.items():
            links = _put(links, name, row[known[name]], new)
    return links


def _attempts(exchanges: pa.Table, rows: Array) -> dict[str, Any]:
    """What exchanges say of a packet's attempts."""
    import pyarrow as pa

    told = exchanges.take(pa.array(rows))
    rates = latest(told.column("rates_mbps").combine_chunks())
    return {
        "attempts": told.column("attempts").combine_chunks(),
        "rate_mbps": pa.array(rates, mask=np.isnan(rates)),
        "acked": told.column("acked").combine_chunks(),
    }


def _put(table: pa.Table, name: str, rows: Array, values: Array) -> pa.Table:
    """A table with some values of a column set."""
    import pyarrow as pa
    import pyarrow.compute as pc

    field = table.schema.field(name)
    place = np.full(table.num_rows, -1, np.int64)
    place[rows] = np.arange(len(rows))
    new = pa.array(values).cast(field.type).take(pa.array(place, mask=place < 0))
    column = pc.if_else(pa.array(place >= 0), new, table.column(name))
    return table.set_column(table.schema.get_field_index(name), field, column)

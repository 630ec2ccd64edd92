"""Counts in `flows` of retransmissions and timeouts, made again from the rows that several captures corrected."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wlanlens.tables.columns import coded, integers

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]
Rows = TypeVar("Rows", "pa.RecordBatch", "pa.Table")

_DIRECTIONS = ("a2b", "b2a")
_KINDS = ("genuine", "spurious", "ack_lost", "undecided")
#: The counts made again: of `segments` by whether a retransmission was spurious, of `timeouts` by kind.
_SPURIOUS, _NEEDED = "spurious_retransmissions", "needed_retransmissions"
_OF_KIND = tuple(f"rto_{kind}" for kind in _KINDS)


#: Tables whose rows are counted.
COUNTED = ("segments", "timeouts")


class FlowCounts:
    """Counts of each direction of each connection, from rows of `segments` and `timeouts`."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in (_SPURIOUS, _NEEDED, *_OF_KIND)}

    def add(self, name: str, rows: pa.RecordBatch | pa.Table) -> None:
        """Count the rows of a table; those of others than `segments` and `timeouts` are left out."""
        if name == "segments":
            # Few segments are retransmissions.
            decided = rows.select(("flow", "direction", "spurious")).filter(rows.column("spurious").is_valid())
            spurious = np.asarray(decided.column("spurious"), bool)
            key = _keys(decided)
            self._count(_SPURIOUS, key[spurious])
            self._count(_NEEDED, key[~spurious])
        elif name == "timeouts":
            key, kind = _keys(rows), coded(rows.column("kind"), _KINDS)
            for i, column in enumerate(_OF_KIND):
                self._count(column, key[kind == i])

    def corrected(self, flows: Rows) -> Rows:
        """Rows of `flows` with these counts; every row of its connections has been added."""
        import pyarrow as pa

        key = _keys(flows).tolist()
        for name, counts in self._counts.items():
            at = flows.schema.get_field_index(name)
            values = pa.array([counts[k] for k in key], flows.schema.field(at).type)
            flows = flows.set_column(at, flows.schema.field(at), values)
        return flows

    def _count(self, name: str, key: Array) -> None:
        distinct, times = np.unique(key, return_counts=True)
        self._counts[name].update(dict(zip(distinct.tolist(), times.tolist(), strict=True)))


def _keys(rows: pa.RecordBatch | pa.Table) -> Array:
    return 2 * integers(rows.column("flow")) + coded(rows.column("direction"), _DIRECTIONS)

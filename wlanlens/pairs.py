"""Pairs: the rows of two captures that are the same packet, by its bytes (rust/core/src/pairing)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wlanlens import _core, tables

if TYPE_CHECKING:
    import pyarrow as pa

    #: The batches of a table `packets`, from its start each time it is called.
    Batches = Callable[[], Iterable[pa.RecordBatch]]

#: The columns of `packets` by which a packet is known.
COLUMNS = (
    "time",
    "ip_src",
    "ip_dst",
    "ip_id",
    "ip_fragment",
    "protocol",
    "src_port",
    "dst_port",
    "payload_bytes",
    "payload_digest",
    "tcp_seq",
    "tcp_ack",
    "tcp_flags",
    "tcp_tsval",
    "tcp_tsecr",
)


@dataclass(frozen=True)
class Pairs:
    """The pairs of two captures.

    Attributes
    ----------
    rows : pa.Table
        `row_a`, `row_b` (rows of the two tables, from 0), `kind` [same, again, part, fragment] and `copy_safe`.
    ids_kept : bool
        IP ids are the same at both taps.
    clipped : int
        Windows that were too wide to be held: pairs may be missing in them.
    """

    rows: pa.Table
    ids_kept: bool = False
    clipped: int = 0


def pair(a: Batches, b: Batches, *, nat: bool = False) -> Pairs:
    """Pair the packets of two captures in two passes over each and bounded memory.

    `nat`: addresses and ports may have been changed between the taps; packets are known by the rest.
    """
    import pyarrow as pa

    work = _core.Pairing(nat=nat)
    for side, batches in enumerate((a, b)):
        for batch in batches():
            work.sample(side, _slim(batch))
    outlook = work.compare()
    feeds = [iter(a()), iter(b())]
    found: list[pa.RecordBatch] = []
    more = True
    while more:
        while (side_wanted := work.wants()) is not None:
            batch = next(feeds[side_wanted], None)
            work.push(side_wanted, None if batch is None else _slim(batch))
        batch, more = work.step()
        found.append(batch)
    rows = pa.Table.from_batches(found).unify_dictionaries()
    return Pairs(rows, bool(outlook["ids_kept"]), work.clipped())


def of_tables(a: pa.Table, b: pa.Table, *, nat: bool = False) -> Pairs:
    """The pairs of two tables `packets` in memory."""
    return pair(a.to_batches, b.to_batches, nat=nat)


def _slim(batch: Any) -> Any:
    """The columns that pairing reads, as Rust expects their types."""
    import pyarrow as pa

    schema = tables.schema("packets")
    fields = [schema.field(name) for name in COLUMNS]
    columns = [batch.column(f.name) for f in fields]
    columns = [c if c.type == f.type else c.cast(f.type) for c, f in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


__all__ = ["COLUMNS", "Pairs", "of_tables", "pair"]

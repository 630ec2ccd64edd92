"""Rows of two captures that are the same packet, found by its bytes (rust/core/src/pairing)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import _core, tables
from wlanlens.tables.columns import Array
from wlanlens.threads import ahead

if TYPE_CHECKING:
    import pyarrow as pa

    #: The batches of a table `packets`, from its start each time it is called.
    Batches = Callable[[], Iterable[pa.RecordBatch]]


#: Batches of a capture that are read ahead: as many as a window takes (PAIR_ROWS of the core), so that reading goes on while
#: one is paired.
_AHEAD = 4

#: The columns of `packets` that identify a packet.
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

#: The columns of `frames` that identify a frame.
FRAME_COLUMNS = (
    "time",
    "subtype",
    "ta",
    "ra",
    "mpdu_bytes",
    "seq",
    "fragment",
    "tid",
    "duration_us",
    "body_digest",
    "retry",
    "fcs_ok",
)


@dataclass(frozen=True)
class Pairs:
    """The pairs of two captures.

    Attributes
    ----------
    held : pa.Table or Path
        `row_a`, `row_b` (rows of the two tables, from 0), `kind` [same, again, part, fragment] and `copy_safe`, in the
        order of both rows; or an Arrow IPC stream on disk with them.
    ids_kept : bool
        IP ids are the same at both taps.
    clipped : int
        Windows that were too wide for memory: pairs may be missing in them.
    """

    held: pa.Table | Path
    ids_kept: bool = False
    clipped: int = 0

    @property
    def rows(self) -> pa.Table:
        """All pairs, in memory."""
        import pyarrow as pa

        if isinstance(self.held, pa.Table):
            return self.held
        return pa.Table.from_batches(self.scan()).unify_dictionaries()

    def scan(self) -> Iterator[pa.RecordBatch]:
        """The pairs, batch by batch, in their order."""
        import pyarrow as pa

        if isinstance(self.held, pa.Table):
            yield from self.held.to_batches()
            return
        # Not mapped into memory: pages of a mapped file count as memory in use.
        with pa.OSFile(str(self.held)) as file, pa.ipc.open_stream(file) as stream:
            yield from stream


class PairSearch:
    """The search for the pairs of two captures, in two passes over each and bounded memory."""

    def __init__(self, *, nat: bool = False, table: str = "packets") -> None:
        """Start a search.

        Parameters
        ----------
        nat : bool
            Addresses and ports may have been changed between the capture points: the other fields identify packets.
        table : str
            `packets` or `frames`.
        """
        self._work = _core.Pairing(nat=nat, frames=table == "frames")
        self._table = table
        self._outcome: dict[str, Any] = {}

    def sample(self, side: int, batch: pa.RecordBatch) -> None:
        """First pass: a batch of the table, with the columns that `slim` keeps."""
        self._work.sample(side, batch)

    def run(
        self,
        feeds: Sequence[Iterator[pa.RecordBatch]],
        *,
        taken: Callable[[int, pa.RecordBatch], None] | None = None,
        forget: Callable[[Sequence[int]], None] | None = None,
        in_threads: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Second pass over batches of both: the pairs, window by window.

        Parameters
        ----------
        taken : callable
            Called with the side and each batch that is read.
        forget : callable
            Called with the first row of each side that a later pair can have.
        in_threads : bool
            The batches of each side are taken and read in a thread of its own, some ahead.
        """
        self._outcome = self._work.compare()
        reads = [self._read(side, feed) for side, feed in enumerate(feeds)]
        if in_threads:
            reads = [ahead(read, _AHEAD) for read in reads]
        more = True
        while more:
            while (side := self._work.wants()) is not None:
                batch, rows = next(reads[side], (None, None))
                if batch is not None and taken is not None:
                    taken(side, batch)
                self._work.push(side, rows)
            found, more = self._work.step()
            yield found
            if forget is not None:
                forget(self._work.held_from())

    def _read(self, side: int, feed: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, _core.PairingRows]]:
        """The batches of a side, each with its rows as the core compares them."""
        reading = self._work.reading(side)
        for batch in feed:
            yield batch, reading.read(slim(batch, self._table))

    def result(self, held: pa.Table | Path) -> Pairs:
        """What was found, after `run`."""
        return Pairs(held, bool(self._outcome["ids_kept"]), self._work.clipped())


def pair(a: Batches, b: Batches, *, nat: bool = False) -> Pairs:
    """Pair the packets of two captures; `nat` as in `Search`."""
    import pyarrow as pa

    search = PairSearch(nat=nat)
    for side, batches in enumerate((a, b)):
        for batch in batches():
            search.sample(side, slim(batch))
    found = list(search.run([iter(a()), iter(b())]))
    return search.result(pa.Table.from_batches(found).unify_dictionaries())


def of_tables(a: pa.Table, b: pa.Table, *, nat: bool = False) -> Pairs:
    """The pairs of two tables `packets` in memory."""
    return pair(a.to_batches, b.to_batches, nat=nat)


def by_order(a: Array, b: Array) -> Array:
    """Indices of the same packets in two sequences of lengths, in two columns: only where lengths and order decide."""
    found, _ = _core.match_order(a.tolist(), b.tolist())
    return np.array(found, np.int64).reshape(-1, 2)


def slim(batch: Any, table: str = "packets") -> Any:
    """The columns that pairing reads, in the types that Rust expects."""
    import pyarrow as pa

    schema = tables.schema(table)
    fields = [schema.field(name) for name in (COLUMNS if table == "packets" else FRAME_COLUMNS)]
    columns = [batch.column(f.name) for f in fields]
    columns = [c if c.type == f.type else c.cast(f.type) for c, f in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


__all__ = ["COLUMNS", "FRAME_COLUMNS", "PairSearch", "Pairs", "by_order", "of_tables", "pair", "slim"]

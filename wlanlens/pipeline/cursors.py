"""Cursors: the tables of a capture, and the pairs of two captures, each read once from start to end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wlanlens import tables
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.packet_matching import Pairs
    from wlanlens.capture.capture import Capture


#: Tables whose rows are also needed for packets of other chunks.
_AROUND = ("frames", "urbs", "exchanges")
#: The longest time from the start of an exchange to its last transmission: a pause that ends it, and one for its copies.
_BEFORE_NS = 2_000_000_000
#: The column that decides which chunk a row belongs to. Segments go by packet, like `packets`; other tables go by time,
#: because a sniffer may record millions of frames without a readable IP packet.
_KEYS = {
    "segments": "packet",
    "frames": "t_ns",
    "urbs": "t_ns",
    "exchanges": "t_first_ns",
    "timeouts": "t_ns",
    "recoveries": "t_end_ns",
    "intervals": "t_end_ns",
    "flows": "t_end_ns",
}

#: Greater than every key.
ALL = np.iinfo(np.int64).max


class TableCursor:
    """Reads a table once, in the order of a key. A row with a smaller key than an earlier row gets the earlier row's key."""

    def __init__(self, capture: Capture, name: str) -> None:
        self._feed = capture.scan(name)
        self._key = _KEYS.get(name)
        self._schema = tables.schema(name)
        self._held: list[tuple[pa.RecordBatch, Array]] = []
        self._most, self._next = -ALL, 0
        #: Rows from this key on have no chunk yet.
        self.begin = -ALL

    def take(self, start: int, end: int) -> tuple[pa.Table, Array]:
        """The rows with keys from `start` to before `end`, and their keys. `start` must not decrease between calls."""
        import pyarrow as pa

        while self._most < end:
            batch = next(self._feed, None)
            if batch is None:
                break
            if batch.num_rows:
                keys = np.maximum.accumulate(np.concatenate(([self._most], self._keys(batch))))[1:]
                self._held.append((batch, keys))
                self._most = int(keys[-1])
        self._held = [(batch, keys) for batch, keys in self._held if keys[-1] >= start]
        batches, found = [], [np.zeros(0, np.int64)]
        for batch, keys in self._held:
            low, high = np.searchsorted(keys, (start, end))
            batches.append(batch.slice(low, high - low))
            found.append(keys[low:high])
        return pa.Table.from_batches(batches, self._schema).unify_dictionaries(), np.concatenate(found)

    def own(self, end: int, start: int = ALL, stop: int = -ALL) -> tuple[pa.Table, tuple[int, int]]:
        """The own rows up to before the key `end`, with the rows from `start` to `stop` around them; and where the own rows are."""
        begin, self.begin = self.begin, max(end, self.begin)
        table, keys = self.take(min(begin, start), max(end, stop))
        low, high = np.searchsorted(keys, (begin, self.begin)).tolist()
        return table, (low, high)

    def _keys(self, batch: pa.RecordBatch) -> Array:
        import pyarrow as pa

        first, self._next = self._next, self._next + batch.num_rows
        if self._key is None:
            return np.arange(first, self._next)
        keys: Array = batch.column(self._key).cast(pa.int64()).fill_null(-ALL).to_numpy()
        return keys


class CaptureCursor:
    """Reads all tables of a capture once."""

    def __init__(self, capture: Capture) -> None:
        names = [name for name in tables.core_schemas() if name not in _KEYS]
        self._of = {name: TableCursor(capture, name) for name in ("packets", *_KEYS, *names)}
        self._start_ns = int(capture.start_ns or 0)

    def take(
        self, core: Array, around: tuple[int, int], end_ns: int
    ) -> tuple[int, dict[str, pa.Table], dict[str, tuple[int, int]]]:
        """The first row of `packets`, the tables around a chunk, and where its own rows are in each."""
        packets, rows = self._of["packets"].take(*around)
        first = int(rows[0]) if len(rows) else around[0]
        end = int(core[1]) - first
        held, own = {"packets": packets}, {"packets": (int(core[0]) - first, end)}
        numbers = packets.column("packet").to_numpy().astype(np.int64)
        times = packets.column("time").cast("int64").fill_null(self._start_ns).to_numpy() - self._start_ns
        for name, cursor in self._of.items():
            if name == "segments":
                last = int(numbers[-1]) + 1 if len(numbers) else -ALL
                until = int(numbers[end]) if end < len(numbers) else ALL
                held[name], own[name] = cursor.own(until, int(numbers[0]) if len(numbers) else ALL, last)
            elif name in _AROUND and len(times):
                held[name], own[name] = cursor.own(end_ns, int(times.min()) - _BEFORE_NS, int(times.max()) + 1)
            elif name in _KEYS:
                held[name], own[name] = cursor.own(end_ns)
            elif name != "packets":
                # Rows without a time, such as names of networks, belong to the last chunk.
                held[name], own[name] = cursor.own(ALL if end_ns == ALL else -ALL)
        return first, held, own


class PairCursor:
    """Reads the pairs of two captures once."""

    def __init__(self, made: Pairs) -> None:
        self._made = made
        self._feed = made.scan()
        self._held: list[pa.RecordBatch] = []
        self._most = -1

    def take(self, rows_a: tuple[int, int], rows_b: tuple[int, int]) -> Pairs:
        """The pairs in two spans of rows; rows count from the start of each span."""
        import pyarrow as pa

        while self._most < rows_a[1]:
            batch = next(self._feed, None)
            if batch is None:
                self._most = ALL
                break
            if batch.num_rows:
                self._held.append(batch)
                self._most = batch.column("row_a")[-1].as_py()
        self._held = [batch for batch in self._held if batch.column("row_a")[-1].as_py() >= rows_a[0]]
        kept = []
        for batch in self._held:
            a, b = (batch.column(name).to_numpy().astype(np.int64) for name in ("row_a", "row_b"))
            inside = (a >= rows_a[0]) & (a < rows_a[1]) & (b >= rows_b[0]) & (b < rows_b[1])
            columns = [pa.array(v[inside].astype(np.uint64)) for v in (a - rows_a[0], b - rows_b[0])]
            rest = batch.filter(pa.array(inside))
            columns += [rest.column(name) for name in rest.schema.names[2:]]
            kept.append(pa.RecordBatch.from_arrays(columns, schema=batch.schema))
        held = pa.Table.from_batches(kept).unify_dictionaries() if kept else self._made.rows.slice(0, 0)
        return replace(self._made, held=held)

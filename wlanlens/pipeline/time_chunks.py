"""Time chunks: aligned captures, cut into pieces that fit in memory.

A chunk owns some rows of each capture, and holds the rows around them that the same packets in the other captures need.
Every row belongs to exactly one chunk, so that it is written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.alignment.align import Alignment
from wlanlens.alignment.capture_summary import MARK_ROWS
from wlanlens.alignment.packet_matching import Pairs
from wlanlens.correlation.combined_tables import CombinedTables

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]

#: Rows of `packets` that a chunk owns, of all captures: twice as many need 90 MB more.
ROWS = 1 << 17
#: Rows held on each side of them at least: a lost packet's neighbours show whether the other tap was capturing.
CONTEXT_ROWS = 4 * MARK_ROWS
#: Tables whose rows are also needed for packets of other chunks.
_AROUND = ("frames", "urbs", "exchanges")
#: The longest time from the start of an exchange to its last transmission: a pause that ends it, and one for its copies.
_BEFORE_NS = 2_000_000_000
#: The most rows of one capture in a chunk: a million packets a second with a delay of one second.
WIDEST_ROWS = 1 << 20

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

_ALL = np.iinfo(np.int64).max


class Chunk:
    """One time chunk.

    Attributes
    ----------
    together : CombinedTables
        Its tables on the axis, with the rows around its own.
    """

    def __init__(self, together: CombinedTables, own: dict[str, list[tuple[int, int]]]) -> None:
        self.together = together
        self._own = own

    def rows(self, number: int, name: str, table: pa.Table | None = None) -> pa.Table:
        """The own rows of one capture's table on the axis, or of `table`, which has the same rows."""
        low, high = self._own[name][number]
        return (self.together.of(number, name) if table is None else table).slice(low, high - low)

    def heard(self, name: str) -> pa.Table:
        """The own rows of `frames` or `exchanges` of all sniffers, each frame once."""
        return self.together.merged(name, self.parts(name))

    def parts(self, name: str) -> list[pa.Table]:
        """The own rows of a table, capture by capture, with the facts from other captures."""
        whole = self.together[name]
        out, base = [], 0
        for number in range(len(self.together.captures)):
            count = self.together.of(number, name).num_rows
            out.append(self.rows(number, name, whole.slice(base, count)))
            base += count
        return out

    def links(self) -> pa.Table:
        """The own rows of `links`: a packet belongs to the chunk with its row in the first capture."""
        import pyarrow as pa

        links = self.together["links"]
        return links.filter(pa.array(self._own_links(links))) if links.num_rows else links

    def _own_links(self, whole: pa.Table) -> Array:
        """A mask of the rows of `links` that the chunk owns."""
        import pyarrow as pa

        lists = whole.column("rows").combine_chunks()
        flat = lists.flatten()
        names = pa.array([capture.name for capture in self.together.captures])
        which = _index(flat.field("capture"), names)
        number = flat.field("packet").to_numpy().astype(np.int64)
        begins = np.concatenate(([0], np.cumsum(lists.value_lengths().to_numpy())[:-1]))
        packet = np.repeat(np.arange(whole.num_rows), lists.value_lengths().to_numpy())
        owner = which == np.minimum.reduceat(which, begins)[packet]
        low, high = (np.array([self._packet(i, end) for i in range(len(names))]) for end in (0, 1))
        own = (number >= low[which]) & (number < high[which])
        kept: Array = np.zeros(whole.num_rows, bool)
        kept[packet[owner & own]] = True
        return kept

    def _packet(self, capture: int, end: int) -> int:
        """The first packet of a capture's own rows, or the first packet after them."""
        at = self._own["packets"][capture][end]
        numbers = self.together.captures[capture].table("packets").column("packet")
        low, high = self._own["packets"][capture]
        if low == high:
            return 0
        return int(numbers[at].as_py()) if at < len(numbers) else _ALL


def _index(values: Any, names: Any) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    found: Array = pc.index_in(values.cast(pa.string()), names).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def cut(captures: Sequence[Capture], joined: Alignment, leaders: Array) -> Iterator[Chunk]:
    """The chunks of a trace in the order of time; `leaders` is the leading capture of each connection."""
    cuts, times = _cuts(joined)
    reach = _reach(joined, cuts)
    cursors = [_Cursors(capture) for capture in captures]
    pairs = {both: _PairCursor(made) for both, made in joined.pairs.items()}
    for s in range(len(cuts[0]) - 1):
        own: dict[str, list[tuple[int, int]]] = {}
        parts, spans = [], []
        for k, capture in enumerate(captures):
            first, held, mine = cursors[k].take(cuts[k][s : s + 2], reach[k][s], int(times[k][s]))
            parts.append(capture.part(held))
            spans.append((first, first + held["packets"].num_rows))
            for name, rows in mine.items():
                own.setdefault(name, []).append(rows)
        near = {(i, j): cursor.take(spans[i], spans[j]) for (i, j), cursor in pairs.items()}
        yield Chunk(CombinedTables(parts, replace(joined, pairs=near), leaders), own)


def _cuts(joined: Alignment) -> tuple[list[Array], list[Array]]:
    """Where to cut: for each capture the rows of `packets` at which chunks begin, and the times at which they end.

    The rows end with the number of all rows. The times are those of the capture's own tables.
    """
    marks, beats, on_axis = [], [], []
    for side, clock_map in zip(joined.summaries, joined.clocks, strict=True):
        mine = np.array(side.marks, np.int64).reshape(-1, 3)
        marks.append((mine[:, 0], np.maximum.accumulate(clock_map.to_axis(mine[:, 2], mine[:, 1]))))
        own = np.unique(np.concatenate((mine[:, 2], np.array(side.link_times, np.int64))))
        beats.append((own, np.maximum.accumulate(clock_map.to_axis(own))))
        on_axis += [marks[-1][1], clock_map.to_axis(np.array(side.link_times, np.int64))]
    every = ROWS // MARK_ROWS
    borders = np.sort(np.concatenate(on_axis))[every::every]
    rows, times = [], []
    for side, (row, at), (own, own_at) in zip(joined.summaries, marks, beats, strict=True):
        inner = np.append(row, side.rows)[np.searchsorted(at, borders)]
        rows.append(np.concatenate(([0], inner, [side.rows])))
        ends = np.append(own - (side.capture.start_ns or 0), _ALL)[np.searchsorted(own_at, borders)]
        times.append(np.append(ends, _ALL))
    return rows, times


def _reach(joined: Alignment, cuts: Sequence[Array]) -> list[list[tuple[int, int]]]:
    """For each capture and chunk the rows that its own rows and the rows of the other captures need."""
    chunks = len(cuts[0]) - 1
    low = [np.maximum(c[:-1] - CONTEXT_ROWS, 0) for c in cuts]
    high = [np.minimum(c[1:] + CONTEXT_ROWS, c[-1]) for c in cuts]
    if chunks > 1:
        for (i, j), made in joined.pairs.items():
            for batch in made.scan():
                rows = [batch.column(name).to_numpy().astype(np.int64) for name in ("row_a", "row_b")]
                for (here, there), (mine, theirs) in (((i, j), rows), ((j, i), rows[::-1])):
                    which = np.clip(np.searchsorted(cuts[here], mine, side="right") - 1, 0, chunks - 1)
                    np.minimum.at(low[there], which, theirs)
                    np.maximum.at(high[there], which, theirs + 1)
    out = []
    for k, c in enumerate(cuts):
        far = (low[k] < c[:-1] - WIDEST_ROWS // 4) | (high[k] > c[1:] + WIDEST_ROWS // 4)
        if far.any():
            why = "Time chunks with packets whose rows in this capture are too far away to be linked."
            joined.summaries[k].capture.add_note("links_cut", "loss", int(far.sum()), why)
        # Cursors only move forward. A pair far from all others is two different packets that look alike.
        least = np.maximum(np.minimum.accumulate(low[k][::-1])[::-1], c[:-1] - WIDEST_ROWS // 4)
        most = np.minimum(np.maximum.accumulate(high[k]), c[1:] + WIDEST_ROWS // 4)
        out.append(list(zip(least.tolist(), most.tolist(), strict=True)))
    return out


class _Cursor:
    """Reads a table once, in the order of a key. A row with a smaller key than an earlier row gets the earlier row's key."""

    def __init__(self, capture: Capture, name: str) -> None:
        self._feed = capture.scan(name)
        self._key = _KEYS.get(name)
        self._schema = tables.schema(name)
        self._held: list[tuple[pa.RecordBatch, Array]] = []
        self._most, self._next = -_ALL, 0
        #: Rows from this key on have no chunk yet.
        self.begin = -_ALL

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

    def own(self, end: int, start: int = _ALL, stop: int = -_ALL) -> tuple[pa.Table, tuple[int, int]]:
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
        keys: Array = batch.column(self._key).cast(pa.int64()).fill_null(-_ALL).to_numpy()
        return keys


class _Cursors:
    """Reads all tables of a capture once."""

    def __init__(self, capture: Capture) -> None:
        names = [name for name in tables.core_schemas() if name not in _KEYS]
        self._of = {name: _Cursor(capture, name) for name in ("packets", *_KEYS, *names)}
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
        stamps = packets.column("time").cast("int64").fill_null(self._start_ns).to_numpy() - self._start_ns
        for name, cursor in self._of.items():
            if name == "segments":
                last = int(numbers[-1]) + 1 if len(numbers) else -_ALL
                until = int(numbers[end]) if end < len(numbers) else _ALL
                held[name], own[name] = cursor.own(until, int(numbers[0]) if len(numbers) else _ALL, last)
            elif name in _AROUND and len(stamps):
                held[name], own[name] = cursor.own(end_ns, int(stamps.min()) - _BEFORE_NS, int(stamps.max()) + 1)
            elif name in _KEYS:
                held[name], own[name] = cursor.own(end_ns)
            elif name != "packets":
                # Rows without a time, such as names of networks, belong to the last chunk.
                held[name], own[name] = cursor.own(_ALL if end_ns == _ALL else -_ALL)
        return first, held, own


class _PairCursor:
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
                self._most = _ALL
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


__all__ = ["ROWS", "Chunk", "cut"]

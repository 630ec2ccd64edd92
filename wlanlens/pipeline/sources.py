"""Sources: where the rows of a run come from.

One capture is streamed: its rows are judged and written while it is decoded. Several captures are decoded to the scratch
folder, aligned, and read back in time chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wlanlens import tables
from wlanlens.alignment import align
from wlanlens.alignment.clock import ClockMap
from wlanlens.capture import quality
from wlanlens.capture.capture import stamp
from wlanlens.correlation.combined_tables import FACTS, HEARD, leaders
from wlanlens.errors import WlanlensError
from wlanlens.formatting import printable
from wlanlens.pipeline import time_chunks
from wlanlens.pipeline.allocator import give_back
from wlanlens.pipeline.progress import Watcher, of_feed
from wlanlens.pipeline.table_writers import BATCH_ROWS, ArrowWriter, WriterThread
from wlanlens.tables.stored_tables import ArrowTables

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture
    from wlanlens.capture.reader_thread import Feed
    from wlanlens.pipeline.output_dir import Scratch


class Rows(NamedTuple):
    """Some rows of a table.

    Attributes
    ----------
    table : str
        The table.
    batch : pa.RecordBatch
        The rows.
    stored, judged : bool
        Whether they are written to the output, and whether they are given to detectors and sums.
    """

    table: str
    batch: pa.RecordBatch
    stored: bool = True
    judged: bool = True


class Source(ABC):
    """The rows of one capture or of several on one time axis.

    Attributes
    ----------
    captures : list of Capture
        The captures.
    clocks : list of ClockMap
        How each capture's clock maps to the axis; complete once the first step has begun.
    tables : tuple of str
        The tables that have rows here.
    """

    def __init__(self, captures: Sequence[Capture], names: Iterable[str], progress: Watcher | None) -> None:
        self.captures = list(captures)
        self.clocks = [ClockMap.identity(capture.name) for capture in captures]
        self.tables = tuple(names)
        self._counts = [quality.Quality() for _ in captures]
        self._progress = progress

    @property
    @abstractmethod
    def start_ns(self) -> int:
        """Epoch ns of t = 0; known once the first step has begun."""

    @property
    @abstractmethod
    def air_capture(self) -> str:
        """The name of the capture with most frames; known after the last step."""

    @abstractmethod
    def steps(self) -> Iterator[Iterator[Rows]]:
        """All rows, step by step; between two steps the run may judge what it holds."""

    def quality(self) -> pa.Table:
        """The table `quality`; known after the last step."""
        return quality.to_table(self._counts, self.captures)

    def _decode(self, number: int, feed: Feed) -> Iterator[Iterator[tuple[str, pa.RecordBatch]]]:
        """Read one capture: batches of its tables, group by group."""
        capture, counts = self.captures[number], self._counts[number]
        size_bytes = capture.size_bytes()

        def counted(group: Iterable[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
            for name, batch in group:
                counts.add(name, batch)
                yield name, stamp(batch, capture.name, name)

        try:
            for group in feed:
                yield counted(group)
                if self._progress is not None:
                    self._progress(of_feed(feed, size_bytes))
        except WlanlensError as error:
            error.path = error.path or printable(capture.path)
            raise


class OneCapture(Source):
    """One capture, decoded step by step. Its clock is the axis; nothing is written to the disk on the way."""

    def __init__(self, capture: Capture, progress: Watcher | None = None) -> None:
        super().__init__([capture], tables.core_schemas(), progress)

    @property
    def start_ns(self) -> int:
        return self.captures[0].start_ns or 0

    @property
    def air_capture(self) -> str:
        return self.captures[0].name

    def steps(self) -> Iterator[Iterator[Rows]]:
        capture = self.captures[0]
        feed = capture.feed()
        for group in self._decode(0, feed):
            yield (Rows(name, batch) for name, batch in group)
        capture.take(feed)
        capture.point = self._counts[0].point(capture)


class AlignedCaptures(Source):
    """Several captures: each decoded once to the scratch folder, then aligned and read in time chunks."""

    def __init__(
        self, captures: Sequence[Capture], scratch: Scratch, *, nat: bool = False, progress: Watcher | None = None
    ) -> None:
        super().__init__(captures, (*tables.core_schemas(), "links"), progress)
        self._scratch, self._nat = scratch, nat
        self._start_ns = 0

    @property
    def start_ns(self) -> int:
        return self._start_ns

    @property
    def air_capture(self) -> str:
        return max(self.captures, key=lambda capture: capture.rows("frames")).name

    def steps(self) -> Iterator[Iterator[Rows]]:
        align.set_distinct_names(self.captures)
        for number, capture in enumerate(self.captures):
            if capture.loaded:
                self._counts[number] = quality.counted(capture)
            else:
                self._store(number)
        aligned = align.align_captures(self.captures, nat=self._nat, scratch=self._scratch.folder())
        self._start_ns, self.clocks = aligned.start_ns, aligned.clocks
        give_back()
        leading = leaders(self.captures, aligned)
        for chunk in time_chunks.cut(self.captures, aligned, leading):
            yield self._rows(chunk, leading)
            give_back()

    def _store(self, number: int) -> None:
        """Decode one capture to the scratch folder."""
        capture, thread = self.captures[number], WriterThread()
        writers = {name: ArrowWriter(self._scratch, thread, name, str(number)) for name in tables.core_schemas()}
        feed = capture.feed()
        try:
            for group in self._decode(number, feed):
                for name, batch in group:
                    writers[name].append(batch)
            for writer in writers.values():
                writer.finish()
            thread.wait()
        finally:
            thread.stop()
            for writer in writers.values():
                writer.drop()
        paths = {name: writer.path for name, writer in writers.items()}
        capture.keep(ArrowTables(paths, {name: writer.rows for name, writer in writers.items()}), feed)
        give_back()

    def _rows(self, chunk: time_chunks.Chunk, leading: Any) -> Iterator[Rows]:
        """A chunk's own rows. Facts of connections come from the capture that leads each."""
        import pyarrow as pa

        for name in tables.core_schemas():
            for number, part in enumerate(chunk.parts(name)):
                rows = part
                if name in FACTS and part.num_rows:
                    rows = part.filter(pa.array(leading[part.column("flow").to_numpy()] == number))
                yield from _batches(name, rows, judged=name not in HEARD)
        # Detectors and sums get each 802.11 frame once, whichever sniffers heard it.
        for name in HEARD:
            for batch in chunk.heard(name).to_batches(max_chunksize=BATCH_ROWS):
                yield Rows(name, batch, stored=False)
        yield from _batches("links", chunk.links())


def _batches(name: str, rows: pa.Table, *, judged: bool = True) -> Iterator[Rows]:
    for batch in rows.cast(tables.schema(name)).to_batches():
        yield Rows(name, batch, judged=judged)


def source_of(
    captures: Sequence[Capture], scratch: Scratch, *, nat: bool = False, progress: Watcher | None = None
) -> Source:
    """The source of one capture or of several."""
    if len(captures) == 1:
        return OneCapture(captures[0], progress)
    return AlignedCaptures(captures, scratch, nat=nat, progress=progress)

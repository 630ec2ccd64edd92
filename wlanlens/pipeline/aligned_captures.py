"""Several captures as the source of a run: decoded to the scratch folder, aligned, and read back in time chunks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from wlanlens import tables
from wlanlens.alignment import align, axis_tables
from wlanlens.capture import quality
from wlanlens.correlation.combined_tables import FACTS, HEARD
from wlanlens.correlation.leading_captures import EVENTS, LEDGER_FACTS, LeadingCaptures
from wlanlens.pipeline import time_chunks
from wlanlens.pipeline.allocator import give_back
from wlanlens.pipeline.open_flows import LEAST_PACKETS, OPEN_FLOWS
from wlanlens.pipeline.progress import Watcher
from wlanlens.pipeline.sources import Rows, Source
from wlanlens.pipeline.table_writers import BATCH_ROWS, ArrowWriter, WriterThread
from wlanlens.tables.stored_tables import ArrowTables

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.align import Alignment
    from wlanlens.capture.capture import Capture
    from wlanlens.pipeline.output_dir import Scratch

#: Chunks whose rows are made at a time, beside the thread that judges; each needs about 90 MB.
WORKERS = 2


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
        self.leaders = LeadingCaptures.of(self.captures, aligned)
        leaders = self.leaders
        yield self._open_flows(aligned, leaders)
        chunks = time_chunks.cut(self.captures, aligned, leaders)
        for rows in _side_by_side(chunks, lambda chunk: list(self._rows(chunk, leaders))):
            yield iter(rows)
            del rows
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

    def _open_flows(self, aligned: Alignment, leaders: LeadingCaptures) -> Iterator[Rows]:
        """The rows of `flows` of all connections that may be cut: every capture has been read to its end."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for number, capture in enumerate(self.captures):
            for batch in capture.scan("flows"):
                large = pa.Table.from_batches([batch]).filter(pc.greater_equal(batch.column("packets"), LEAST_PACKETS))
                part = axis_tables.on_axis(capture.part({"flows": large}), "flows", aligned, number)
                led = part.filter(pa.array(leaders.leads(part, number)))
                yield from (Rows(OPEN_FLOWS, b, stored=False) for b in _cast("flows", led))

    def _rows(self, chunk: time_chunks.Chunk, leaders: LeadingCaptures) -> Iterator[Rows]:
        """A chunk's own rows. Facts of connections come from the captures that lead each."""
        import pyarrow as pa

        for name in tables.core_schemas():
            for number, part in enumerate(chunk.parts(name)):
                rows = part
                if name in FACTS and part.num_rows:
                    rows = part.filter(pa.array(leaders.leads(part, number)))
                yield from _batches(name, rows, judged=name not in HEARD)
        for name in LEDGER_FACTS:
            entered = leaders.sees_sender if name in EVENTS else leaders.only_for_ledger
            for number, part in enumerate(chunk.parts(name, chunk.combined.for_ledger(name))):
                more = part.filter(pa.array(entered(part, number)))
                yield from (Rows(name, b, stored=False, judged=False, entered=True) for b in _cast(name, more))
        # Detectors and sums get each 802.11 frame once, whichever sniffers heard it.
        for name in HEARD:
            for batch in chunk.heard(name).to_batches(max_chunksize=BATCH_ROWS):
                yield Rows(name, batch, stored=False)
        yield from _batches("links", chunk.links())


def _side_by_side(
    chunks: Iterable[time_chunks.Chunk], make: Callable[[time_chunks.Chunk], list[Rows]]
) -> Iterator[list[Rows]]:
    """The rows of each chunk in order, while those of the next are made in threads: NumPy and Arrow work beside Python."""
    pool = ThreadPoolExecutor(WORKERS, "wlanlens-chunk")
    waiting: deque[Future[list[Rows]]] = deque()
    try:
        for chunk in chunks:
            waiting.append(pool.submit(make, chunk))
            del chunk
            if len(waiting) == WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _batches(name: str, rows: pa.Table, *, judged: bool = True) -> Iterator[Rows]:
    for batch in _cast(name, rows):
        yield Rows(name, batch, judged=judged)


def _cast(name: str, rows: pa.Table) -> list[pa.RecordBatch]:
    made: list[pa.RecordBatch] = rows.cast(tables.schema(name)).to_batches()
    return made

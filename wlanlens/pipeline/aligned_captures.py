"""Several captures as the source of a run: decoded to the scratch folder, aligned, and read back in time chunks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from wlanlens import tables
from wlanlens.alignment import align, axis_tables
from wlanlens.alignment.sampling import Survey
from wlanlens.capture import quality
from wlanlens.capture.reader_thread import READERS
from wlanlens.correlation.combined_tables import FACTS, HEARD
from wlanlens.correlation.flow_counts import COUNTED, FlowCounts
from wlanlens.correlation.leading_captures import EVENTS, LEDGER_FACTS, LeadingCaptures
from wlanlens.errors import WlanlensError
from wlanlens.pipeline import time_chunks
from wlanlens.pipeline.allocator import give_back, is_short
from wlanlens.pipeline.open_flows import LEAST_PACKETS, OPEN_FLOWS
from wlanlens.pipeline.progress import Progress, Watcher
from wlanlens.pipeline.sources import Rows, Source
from wlanlens.pipeline.table_writers import BATCH_ROWS, ArrowWriter, WriterThread
from wlanlens.tables.columns import rows_where
from wlanlens.tables.stored_tables import ArrowTables
from wlanlens.threads import Job, Threads

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.align import Alignment
    from wlanlens.capture.capture import Capture
    from wlanlens.capture.reader_thread import Feed
    from wlanlens.pipeline.output_dir import Scratch

#: Chunks whose rows are made at a time, beside the thread that judges; each needs about 90 MB.
WORKERS = 2

#: Up to this size a capture's tables are written without compression: 700 MB of the disk for a while.
PLAIN_BYTES = 256 * 2**20

_DONE = object()
_Steps = Generator[None, None, None]


class AlignedCaptures(Source):
    """Several captures: each decoded once to the scratch folder, then aligned and read in time chunks."""

    def __init__(
        self,
        captures: Sequence[Capture],
        scratch: Scratch,
        feeds: Mapping[int, Feed],
        *,
        nat: bool = False,
        progress: Watcher | None = None,
    ) -> None:
        super().__init__(captures, (*tables.core_schemas(), "links"), self._add_progress if progress else None)
        self._scratch, self._feeds = scratch, feeds
        self._survey = Survey(captures, nat=nat)
        self._start_ns = 0
        self._watcher = progress
        #: How far each capture has been read, by its number, and the one that is being read.
        self._read: dict[int, Progress] = {}
        self._reading = 0

    @property
    def start_ns(self) -> int:
        return self._start_ns

    @property
    def air_capture(self) -> str:
        return max(self.captures, key=lambda capture: capture.rows("frames")).name

    def steps(self) -> Iterator[Iterator[Rows]]:
        for number, capture in enumerate(self.captures):
            if capture.loaded:
                self._counts[number] = quality.counted(capture)
        self._store([number for number, capture in enumerate(self.captures) if not capture.loaded])
        aligned = align.align_captures(self.captures, scratch=self._scratch.folder(), survey=self._survey)
        self._start_ns, self.clocks = aligned.start_ns, aligned.clocks
        give_back()
        self.leaders = LeadingCaptures.of(self.captures, aligned)
        leaders = self.leaders
        yield self._open_flows(aligned, leaders)
        chunks, counts = time_chunks.cut(self.captures, aligned, leaders), FlowCounts()
        for rows in _side_by_side(chunks, lambda chunk: list(self._rows(chunk, leaders))):
            yield _counted(rows, counts)
            del rows
        # The last window is judged meanwhile.
        self._scratch.begin_removal()

    def _store(self, numbers: Sequence[int]) -> None:
        """Decode captures to the scratch folder, `READERS` at a time: each has a thread that reads and one that writes.

        Of the captures that cannot be read, the first one's error is raised, whichever is met first.
        """
        waiting = deque((number, self._stored(number)) for number in numbers)
        running: list[tuple[int, _Steps]] = []
        failed: WlanlensError | None = None
        try:
            while waiting or running:
                while waiting and len(running) < READERS:
                    running.append(waiting.popleft())
                for place, (number, steps) in enumerate(list(running)):
                    # The connections of one capture may take 370 MB: then the second waits for the end of the first.
                    if place and is_short():
                        break
                    self._reading = number
                    try:
                        if next(steps, _DONE) is _DONE:
                            running.remove((number, steps))
                    except WlanlensError as error:
                        failed = error
                        waiting.clear()
                        _close(running[place:])
                        del running[place:]
                        break
        finally:
            _close(running)
        if failed is not None:
            raise failed

    def _add_progress(self, at: Progress) -> None:
        """Pass on how far all captures have been read that are begun."""
        self._read[self._reading] = at
        sizes = [one.size_bytes for one in self._read.values()]
        whole = None if None in sizes else sum(size or 0 for size in sizes)
        done = self._read.values()
        if self._watcher is not None:
            self._watcher(Progress(sum(one.records for one in done), sum(one.offset_bytes for one in done), whole))

    def _stored(self, number: int) -> _Steps:
        """Decode one capture to the scratch folder, group by group."""
        capture, thread, large = self.captures[number], WriterThread(), _is_large(self.captures[number])
        writers = {
            name: ArrowWriter(self._scratch, thread, name, str(number), compressed=large)
            for name in tables.core_schemas()
        }
        writers["packets"].watch = partial(self._survey.add, number)
        feed = self._feeds.get(number) or capture.feed()
        try:
            for group in self._decode(number, feed):
                for name, batch in group:
                    writers[name].append(batch)
                yield
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
        for name in tables.core_schemas():
            for number, part in enumerate(chunk.parts(name)):
                rows = part
                if name in FACTS and part.num_rows:
                    rows = rows_where(part, leaders.leads(part, number))
                yield from _batches(name, rows, judged=name not in HEARD)
        for name in LEDGER_FACTS:
            entered = leaders.sees_sender if name in EVENTS else leaders.only_for_ledger
            for number, part in enumerate(chunk.parts(name, chunk.combined.for_ledger(name))):
                more = rows_where(part, entered(part, number))
                yield from (Rows(name, b, stored=False, judged=False, entered=True) for b in _cast(name, more))
        # Detectors and sums get each 802.11 frame once, whichever sniffers heard it.
        for name in HEARD:
            for batch in chunk.heard(name).to_batches(max_chunksize=BATCH_ROWS):
                yield Rows(name, batch, stored=False)
        yield from _batches("links", chunk.links())


def _is_large(capture: Capture) -> bool:
    """Whether a capture's tables may need more of the disk than `PLAIN_BYTES` allows."""
    size_bytes = capture.size_bytes()
    return size_bytes is None or size_bytes > PLAIN_BYTES or bool(capture.info.get("compression"))


def _counted(rows: list[Rows], counts: FlowCounts) -> Iterator[Rows]:
    """The rows of a chunk, in `flows` with the counts of the rows up to it: a connection's row comes at its end."""
    for one in rows:
        if one.stored and one.table in COUNTED:
            counts.add(one.table, one.batch)
    for one in rows:
        yield one._replace(batch=counts.corrected(one.batch)) if one.stored and one.table == "flows" else one


def _close(running: Iterable[tuple[int, _Steps]]) -> None:
    """End decoders before their time."""
    for _, steps in running:
        steps.close()


def _side_by_side(
    chunks: Iterable[time_chunks.Chunk], make: Callable[[time_chunks.Chunk], list[Rows]]
) -> Iterator[list[Rows]]:
    """The rows of each chunk in order, while those of the next are made in threads: NumPy and Arrow work beside Python."""
    pool = Threads(WORKERS)
    waiting: deque[Job[list[Rows]]] = deque()
    try:
        for chunk in chunks:
            waiting.append(pool.submit(make, chunk))
            del chunk
            if len(waiting) == WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.stop()


def _batches(name: str, rows: pa.Table, *, judged: bool = True) -> Iterator[Rows]:
    for batch in _cast(name, rows):
        yield Rows(name, batch, judged=judged)


def _cast(name: str, rows: pa.Table) -> list[pa.RecordBatch]:
    import pyarrow as pa

    if not rows.num_rows:
        return []
    schema = tables.schema(name)
    # A cast of all columns goes through each of them, even one that has the type.
    columns = [c if c.type == f.type else c.cast(f.type) for f in schema for c in (rows.column(f.name),)]
    made: list[pa.RecordBatch] = pa.Table.from_arrays(columns, schema=schema).to_batches()
    return made

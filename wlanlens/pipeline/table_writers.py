"""Writers of tables: Parquet files of the output and Arrow files of the scratch folder.

Threads write, while the caller's thread decodes the next rows.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from wlanlens import tables
from wlanlens.operating_system import NO_FOLLOW
from wlanlens.pipeline.file_names import TABLES, part
from wlanlens.pipeline.output_dir import Output, Scratch
from wlanlens.tables import POINTS
from wlanlens.threads import Job, Threads

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

#: Rows of a Parquet row group: what a reader reads at once, and what a writer holds in memory for one table.
GROUP_ROWS = 256 * 1024
#: Size at which a table's next file begins: a Parquet writer keeps the metadata of all row groups until its file is closed.
PART_BYTES = 128 * 2**20
#: Rows of an Arrow batch: what a reader reads at once. Two captures take 3 % longer with half as many, 30 MB more with twice as many.
BATCH_ROWS = 32 * 1024

#: Rows that are encoded at a time: with Arrow's 1024, starting takes a thirtieth of the writing time.
_ENCODED_ROWS = 16 * 1024

#: Columns with statistics, by which a reader skips row groups. Statistics of all columns take a fifth of the writing time.
_STATISTICS = ("flow", "t_ns", "t_start_ns", "packet")


#: Columns whose differences from row to row are small: packed, they take half the space and half the time of LZ4, which finds
#: nothing to compress in them. Those in lists have these names, or paths, too.
_RISING = (
    *("packet", "first_packet", "last_packet", "ip_packet", "submit_packet", "complete_packet", "mac_ack_packet"),
    *("time", "t_ns", "t_start_ns", "t_end_ns", "t_submit_ns", "t_complete_ns", "mac_ack_t_ns"),
    *(f"{point}_{what}" for point in POINTS for what in ("packet", "t_ns")),
    *(f"usb_{what}" for what in ("submit_packet", "submit_t_ns", "complete_packet", "complete_t_ns")),
    *("one_way_ns", "unseparated_ns"),
    *("flow", "ip_id", "rel_seq", "rel_ack", "srtt_ns", "rttvar_ns", "tsf_us", "seq", "packets.list.element"),
)
#: Columns of numbers that hardly repeat: LZ4 takes as long as the writing and saves at most a seventh.
_RANDOM = ("tcp_seq", "body_digest")


def _leaves(field: pa.Field, above: str = "") -> list[str]:
    """Paths of the columns in which Parquet stores a field."""
    import pyarrow as pa

    if pa.types.is_list(field.type):
        return _leaves(field.type.value_field.with_name("element"), f"{above}{field.name}.list.")
    if pa.types.is_struct(field.type):
        return [leaf for part in field.type for leaf in _leaves(part, f"{above}{field.name}.")]
    return [above + field.name]


class WriterThread:
    """Writes for some tables of a run, one job at a time. An error of a job is raised by a later call."""

    def __init__(self) -> None:
        self._pool = Threads(1)
        self._jobs: list[Job[None]] = []

    def do(self, job: Callable[[], None]) -> None:
        """Queue a job. Waits while two jobs are not done: one running, one waiting."""
        while len(self._jobs) >= 2:
            self._jobs.pop(0).result()
        self._jobs.append(self._pool.submit(job))

    def wait(self) -> None:
        """Wait until every job is done."""
        while self._jobs:
            self._jobs.pop(0).result()

    def stop(self) -> None:
        """End the thread; jobs that have not begun are dropped."""
        self._pool.stop()


class TableWriter(ABC):
    """Collects the rows of one table and writes them in groups.

    Attributes
    ----------
    rows : int
        How many rows were added.
    """

    def __init__(self, place: Output | Scratch, thread: WriterThread, name: str) -> None:
        self._place, self._thread = place, thread
        self.name = name
        self.schema = tables.schema(name)
        self.rows = 0
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self._finished = False
        self._file: pa.NativeFile | None = None
        self._writer: pq.ParquetWriter | pa.ipc.RecordBatchStreamWriter | None = None

    def append(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Add rows that have the table's schema."""
        if rows.num_rows:
            self._held += rows.to_batches() if hasattr(rows, "to_batches") else [rows]
            self._held_rows += rows.num_rows
            self.rows += rows.num_rows
            if self._held_rows >= self._group_rows:
                self._flush()

    def finish(self) -> None:
        """Write the remaining rows and close, once. A table without rows is written too, so that it can be read."""
        if self._finished:
            return
        self._finished = True
        if self._held or not self.rows:
            self._flush()
        self._thread.do(self._close)

    def drop(self) -> None:
        """Close after an error, once the thread has stopped; the remaining rows are not written."""
        self._held = []
        with contextlib.suppress(OSError, ValueError):
            self._close()

    @property
    @abstractmethod
    def _group_rows(self) -> int:
        """Rows of a group."""

    @abstractmethod
    def _write(self, group: pa.Table) -> None:
        """Write a group; called in the writer thread."""

    def _flush(self) -> None:
        import pyarrow as pa

        group = pa.Table.from_batches(self._held, self.schema)
        self._held, self._held_rows = [], 0
        self._thread.do(lambda: self._write(group))

    def _create(self, path: Path) -> pa.NativeFile:
        import pyarrow as pa

        # Exclusive creation: a symbolic link under this name is refused, not followed.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o666))
        # Opened to append: of a file that was truncated, ext4 writes all to the disk when it is closed, and waits for that.
        self._file = pa.OSFile(str(path), "ab")
        return self._file

    def _close(self) -> None:
        with self._place.writing():
            if self._writer is not None and self._file is not None:
                self._writer.close()
                self._file.close()
            self._writer = self._file = None


class ParquetWriter(TableWriter):
    """Writes one table of the output as Parquet files.

    In a large table a column is declared optional from the first null on: to say of each value that it is not null takes a
    seventh of the writing time. The file in which that changes is closed, and the next one begun.

    Attributes
    ----------
    parts : int
        How many files were begun.
    paths : list of Path
        The files.
    """

    def __init__(self, output: Output, thread: WriterThread, name: str) -> None:
        super().__init__(output, thread, name)
        self.parts = 0
        self.paths: list[Path] = []
        #: Columns that are optional in the current file.
        self._optional: set[str] = set()

    @property
    def _group_rows(self) -> int:
        return GROUP_ROWS

    def _write(self, group: pa.Table) -> None:
        import pyarrow as pa

        small = not self.parts and group.num_rows < GROUP_ROWS
        optional = {f.name for f in self.schema if f.nullable and (small or group.column(f.name).null_count)}
        with self._place.writing():
            if not optional <= self._optional:
                self._close()
                self._optional |= optional
            writer = self._open()
            rows = pa.Table.from_arrays(group.unify_dictionaries().columns, schema=writer.schema)
            writer.write_table(rows, row_group_size=GROUP_ROWS)
            if self._file is not None and self._file.tell() >= PART_BYTES:
                self._close()

    def _file_schema(self) -> pa.Schema:
        """The table's schema with the columns required that have had no null."""
        import pyarrow as pa

        return pa.schema(
            [f.with_nullable(f.name in self._optional) for f in self.schema], metadata=self.schema.metadata
        )

    def _open(self) -> pq.ParquetWriter:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            path = self._place.file(TABLES, self.name, part(self.parts))
            self.parts += 1
            self.paths.append(path)
            leaves = [leaf for f in self.schema for leaf in _leaves(f)]
            rising = [leaf for leaf in leaves if leaf in _RISING or leaf.rpartition(".")[2] in _RISING]
            words = [f.name for f in self.schema if pa.types.is_dictionary(f.type)]
            # Parquet packs the codes of enums: LZ4 takes a tenth of their time and saves a fortieth of the table.
            enums = [name for name in words if self.schema.field(name).type.index_type == pa.int8()]
            plain = {*rising, *_RANDOM, *enums}
            self._writer = pq.ParquetWriter(
                self._create(path),
                self._file_schema(),
                # LZ4 takes a tenth of the decoding time, and every reader supports it.
                compression={leaf: "none" if leaf in plain else "lz4" for leaf in leaves},
                column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED") or None,
                write_batch_size=_ENCODED_ROWS,
                use_dictionary=words,
                write_statistics=[name for name in _STATISTICS if name in self.schema.names],
            )
        return self._writer


class ArrowWriter(TableWriter):
    """Writes one table of a capture to the scratch folder as an Arrow IPC stream.

    Writing and reading such a stream takes a third of the time of Parquet.

    Parameters
    ----------
    compressed : bool
        With LZ4. Without, it takes a quarter of the time, and is 2.5 times as large as a capture of headers.

    Attributes
    ----------
    path : Path
        The file.
    watch : callable or None
        Called with each batch that was written, in the writer thread.
    """

    watch: Callable[[pa.RecordBatch], None] | None = None

    def __init__(
        self, scratch: Scratch, thread: WriterThread, name: str, folder: str, *, compressed: bool = True
    ) -> None:
        super().__init__(scratch, thread, name)
        self.path = scratch.file(folder, f"{name}.arrows")
        self._compression = "lz4" if compressed else None

    @property
    def _group_rows(self) -> int:
        return BATCH_ROWS

    def _write(self, group: pa.Table) -> None:
        # One batch a group: a batch of few rows and many columns has more header than data.
        batches = group.unify_dictionaries().combine_chunks().to_batches(BATCH_ROWS)
        with self._place.writing():
            writer = self._open()
        for batch in batches:
            with self._place.writing():
                writer.write_batch(batch)
            if self.watch is not None:
                self.watch(batch)

    def _open(self) -> pa.ipc.RecordBatchStreamWriter:
        import pyarrow as pa

        if self._writer is None:
            # Arrow's threads may crash where memory is short; this thread writes beside others anyway.
            options = pa.ipc.IpcWriteOptions(compression=self._compression, use_threads=False)
            self._writer = pa.ipc.new_stream(self._create(self.path), self.schema, options=options)
        return self._writer

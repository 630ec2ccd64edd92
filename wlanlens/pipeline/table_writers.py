"""Tables as Parquet parts, written a row group at a time by one thread of their own while the next rows are decoded."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from wlanlens import tables
from wlanlens.pipeline.output_dir import TABLES, Output, Scratch

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

#: Rows of a Parquet row group: a reader's unit, and what a writer holds in memory for one table.
GROUP_ROWS = 256 * 1024
#: Size at which a table's next part begins: the writer keeps the metadata of every row group until its part is closed.
PART_BYTES = 128 * 2**20

#: Columns with statistics, by which a reader passes over row groups; those of all columns cost a fifth of the writing.
_STATISTICS = ("flow", "t_ns", "t_start_ns", "packet")


class Pen:
    """Does the writing of all tables, one job at a time and one waiting; an error of one is raised at the next."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "wlanlens-write")
        self._jobs: list[Future[None]] = []

    def do(self, job: Callable[[], None]) -> None:
        """Have a job done; waits while two are under way."""
        while len(self._jobs) >= 2:
            self._jobs.pop(0).result()
        self._jobs.append(self._pool.submit(job))

    def wait(self) -> None:
        """Until every job is done."""
        while self._jobs:
            self._jobs.pop(0).result()

    def stop(self) -> None:
        """End the thread; jobs that have not begun are dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class Writer:
    """Holds the rows of one table and has the pen write them, a group at a time.

    Attributes
    ----------
    rows : int
        How many rows were added.
    """

    def __init__(self, place: Output | Scratch, pen: Pen, name: str) -> None:
        self._place, self._pen = place, pen
        self.schema = tables.schema(name)
        self.rows = 0
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
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
        """Write what is held; a table without rows is written empty, so that it can be asked."""
        if self._held or not self.rows:
            self._flush()
        self._pen.do(self._close)

    def drop(self) -> None:
        """Close without finishing: after an error, when the pen has stopped."""
        self._held = []
        with contextlib.suppress(OSError, ValueError):
            self._close()

    @property
    def _group_rows(self) -> int:
        """Rows of a group."""
        raise NotImplementedError

    def _write(self, group: pa.Table) -> None:
        """Write a group; by the pen."""
        raise NotImplementedError

    def _flush(self) -> None:
        import pyarrow as pa

        group = pa.Table.from_batches(self._held, self.schema)
        self._held, self._held_rows = [], 0
        self._pen.do(lambda: self._write(group))

    def _create(self, path: Path) -> pa.NativeFile:
        import pyarrow as pa

        # Exclusive creation: a link planted under the name is refused, not followed.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
        self._file = pa.OSFile(str(path), "wb")
        return self._file

    def _close(self) -> None:
        with self._place.writing():
            if self._writer is not None and self._file is not None:
                self._writer.close()
                self._file.close()
            self._writer = self._file = None


class TableWriter(Writer):
    """Writes one table of the output as Parquet parts."""

    def __init__(self, output: Output, pen: Pen, name: str) -> None:
        super().__init__(output, pen, name)
        self.name = name
        self.parts = 0
        self.paths: list[Path] = []

    @property
    def _group_rows(self) -> int:
        return GROUP_ROWS

    def _write(self, group: pa.Table) -> None:
        with self._place.writing():
            self._open().write_table(group.unify_dictionaries(), row_group_size=GROUP_ROWS)
            if self._file is not None and self._file.tell() >= PART_BYTES:
                self._close()

    def _open(self) -> pq.ParquetWriter:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            path = self._place.file(TABLES, self.name, f"part-{self.parts:05}.parquet")
            self.parts += 1
            self.paths.append(path)
            # LZ4 costs a tenth of what decoding does, and every reader has it.
            self._writer = pq.ParquetWriter(
                self._create(path),
                self.schema,
                compression="lz4",
                use_dictionary=[f.name for f in self.schema if pa.types.is_dictionary(f.type)],
                write_statistics=[name for name in _STATISTICS if name in self.schema.names],
            )
        return self._writer

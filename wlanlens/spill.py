"""A capture's tables on the disk while a run lasts: Arrow IPC streams, which cost a third of what Parquet does to write and to
read again, in the scratch folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wlanlens import tables
from wlanlens.output import Scratch
from wlanlens.parts import Pen

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows written, and read, at once.
ROWS = 16 * 1024


class SpillWriter:
    """Writes one table.

    Attributes
    ----------
    path : Path
        The stream.
    rows : int
        How many rows were added.
    """

    def __init__(self, scratch: Scratch, pen: Pen, name: str, folder: str) -> None:
        self._scratch, self._pen = scratch, pen
        self._schema = tables.schema(name)
        self.path = scratch.file(folder, f"{name}.arrows")
        self.rows = 0
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self._file: pa.NativeFile | None = None
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def append(self, batch: pa.RecordBatch) -> None:
        """Add rows that have the table's schema."""
        if batch.num_rows:
            self._held.append(batch)
            self._held_rows += batch.num_rows
            self.rows += batch.num_rows
            if self._held_rows >= ROWS:
                self._flush()

    def finish(self) -> None:
        """Write what is held; a table without rows is an empty stream."""
        self._flush()
        self._pen.do(self._close)

    def drop(self) -> None:
        """Close without finishing: after an error, when the pen has stopped."""
        self._held = []
        with contextlib.suppress(OSError, ValueError):
            self._close()

    def _flush(self) -> None:
        import pyarrow as pa

        # Batches of few rows, of wide tables, are more header than rows.
        rows = pa.Table.from_batches(self._held, self._schema)
        self._held, self._held_rows = [], 0
        self._pen.do(lambda: self._write(rows))

    def _write(self, rows: pa.Table) -> None:
        with self._scratch.writing():
            self._open().write_table(rows.unify_dictionaries().combine_chunks(), ROWS)

    def _open(self) -> pa.ipc.RecordBatchStreamWriter:
        import pyarrow as pa

        if self._writer is None:
            # Exclusive creation: a link planted under the name is refused, not followed.
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
            self._file = pa.OSFile(str(self.path), "wb")
            # Without LZ4 it would be faster still, and two and a half times as large as a capture of headers.
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_stream(self._file, self._schema, options=options)
        return self._writer

    def _close(self) -> None:
        with self._scratch.writing():
            if self._writer is not None and self._file is not None:
                self._writer.close()
                self._file.close()
            self._writer = self._file = None


class Spilled(Mapping[str, "pa.Table"]):
    """Tables that were written so. A table is read whole when asked for; `scan` reads one of any size."""

    def __init__(self, writers: Mapping[str, SpillWriter]) -> None:
        self._paths: dict[str, Path] = {name: writer.path for name, writer in writers.items()}
        self._rows = {name: writer.rows for name, writer in writers.items()}
        self._read: dict[str, pa.Table] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, name: str) -> pa.Table:
        import pyarrow as pa

        if name not in self._read:
            if name not in self._paths:
                raise KeyError(name)
            self._read[name] = pa.Table.from_batches(self.scan(name), tables.schema(name)).unify_dictionaries()
        return self._read[name]

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return self._rows[name]

    def scan(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of a table in their order, of some of its columns."""
        import pyarrow as pa

        schema = tables.schema(name)
        wanted = None if columns is None else [schema.get_field_index(column) for column in columns]
        options = pa.ipc.IpcReadOptions(included_fields=wanted)
        # Not mapped into memory: pages of a file count as much as others.
        with pa.OSFile(str(self._paths[name])) as file, pa.ipc.open_stream(file, options=options) as stream:
            for batch in stream:
                yield batch if columns is None else batch.select(list(columns))

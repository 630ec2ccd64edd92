"""A capture's tables on the disk while a run lasts: Arrow IPC streams, which cost a third of what Parquet does to write and to
read again, in the scratch folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wlanlens import tables
from wlanlens.pipeline.output_dir import Scratch
from wlanlens.pipeline.table_writers import Pen, Writer

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows written, and read, at once.
ROWS = 16 * 1024


class SpillWriter(Writer):
    """Writes one table as a stream in the scratch folder.

    Attributes
    ----------
    path : Path
        The stream.
    """

    def __init__(self, scratch: Scratch, pen: Pen, name: str, folder: str) -> None:
        super().__init__(scratch, pen, name)
        self.path = scratch.file(folder, f"{name}.arrows")

    @property
    def _group_rows(self) -> int:
        return ROWS

    def _write(self, group: pa.Table) -> None:
        with self._place.writing():
            # Batches of few rows, of wide tables, are more header than rows.
            self._open().write_table(group.unify_dictionaries().combine_chunks(), ROWS)

    def _open(self) -> pa.ipc.RecordBatchStreamWriter:
        import pyarrow as pa

        if self._writer is None:
            # Without LZ4 it would be faster still, and two and a half times as large as a capture of headers.
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_stream(self._create(self.path), self.schema, options=options)
        return self._writer


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

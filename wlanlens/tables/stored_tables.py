"""Tables on the disk: read whole when they are asked for by name, or scanned batch by batch at any size."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.errors import CorruptCapture
from wlanlens.formatting import printable
from wlanlens.tables.schemas import SchemaError, schema, validate, validate_values

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch while a Parquet file is scanned.
BATCH_ROWS = 16 * 1024


class StoredTables(Mapping[str, "pa.Table"], ABC):
    """A mapping of table names to tables on the disk."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = dict.fromkeys(names)
        self._read: dict[str, pa.Table] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> pa.Table:
        import pyarrow as pa

        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = pa.Table.from_batches(self.scan(name), schema(name)).unify_dictionaries()
        return self._read[name]

    @abstractmethod
    def rows(self, name: str) -> int:
        """The number of rows of a table."""

    @abstractmethod
    def scan(self, name: str, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of a table in the file's order: all columns, or only `columns`."""


class ParquetTables(StoredTables):
    """Tables in Parquet files.

    Parameters
    ----------
    parts : mapping
        The files of each table.
    foreign : bool
        Whether a stranger may have written the files: then every value that is read is checked. Their names and types are
        checked in any case.

    Attributes
    ----------
    parts : dict
        The files of each table, in their order.
    """

    def __init__(self, parts: Mapping[str, list[Path]], *, foreign: bool = False) -> None:
        super().__init__(parts)
        self.parts = dict(parts)
        self._foreign = foreign

    def checked(self) -> dict[str, list[Path]]:
        """The files of each table, once their schemas are known to be valid.

        Raises
        ------
        CorruptCapture
            A file cannot be read, or is not one that wlanlens writes.
        """
        import pyarrow.parquet as pq

        for name, paths in self.parts.items():
            for path in paths:
                with _reading(path):
                    validate(pq.read_schema(path), name)
        return self.parts

    def rows(self, name: str) -> int:
        import pyarrow.parquet as pq

        total = 0
        for path in self.parts[name]:
            with _reading(path):
                total += int(pq.read_metadata(path).num_rows)
        return total

    def scan(
        self, name: str, columns: Collection[str] | None = None, flows: Collection[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The batches of a table in the file's order, with the schema's types.

        Parameters
        ----------
        name : str
            The table.
        columns : collection of str, optional
            Read only these columns.
        flows : collection of int, optional
            Read only the rows of these connections.

        Raises
        ------
        CorruptCapture
            A file cannot be read, or is not one that wlanlens writes.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        wanted = schema(name)
        if columns is not None:
            wanted = pa.schema([wanted.field(column) for column in columns], metadata=wanted.metadata)
        chosen = None if flows is None else np.array(sorted(flows), np.uint32)
        for path in self.parts[name]:
            # Reading ahead would keep every row group in memory until the file is closed.
            with _reading(path), pq.ParquetFile(path, pre_buffer=False) as file:
                validate(file.schema_arrow, name)
                groups = [g for g in range(file.num_row_groups) if chosen is None or _may_hold(file, g, chosen)]
                # Where memory is short and a thread cannot start, Arrow forgets those that already read, and they crash.
                for batch in file.iter_batches(BATCH_ROWS, row_groups=groups, columns=wanted.names, use_threads=False):
                    for selected in _select(batch, wanted, chosen):
                        if self._foreign:
                            validate_values(selected, name)
                        yield selected


class ArrowTables(StoredTables):
    """Tables in Arrow IPC streams, one file a table.

    Parameters
    ----------
    paths : mapping
        The file of each table.
    rows : mapping
        The number of rows of each table.
    """

    def __init__(self, paths: Mapping[str, Path], rows: Mapping[str, int]) -> None:
        super().__init__(paths)
        self._paths, self._rows = dict(paths), dict(rows)

    def rows(self, name: str) -> int:
        return self._rows[name]

    def scan(self, name: str, columns: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of a table in the file's order: all columns, or only `columns`."""
        import pyarrow as pa

        whole = schema(name)
        wanted = None if columns is None else [whole.get_field_index(column) for column in columns]
        options = pa.ipc.IpcReadOptions(included_fields=wanted, use_threads=False)
        # A memory map would not help: its pages count as the process's memory too.
        with pa.OSFile(str(self._paths[name])) as file, pa.ipc.open_stream(file, options=options) as stream:
            for batch in stream:
                yield batch if columns is None else batch.select(list(columns))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise what Arrow says about a file as `CorruptCapture`. Arrow's input errors are plain OSError."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        said = " ".join(str(error).split())
        raise CorruptCapture(f"the table cannot be read: {said}", path=printable(str(path))) from error
    except SchemaError as error:
        error.path = error.path or printable(str(path))
        raise


def _may_hold(file: Any, group: int, flows: np.ndarray[Any, np.dtype[np.uint32]]) -> bool:
    """Whether a row group may hold rows of the flows, by its statistics."""
    metadata = file.metadata.row_group(group)
    leaf = next(i for i in range(metadata.num_columns) if metadata.column(i).path_in_schema == "flow")
    statistics = metadata.column(leaf).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(np.any((flows >= statistics.min) & (flows <= statistics.max)))


def _compact(column: pa.Array) -> pa.Array:
    """A column without the words that its rows do not use: each batch of a row group holds the words of all its rows."""
    import pyarrow as pa

    if not isinstance(column, pa.DictionaryArray) or len(column.dictionary) <= len(column):
        return column
    return column.dictionary_decode().dictionary_encode().cast(column.type)


def _select(batch: pa.RecordBatch, wanted: pa.Schema, flows: Any) -> Iterator[pa.RecordBatch]:
    """The rows of `flows`, with the schema's types; no batch when there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if flows is not None:
        chosen = pc.is_in(batch.column("flow"), pa.array(flows))
        if chosen.true_count < batch.num_rows:
            batch = batch.filter(chosen)
    if batch.num_rows:
        columns = [_compact(c) if c.type == f.type else c.cast(f.type) for f in wanted for c in (batch.column(f.name),)]
        yield pa.RecordBatch.from_arrays(columns, schema=wanted)

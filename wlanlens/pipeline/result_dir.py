"""An analysed directory, read back: its tables lazily, its description and findings. It may come from a stranger."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.airtime.summary import Summary
from wlanlens.alignment.clock import ClockMap
from wlanlens.capture.capture import Capture
from wlanlens.detection.finding import Finding, from_json
from wlanlens.detection.runner import STATES, DetectorState, Findings
from wlanlens.errors import CorruptCapture, MissingTable, WlanlensError
from wlanlens.formatting import printable
from wlanlens.pipeline.output_dir import ANALYSIS, FINDINGS, PART, TABLES
from wlanlens.trace import Trace

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows handed out at once while scanning.
_BATCH = 16 * 1024


class StoredTables(Mapping[str, "pa.Table"]):
    """Tables in Parquet parts. A table is read whole when asked for; `scan` reads one of any size."""

    def __init__(self, parts: Mapping[str, list[Path]]) -> None:
        self.parts = dict(parts)
        self._read: dict[str, pa.Table] = {}

    @classmethod
    def of(cls, folder: Path) -> StoredTables:
        """The tables of an analysed directory; foreign files in it are passed over."""
        parts = {}
        for name in tables.names():
            found = folder / TABLES / name
            if found.is_dir():
                paths = [p for p in found.iterdir() if _is_part(p)]
                if paths:
                    parts[name] = sorted(paths, key=lambda p: (len(p.name), p.name))
        return cls(parts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __contains__(self, name: object) -> bool:
        return name in self.parts

    def __getitem__(self, name: str) -> pa.Table:
        import pyarrow as pa

        if name not in self.parts:
            raise KeyError(name)
        if name not in self._read:
            batches = list(self.scan(name))
            self._read[name] = pa.Table.from_batches(batches, tables.schema(name)).unify_dictionaries()
        return self._read[name]

    def checked(self) -> dict[str, list[Path]]:
        """Every table's parts, after their schemas were found to be what the names promise."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for name, paths in self.parts.items():
            for path in paths:
                try:
                    tables.validate(pq.read_schema(path), name)
                except pa.ArrowException as error:
                    raise CorruptCapture(f"the table cannot be read: {error}", path=printable(str(path))) from error
        return self.parts

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        import pyarrow.parquet as pq

        return sum(pq.read_metadata(path).num_rows for path in self.parts[name])

    def scan(
        self, name: str, columns: Collection[str] | None = None, flows: Collection[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Batches of a table in the file's order, with the schema's types; only rows of `flows` where given."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = tables.schema(name)
        if columns is not None:
            schema = pa.schema([schema.field(c) for c in columns], metadata=schema.metadata)
        wanted = None if flows is None else np.array(sorted(flows), np.uint32)
        for path in self.parts[name]:
            try:
                # Reading ahead keeps every row group until the file is closed.
                with pq.ParquetFile(path, pre_buffer=False) as file:
                    tables.validate(file.schema_arrow, name)
                    groups = [g for g in range(file.num_row_groups) if wanted is None or _may_hold(file, g, wanted)]
                    for batch in file.iter_batches(_BATCH, row_groups=groups, columns=schema.names):
                        yield from _pick(batch, schema, wanted)
            except pa.ArrowException as error:
                raise CorruptCapture(f"the table cannot be read: {error}", path=printable(str(path))) from error


def _is_part(path: Path) -> bool:
    """A part's name on a regular file: a link in a stranger's directory could point anywhere."""
    return bool(PART.fullmatch(path.name)) and path.suffix == ".parquet" and path.is_file() and not path.is_symlink()


def _may_hold(file: Any, group: int, flows: np.ndarray[Any, np.dtype[np.uint32]]) -> bool:
    """Whether a row group's statistics allow any of the flows."""
    metadata = file.metadata.row_group(group)
    leaf = next(i for i in range(metadata.num_columns) if metadata.column(i).path_in_schema == "flow")
    statistics = metadata.column(leaf).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(np.any((flows >= statistics.min) & (flows <= statistics.max)))


def _pick(batch: pa.RecordBatch, schema: pa.Schema, flows: Any) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if flows is not None:
        batch = batch.filter(pc.is_in(batch.column("flow"), pa.array(flows)))
    if batch.num_rows:
        columns = [c if c.type == f.type else c.cast(f.type) for f in schema for c in (batch.column(f.name),)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


class Stored:
    """What an analysed directory says.

    Attributes
    ----------
    path : Path
        The directory.
    description : dict
        Its analysis.json.
    trace : Trace
        The captures' description and all tables.
    air : Summary
        What the air was used for.
    findings : Findings
        Its findings.json and the detectors' states.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise MissingTable("there is no such directory", path=printable(str(self.path)))
        try:
            self.description: dict[str, Any] = json.loads((self.path / ANALYSIS).read_bytes())
            captures = [Capture.described(row) for row in self.description["captures"]]
            clocks = [ClockMap.described(row) for row in self.description.get("clocks", ())]
            states = [DetectorState(**row) for row in self.description["detectors"]]
            self.air = Summary(**self.description["air"])
            found: list[Finding] = from_json((self.path / FINDINGS).read_bytes())
            if any(state.state not in STATES for state in states):
                raise ValueError("a detector with an unknown state")
            start_ns, duration_ns = int(self.description["start_ns"]), int(self.description["duration_ns"])
        except FileNotFoundError as error:
            raise MissingTable(
                f"not an analysed directory: {error.filename and Path(error.filename).name} is missing",
                path=printable(str(self.path)),
                next="`wlanlens analyze` makes one",
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise WlanlensError(
                f"its JSON is not what wlanlens writes: {error}", path=printable(str(self.path))
            ) from error
        self.tables = StoredTables.of(self.path)
        self.trace = Trace(captures, self.tables, start_ns=start_ns, duration_ns=duration_ns, clocks=clocks)
        self.findings = Findings(found, states)

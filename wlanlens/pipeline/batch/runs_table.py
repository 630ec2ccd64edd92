"""runs.parquet: the rows of all traces of a batch, sorted by run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wlanlens.errors import CorruptCapture, OutputError
from wlanlens.formatting import printable
from wlanlens.ledger.ledger import HEALTHY
from wlanlens.pipeline.batch.job import Row
from wlanlens.tables.fleet_schemas import collected, runs
from wlanlens.tables.schemas import compare

if TYPE_CHECKING:
    import pyarrow as pa

RUNS = "runs.parquet"


def described(description: Mapping[str, Any], serious: int | None) -> Row:
    """The columns of `runs` that analysis.json has; `serious` findings are not in it."""
    categories = {str(name): int(ns) for name, ns in description["ledger_ns"].items()}
    lost = {name: ns for name, ns in categories.items() if name not in HEALTHY}
    cause = max(lost, key=lambda name: (lost[name], name), default=None)
    captures = description["captures"]
    return {
        "records": sum(int(capture.get("records", 0)) for capture in captures),
        "connections": int(description["connections"]),
        "duration_s": int(description["duration_ns"]) / 1e9,
        "findings": int(description["findings"]["kept"]) + sum(description["findings"]["left_out"].values()),
        "serious": serious,
        "notes": len({note["name"] for capture in captures for note in capture["notes"] if note["severity"] != "info"}),
        "verdict": str(description["verdict"]["sentence"]),
        "cause": cause or "",
        "cause_s": lost[cause] / 1e9 if cause else 0.0,
        "lost_s": sum(lost.values()) / 1e9,
        "life_s": sum(categories.values()) / 1e9,
        "ledger": [{"category": name, "ns": ns} for name, ns in categories.items()],
    }


def to_table(rows: Iterable[Row]) -> pa.Table:
    """The table `runs`."""
    import pyarrow as pa

    return pa.Table.from_pylist(sorted(rows, key=lambda row: str(row["run"])), schema=runs())


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table of a fleet as one Parquet file, by rename."""
    import pyarrow.parquet as pq

    # zstd: a fleet is written once and copied often; its columns repeat themselves from run to run.
    replace_file(path, lambda temporary: pq.write_table(table, temporary, compression="zstd"))


def replace_file(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file under a temporary name, then give it its name.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.unlink(missing_ok=True)
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror or error}", path=printable(str(path))) from error
    finally:
        temporary.unlink(missing_ok=True)


def read_table(path: Path, name: str, *, plain: bool = False) -> pa.Table:
    """A table of a fleet, once its schema is known to be valid. `plain`: `runs` as a batch writes it.

    Raises
    ------
    CorruptCapture
        The file cannot be read.
    SchemaError
        It has other columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    want = runs() if plain else collected(name)
    try:
        table = pq.ParquetFile(path, pre_buffer=False).read(use_threads=False)
    except pa.ArrowException as error:
        raise CorruptCapture(f"the table cannot be read: {error}", path=printable(str(path))) from error
    compare(table, want, name)
    return table.select(want.names).cast(want)

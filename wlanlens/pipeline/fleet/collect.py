"""`collect`: one Parquet file for each small table of many runs, with the column `run`."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from wlanlens import tables
from wlanlens.errors import CorruptCapture, OutputError, WlanlensError, file_errors, refuse_file
from wlanlens.formatting import printable
from wlanlens.operating_system import NO_FOLLOW, NO_WAIT
from wlanlens.pipeline.batch.runs_table import replace_file, write_table
from wlanlens.pipeline.description import version
from wlanlens.pipeline.file_names import TABLES, part
from wlanlens.pipeline.fleet.collected_runs import AnyPath, CollectedRun, find
from wlanlens.pipeline.fleet.fleet import MARK, Fleet, file_of, load_fleet
from wlanlens.tables.fleet_schemas import collected, small

if TYPE_CHECKING:
    import pyarrow as pa

#: Runs that are in memory at a time.
_TOGETHER = 500
#: One thread reads while the other decodes; more would wait for Python.
_THREADS = 2


@file_errors()
def collect(sources: Sequence[AnyPath] | AnyPath, out: AnyPath) -> Fleet:
    """Put the small tables of many runs in one file each. Tables with a row per packet stay where they are.

    Parameters
    ----------
    sources : path or sequence of paths
        Directories of `batch`, analysed directories, or folders with analysed directories.
    out : path
        The directory of the fleet; an older fleet there is replaced.

    Returns
    -------
    Fleet

    Raises
    ------
    WlanlensError
        A directory holds no run, two runs have the same name, or the directory cannot be written.
    """
    given = [sources] if isinstance(sources, str | os.PathLike) else sources
    runs = find(given)
    folder = Path(out)
    _take(folder)
    writers: dict[str, _TableFile] = {}
    try:
        writers |= {name: _TableFile(folder, name) for name in small()}
        left = iter(runs)
        with ThreadPoolExecutor(_THREADS) as pool:
            while together := list(islice(left, _TOGETHER)):
                read = list(pool.map(_read, together))
                for name, writer in writers.items():
                    writer.add(
                        [(run.name, found[name]) for run, found in zip(together, read, strict=True) if name in found]
                    )
        for writer in writers.values():
            writer.finish()
        write_table(_runs(runs), file_of(folder, "runs"))
        _describe(folder, len(runs), given)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror or error}", path=printable(str(folder))) from error
    finally:
        for writer in writers.values():
            writer.drop()
    return load_fleet(folder)


def _describe(folder: Path, runs: int | None, sources: Sequence[AnyPath]) -> None:
    """Write fleet.json. Without a number of runs the fleet is not whole yet."""
    about = {"wlanlens": version(), "runs": runs, "sources": [printable(str(source)) for source in sources]}
    text = json.dumps(about) + "\n"
    replace_file(folder / MARK, lambda path: _write(path, text))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="ascii")


def _take(folder: Path) -> None:
    """Make the directory, or take an older fleet's; it is not a fleet until all files are written."""
    shown = printable(str(folder))
    refuse_file(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / MARK).is_file() and any(folder.iterdir()):
            raise OutputError("the directory holds other files", path=shown, next="choose another with -o")
        _describe(folder, None, ())
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=shown) from error


def _read(run: CollectedRun) -> dict[str, pa.Table]:
    """The small tables of a run that have rows. What cannot be read makes its row say so."""
    run.read()
    if not run.rows:
        return {}
    found: dict[str, pa.Table] = {}
    for name in small():
        if not run.rows.get(name):
            continue
        try:
            table = _whole(run.folder / TABLES / name, run.parts[name], name)
        except (WlanlensError, OSError) as error:
            run.broken(f"not a whole analysis: {error}")
            return {}
        if table.num_rows != run.rows[name]:
            run.broken(f"table {name} has {table.num_rows} of its {run.rows[name]} rows")
            return {}
        found[name] = table
    if run.row["serious"] is None:
        severities = found["findings"].column("severity").cast("string") if "findings" in found else []
        run.row["serious"] = sum(severity.as_py() == "serious" for severity in severities)
    return found


def _whole(folder: Path, parts: int, name: str) -> pa.Table:
    """A table of one run. Files of this version have its schema; others are checked and cast."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    want, read = tables.schema(name), []
    for number in range(parts):
        # A symbolic link in a stranger's directory could point anywhere, and a pipe would never end.
        with open(os.open(folder / part(number), os.O_RDONLY | NO_FOLLOW | NO_WAIT), "rb") as file:
            data = pa.BufferReader(file.read())
        try:
            # No threads and no reading ahead: both take longer than such a small file.
            table = pq.ParquetFile(data, pre_buffer=False).read(use_threads=False)
        except pa.ArrowException as error:
            raise CorruptCapture(f"table {name} cannot be read: {error}") from error
        if not table.schema.equals(want):
            tables.validate(table, name)
            table = table.select(want.names).cast(want)
        read.append(table)
    return pa.concat_tables(read) if read else want.empty_table()


def _runs(runs: Sequence[CollectedRun]) -> pa.Table:
    """The table `runs` of the fleet."""
    import pyarrow as pa

    rows = [
        {
            "trace": run.name,
            **run.row,
            "run": run.name,
            "tables": printable(os.path.abspath(run.folder / TABLES), 5000) if run.row["status"] == "done" else "",
        }
        for run in runs
    ]
    return pa.Table.from_pylist(rows, schema=collected("runs"))


class _TableFile:
    """A table of the fleet, written run by run."""

    def __init__(self, folder: Path, name: str) -> None:
        import pyarrow.parquet as pq

        self._schema = collected(name)
        self._final = file_of(folder, name)
        self._temporary = self._final.with_name(self._final.name + ".tmp")
        self._temporary.unlink(missing_ok=True)
        self._writer: pq.ParquetWriter | None = pq.ParquetWriter(self._temporary, self._schema, compression="zstd")

    def add(self, found: Sequence[tuple[str, pa.Table]]) -> None:
        """Add the rows of some runs."""
        import numpy as np
        import pyarrow as pa

        if self._writer is None or not found:
            return
        names = [name for name, _ in found]
        numbers = np.repeat(np.arange(len(found), dtype=np.int32), [table.num_rows for _, table in found])
        # One dictionary for the runs of all: each has its own capture names.
        rows = pa.concat_tables([table for _, table in found]).unify_dictionaries().combine_chunks()
        run = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(names))
        self._writer.write_table(pa.Table.from_arrays([run, *rows.columns], schema=self._schema))

    def finish(self) -> None:
        """Close the file and give it its name."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            os.replace(self._temporary, self._final)

    def drop(self) -> None:
        """Remove what is not finished."""
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.close()
            self._writer = None
            self._temporary.unlink(missing_ok=True)

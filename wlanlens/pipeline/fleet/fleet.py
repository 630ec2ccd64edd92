"""A fleet: the small tables of many runs, and where their big tables are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from wlanlens.errors import CorruptCapture, MissingTable, WlanlensError, did_you_mean, file_errors
from wlanlens.formatting import printable
from wlanlens.pipeline.analyze import Analysis, load
from wlanlens.pipeline.batch.runs_table import read_table
from wlanlens.tables.fleet_schemas import collected, small
from wlanlens.tables.schemas import compare

if TYPE_CHECKING:
    import pyarrow as pa

#: The file that says that a directory is a fleet.
MARK = "fleet.json"


def file_of(folder: Path, name: str) -> Path:
    """The file of a table."""
    return folder / f"{name}.parquet"


class Fleet:
    """The runs that `collect` put together.

    Attributes
    ----------
    path : Path
        The directory.
    names : tuple of str
        Its tables: `runs`, and the small tables of an analysis, each with the column `run`.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.names = path, ("runs", *small())

    def __repr__(self) -> str:
        return f"<Fleet {printable(str(self.path))}: {self.runs.num_rows} runs>"

    @property
    def runs(self) -> pa.Table:
        """One row per run; `tables` is the folder of its tables, the big ones too."""
        return self.table("runs")

    def table(self, name: str) -> pa.Table:
        """A table of all runs.

        Raises
        ------
        MissingTable
            The fleet has no table of this name.
        """
        if name not in self.names:
            hint = did_you_mean(name, self.names, "tables with a row per packet are in the runs: `analysis(run)`")
            raise MissingTable(f"a fleet has no table {name!r}", next=hint)
        return read_table(file_of(self.path, name), name)

    def analysis(self, run: str) -> Analysis:
        """The analysis of one run, with all tables.

        Raises
        ------
        WlanlensError
            There is no such run, or it was not analysed.
        """
        import pyarrow.compute as pc

        rows = self.runs
        places = rows.filter(pc.equal(rows.column("run"), run)).column("tables").to_pylist()
        if not places or not places[0]:
            raise WlanlensError(f"no analysed run {printable(run)!r}", path=printable(str(self.path)))
        return load(Path(places[0]).parent)

    def checked(self) -> dict[str, list[Path]]:
        """The file of each table, once their schemas are known to be valid.

        Raises
        ------
        CorruptCapture
            A file cannot be read.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        files = {}
        for name in self.names:
            path = file_of(self.path, name)
            if path.is_symlink() or not path.is_file():
                raise CorruptCapture("the table is missing", path=printable(str(path)), next="collect the runs again")
            try:
                compare(pq.read_schema(path), collected(name), name)
            except pa.ArrowException as error:
                raise CorruptCapture(f"the table cannot be read: {error}", path=printable(str(path))) from error
            files[name] = [path]
        return files


def is_fleet(path: str | os.PathLike[str]) -> bool:
    """Whether a directory is a fleet, or was to become one."""
    return (Path(path) / MARK).is_file()


@file_errors()
def load_fleet(path: str | os.PathLike[str]) -> Fleet:
    """Read a directory that `collect` wrote.

    Parameters
    ----------
    path : path
        The directory.

    Returns
    -------
    Fleet

    Raises
    ------
    WlanlensError
        It is not a fleet, or not a whole one.
    """
    folder, shown = Path(path), printable(str(path))
    try:
        about = json.loads((folder / MARK).read_bytes())
        runs = about["runs"]
    except FileNotFoundError as error:
        raise MissingTable("not a fleet", path=shown, next="`wlanlens collect DIR -o FLEET` makes one") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WlanlensError(f"its {MARK} is not what wlanlens writes: {error}", path=shown) from error
    if runs is None:
        raise WlanlensError("not a whole fleet: `wlanlens collect` was interrupted", path=shown, next="collect again")
    return Fleet(folder)

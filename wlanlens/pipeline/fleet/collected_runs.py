"""Which runs a directory holds: those of a batch, an analysed directory, or all analysed directories below a folder."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wlanlens.errors import MissingTable, WlanlensError, WrongUse
from wlanlens.formatting import printable
from wlanlens.pipeline.batch.batch import MARK, RUNS
from wlanlens.pipeline.batch.job import Row
from wlanlens.pipeline.batch.runs_table import RUNS as RUNS_TABLE
from wlanlens.pipeline.batch.runs_table import described, read_table
from wlanlens.pipeline.file_names import ANALYSIS, FINDINGS, TABLES

AnyPath = str | os.PathLike[str]


@dataclass
class CollectedRun:
    """A run to collect.

    Attributes
    ----------
    name : str
        Its name in the fleet.
    folder : Path
        Its analysed directory.
    row : dict
        Its row of `runs`; empty where only its directory is known.
    rows, parts : dict
        The number of rows and of files of each of its tables; empty if it was not analysed.
    """

    name: str
    folder: Path
    row: Row
    rows: dict[str, int] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)

    def read(self) -> None:
        """Read analysis.json. A directory that is not whole becomes a row that says so."""
        if self.row and self.row["status"] != "done":
            return
        try:
            description: dict[str, Any] = json.loads((self.folder / ANALYSIS).read_bytes())
            if not (self.folder / FINDINGS).is_file():
                raise WlanlensError(f"{FINDINGS} is missing")
            if not self.row:
                captures = description["captures"]
                self.row = {
                    "status": "done",
                    "reason": "",
                    "captures": [str(capture["name"]) for capture in captures],
                    "points": [str(capture["point"]) for capture in captures],
                    "size_bytes": sum(int(capture["size_bytes"] or 0) for capture in captures),
                    "attempts": 1,
                    "seconds": 0.0,
                    **described(description, None),  # counted when its findings are read
                }
            self.parts = {str(name): int(told["parts"]) for name, told in description["tables"].items()}
            self.rows = {str(name): int(told["rows"]) for name, told in description["tables"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, WlanlensError) as error:
            self.broken(f"not a whole analysis: {error}")

    def broken(self, reason: str) -> None:
        """Make it a run that cannot be read."""
        known = {"captures": [], "points": [], "size_bytes": 0, "attempts": 1, "seconds": 0.0, **self.row}
        self.row, self.rows = {**known, "status": "unreadable", "reason": printable(reason)}, {}


def find(sources: Sequence[AnyPath]) -> list[CollectedRun]:
    """The runs of the directories, by name. With several directories a name begins with that of its directory.

    Raises
    ------
    MissingTable
        A directory holds no run.
    """
    folders = [Path(source) for source in sources]
    names = [Path(os.path.abspath(folder)).name for folder in folders]
    alike = Counter(names)
    runs = []
    for folder, name in zip(folders, names, strict=True):
        label = name if alike[name] == 1 else os.path.normpath(folder)
        found = list(_of(folder))
        if not found:
            raise MissingTable(
                "no analysed directory",
                path=printable(str(folder)),
                next="`wlanlens batch` and `wlanlens analyze` make some",
            )
        for run in found:
            run.name = printable(
                run.name if len(folders) == 1 else f"{label}/{run.name}" if run.name != name else label
            )
        runs += found
    twice = [name for name, number in Counter(run.name for run in runs).items() if number > 1]
    if twice:
        raise WrongUse(f"two runs have the name {printable(twice[0])!r}", next="give each directory once")
    return sorted(runs, key=lambda run: run.name)


def _of(folder: Path) -> Iterator[CollectedRun]:
    if (folder / MARK).is_file() and (folder / RUNS_TABLE).is_file():
        for row in read_table(folder / RUNS_TABLE, "runs", plain=True).to_pylist():
            # A name from the file of a stranger must not lead out of the directory.
            if row["run"] != os.path.basename(row["run"]) or row["run"] in ("", ".", ".."):
                raise WlanlensError(f"{printable(row['run'])!r} is no run", path=printable(str(folder / RUNS_TABLE)))
            yield CollectedRun(row["run"], folder / RUNS / row["run"], row)
    elif (folder / ANALYSIS).is_file():
        yield CollectedRun(Path(os.path.abspath(folder)).name, folder, {})
    elif folder.is_dir():
        for here, inner, names in os.walk(folder):
            inner.sort()
            if ANALYSIS in names and TABLES in inner:
                yield CollectedRun(os.path.relpath(here, folder).replace(os.sep, "/"), Path(here), {})
                inner.clear()

"""The reader of an analysed directory: tables, description and findings. The directory may come from a stranger."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from wlanlens import tables
from wlanlens.airtime.summary import Summary
from wlanlens.alignment.clock_map import ClockMap
from wlanlens.capture.capture import Capture
from wlanlens.detection.finding import Finding, Undecided, from_json
from wlanlens.detection.runner import STATES, DetectorState, Findings
from wlanlens.errors import CorruptCapture, MissingTable, WlanlensError
from wlanlens.formatting import printable
from wlanlens.pipeline.file_names import ANALYSIS, FINDINGS, PART, TABLES
from wlanlens.tables.stored_tables import ParquetTables
from wlanlens.trace import Trace


def tables_of(folder: Path) -> ParquetTables:
    """The tables of an analysed directory; files with other names are ignored."""
    parts = {}
    for name in tables.names():
        found = folder / TABLES / name
        if found.is_dir():
            paths = [path for path in found.iterdir() if _is_part(path)]
            if paths:
                parts[name] = sorted(paths, key=lambda path: (len(path.name), path.name))
    return ParquetTables(parts)


def _is_part(path: Path) -> bool:
    """Whether a file is one of ours: a symbolic link in a stranger's directory could point anywhere."""
    return bool(PART.fullmatch(path.name)) and path.suffix == ".parquet" and path.is_file() and not path.is_symlink()


class Stored:
    """An analysed directory.

    Attributes
    ----------
    path : Path
        The directory.
    description : dict
        analysis.json.
    tables : ParquetTables
        All tables.
    trace : Trace
        The description of the captures, with all tables.
    air : Summary
        What the air was used for.
    findings : Findings
        findings.json, with the detectors' states and the undecided cases.

    Raises
    ------
    MissingTable
        It is not an analysed directory.
    WlanlensError
        Its JSON files are not valid.
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
            undecided = [_undecided(row) for row in self.description.get("undecided", ())]
            self.air = Summary(**self.description["air"])
            found: list[Finding] = from_json((self.path / FINDINGS).read_bytes())
            if any(state.state not in STATES for state in states):
                raise ValueError("a detector with an unknown state")
            self._rows = {str(name): int(told["rows"]) for name, told in self.description["tables"].items()}
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
        self.tables = tables_of(self.path)
        self.trace = Trace(captures, self.tables, start_ns=start_ns, duration_ns=duration_ns, clocks=clocks)
        self.findings = Findings(found, states, undecided)

    def check(self) -> None:
        """Compare the tables with analysis.json, which has the number of rows of each.

        Raises
        ------
        CorruptCapture
            Rows or tables are missing, or a table cannot be read.
        """
        for name, told in self._rows.items():
            rows = self.tables.rows(name) if name in self.tables else 0
            if rows != told:
                raise CorruptCapture(
                    f"table {name} has {rows} of its {told} rows",
                    path=printable(str(self.path / TABLES / name)),
                    next="analyse the captures again",
                )


def _undecided(row: dict[str, Any]) -> Undecided:
    return Undecided(**{**row, "spans": tuple((str(who), int(start), int(end)) for who, start, end in row["spans"])})

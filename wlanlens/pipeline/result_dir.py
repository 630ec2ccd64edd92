"""The reader of an analysed directory: tables, description and findings. The directory may come from a stranger."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wlanlens import tables
from wlanlens.airtime.summary import Summary
from wlanlens.alignment.clock_map import ClockMap, Piece
from wlanlens.capture.capture import Capture, Note
from wlanlens.detection.finding import SCHEMA_VERSION, Finding, Undecided, Value, from_dict
from wlanlens.detection.findings import STATES, DetectorState, Findings
from wlanlens.detection.verdict import Verdict
from wlanlens.errors import CorruptCapture, MissingTable, WlanlensError, missing
from wlanlens.formatting import printable
from wlanlens.pipeline import stored_json
from wlanlens.pipeline.file_names import ANALYSIS, FINDINGS, PART, TABLES
from wlanlens.pipeline.stored_json import NotOurs
from wlanlens.tables import CATEGORIES
from wlanlens.tables.stored_tables import ParquetTables
from wlanlens.trace import Trace


@dataclass(frozen=True)
class _Kept:
    """How many findings are in findings.json, and how many of each code are not."""

    kept: int
    left_out: dict[str, int]


@dataclass(frozen=True)
class _Written:
    """Rows and files of a table."""

    rows: int
    parts: int


@dataclass(frozen=True)
class _Evidence:
    """The evidence of a finding in one table, as findings.json has it."""

    table: str
    capture: str
    rows: list[int]


#: The keys of findings.json.
_FINDINGS = {"schema_version": int, "findings": list[dict[str, Any]]}
#: The keys of analysis.json that are read again.
_ANALYSIS = {
    "verdict": Verdict,
    "start_ns": int,
    "duration_ns": int,
    "connections": int,
    "ledger_ns": dict[str, int],
    "air": Summary,
    "findings": _Kept,
    "detectors": list[DetectorState],
    "undecided": list[dict[str, Any]],
    "tables": dict[str, _Written],
    "captures": list[dict[str, Any]],
    "clocks": list[dict[str, Any]],
    "thresholds": dict[str, dict[str, Any]],
}
#: The keys of a capture in it; others are facts about the file that nothing reads again.
_CAPTURE = {
    "name": str,
    "path": str,
    "point": str,
    "notes": list[dict[str, Any]],
    "size_bytes": int | None,
    "head_sha256": str | None,
    "format": str,
    "records": int,
    "first_ns": int | None,
    "link_types": list[tuple[int, int]],
}
_CAPTURE_MAY_LACK = frozenset(("size_bytes", "head_sha256", "format", "records", "first_ns", "link_types"))


def tables_of(folder: Path) -> ParquetTables:
    """The tables of an analysed directory; files with other names are ignored.

    Raises
    ------
    CorruptCapture
        A name of ours is a symbolic link, which is not followed, or no regular file: in a stranger's directory it could
        lead anywhere.
    """
    parts = {}
    if not _is_folder(folder / TABLES):
        return ParquetTables({})
    for name in tables.names():
        found = folder / TABLES / name
        if _is_folder(found):
            paths = [path for path in found.iterdir() if _is_part(path)]
            if paths:
                parts[name] = sorted(paths, key=lambda path: (len(path.name), path.name))
    return ParquetTables(parts, foreign=True)


def _is_folder(path: Path) -> bool:
    """Whether there is such a folder, which is no symbolic link."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(mode):
        raise CorruptCapture(_odd(mode, "folder"), path=printable(str(path)))
    return True


def _is_part(path: Path) -> bool:
    """Whether a file is one of ours."""
    if not PART.fullmatch(path.name) or path.suffix != ".parquet":
        return False
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        raise CorruptCapture(_odd(mode, "regular file"), path=printable(str(path)))
    return True


def _odd(mode: int, kind: str) -> str:
    return "a symbolic link, which is not followed" if stat.S_ISLNK(mode) else f"not a {kind}"


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
    verdict : Verdict
        The main cause of lost time.
    findings : Findings
        findings.json, with the detectors' states and the undecided cases.

    Raises
    ------
    FileMissing
        There is no such directory.
    MissingTable
        It is not an analysed directory.
    WlanlensError
        Its JSON files are not what wlanlens writes.
    CorruptCapture
        Its tables are symbolic links or no regular files.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if "\0" in str(self.path) or not self.path.is_dir():
            is_file = "\0" not in str(self.path) and self.path.exists()
            what = "a file, not an analysed directory" if is_file else "there is no such directory"
            raise missing(what, printable(str(self.path)))
        try:
            self._read()
        except FileNotFoundError as error:
            raise MissingTable(
                f"not an analysed directory: {error.filename and Path(error.filename).name} is missing",
                path=printable(str(self.path)),
                next="`wlanlens analyze` makes one",
            ) from error
        except NotOurs as error:
            raise WlanlensError(
                f"its JSON is not what wlanlens writes: {error}", path=printable(str(self.path))
            ) from error
        self.tables = tables_of(self.path)
        self.trace = Trace(
            self._captures,
            self.tables,
            start_ns=self.description["start_ns"],
            duration_ns=self.description["duration_ns"],
            clocks=self._clocks,
        )

    def _read(self) -> None:
        """Read the JSON files; every value that is used has its type then."""
        told = stored_json.read(self.path / ANALYSIS)
        self.description = stored_json.parts(
            told, _ANALYSIS, ANALYSIS, optional=frozenset(("undecided", "clocks", "thresholds"))
        )
        self._captures = [_capture(row) for row in told["captures"]]
        self._clocks = [_clock(row) for row in told.get("clocks", ())]
        self.air = stored_json.made(Summary, told["air"], "air")
        self.verdict = stored_json.made(Verdict, told["verdict"], "verdict")
        states = [stored_json.made(DetectorState, row, "detectors") for row in told["detectors"]]
        if any(state.state not in STATES for state in states):
            raise NotOurs("a detector with an unknown state")
        for name, sums in (("ledger_ns", told["ledger_ns"]), ("verdict.categories_ns", self.verdict.categories_ns)):
            if not set(sums) <= set(CATEGORIES) or any(ns < 0 for ns in sums.values()):
                raise NotOurs(f"{name} is no ledger")
        if told["duration_ns"] < 0 or told["connections"] < 0:
            raise NotOurs("a negative duration or number of connections")
        undecided = [_undecided(row) for row in told.get("undecided", ())]
        told = stored_json.parts(stored_json.read(self.path / FINDINGS), _FINDINGS, FINDINGS)
        if told["schema_version"] != SCHEMA_VERSION:
            raise NotOurs(f"schema_version {told['schema_version']} of {FINDINGS} is none that this wlanlens reads")
        rows = enumerate(told["findings"])
        self.findings = Findings([_finding(row, f"findings[{i}]") for i, row in rows], states, undecided)
        for one in (self.verdict, *self.findings):
            if one.flow is not None and not 0 <= one.flow < 2**32:
                raise NotOurs(f"{one.flow} is no number of a connection")

    def check(self) -> None:
        """Compare the tables with analysis.json, which has the number of rows of each.

        Raises
        ------
        CorruptCapture
            Rows or tables are missing, or a table cannot be read.
        """
        for name, told in self.description["tables"].items():
            rows = self.tables.rows(name) if name in self.tables else 0
            if rows != told["rows"]:
                raise CorruptCapture(
                    f"table {printable(name)} has {rows} of its {told['rows']} rows",
                    path=printable(str(self.path / TABLES / name)),
                    next="analyse the captures again",
                )


def _capture(row: dict[str, Any]) -> Capture:
    stored_json.parts(row, _CAPTURE, "a capture", optional=_CAPTURE_MAY_LACK)
    for note in row["notes"]:
        stored_json.made(Note, {"capture": "", **note}, "a note")
        if note["severity"] not in ("info", "loss", "error"):
            raise NotOurs("a note of unknown severity")
    if "\0" in row["path"]:
        raise NotOurs("a path with a NUL character")
    try:
        return Capture.described(row)
    except WlanlensError as error:
        raise NotOurs(str(error)) from error


def _clock(row: dict[str, Any]) -> ClockMap:
    pieces = row.get("pieces")
    stored_json.check(pieces, list[Piece], "clocks.pieces")
    stored_json.check({**row, "pieces": []}, ClockMap, "clocks")
    return ClockMap.described(row)


def _undecided(row: dict[str, Any]) -> Undecided:
    stored_json.check(row, Undecided, "undecided")
    return Undecided(**{**row, "spans": tuple(tuple(span) for span in row.get("spans", ()))})


def _finding(row: dict[str, Any], where: str) -> Finding:
    stored_json.check(row.get("evidence"), list[_Evidence], f"{where}.evidence")
    stored_json.check(row.get("values"), dict[str, Value], f"{where}.values")
    stored_json.check({**row, "evidence": []}, Finding, where)
    try:
        return from_dict(row)
    except ValueError as error:
        raise NotOurs(f"{where}: {error}") from error

"""A job: one trace to analyse. What identifies its inputs, and the record that a finished run keeps."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wlanlens.operating_system import NO_FOLLOW, NO_WAIT
from wlanlens.pipeline.batch.trace_files import CaptureFile
from wlanlens.pipeline.description import version
from wlanlens.pipeline.file_names import (
    ANALYSIS,
    EVIDENCE,
    FINDINGS,
    LOCK,
    PART,
    REPORT,
    REPORT_DATA,
    SCRATCH,
    TABLES,
)
from wlanlens.tables.fleet_schemas import STATUSES

#: The record of a finished run, in its folder.
RECORD = "run.json"
#: A record has about 2 KB.
_RECORD_BYTES = 1 << 20
#: Attempts of a trace whose process dies.
ATTEMPTS = 2

Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """How every trace of a batch is analysed.

    Attributes
    ----------
    report, nat : bool
        As in `analyze`.
    only : tuple of str
        The detectors to run; () all.
    thresholds : mapping
        Thresholds of detectors that differ from their defaults.
    keys_mark : str
        A slow hash of the keys, so that a run with other keys is another run; empty without keys.
    timeout_s : float
        Most seconds of one analysis.
    memory_bytes : int
        Most memory of one analysis, besides the program itself.
    """

    report: bool = True
    nat: bool = False
    only: tuple[str, ...] = ()
    thresholds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keys_mark: str = ""
    timeout_s: float = 3600.0
    memory_bytes: int = 2 << 30


@dataclass(frozen=True)
class Job:
    """One trace to analyse.

    Attributes
    ----------
    run, trace : str
        The name of its folder, and its own.
    captures : tuple of CaptureFile
    sizes : tuple of (bytes, ns) or None
        Size and time of modification of each capture; None if there is no such file.
    folder : str
        Where the analysis is written.
    options : Options
    key_file : str
        A file of keys that the analysing process reads; empty without.
    earlier : int
        Attempts that ended with the death of their process.
    """

    run: str
    trace: str
    captures: tuple[CaptureFile, ...]
    sizes: tuple[tuple[int, int] | None, ...]
    folder: str
    options: Options = field(default_factory=Options)
    key_file: str = ""
    earlier: int = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of all captures."""
        return sum(found[0] for found in self.sizes if found)

    @property
    def identity(self) -> list[Any]:
        """What the result depends on: version, options, and name, point, size and time of modification of each capture.

        Size and time instead of a hash of the content, as make and rsync do: a hash would read every capture once more, also
        those of 100 GB that need no work.
        """
        options = self.options
        captures = [
            [_text(c.shown), c.point, *(size or (None, None))]
            for c, size in zip(self.captures, self.sizes, strict=True)
        ]
        thresholds = json.dumps(options.thresholds, sort_keys=True)
        told = (options.report, options.nat, sorted(options.only), thresholds, options.keys_mark)
        return [version(), *told, captures]

    @property
    def limits(self) -> list[float]:
        """What decides, besides the identity, whether an analysis is ended before its time."""
        return [self.options.timeout_s, self.options.memory_bytes]

    def row(self, status: str, reason: str = "", **found: Any) -> Row:
        """The row of `runs` of this trace."""
        return {
            "run": self.run,
            "trace": _text(self.trace),
            "status": status,
            "reason": reason,
            "captures": [_text(c.shown) for c in self.captures],
            "points": [c.point for c in self.captures],
            "size_bytes": self.size_bytes,
            "attempts": self.earlier + 1,
            "seconds": 0.0,
            **found,
        }


def _text(name: str) -> str:
    """A name as valid text: bytes that are not UTF-8 become \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def write_record(job: Job, row: Row) -> None:
    """Write the record of a finished run, by rename: a run with a record is whole."""
    folder = Path(job.folder)
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / (RECORD + ".tmp")
    temporary.unlink(missing_ok=True)
    with open(temporary, "x", encoding="ascii") as out:
        json.dump({"identity": job.identity, "limits": job.limits, "row": row}, out)
    os.replace(temporary, folder / RECORD)


def read_record(folder: str) -> Mapping[str, Any] | None:
    """The record in a folder, or None if there is no valid one."""
    try:
        with open(os.open(os.path.join(folder, RECORD), os.O_RDONLY | NO_FOLLOW | NO_WAIT), "rb") as file:
            record = json.loads(file.read(_RECORD_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    valid = isinstance(record, dict) and isinstance(record.get("row"), dict) and record["row"].get("status") in STATUSES
    return record if valid else None


def finished_row(job: Job, *, retry: bool) -> Row | None:
    """The row of an earlier run of the same job, or None if it has to run.

    `retry`: only a trace that was analysed is finished. Without it an unreadable one is too, and one that was ended by the
    same limits.
    """
    record = read_record(job.folder)
    if record is None or record.get("identity") != json.loads(json.dumps(job.identity)):
        return None
    row, status = dict(record["row"]), record["row"]["status"]
    if status == "done":
        return row if os.path.exists(os.path.join(job.folder, FINDINGS)) else None
    again = retry or status == "refused" or (status != "unreadable" and record.get("limits") != job.limits)
    return None if again else row


def finish_failed(job: Job, row: Row) -> Row:
    """Remove what a killed analysis has written, and write its record."""
    try:
        remove_result(job.folder)
        write_record(job, row)
    except OSError as error:
        row["reason"] += f"; its record cannot be written: {error.strerror}"
    return row


def remove_result(folder: str | Path) -> None:
    """Remove what an earlier or killed run left in its folder. Other files stay, and with them the folder."""
    place = Path(folder)
    if place.is_symlink() or not place.is_dir():
        return
    for path in list(place.iterdir()):
        name = path.name.removesuffix(".tmp")
        if name in (TABLES, REPORT_DATA) and path.is_dir() and not path.is_symlink():
            _remove_data(path)
        elif name == SCRATCH and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif name in (RECORD, ANALYSIS, FINDINGS, REPORT, LOCK) or EVIDENCE.fullmatch(name):
            path.unlink()
    with contextlib.suppress(OSError):
        place.rmdir()


def _remove_data(folder: Path) -> None:
    """Remove our files below `tables` or `report_data`, and the folders that are empty then."""
    for path in list(folder.rglob("*")):
        if not path.is_dir() and (PART.fullmatch(path.name) or path.name.removesuffix(".tmp").endswith(".js")):
            path.unlink()
    for path in sorted((p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink()), reverse=True):
        with contextlib.suppress(OSError):
            path.rmdir()
    with contextlib.suppress(OSError):
        folder.rmdir()

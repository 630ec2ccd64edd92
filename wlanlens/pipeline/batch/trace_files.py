"""Which traces a batch has: from folders, globs, files and manifests."""

from __future__ import annotations

import csv
import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from wlanlens import _core
from wlanlens.capture.container import choose
from wlanlens.errors import WlanlensError, WrongUse
from wlanlens.formatting import printable
from wlanlens.pipeline.file_names import ANALYSIS, TABLES
from wlanlens.tables import POINTS

AnyPath = str | os.PathLike[str]

#: Suffixes of captures, and of compression behind them. A file with another suffix is a capture if its content is one.
SUFFIXES = (".pcap", ".pcapng", ".cap", ".dmp", ".enc", ".trc", ".ntar", ".usbmon")
PACKED = (".gz", ".zst", ".lz4", ".xz", ".bz2")
MANIFESTS = {".csv": ",", ".tsv": "\t"}

_PLACES = re.compile(r"\{trace\}|\{point\}|\*")


class CaptureFile(NamedTuple):
    """A capture of a trace.

    Attributes
    ----------
    path : str
        Absolute.
    shown : str
        Its path from the folder that all captures have in common, or as the manifest gives it.
    point : str
        Its capture point; empty if wlanlens is to infer it.
    """

    path: str
    shown: str
    point: str = ""


@dataclass(frozen=True)
class TraceFiles:
    """A trace: captures that belong together.

    Attributes
    ----------
    name : str
        Its name; bytes of a file name that are no text are surrogates, as in `os.fsdecode`.
    captures : tuple of CaptureFile
    """

    name: str
    captures: tuple[CaptureFile, ...]


class Listing(NamedTuple):
    """The traces, by name, and how many files were found that are not part of any."""

    traces: list[TraceFiles]
    left_out: int


def find(sources: Sequence[AnyPath], *, pattern: str | None = None, out: AnyPath | None = None) -> Listing:
    """The traces of folders, globs, capture files and manifests.

    Parameters
    ----------
    sources : sequence of path
        A folder (searched with its subfolders), a glob, a capture, or a manifest (`.csv`, `.tsv`).
    pattern : str, optional
        `{trace}.{point}.pcap`: which files belong to one trace. Files that do not match are left out.
    out : path, optional
        The output directory, which is not searched.

    Raises
    ------
    WlanlensError
        A source names nothing, or a manifest or the pattern is not valid.
    """
    traces: dict[str, list[CaptureFile]] = {}
    files: list[str] = []
    bases: list[str] = []
    left_out = 0
    for source in (os.fspath(source) for source in sources):
        if Path(source).suffix.lower() in MANIFESTS and os.path.isfile(source):
            for name, capture in _manifest(Path(source)):
                traces.setdefault(name, []).append(capture)
            continue
        for path in _matches(source):
            if os.path.isdir(path):
                found, others = _walk(path, out)
                files += found
                left_out += others
                bases.append(path)
            else:
                files.append(os.path.abspath(path))
                bases.append(os.path.dirname(os.path.abspath(path)))
    base = os.path.commonpath(bases) if bases else ""
    shown = {path: os.path.relpath(path, base).replace(os.sep, "/") for path in dict.fromkeys(files)}
    if pattern is not None:
        form = _form(pattern)
        matched = {path: match for path, name in shown.items() if (match := form.fullmatch(name))}
        left_out += len(shown) - len(matched)
        for path, match in matched.items():
            parts = match.groupdict()
            traces.setdefault(parts["trace"], []).append(CaptureFile(path, shown[path], parts.get("point") or ""))
    else:
        for name, path in _named(shown):
            traces.setdefault(name, []).append(CaptureFile(path, shown[path]))
    if not traces:
        what = f"none of {len(shown)} files matches the pattern" if pattern and shown else "there is no capture"
        raise WlanlensError(what, path=", ".join(printable(os.fspath(source)) for source in sources))
    made = [TraceFiles(name, tuple(sorted(set(captures)))) for name, captures in sorted(traces.items())]
    return Listing(made, left_out)


def _matches(source: str) -> list[str]:
    """What a source names: itself, or the matches of a glob. A capture that is not there becomes a row of `runs`."""
    if os.path.lexists(source) or not glob.has_magic(source):
        return [source]
    found = sorted(glob.glob(source, recursive=True))
    if not found:
        raise WlanlensError("no file matches", path=printable(source))
    return found


def _walk(folder: str, out: AnyPath | None) -> tuple[list[str], int]:
    """The captures below a folder, and how many other files there are. Analysed directories and hidden files are left out."""
    captures, others = [], 0

    def unreadable(error: OSError) -> None:
        raise error

    for here, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not _is_result(os.path.join(here, name), out)
        )
        for name in sorted(names):
            path = os.path.abspath(os.path.join(here, name))
            if name.startswith("."):
                continue
            if _is_capture(path):
                captures.append(path)
            else:
                others += 1
    return captures, others


def _is_result(folder: str, out: AnyPath | None) -> bool:
    analysed = os.path.exists(os.path.join(folder, ANALYSIS)) and os.path.isdir(os.path.join(folder, TABLES))
    return analysed or (out is not None and os.path.exists(out) and os.path.samefile(folder, out))


def _is_capture(path: str) -> bool:
    """Whether a file is a capture by its suffix or its content."""
    if _stem(path) != path:
        return True
    if not os.path.isfile(path):
        return False
    try:
        return choose(_core.File(path).head) is not None
    except (WlanlensError, OSError):
        return False  # no capture by its name, and nothing that can be read


def _stem(name: str) -> str:
    """A path without the suffixes of a capture."""
    bare, suffix = os.path.splitext(name)
    if suffix.lower() in PACKED:
        inner, inner_suffix = os.path.splitext(bare)
        return inner if inner_suffix.lower() in SUFFIXES else name
    return bare if suffix.lower() in SUFFIXES else name


def _named(shown: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(trace, path) of captures that are a trace each: the name without its suffix, unless two would have the same name."""
    stems: dict[str, list[str]] = {}
    for path, name in shown.items():
        stems.setdefault(_stem(name), []).append(path)
    for stem, paths in stems.items():
        yield from ((stem if len(paths) == 1 else shown[path], path) for path in paths)


def _form(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression; `*` is any text within a name."""
    if pattern.count("{trace}") != 1 or pattern.count("{point}") > 1:
        raise WrongUse(
            f"the pattern {printable(pattern)} has no {{trace}}, or a place twice",
            next="for example {trace}.{point}.pcap",
        )
    parts = {"{trace}": "(?P<trace>.+?)", "{point}": f"(?P<point>{'|'.join(POINTS)})", "*": "[^/]*"}
    fixed, places = _PLACES.split(pattern), _PLACES.findall(pattern)
    made = "".join(re.escape(text) + parts.get(place, "") for text, place in zip(fixed, [*places, ""], strict=True))
    return re.compile(made, re.S)


def _manifest(path: Path) -> Iterator[tuple[str, CaptureFile]]:
    """(trace, capture) of each line of a manifest; captures are relative to its folder."""
    shown = printable(str(path))
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        lines = csv.DictReader(file, delimiter=MANIFESTS[path.suffix.lower()], strict=True)
        try:
            heads = lines.fieldnames or ()
            if lacking := [name for name in ("trace", "capture") if name not in heads]:
                raise WlanlensError(
                    f"the manifest has no column {lacking[0]!r}",
                    path=shown,
                    next="its first line names the columns: trace, capture and, if wanted, point",
                )
            for row in lines:
                yield _line(row, path, f"line {lines.line_num}", shown)
        except csv.Error as error:
            raise WlanlensError(f"line {lines.line_num + 1} is not valid: {error}", path=shown) from error


def _line(row: dict[str, str | None], path: Path, where: str, shown: str) -> tuple[str, CaptureFile]:
    trace, capture, point = (row.get(name) or "" for name in ("trace", "capture", "point"))
    if not trace or not capture:
        raise WlanlensError(f"{where} lacks its trace or its capture", path=shown)
    if point and point not in POINTS:
        raise WlanlensError(
            f"{where} has the unknown capture point {point!r}", path=shown, next=f"expected one of {', '.join(POINTS)}"
        )
    return trace, CaptureFile(os.path.abspath(path.parent / capture), capture, point)


def sizes(captures: Iterable[CaptureFile]) -> list[tuple[int, int] | None]:
    """(bytes, time of modification in ns) of each capture; None if there is no such file."""
    out: list[tuple[int, int] | None] = []
    for capture in captures:
        try:
            found = os.stat(capture.path)
            out.append((found.st_size, found.st_mtime_ns))
        except OSError:
            out.append(None)
    return out

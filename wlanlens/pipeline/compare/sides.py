"""The sides of a comparison: which analysed directories belong to which, and the figures of each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wlanlens.errors import MissingTable
from wlanlens.formatting import printable
from wlanlens.pipeline.analyze import Analysis
from wlanlens.pipeline.compare.comparison import Side
from wlanlens.pipeline.compare.run_figures import figures
from wlanlens.pipeline.file_names import ANALYSIS

AnyRun = str | os.PathLike[str] | Analysis
#: What `compare` takes as one argument.
AnySide = AnyRun | Mapping[str, AnyRun | Sequence[AnyRun]]

#: Folders between a given folder and the analysed directories in it.
_DEPTH = 3


def named(given: Sequence[AnySide]) -> list[tuple[str, list[AnyRun]]]:
    """The sides by name, in the order given; sides of one name are one."""
    out: dict[str, list[AnyRun]] = {}
    paths: dict[str, Path] = {}
    for one in given:
        if isinstance(one, Mapping):
            for name, runs in one.items():
                several = [runs] if isinstance(runs, str | os.PathLike | Analysis) else list(runs)
                out.setdefault(str(name), []).extend(several)
        else:
            path = one.out if isinstance(one, Analysis) else Path(one)
            name = path.name.removesuffix(".wlanlens") or str(path)
            if name in out:
                name = next(n for n in (str(path), *(f"{path} ({i})" for i in range(2, 10_000))) if n not in out)
            out[name], paths[name] = [one], path
    return list(out.items())


def side_of(name: str, given: Sequence[AnyRun], port: int | None) -> Side:
    found = [figures(path, port=port) for one in given for path in runs_of(one)]
    runs = tuple(run for run in found if run.transfers and run.duration_s > 0)
    return Side(name, runs, tuple(run.path for run in found if not (run.transfers and run.duration_s > 0)))


def runs_of(given: AnyRun) -> list[Path]:
    """The analysed directories of a path: itself, or those in a folder of runs. Symbolic links in it are not followed.

    Raises
    ------
    MissingTable
        There is none.
    """
    path = given.out if isinstance(given, Analysis) else Path(given)
    if (path / ANALYSIS).exists() or not path.is_dir():
        return [path]
    found = sorted(_below(path, _DEPTH))
    if not found:
        raise MissingTable(
            "no analysed directory is here", path=printable(str(path)), next="`wlanlens analyze` makes one"
        )
    return found


def _below(folder: Path, depth: int) -> Iterator[Path]:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            if os.path.lexists(os.path.join(entry.path, ANALYSIS)):
                yield Path(entry.path)
            elif depth > 1:
                yield from _below(Path(entry.path), depth - 1)

"""The analysis directory: everything is written beside its final name and renamed when all of it is whole.

A run that fails leaves the directory as it was. Files that are not ours are never touched; a symbolic link in our way
is replaced, not followed; a lock keeps two runs from writing to one directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from wlanlens import tables
from wlanlens.errors import OutputError
from wlanlens.formatting import printable

LOCK = ".wlanlens.lock"
SCRATCH = ".wlanlens.scratch"
ANALYSIS, FINDINGS, REPORT, TABLES = "analysis.json", "findings.json", "report.html", "tables"
PART = re.compile(r"part-\d{5,}\.parquet(\.tmp)?")
#: Pieces of a large report, beside it.
REPORT_DATA, REPORT_PIECE = "report_data", re.compile(r"flow-\d+\.js(\.tmp)?")


class Output:
    """A directory being written. Use as a context: `commit()` makes it whole, anything else leaves no trace."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._pending: list[tuple[Path, Path]] = []
        self._made: list[Path] = []
        self._lock: int | None = None

    def __enter__(self) -> Output:
        try:
            with self.writing():
                self._enter()
        except BaseException:
            self.abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abandon()

    def _enter(self) -> None:
        if os.path.lexists(self.path) and not self.path.is_dir():
            raise OutputError(
                "the output directory is a file", path=printable(str(self.path)), next="choose another with -o"
            )
        missing = [p for p in (self.path, *self.path.parents) if not p.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        self._made += missing
        self._take_lock()
        if not (self.path / ANALYSIS).exists():
            taken = [n for n in (FINDINGS, REPORT) if _is_regular(self.path / n)]
            if taken:
                raise OutputError(
                    f"the directory holds a {taken[0]} that wlanlens did not write",
                    path=printable(str(self.path)),
                    next="choose another with -o",
                )

    def _take_lock(self) -> None:
        path = self.path / LOCK
        while True:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                self._made.clear()
                raise OutputError(
                    "another wlanlens is writing to this directory", path=printable(str(self.path))
                ) from None
            # The holder before may have removed the name between our open and our lock.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), os.lstat(path)):
                    self._lock = lock
                    return
            os.close(lock)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Errors of the operating system in here are the output's: a full disk, a directory that may not be written."""
        try:
            yield
        except OSError as error:
            where = printable(str(error.filename or self.path))
            raise OutputError(f"cannot write: {error.strerror or error}", path=where) from error

    def file(self, *names: str) -> Path:
        """A path to write to; it gets its final name at `commit`."""
        final = self.path.joinpath(*names)
        folder = self.path
        for name in names[:-1]:
            folder = folder / name
            if folder.is_symlink():
                folder.unlink()
            if not folder.exists():
                folder.mkdir()
                self._made.insert(0, folder)
        temporary = final.with_name(final.name + ".tmp")
        temporary.unlink(missing_ok=True)
        self._pending.append((temporary, final))
        return temporary

    def write_text(self, name: str, text: str) -> None:
        """Write one small file of ASCII text."""
        with self.writing(), open(self.file(name), "x", encoding="ascii") as out:
            out.write(text)

    def commit(self) -> None:
        """Remove the parts of an earlier analysis and give every file its name, the report last."""
        with self.writing():
            for name in tables.names():
                self._clear(self.path / TABLES / name, PART)
            self._clear(self.path / REPORT_DATA, REPORT_PIECE)
            for name in (ANALYSIS, FINDINGS, REPORT):
                (self.path / name).unlink(missing_ok=True)
        self.replace()

    def _clear(self, folder: Path, ours: re.Pattern[str]) -> None:
        """Remove what an earlier run left in a folder of ours, by its names, but not what this run has written."""
        mine = {temporary for temporary, _ in self._pending}
        if folder.is_dir() and not folder.is_symlink():
            for old in folder.iterdir():
                if ours.fullmatch(old.name) and old not in mine:
                    old.unlink()

    def replace(self) -> None:
        """Give every file written its name and leave the others as they are."""
        with self.writing():
            for temporary, final in sorted(self._pending, key=lambda p: p[1].name == REPORT):
                os.replace(temporary, final)
        self._pending.clear()
        self._made.clear()

    def abandon(self) -> None:
        """Remove what was begun and not committed, folders that were made for it, and the lock."""
        for temporary, _ in self._pending:
            with contextlib.suppress(OSError):
                temporary.unlink()
        self._pending.clear()
        if self._lock is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.path / LOCK)
            os.close(self._lock)
            self._lock = None
        for folder in self._made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._made.clear()


class Scratch:
    """A folder inside the output directory for what only this run needs. It is ours by the directory's lock: what a run
    that was killed left there is removed. Use as a context."""

    def __init__(self, output: Output) -> None:
        self.path = output.path / SCRATCH
        self.writing = output.writing

    def __enter__(self) -> Scratch:
        with self.writing():
            self._remove()
            self.path.mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._remove()

    def _remove(self) -> None:
        if self.path.is_symlink():
            self.path.unlink()
        elif self.path.exists():
            shutil.rmtree(self.path)

    def file(self, *names: str) -> Path:
        """A path to write to."""
        path = self.path.joinpath(*names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False

"""Where a run writes: every file gets a temporary name first and its final name when all files are complete.

A run that fails leaves the directory as it was. Files that wlanlens did not write are never changed; a symbolic link
under one of our names is replaced, not followed; a lock keeps two runs from writing to one directory.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from wlanlens import operating_system, tables
from wlanlens.errors import OutputError, refuse_file
from wlanlens.formatting import printable
from wlanlens.pipeline.file_names import (
    ANALYSIS,
    EVIDENCE,
    FINDINGS,
    LOCK,
    PART,
    REPORT,
    REPORT_DATA,
    REPORT_PIECE,
    SCRATCH,
    TABLES,
)
from wlanlens.threads import Job, Threads

#: How an analysis.json of ours begins.
_OURS = b'{\n "wlanlens": "'
#: What the lock holds while files of an earlier run are removed and new ones get their names. It stays if the process is killed.
_REPLACING = b"replacing\n"


class Output:
    """A directory that is being written. Use it in a `with` statement: without `commit()` nothing stays of it.

    Parameters
    ----------
    path : path
        The directory.
    whole : bool
        Whether an analysis is written there; otherwise single files, whose names the caller has checked.

    Raises
    ------
    OutputError
        The directory cannot be written, is in use, or holds files under our names that wlanlens did not write.
    """

    def __init__(self, path: str | os.PathLike[str], *, whole: bool = True) -> None:
        self.path, self._whole = Path(path), whole
        self._replacing = False
        self._pending: list[tuple[Path, Path]] = []
        self._made: list[Path] = []
        self._lock: int | None = None
        self._making = threading.Lock()

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
        if str(self.path) != os.fsencode(self.path).decode(errors="replace"):
            raise OutputError(
                "the directory's name is not UTF-8", path=printable(str(self.path)), next="choose another with -o"
            )
        refuse_file(self.path)
        missing = [p for p in (self.path, *self.path.parents) if not p.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        self._made += missing
        self._take_lock()
        if self._whole and not (self._replacing or is_ours(self.path)):
            taken = next(_under_our_names(self.path), None)
            if taken is not None:
                raise OutputError(
                    f"the directory holds {taken}, which wlanlens did not write",
                    path=printable(str(self.path)),
                    next="choose another with -o",
                )

    def _take_lock(self) -> None:
        path = self.path / LOCK
        while True:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | operating_system.NO_FOLLOW, 0o666)
            try:
                operating_system.lock(lock)
            except BlockingIOError:
                os.close(lock)
                self._made.clear()
                raise OutputError(
                    "another wlanlens is writing to this directory", path=printable(str(self.path))
                ) from None
            # Another run may have removed this name between our open and our lock.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), os.lstat(path)):
                    self._lock, self._replacing = lock, os.read(lock, len(_REPLACING)) == _REPLACING
                    return
            os.close(lock)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Raise operating system errors, such as a full disk, as `OutputError`."""
        try:
            yield
        except OSError as error:
            where = printable(str(error.filename or self.path))
            raise OutputError(f"cannot write: {error.strerror or error}", path=where) from error

    def file(self, *names: str) -> Path:
        """A temporary path to write to; `commit` gives it the final name."""
        final = self.path.joinpath(*names)
        # Two threads write tables: both may need the same new folder.
        with self._making:
            self._make_folders(names[:-1])
        temporary = final.with_name(final.name + ".tmp")
        temporary.unlink(missing_ok=True)
        self._pending.append((temporary, final))
        return temporary

    def _make_folders(self, names: Sequence[str]) -> None:
        folder = self.path
        for name in names:
            folder = folder / name
            if folder.is_symlink():
                folder.unlink()
            if not folder.exists():
                folder.mkdir()
                self._made.insert(0, folder)

    def write_text(self, name: str, text: str) -> None:
        """Write one small file of ASCII text."""
        with self.writing(), open(self.file(name), "x", encoding="ascii") as out:
            out.write(text)

    def commit(self) -> None:
        """Remove the files of an earlier analysis and give every new file its final name.

        A directory with findings.json is whole, even if the process is killed here: this file goes first and comes after
        the tables and analysis.json.
        """
        with self.writing():
            if self._lock is not None:
                self._replacing = True
                os.pwrite(self._lock, _REPLACING, 0)
            for name in (FINDINGS, REPORT, ANALYSIS):
                (self.path / name).unlink(missing_ok=True)
            for name in tables.names():
                self._clear(self.path / TABLES / name, PART)
            self._clear(self.path / REPORT_DATA, REPORT_PIECE)
            self._clear(self.path, EVIDENCE)
        self.replace()

    def _clear(self, folder: Path, ours: re.Pattern[str]) -> None:
        """Remove the files of earlier runs from one of our folders: files with our names that this run did not write."""
        mine = {temporary for temporary, _ in self._pending}
        if folder.is_dir() and not folder.is_symlink():
            for old in folder.iterdir():
                if ours.fullmatch(old.name) and old not in mine:
                    old.unlink()

    def replace(self) -> None:
        """Give every file its final name; other files stay as they are."""
        with self.writing():
            late = (ANALYSIS, FINDINGS, REPORT)
            for temporary, final in sorted(
                self._pending, key=lambda p: late.index(p[1].name) if p[1].name in late else -1
            ):
                os.replace(temporary, final)
        self._replacing = False
        self._pending.clear()
        self._made.clear()

    def abandon(self) -> None:
        """Remove files that were not committed, the folders that were made for them, and the lock."""
        for temporary, _ in self._pending:
            with contextlib.suppress(OSError):
                temporary.unlink()
        self._pending.clear()
        if self._lock is not None:
            if not self._replacing:
                with contextlib.suppress(OSError):
                    os.unlink(self.path / LOCK)
            os.close(self._lock)
            self._lock = None
        for folder in self._made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._made.clear()


class Scratch:
    """A folder in the output directory for files that only this run needs. Use it in a `with` statement.

    The directory's lock protects it. What a killed run left there is removed.
    """

    def __init__(self, output: Output) -> None:
        self.path = output.path / SCRATCH
        self.writing = output.writing
        self._pool = Threads(1)
        self._removal: Job[None] | None = None

    def __enter__(self) -> Scratch:
        with self.writing():
            self._remove()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            if self._removal is not None:
                with contextlib.suppress(OSError, MemoryError):
                    self._removal.result()
            self._remove()
        self._pool.stop()

    def begin_removal(self) -> None:
        """Begin to remove its files in a thread: nothing will read them."""
        self._removal = self._pool.submit(self._remove)

    def _remove(self) -> None:
        if self.path.is_symlink():
            self.path.unlink()
        elif self.path.exists():
            shutil.rmtree(self.path)

    def folder(self, *names: str) -> Path:
        """The scratch folder, or a folder in it; made when it is not there."""
        path = self.path.joinpath(*names)
        with self.writing():
            path.mkdir(parents=True, exist_ok=True)
        return path

    def file(self, *names: str) -> Path:
        """A path to write to."""
        return self.folder(*names[:-1]) / names[-1]


def is_ours(path: Path) -> bool:
    """Whether a directory holds an analysis of wlanlens."""
    if not _is_regular(path / ANALYSIS):
        return False
    with open(path / ANALYSIS, "rb") as file:
        return file.read(len(_OURS)) == _OURS


def other_files(path: Path) -> list[str]:
    """Files and folders in a directory without an analysis, besides those under our names: an analysis would be put beside them."""
    if not path.is_dir() or is_ours(path):
        return []
    ours = {ANALYSIS, FINDINGS, REPORT, TABLES, REPORT_DATA, LOCK, SCRATCH}
    return sorted(name for name in os.listdir(path) if name not in ours and not EVIDENCE.fullmatch(name))


def _under_our_names(path: Path) -> Iterator[str]:
    """The files under names that an analysis would write or remove. What a killed run left has other names."""
    yield from (name for name in (ANALYSIS, FINDINGS, REPORT) if _is_regular(path / name))
    folders = [("", EVIDENCE), (REPORT_DATA, REPORT_PIECE), *((f"{TABLES}/{name}", PART) for name in tables.names())]
    for folder, ours in folders:
        place, parts = path / folder, Path(folder).parts
        linked = any(path.joinpath(*parts[: i + 1]).is_symlink() for i in range(len(parts)))
        if place.is_dir() and not linked:
            for name in sorted(os.listdir(place)):
                if ours.fullmatch(name) and not name.endswith(".tmp") and _is_regular(place / name):
                    yield os.path.join(folder, name)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False

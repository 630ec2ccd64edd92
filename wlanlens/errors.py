"""The exceptions of wlanlens: a request that cannot be met. Odd records never raise; they become notes."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator

from wlanlens.formatting import printable


class WlanlensError(Exception):
    """What failed, where, and what to do next.

    Attributes
    ----------
    what : str
        One sentence.
    offset : int or None
        Byte offset in the (decompressed) capture.
    next : str
        What the user can do next; may be empty.
    path : str or None
        The file, if known.
    """

    def __init__(self, what: str, offset: int | None = None, next: str = "", path: str | None = None) -> None:
        super().__init__(what)
        self.what, self.offset, self.next, self.path = what, offset, next, path

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        at = f" (at byte {self.offset})" if self.offset is not None else ""
        return f"{where}{self.what}{at}" + (f"; {self.next}" if self.next else "")


class WrongUse(WlanlensError):
    """The request itself is wrong: an unknown name, or a value out of its range. The command line ends with status 2."""


class FileError(WlanlensError, OSError):
    """The system refused a file or a folder: an `OSError` too, with `errno`, `strerror` and `filename`."""


class FileMissing(FileError, FileNotFoundError):
    """There is no such file or folder: a `FileNotFoundError` too."""


class FileDenied(FileError, PermissionError):
    """The system does not permit it: a `PermissionError` too."""


class FileIsFolder(FileError, IsADirectoryError):
    """A file was expected, and it is a folder: an `IsADirectoryError` too."""


class FolderIsFile(FileError, NotADirectoryError):
    """A folder was expected, and it is a file: a `NotADirectoryError` too."""


_KINDS: dict[type[OSError], type[FileError]] = {
    FileNotFoundError: FileMissing,
    PermissionError: FileDenied,
    IsADirectoryError: FileIsFolder,
    NotADirectoryError: FolderIsFile,
}
#: What is no error of a file; it is raised as it is.
_OTHER = (BrokenPipeError, BlockingIOError, InterruptedError, ChildProcessError, ConnectionError, TimeoutError)


def file_error(error: OSError, path: str | None = None) -> FileError:
    """An error of the system as a `FileError` of the kind that fits.

    Parameters
    ----------
    error : OSError
        The error.
    path : str, optional
        The file as it can be printed; by default the error's `filename`.
    """
    if path is None and error.filename is not None:
        path = printable(os.fsencode(error.filename) if not isinstance(error.filename, int) else str(error.filename))
    said = os.strerror(error.errno) if error.errno is not None else error.strerror or str(error)
    kind = next((mine for theirs, mine in _KINDS.items() if isinstance(error, theirs)), FileError)
    made = kind(said, path=path)
    made.errno, made.strerror, made.filename = error.errno, said, path
    return made


def missing(what: str, path: str) -> FileMissing:
    """The error that a file or folder is not there, in words that say what was expected."""
    made = FileMissing(what, path=path)
    made.errno, made.strerror, made.filename = errno.ENOENT, what, path
    return made


@contextlib.contextmanager
def file_errors() -> Iterator[None]:
    """Raise errors of the system about files as `FileError`; also a decorator of functions."""
    try:
        yield
    except (WlanlensError, *_OTHER):
        raise
    except OSError as error:
        raise file_error(error) from error


class UnknownFormat(WlanlensError):
    """The file is not a capture of a known format."""


class UnsupportedFormat(WlanlensError):
    """The format is known, but its version or compression cannot be read."""


class UnsupportedLinkType(WlanlensError):
    """The file format is known, but its link type has no decoder."""


class CorruptCapture(WlanlensError):
    """The capture is damaged before its first record."""


class BadKey(WrongUse):
    """A malformed key. The message never repeats the text: it may be secret.

    Attributes
    ----------
    line : int
        Number of the line, from 1.
    """

    def __init__(self, line: int, what: str, form: str) -> None:
        super().__init__(f"line {line}: {what}", next=f"a line with a key has the form {form}")
        self.line = line


class UnsupportedSystem(WlanlensError):
    """The operating system lacks what this needs."""

    def __init__(self, what: str) -> None:
        super().__init__(f"this system has no {what}", next="run it on Linux")


class MissingTable(WlanlensError):
    """The trace does not have this table."""


class NothingToDraw(MissingTable):
    """The trace holds nothing of what a plot shows."""


class OutputError(WlanlensError):
    """The output cannot be written to the requested place."""


class NoSuchUnit(WrongUse):
    """An unknown unit, table or option."""


def refuse_file(folder: str | os.PathLike[str]) -> None:
    """Check that an output directory is none yet, or one.

    Raises
    ------
    OutputError
        It is a file.
    """
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise OutputError("the output directory is a file", path=printable(str(folder)), next="choose another with -o")


class AlignmentError(WlanlensError):
    """The captures cannot be put on one time axis."""


class RegistryError(WlanlensError):
    """A unit of a shelf is broken or defined twice."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """What to do about an unknown name: the nearest known one, and where to find all."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1)
    return (f"did you mean {near[0]!r}? " if near else "") + otherwise


#: How threads, shared libraries and Arrow say that there is no memory for them.
_NO_MEMORY = ("can't start new thread", "failed to map segment", "Failed to launch worker thread")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, in Python or below it."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY)

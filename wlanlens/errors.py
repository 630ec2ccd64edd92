"""The exceptions of wlanlens: a request that cannot be met. Odd records never raise; they become notes."""

from __future__ import annotations

from collections.abc import Iterable


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


class UnknownFormat(WlanlensError):
    """The file is not a capture of a known format."""


class UnsupportedFormat(WlanlensError):
    """The format is known, but its version or compression cannot be read."""


class UnsupportedLinkType(WlanlensError):
    """The file format is known, but its link type has no decoder."""


class CorruptCapture(WlanlensError):
    """The capture is damaged before its first record."""


class BadKey(WlanlensError):
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


class OutputError(WlanlensError):
    """The output cannot be written to the requested place."""


class NoSuchUnit(WlanlensError):
    """An unknown unit, table or option."""


class AlignmentError(WlanlensError):
    """The captures cannot be put on one time axis."""


class RegistryError(WlanlensError):
    """A unit of a shelf is broken or defined twice."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """What to do about an unknown name: the nearest known one, and where to find all."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1)
    return (f"did you mean {near[0]!r}? " if near else "") + otherwise

"""The one exception family: the request cannot be met. Odd records never raise; they are notes."""

from __future__ import annotations


class WlanlensError(Exception):
    """What could not be done, where, and what to do next.

    Attributes
    ----------
    what : str
        One sentence.
    offset : int or None
        Byte offset in the (decompressed) capture.
    next : str
        What the user can do; may be empty.
    path : str or None
        The file, filled in by whoever knows it.
    """

    def __init__(self, what: str, offset: int | None = None, next: str = "", path: str | None = None) -> None:
        super().__init__(what)
        self.what, self.offset, self.next, self.path = what, offset, next, path

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        at = f" (at byte {self.offset})" if self.offset is not None else ""
        return f"{where}{self.what}{at}" + (f"; {self.next}" if self.next else "")


class UnknownFormat(WlanlensError):
    """The bytes are no capture of a known format."""


class UnsupportedFormat(WlanlensError):
    """A recognised format, version or compression that cannot be read."""


class UnsupportedLinkType(WlanlensError):
    """A known container with a link type that has no decoder."""


class CorruptCapture(WlanlensError):
    """A capture damaged before its first record."""


class BadKey(WlanlensError):
    """A line that is no key. What was given is never repeated: it may be all secret.

    Attributes
    ----------
    line : int
        Its number, from 1.
    """

    def __init__(self, line: int, what: str, form: str) -> None:
        super().__init__(f"line {line}: {what}", next=f"a key line reads {form}")
        self.line = line


class MissingTable(WlanlensError):
    """A table that this trace does not hold."""


class OutputError(WlanlensError):
    """The output cannot be written where it was asked for."""


class NoSuchUnit(WlanlensError):
    """A unit, table or option asked for by a name that nobody bears."""


class AlignmentError(WlanlensError):
    """Captures that cannot be put on one time axis."""


class RegistryError(WlanlensError):
    """A shelf with a unit that is broken or defined twice."""

"""Capture: what one tap recorded. `open()` recognises the format at once; tables are read when they are needed."""

from __future__ import annotations

import copy
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from wlanlens import _core, operating_system, tables
from wlanlens.capture import decryption_keys as key_lines
from wlanlens.capture.container import records_of
from wlanlens.capture.halves import Halves
from wlanlens.capture.reader_thread import Feed, call
from wlanlens.errors import FileIsFolder, MissingTable, WlanlensError, WrongUse, did_you_mean, file_error, file_errors
from wlanlens.formatting import html_table, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.decryption_keys import Keys

CAPTURE_POINTS = ("sender", "usb", "air", "receiver", "ap", "unknown")

#: First bytes of a file by whose hash it is recognised again.
HEAD_BYTES = 64 * 1024

#: Rows in one batch of a table that is in memory.
_BATCH = 16 * 1024

T = TypeVar("T")


@runtime_checkable
class Scanned(Protocol):
    """Tables that can be read batch by batch."""

    def scan(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of a table."""

    def rows(self, name: str) -> int:
        """Number of rows of a table."""


@dataclass(frozen=True)
class Note:
    """A count of something odd in a capture.

    Attributes
    ----------
    name : str
        What is odd.
    severity : str
        info, loss (something could not be read) or error (the capture contradicts itself).
    count : int
        How often it was found.
    first_packet, first_offset : int
        Where it was found first: packet number from 1 (0: none), and byte offset in the decompressed file.
    sentence : str
        What it means.
    capture : str
        Name of the capture.
    """

    name: str
    severity: str
    count: int
    first_packet: int
    first_offset: int
    sentence: str
    capture: str


class Record(NamedTuple):
    """One record of a capture file."""

    packet: int
    time_ns: int | None
    wire_bytes: int
    data: bytes
    link_type: int
    offset: int


class Capture:
    """What one tap at one point recorded.

    Attributes
    ----------
    path : str
        The file as it was given; "-" is standard input.
    name : str
        The file's name without its folder, as in the column `capture`.
    point : str
        The capture point: sender, usb, air, receiver, ap or unknown.
    """

    def __init__(
        self,
        path: str | bytes | os.PathLike[Any],
        *,
        point: str = "unknown",
        name: str | None = None,
        keys: Keys | Iterable[str] | None = None,
    ) -> None:
        if point not in CAPTURE_POINTS:
            hint = did_you_mean(str(point), CAPTURE_POINTS, f"capture points are {', '.join(CAPTURE_POINTS)}")
            raise WrongUse(f"there is no capture point {point!r}", next=hint)
        self.raw_path = os.fspath(path)
        self.path: str = as_text(self.raw_path)
        self.name = name or name_of(self.raw_path)
        self.point = point
        self._keys = key_lines.of(keys)
        self._reader: _core.Reader | None = None
        self._tables: Mapping[str, pa.Table] | None = None
        self._halves = Halves(self)
        self._notes: list[Note] = []
        self._later_notes: list[Note] = []
        self._read = False
        self._info: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<Capture {printable(self.name)}: {self.format or 'not opened'}, {self.point}>"

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {"point": self.point, "format": self.format or "not opened"}
        if self._read:
            facts["records"] = f"{int(self._info.get('records', 0)):,}"
            facts |= {note.name: f"{note.count:,} {note.sentence}" for note in self.notes}
        return html_table(f"Capture {self.name}", (), list(facts.items()))

    def reader(self, **options: Any) -> _core.Reader:
        """A new reader at the start of the file. Options are those of `_core.Reader`."""
        return self._at_file(
            lambda: _core.Reader(records_of(self._source()), keys=self._keys.for_core(), **options),
        )

    def _at_file(self, function: Callable[[], T]) -> T:
        """`function()`, interruptible; its errors name the file."""
        try:
            found: T = call(function)
            return found
        except WlanlensError as error:
            error.path = printable(self.path)
            raise
        except OSError as error:
            refused = file_error(error, printable(self.path))
            if isinstance(refused, FileIsFolder):
                refused.next = self._instead_of_folder()
            raise refused from error

    def _instead_of_folder(self) -> str:
        if os.path.exists(os.path.join(os.fsdecode(self.raw_path), "analysis.json")):
            return "it holds an analysis: `wl.load` and `wlanlens report` read it"
        return "name a capture in it; `wlanlens batch` analyses all of a folder"

    def _source(self) -> str | None:
        return None if self.path == "-" else os.fsdecode(self.raw_path)

    @file_errors()
    def size_bytes(self) -> int | None:
        """Size of the file now; None if it is not a regular file."""
        if self.path == "-":
            return None
        found = os.stat(self.raw_path)
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    @file_errors()
    def head_sha256(self) -> str | None:
        """SHA-256 of the first `HEAD_BYTES` of the file as it is now; None if it is not a regular file."""
        if self.size_bytes() is None:
            return None
        # O_NONBLOCK: what was a regular file just now may be a pipe.
        with os.fdopen(os.open(self.raw_path, os.O_RDONLY | operating_system.NO_WAIT), "rb") as file:
            return hashlib.sha256(file.read(HEAD_BYTES)).hexdigest()

    def records(self, numbers: Iterable[int]) -> list[Record]:
        """Records as they are in the file, by packet number from 1. Numbers that do not exist are left out."""
        if self.path == "-":
            raise WlanlensError("standard input cannot be read a second time", next="save the capture to a file")
        wanted = sorted(set(numbers))
        found = self._at_file(lambda: _core.select(records_of(self._source()), wanted))
        return [Record(*row) for row in found]

    @property
    def has_keys(self) -> bool:
        """Whether keys for encrypted frames were given."""
        return bool(self._keys)

    def feed(self, *, open_flows: bool = False) -> Feed:
        """The batches of the file from its start with the column `capture`, read in a thread.

        `open_flows`: also batches named `open_flows`, with the row of `flows` that a running connection would have now.
        """
        self._open()
        reader, self._reader = self._reader or self.reader(), None
        if open_flows:
            reader.add_open_flows()
        return self.feed_of(reader)

    def feed_of(self, reader: _core.Reader, least_rows: int = 1) -> Feed:
        """The batches of one of its readers with the column `capture`, read in a thread; see `Feed`."""
        reader.name_capture(self.name, tables.CAPTURE_DOC)
        return Feed(reader, least_rows)

    def take(self, feed: Feed) -> None:
        """Keep what a feed found out about the file."""
        self._info = dict(feed.info)
        self._notes = [Note(*note, capture=self.name) for note in feed.notes]
        self._read = True

    def add_note(self, name: str, severity: str, count: int, sentence: str) -> None:
        """Add a note on something odd that is not found by reading the file alone."""
        self._later_notes.append(Note(name, severity, count, 0, 0, sentence, self.name))

    def _open(self) -> None:
        if self._reader is None and not self._info:
            self._reader = self.reader()
            self._info = dict(self._reader.info())

    def describe(self) -> dict[str, Any]:
        """The description of a capture in analysis.json."""
        return {
            "name": self.name,
            "path": os.fsdecode(self.raw_path) if self.path == "-" else os.fsdecode(os.path.abspath(self.raw_path)),
            "point": self.point,
            "size_bytes": self.size_bytes(),
            "head_sha256": self.head_sha256(),
            **self.info,
            "notes": [{k: v for k, v in asdict(note).items() if k != "capture"} for note in self.notes],
        }

    @classmethod
    def described(cls, row: Mapping[str, Any]) -> Capture:
        """A capture from its description in analysis.json; it has no tables."""
        row = dict(row)
        notes, path = row.pop("notes"), str(row.pop("path"))
        capture = cls(path, name=str(row.pop("name")), point=str(row.pop("point")))
        capture._info, capture._read = row, True
        capture._notes = [Note(**note, capture=capture.name) for note in notes]
        return capture

    def _load(self) -> Mapping[str, pa.Table]:
        if self._tables is None:
            self._tables = self._halves.rest() or self.collect(self.feed())
            self._halves = Halves(self)
        return self._tables

    def collect(self, feed: Feed, *, whole: bool = True) -> dict[str, pa.Table]:
        """The tables that a feed brings, in memory, and what it found out about the file; without `whole` its notes are not
        complete."""
        # The core decodes while Python imports pyarrow.
        feed.begin()
        import pyarrow as pa

        parts: dict[str, list[pa.RecordBatch]] = {name: [] for name in tables.core_schemas()}
        try:
            for batches in feed:
                for name, batch in batches:
                    parts[name].append(batch)
        except WlanlensError as error:
            error.path = printable(self.path)
            raise
        self._reader = None
        if whole:
            self.take(feed)
        elif not self._read:
            self._info = dict(feed.info)
        return {
            name: pa.Table.from_batches(batches, tables.schema(name)).unify_dictionaries()
            for name, batches in parts.items()
        }

    def table(self, name: str) -> pa.Table:
        """One of the tables of the capture, whole in memory. For files larger than memory use `analyze`."""
        held = self._halves.of(name) if self._tables is None and self.has(name) else None
        found = (self._load() if held is None else held).get(name)
        if found is None:
            tables.schema(name)
            raise MissingTable(f"a single capture has no table {name!r}", path=printable(self.path))
        return found

    @property
    def loaded(self) -> bool:
        """Whether its tables have been read, into memory or to disk."""
        return self._tables is not None

    def keep(self, held: Mapping[str, pa.Table], feed: Feed) -> None:
        """Take tables that somebody else read, and what their feed found out about the file."""
        self._tables = held
        self.take(feed)

    def part(self, held: Mapping[str, pa.Table]) -> Capture:
        """The same capture with only some rows of its tables."""
        made = copy.copy(self)
        made._tables = held
        return made

    def scan(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """One of its tables, batch by batch. Of tables on disk only one batch is in memory."""
        held = self._load()
        if isinstance(held, Scanned):
            yield from held.scan(name, columns)
        else:
            table = self.table(name)
            yield from (table if columns is None else table.select(columns)).to_batches(max_chunksize=_BATCH)

    def rows(self, name: str) -> int:
        """Number of rows of one of its tables."""
        held = self._load()
        return held.rows(name) if isinstance(held, Scanned) else self.table(name).num_rows

    def has(self, name: str) -> bool:
        """Whether the capture has a table, even an empty one."""
        return name in tables.core_names()

    @property
    def notes(self) -> list[Note]:
        """Counts of what was odd. The file is read to its end first."""
        if not self._read:
            self._load()
        return [*self._notes, *self._later_notes]

    @property
    def info(self) -> dict[str, Any]:
        """Format, compression, counts, times, link types, interfaces and texts of the file, so far as it was read."""
        self._open()
        return self._info

    @property
    def format(self) -> str:
        """Name of the container: pcap, pcapng ..."""
        return str(self._info.get("format", ""))

    @property
    def link_types(self) -> list[tuple[int, int]]:
        """(``LINKTYPE_`` value, number of records), so far as the file was read."""
        return list(self.info.get("link_types", []))

    @property
    def start_ns(self) -> int | None:
        """Time of the first packet in the capture's own clock, ns since 1970; None if no packet has a timestamp."""
        value = self.info.get("first_ns")
        return None if value is None else int(value)

    def find_duration_ns(self) -> int | None:
        """Time from the first packet to the last, if what was read of the file shows it: each record is a packet, in order of time."""
        info = self._info
        if not self._read or info.get("other_records") != 0 or None in (info.get("first_ns"), info.get("last_ns")):
            return None
        if any(note.name == "time_backwards" for note in self._notes):
            return None
        return int(info["last_ns"]) - int(info["first_ns"])


def as_text(path: str | bytes) -> str:
    """A path as valid text: bytes that are not UTF-8 become \\xNN."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def name_of(path: str | bytes) -> str:
    """Name of a capture: that of its file without the folder."""
    text = as_text(path)
    return "stdin" if text == "-" else (Path(text).name or text)


def open(
    path: str | bytes | os.PathLike[Any], *, point: str = "unknown", keys: Keys | Iterable[str] | None = None
) -> Capture:
    """Open a capture file. Its format is recognised by its content; tables are read when they are needed.

    Parameters
    ----------
    path : path
        The file; "-" is standard input.
    point : str
        The capture point, if known: sender, usb, air, receiver or ap.
    keys : Keys or iterable of str, optional
        Keys that decrypt 802.11 frames: lines such as "wpa-pwd:PASSPHRASE:SSID", "wep:HEX" and "wpa-psk:HEX".

    Returns
    -------
    Capture

    Raises
    ------
    UnknownFormat, UnsupportedFormat, UnsupportedLinkType, CorruptCapture
        The file is not a capture that can be read; the error lists the formats.
    FileError
        The file cannot be opened: a `WlanlensError` and an `OSError`. `FileMissing` is a `FileNotFoundError` too.
    """
    capture = Capture(path, point=point, keys=keys)
    capture._open()
    return capture

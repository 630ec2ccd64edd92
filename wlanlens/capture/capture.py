"""Capture: what one tap recorded. `open()` sniffs by content at once and reads lazily."""

from __future__ import annotations

import copy
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from wlanlens import _core, tables
from wlanlens.capture import decryption_keys as key_lines
from wlanlens.capture.reader_thread import Feed, call
from wlanlens.errors import MissingTable, WlanlensError
from wlanlens.formatting import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.decryption_keys import Keys

CAPTURE_POINTS = ("sender", "usb", "air", "receiver", "ap", "unknown")


#: Rows of a table in memory that are handed out at once.
_BATCH = 16 * 1024


@runtime_checkable
class Scanned(Protocol):
    """Tables that need not be read whole."""

    def scan(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of a table."""

    def rows(self, name: str) -> int:
        """How many rows a table has."""


@dataclass(frozen=True)
class Note:
    """A named count of what was odd in a capture.

    Attributes
    ----------
    name, severity : str
        What; info, loss (something could not be read) or error (the capture contradicts itself).
    count : int
        How often.
    first_packet, first_offset : int
        Where first: packet from 1 (0: none) and byte offset of the decompressed file.
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
        The file as it was named; "-" is standard input.
    name : str
        The file's name without its folder, as the column `capture` has it.
    point : str
        Where the tap sits: sender, usb, air, receiver, ap or unknown.
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
            raise WlanlensError(f"point {point!r} is none of {', '.join(CAPTURE_POINTS)}")
        self.raw_path = os.fspath(path)
        self.path: str = as_text(self.raw_path)
        self.name = name or name_of(self.raw_path)
        self.point = point
        self._keys = key_lines.of(keys)
        self._reader: _core.Reader | None = None
        self._tables: Mapping[str, pa.Table] | None = None
        self._notes: list[Note] = []
        self._read = False
        self._info: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<Capture {printable(self.name)}: {self.format or 'not opened'}, {self.point}>"

    def reader(self, **options: Any) -> _core.Reader:
        """A fresh reader at the file's start; errors name the file."""
        try:
            reader: _core.Reader = call(lambda: _core.Reader(self._source(), keys=self._keys.for_core(), **options))
            return reader
        except WlanlensError as error:
            error.path = printable(self.path)
            raise
        except OSError as error:
            error.filename = printable(self.path)
            raise

    def _source(self) -> str | None:
        return None if self.path == "-" else os.fsdecode(self.raw_path)

    def size_bytes(self) -> int | None:
        """The file's size now; None where it is no regular file."""
        if self.path == "-":
            return None
        found = os.stat(self.raw_path)
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def records(self, numbers: Iterable[int]) -> list[Record]:
        """Some records as they stand in the file, by packet number from 1; those that do not exist are left out."""
        if self.path == "-":
            raise WlanlensError("standard input cannot be read a second time", next="save the capture to a file")
        wanted = sorted(set(numbers))
        try:
            return [Record(*row) for row in call(lambda: _core.records(self._source(), wanted))]
        except WlanlensError as error:
            error.path = printable(self.path)
            raise
        except OSError as error:
            error.filename = printable(self.path)
            raise

    def feed(self) -> Feed:
        """The file's batches from its start, read in a thread; the reader is used up."""
        self._open()
        reader, self._reader = self._reader or self.reader(), None
        return Feed(reader)

    def take(self, feed: Feed) -> None:
        """Copy what a feed has learned about the file."""
        self._info = dict(feed.info)
        self._notes = [Note(*note, capture=self.name) for note in feed.notes]
        self._read = True

    def add_note(self, name: str, severity: str, count: int, sentence: str) -> None:
        """Note something that was odd in what the capture gave, found after reading it."""
        self._notes.append(Note(name, severity, count, 0, 0, sentence, self.name))

    def _open(self) -> None:
        if self._reader is None and not self._info:
            self._reader = self.reader()
            self._info = dict(self._reader.info())

    def describe(self) -> dict[str, Any]:
        """What analysis.json keeps of a capture."""
        return {
            "name": self.name,
            "path": os.fsdecode(self.raw_path) if self.path == "-" else os.fsdecode(os.path.abspath(self.raw_path)),
            "point": self.point,
            "size_bytes": self.size_bytes(),
            **self.info,
            "notes": [{k: v for k, v in asdict(note).items() if k != "capture"} for note in self.notes],
        }

    @classmethod
    def described(cls, row: Mapping[str, Any]) -> Capture:
        """A capture from analysis.json: its description without its tables."""
        row = dict(row)
        notes, path = row.pop("notes"), str(row.pop("path"))
        capture = cls(path, name=str(row.pop("name")), point=str(row.pop("point")))
        capture._info, capture._read = row, True
        capture._notes = [Note(**note, capture=capture.name) for note in notes]
        return capture

    def _load(self) -> Mapping[str, pa.Table]:
        if self._tables is None:
            import pyarrow as pa

            parts: dict[str, list[pa.RecordBatch]] = {name: [] for name in tables.core_schemas()}
            feed = self.feed()
            try:
                for batches in feed:
                    for name, batch in batches:
                        parts[name].append(batch)
            except WlanlensError as error:
                error.path = printable(self.path)
                raise
            self.take(feed)
            self._tables = {
                name: pa.Table.from_batches(
                    [stamp(batch, self.name, name) for batch in batches], tables.schema(name)
                ).unify_dictionaries()
                for name, batches in parts.items()
            }
        return self._tables

    def table(self, name: str) -> pa.Table:
        """One of the capture's tables, read whole into memory; `analyze` reads files larger than that."""
        found = self._load().get(name)
        if found is None:
            tables.schema(name)
            raise MissingTable(f"a capture alone has no table {name!r}", path=printable(self.path))
        return found

    @property
    def loaded(self) -> bool:
        """Whether its tables are there already, in memory or beside it on the disk."""
        return self._tables is not None

    def keep(self, held: Mapping[str, pa.Table], feed: Feed) -> None:
        """Take tables that were read elsewhere, with what their feed learned about the file."""
        self._tables = held
        self.take(feed)

    def part(self, held: Mapping[str, pa.Table]) -> Capture:
        """The same capture with some rows of its tables only."""
        made = copy.copy(self)
        made._tables = held
        return made

    def scan(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """One of its tables, batch by batch: of a file on the disk no more is in memory."""
        held = self._load()
        if isinstance(held, Scanned):
            yield from held.scan(name, columns)
        else:
            table = self.table(name)
            yield from (table if columns is None else table.select(columns)).to_batches(max_chunksize=_BATCH)

    def rows(self, name: str) -> int:
        """How many rows one of its tables has."""
        held = self._load()
        return held.rows(name) if isinstance(held, Scanned) else self.table(name).num_rows

    def has(self, name: str) -> bool:
        """Whether the capture has a table, were it empty."""
        return name in tables.core_schemas()

    @property
    def notes(self) -> list[Note]:
        """What was odd, counted; reads the file to its end."""
        if not self._read:
            self._load()
        return self._notes

    @property
    def info(self) -> dict[str, Any]:
        """Format, compression, counts, times, link types, interfaces and texts of the file, as far as it was read."""
        self._open()
        return self._info

    @property
    def format(self) -> str:
        """Container format, "pcap" or "pcapng"."""
        return str(self._info.get("format", ""))

    @property
    def link_types(self) -> list[tuple[int, int]]:
        """(LINKTYPE_ value, records) as far as the file was read."""
        return list(self.info.get("link_types", []))

    @property
    def start_ns(self) -> int | None:
        """Epoch time of the first packet in its own clock, ns; null when no stamp can be represented."""
        value = self.info.get("first_ns")
        return None if value is None else int(value)


def stamp(batch: pa.RecordBatch, capture: str, name: str) -> pa.RecordBatch:
    """A batch of the table `name` with the column `capture` in front."""
    import numpy as np
    import pyarrow as pa

    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(batch.num_rows, np.int32)), pa.array([capture]))
    return pa.RecordBatch.from_arrays([column, *batch.columns], schema=tables.schema(name))


def as_text(path: str | bytes) -> str:
    """A path as valid text: bytes that are no UTF-8 become \\xNN."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def name_of(path: str | bytes) -> str:
    """A capture's name: the file's without its folder."""
    text = as_text(path)
    return "stdin" if text == "-" else (Path(text).name or text)


def open(
    path: str | bytes | os.PathLike[Any], *, point: str = "unknown", keys: Keys | Iterable[str] | None = None
) -> Capture:
    """A capture file, recognised by its content; "-" is standard input. Tables are read when first asked for.

    `keys` decrypts 802.11 frames: lines such as "wpa-pwd:PASSPHRASE:SSID", "wep:HEX" and "wpa-psk:HEX".
    """
    capture = Capture(path, point=point, keys=keys)
    capture._open()
    return capture

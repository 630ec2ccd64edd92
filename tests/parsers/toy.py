"""A container as another package would write it: a toy format."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import wlanlens as wl
from tests.captures import tcp
from wlanlens.registry import CaptureFile, Container, RawRecord

#: Installs a package with a container.
Add = Callable[..., None]

MAGIC = b"TOY1\n"
START = 1_700_000_000 * 10**9
#: A segment of 40 bytes, link type 101.
PACKET = tcp(40000, 80, 100, 0, 2)


def toy(packets: list[tuple[int, bytes]]) -> bytes:
    """A capture in the toy format, of (time in ns, packet) with link type 101."""
    return MAGIC + b"".join(record(time_ns, 101, len(data), data) for time_ns, data in packets)


def record(time_ns: int, link_type: int, wire_bytes: int, data: bytes) -> bytes:
    """A record of the toy format."""
    return struct.pack("<qHII", time_ns, link_type, wire_bytes, len(data)) + data


def packets_of(capture: bytes) -> list[tuple[int, bytes]]:
    """(time in ns, data) of the packets of a nanosecond pcap."""
    out, at = [], 24
    while at < len(capture):
        seconds, nanoseconds, size, _ = struct.unpack_from("<IIII", capture, at)
        out.append((seconds * 10**9 + nanoseconds, capture[at + 16 : at + 16 + size]))
        at += 16 + size
    return out


def read_toy(file: CaptureFile) -> Iterator[RawRecord]:
    """Records of the toy format."""
    assert file.read(len(MAGIC)) == MAGIC
    while header := file.read(18):
        if len(header) < 18:
            file.note("cut_file")
            return
        time_ns, link_type, wire_bytes, size = struct.unpack("<qHII", header)
        data = file.read(size)
        if len(data) < size:
            file.note("cut_file")
        yield RawRecord(time_ns, link_type, wire_bytes, data)


def is_toy(head: bytes) -> bool:
    """Whether a file is in the toy format."""
    return head.startswith(MAGIC)


#: The module of a package that adds a container has one unit.
unit = Container(
    "toy",
    __name__,
    "Toy captures.",
    clock="nanoseconds since 1970",
    sniff=is_toy,
    read=read_toy,
    linktypes=(101,),
)


def reads(read: Callable[[Any], Any]) -> Container:
    """A container of toy files with another reader."""
    return Container("toy", __name__, "Toy captures.", clock="none", sniff=is_toy, read=read)


def yields(records: Iterable[Any]) -> Container:
    """A container of toy files that reads these records, whatever the file holds."""
    return reads(lambda _: iter(records))


def failing(after: int, error: BaseException) -> Container:
    """A container whose reader fails after some records."""

    def read(_: CaptureFile) -> Iterator[tuple[int, int, int, bytes]]:
        for i in range(after):
            yield START + i, 101, 40, PACKET
        raise error

    return reads(read)


def counts(capture: wl.Capture) -> dict[str, int]:
    """The notes on a capture."""
    return {note.name: note.count for note in capture.notes}

"""A sane capture of any size: bulk TCP with timestamps, an ACK for two segments, a new connection every 4096 packets."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

ROWS = 4096
_MSS = 1448
_START_S = 1_700_000_000


def _frame(from_a: bool, flags: int, payload: int) -> bytes:
    """Ethernet, IPv4 and TCP with a timestamp option; the fields that count up are set later."""
    mac = b"\2\0\0\0\0\1", b"\2\0\0\0\0\2"
    ports = (50000, 5001) if from_a else (5001, 50000)
    options = b"\1\1\x08\x0a" + b"\0" * 8
    tcp = struct.pack(">HHIIBBHHH", *ports, 0, 0, 0x80, flags, 65000, 0, 0) + options
    hosts = (b"\x0a\0\0\1", b"\x0a\0\0\2")
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp) + payload, 0, 0x4000, 64, 6, 0)
    ip += hosts[not from_a] + hosts[from_a]
    return mac[from_a] + mac[not from_a] + b"\x08\0" + ip + tcp + b"x" * payload


def _plan() -> Iterator[tuple[bool, int, int]]:
    """(from a, flags, payload) of one connection's packets."""
    yield True, 0x02, 0
    yield False, 0x12, 0
    yield True, 0x10, 0
    for i in range(ROWS - 3):
        yield (False, 0x10, 0) if i % 3 == 2 else (True, 0x18, _MSS)


def write(out: BinaryIO, packets: int, snaplen: int) -> None:
    """Write `packets` packets, each cut to `snaplen` bytes; 1 ms apart, 10 ms from a segment to its ACK."""
    out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, 1))
    seq = {True: 0, False: 0}
    records, offsets, times, numbers = [], [0], [], []
    for i, (from_a, flags, payload) in enumerate(_plan()):
        frame = bytearray(_frame(from_a, flags, payload))
        struct.pack_into(">II", frame, 38, seq[from_a], seq[not from_a])
        struct.pack_into(">II", frame, 58, i + 1, i)
        seq[from_a] += payload + (1 if flags & 2 else 0)
        kept = bytes(frame[:snaplen])
        records.append(struct.pack("<IIII", 0, 0, len(kept), len(frame)) + kept)
        offsets.append(offsets[-1] + len(records[-1]))
        times.append(i * 1_000_000)
        numbers.append(from_a)
    block = np.frombuffer(b"".join(records), np.uint8).copy()
    at = np.array(offsets[:-1])
    source = at + 16 + np.where(numbers, 26, 30)
    done = chunk = 0
    while done < packets:
        now = np.array(times, np.int64) + chunk * ROWS * 1_000_000
        for field, values in ((at, _START_S + now // 10**9), (at + 4, now % 10**9)):
            for byte in range(4):
                block[field + byte] = values >> 8 * byte & 255
        for byte in range(3):
            block[source + 1 + byte] = chunk >> 8 * (2 - byte) & 255
        count = min(ROWS, packets - done)
        out.write(block[: offsets[count]].tobytes())
        done, chunk = done + count, chunk + 1

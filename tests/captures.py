"""Captures as bytes, for tests."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

import wlanlens as wl

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "sample_traces"
MIXED = SAMPLES / "mixed_newreno.sender.pcap"
CLEAN = SAMPLES / "clean_cubic.sender.pcap"


@cache
def samples() -> dict[str, list[Path]]:
    """The captures of each sample by its name: one, or those of one world together (`STEM.POINT.pcap`)."""
    out: dict[str, list[Path]] = {}
    for path in sorted(SAMPLES.glob("*.pcap")):
        out.setdefault(path.name.split(".")[0], []).append(path)
    return {paths[0].stem if len(paths) == 1 else name: paths for name, paths in out.items()}


@cache
def sample(name: str) -> wl.Trace:
    """A sample as a trace; made once in a process."""
    return wl.align(samples()[name])


def pcap(packets: list[tuple[int, bytes]], link_type: int = 101) -> bytes:
    """A nanosecond pcap of (time in ns, bytes)."""
    out = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link_type)
    for time_ns, data in packets:
        out += struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(data), len(data)) + data
    return out


def tcp(sport: int, dport: int, seq: int, ack: int, flags: int, payload: bytes = b"") -> bytes:
    """A TCP segment from 10.0.0.1 to 10.0.0.2 in IPv4, checksums 0."""
    head = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, 65535, 0, 0) + payload
    source, target = (b"\x0a\0\0\1", b"\x0a\0\0\2") if sport > dport else (b"\x0a\0\0\2", b"\x0a\0\0\1")
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(head), 1, 0, 64, 6, 0) + source + target + head


def conversation(count: int = 3) -> bytes:
    """A handshake and `count` segments, each acknowledged after 10 ms."""
    at, out = 1_700_000_000 * 10**9, []
    out.append((at, tcp(40000, 80, 100, 0, 0x02)))
    out.append((at + 10_000_000, tcp(80, 40000, 500, 101, 0x12)))
    out.append((at + 10_100_000, tcp(40000, 80, 101, 501, 0x10)))
    for i in range(count):
        begin = at + 20_000_000 * (i + 1)
        out.append((begin, tcp(40000, 80, 101 + 100 * i, 501, 0x18, b"x" * 100)))
        out.append((begin + 10_000_000, tcp(80, 40000, 501, 201 + 100 * i, 0x10)))
    return pcap(out)

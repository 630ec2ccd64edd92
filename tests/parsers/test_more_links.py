"""Link types FDDI and NFLOG: the same packets as tshark reads."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import MIXED

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def attribute(kind: int, value: bytes, order: str) -> bytes:
    return struct.pack(f"{order}HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def nflog(packet: bytes, order: str) -> bytes:
    header = bytes([2, 0, 0, 9]) + attribute(1, b"\x08\x00\x01\x00", order) + attribute(10, b"prefix\0", order)
    return header + attribute(9, packet, order)


def fddi(packet: bytes) -> bytes:
    return b"\x50" + bytes([2] * 6) + bytes([4] * 6) + b"\xaa\xaa\3\0\0\0\x08\0" + packet


def written(path: Path, link_type: int, kind: str) -> Path:
    """Packets of a sample, whole as far as they were captured, behind another link header."""
    capture = wl.open(MIXED)
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, link_type)]
    for record in capture.records(range(1, 300)):
        packet = bytearray(record.data)
        packet[2:4] = len(packet).to_bytes(2)
        data = fddi(bytes(packet)) if kind == "fddi" else nflog(bytes(packet), kind)
        time_ns = record.time_ns or 0
        out += [struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9 // 1000, len(data), len(data)), data]
    path.write_bytes(b"".join(out))
    return path


@needs_tshark
@pytest.mark.parametrize(("link_type", "kind"), [(10, "fddi"), (239, "<")])
def test_the_packets_of_tshark(tmp_path: Path, link_type: int, kind: str) -> None:
    path = written(tmp_path / "a.pcap", link_type, kind)
    fields = ["frame.number", "ip.src", "tcp.seq_raw", "tcp.len"]
    command = ["tshark", "-r", path, "-Y", "tcp", "-T", "fields", *(x for f in fields for x in ("-e", f))]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    columns = ["packet", "ip_src", "tcp_seq", "payload_bytes"]
    rows = wl.open(path).table("packets").select(columns).to_pylist()
    assert ["\t".join(str(value) for value in row.values()) for row in rows] == shown
    assert len(rows) == 299


def test_the_byte_order_of_the_host_does_not_matter(tmp_path: Path) -> None:
    """The attributes are in the order of the capturing host, the file in another."""
    tables = [wl.open(written(tmp_path / f"{n}.pcap", 239, kind)).table("packets") for n, kind in enumerate("<>")]
    assert tables[0].drop_columns(["capture"]) == tables[1].drop_columns(["capture"])
    trace = wl.align([tmp_path / "1.pcap"])
    # The hook says that the packets came in.
    assert set(trace.table("flows")["tap"].to_pylist()) <= {"near_sender", "near_receiver", "middle", "unknown"}

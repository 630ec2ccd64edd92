"""Ethernet frames that end with a frame check sequence, which the file announces: verified as tshark verifies it."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

import wlanlens as wl

#: LINKTYPE_ETHERNET, with the bits that announce a check sequence of two 16-bit words.
NETWORK = 0x2400_0001


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def _frame(seq: int, *, right: bool) -> bytes:
    """A TCP packet of ten bytes in an Ethernet frame with its check sequence."""
    payload = b"0123456789"
    source, destination = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
    tcp = struct.pack(">HHIIBBHHH", 40000, 5001, seq, 1, 0x50, 0x18, 1000, 0, 0)
    pseudo = source + destination + struct.pack(">BBH", 0, 6, len(tcp) + len(payload))
    tcp = tcp[:16] + struct.pack(">H", _checksum(pseudo + tcp + payload)) + tcp[18:]
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp) + len(payload), seq, 0, 64, 6, 0, source, destination)
    header = header[:10] + struct.pack(">H", _checksum(header)) + header[12:]
    frame = bytes(12) + b"\x08\x00" + header + tcp + payload
    return frame + struct.pack("<I", zlib.crc32(frame) ^ (0 if right else 1))


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    out = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, NETWORK))
    # The first one is wrong, but nothing shows yet that the capture has right ones.
    for number, right in enumerate((False, True, False, True)):
        frame = _frame(1 + 10 * number, right=right)
        out += struct.pack("<IIII", 1_700_000_000 + number, 0, len(frame), len(frame)) + frame
    path = tmp_path / "fcs.pcap"
    path.write_bytes(out)
    return path


def test_a_wrong_check_sequence_shows_damage_once_one_was_right(capture: Path) -> None:
    trace = wl.align([capture])
    packets = trace.table("packets").to_pandas()
    assert packets.stop.astype(object).where(packets.stop.notna(), None).tolist() == [None, None, "bad_fcs", None]
    assert packets.payload_bytes.tolist() == [10] * 4
    assert trace.table("segments").column("packet").to_pylist() == [1, 2, 4]
    counts = {note.name: note.count for note in trace.notes}
    assert (counts["bad_fcs"], counts["fcs_unverified"]) == (1, 1)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is absent")
def test_as_tshark(capture: Path) -> None:
    command = [
        "tshark",
        "-r",
        capture,
        "-o",
        "eth.check_fcs:TRUE",
        "-T",
        "fields",
        "-e",
        "eth.fcs.status",
        "-e",
        "tcp.len",
    ]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # 0: wrong, 1: right.
    assert read.split() == ["0", "10", "1", "10", "0", "10", "1", "10"]

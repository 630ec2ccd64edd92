"""Packets without readable bytes: encrypted frames, and transfers with unknown framing."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import wlanlens as wl
from tests.captures import pcap
from wlanlens.errors import AlignmentError

START = 1_700_000_000 * 10**9
STATION, POINT = b"\x02\0\0\0\0\x01", b"\x02\0\0\0\0\x02"
HOST, PEER = b"\x0a\0\0\1", b"\x0a\0\0\2"
SKEW_NS = 3_000_000_000
#: (time, sent by the host, bytes of payload)
Talk = list[tuple[int, bool, int]]


def talk(count: int, seed: int) -> Talk:
    """Requests and answers with many lengths."""
    rng = np.random.default_rng(seed)
    times = START + np.cumsum(rng.integers(2_000_000, 30_000_000, count))
    return [
        (int(t), bool(up), int(size))
        for t, up, size in zip(times, rng.random(count) < 0.5, rng.integers(10, 1200, count), strict=True)
    ]


def host(packets: Talk) -> bytes:
    """The capture at the host: UDP in IPv4."""
    out = []
    for n, (t, up, size) in enumerate(packets):
        ends = HOST + PEER if up else PEER + HOST
        udp = struct.pack(">HHHH", 1000, 2000, 8 + size, 0) + bytes(n * k % 251 for k in range(size))
        out.append((t, struct.pack(">BBHHHBBH", 0x45, 0, 28 + size, n + 1, 0, 64, 17, 0) + ends + udp))
    return pcap(out)


def frames(packets: Talk, lost: set[int], station: bytes = STATION) -> bytes:
    """The capture of a sniffer, 1 ms after the host sent or before it received: CCMP with an unknown key."""
    rng = np.random.default_rng(1)
    out = []
    for n, (t, up, size) in enumerate(packets):
        if n in lost:
            continue
        flags = 0x41 if up else 0x42
        addresses = POINT + station + POINT if up else station + POINT + POINT
        head = bytes((0x88, flags, 0, 0)) + addresses + struct.pack("<HH", (n & 0xFFF) << 4, 0)
        body = struct.pack("<HBBI", n & 0xFFFF, 0, 0x20, n >> 16) + rng.bytes(8 + 28 + size + 8)
        out.append((t + SKEW_NS + (1_000_000 if up else -1_000_000), head + body))
    return pcap(out, 105)


def bus(packets: Talk) -> bytes:
    """The capture on the bus: transfers with a vendor's header of 32 bytes before each packet."""
    rng = np.random.default_rng(1)
    out = []
    for n, (t, up, size) in enumerate(packets):
        endpoint, length = (2 if up else 0x81), 60 + size
        for kind, delay in ((b"S", -200_000), (b"C", 200_000 if up else -100_000)):
            data = rng.bytes(length) if (kind == b"S") == up else b""
            at = t + delay + SKEW_NS
            head = struct.pack("<QcBBBHBB", n + 1, kind, 3, endpoint, 5, 1, ord("-"), 0 if data else ord("<"))
            head += struct.pack("<qiiII", at // 10**9, at % 10**9 // 1000, 0, length, len(data)) + bytes(24)
            out.append((at, head + data))
    out.sort(key=lambda row: row[0])
    return pcap(out, 220)


def aligned(tmp_path: Path, readable: bytes, opaque: bytes, name: str) -> wl.Trace:
    (tmp_path / "host.pcap").write_bytes(readable)
    (tmp_path / f"{name}.pcap").write_bytes(opaque)
    return wl.align([], roles={"sender": tmp_path / "host.pcap", name: tmp_path / f"{name}.pcap"})


def test_encrypted_frames(tmp_path: Path) -> None:
    packets = talk(600, 1)
    lost = set(range(40, 600, 41))
    trace = aligned(tmp_path, host(packets), frames(packets, lost), "air")
    clock_map = next(m for m in trace.clocks if m.pieces)
    assert "length, direction and order" in clock_map.sentence
    assert clock_map.bound_ns is not None
    assert abs(abs(clock_map.offset_ns) - SKEW_NS) <= clock_map.bound_ns
    links = trace.table("links").to_pandas()
    found = links[links.inferred]
    assert len(found) > 450
    number = {n: k + 1 for k, n in enumerate(n for n in range(600) if n not in lost)}
    assert [number[int(n) - 1] for n in found.sender_packet] == found.air_packet.astype(int).tolist()
    assert found.transmissions.notna().all()
    assert not links[~links.inferred].air_packet.notna().any()


def test_transfers_of_unknown_framing(tmp_path: Path) -> None:
    packets = talk(600, 2)
    trace = aligned(tmp_path, host(packets), bus(packets), "usb")
    links = trace.table("links").to_pandas()
    found = links[links.inferred]
    assert len(found) > 500
    offset = found.usb_t_ns - found.sender_t_ns
    assert offset.abs().max() < 1_000_000


def test_other_traffic_is_not_linked(tmp_path: Path) -> None:
    """Frames of another station, with other lengths, at the same time."""
    with pytest.raises(AlignmentError, match="encrypted frames need keys"):
        aligned(tmp_path, host(talk(600, 3)), frames(talk(600, 4), set()), "air")


def test_packets_of_one_length_are_not_linked(tmp_path: Path) -> None:
    packets = [(t, up, 1200) for t, up, _ in talk(600, 5)]
    with pytest.raises(AlignmentError, match="encrypted frames need keys"):
        aligned(tmp_path, host(packets), frames(packets, {7}), "air")

"""Several sniffers on one channel: a frame that two of them heard counts once."""

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
#: (time, frame)
Air = list[tuple[int, bytes]]


def channel(count: int, seed: int = 1) -> Air:
    """Encrypted data frames with ACKs, one in five retransmitted, and beacons."""
    rng = np.random.default_rng(seed)
    out: Air = []
    t = START
    for n in range(count):
        head = POINT + STATION + POINT + struct.pack("<HH", (n & 0xFFF) << 4, 0)
        body = struct.pack("<HBBI", n & 0xFFFF, 0, 0x20, n >> 16) + rng.bytes(int(rng.integers(60, 300)))
        for retry in range(1 + (n % 5 == 0) + (n % 20 == 0)):
            out.append((t, bytes((0x88, 0x49 if retry else 0x41, 44, 0)) + head + body))
            t += 310_000
            out.append((t, bytes((0xD4, 0, 0, 0)) + STATION))
            t += int(rng.integers(80_000, 2_000_000))
        if n % 50 == 0:
            beacon = struct.pack("<QHH", t // 1000, 100, 0x11)
            out.append(
                (t, b"\x80\0\0\0" + b"\xff" * 6 + POINT * 2 + struct.pack("<H", n // 50 << 4) + beacon + b"\0\1x")
            )
            t += 400_000
    return out


def heard(path: Path, air: Air, seed: int, ahead_ns: int) -> set[int]:
    """Write the capture of one sniffer: it misses one frame in eight, and its clock is ahead."""
    rng = np.random.default_rng(seed)
    kept = np.flatnonzero(rng.random(len(air)) > 0.125)
    path.write_bytes(pcap([(air[k][0] + ahead_ns, air[k][1]) for k in kept], 105))
    return set(kept.tolist())


def test_each_frame_counts_once(tmp_path: Path) -> None:
    air = channel(3000)
    paths = [tmp_path / f"{name}.pcap" for name in "abc"]
    sets = [heard(path, air, n, n * 7_000_000_000) for n, path in enumerate(paths)]
    trace = wl.align(paths)
    assert [c.point for c in trace.captures] == ["air"] * 3
    for clock_map in trace.clocks:
        if clock_map.pieces:
            assert abs(clock_map.offset_ns) % 7_000_000_000 == pytest.approx(0, abs=1000)
    frames, exchanges = (trace.leading().table(name) for name in ("frames", "exchanges"))
    union = len(set.union(*sets))
    total = sum(map(len, sets))
    # An ACK without a common frame next to it counts twice: rarely, and frames are never lost.
    assert union <= frames.num_rows < union + 0.03 * total
    data = frames.to_pandas()
    data = data[data.subtype == "qos_data"]
    wanted = sum(1 for k in set.union(*sets) if air[k][1][0] == 0x88)
    assert wanted <= len(data) <= 1.02 * wanted
    assert (np.diff(frames.column("t_ns").to_numpy()) >= -5_000).all()
    assert trace.table("frames").num_rows == total
    sent = 3000
    assert len(exchanges.to_pandas().query("carries == 'protected'")) < 1.05 * sent
    done = wl.analyze(paths, out=tmp_path / "out", report=False)
    assert done.air.frames == frames.num_rows
    assert done.trace.table("frames").num_rows == total


def test_one_sniffer_twice(tmp_path: Path) -> None:
    air = channel(300)
    for name in "ab":
        heard(tmp_path / f"{name}.pcap", air, 1, 0)
    with pytest.raises(AlignmentError, match="copies of one capture"):
        wl.align([tmp_path / "a.pcap", tmp_path / "b.pcap"])


def test_two_channels_have_nothing_in_common(tmp_path: Path) -> None:
    for n, name in enumerate("ab"):
        heard(tmp_path / f"{name}.pcap", channel(300, seed=n), 1, 0)
    with pytest.raises(AlignmentError, match="no readable IP packet"):
        wl.align([tmp_path / "a.pcap", tmp_path / "b.pcap"])

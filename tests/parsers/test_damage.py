"""Damaged packets change no connection; checksums that are not computed where the capture was taken are unknown."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wlanlens as wl
from tests.captures import CLEAN, MIXED
from wlanlens.capture.capture import Record

Change = Callable[[int, bytearray], None]

RADIOTAP, ETHERNET = 127, 1
#: Before the packets of the samples, which have no link-layer header.
HEADER = bytes(12) + b"\x08\0"


def write(path: Path, records: list[tuple[int, bytes, int]], link_type: int) -> Path:
    """A pcap of (time in ns, captured bytes, length on the wire)."""
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, link_type)]
    for time_ns, data, wire in records:
        out += [struct.pack("<IIII", *divmod(time_ns, 10**9), len(data), wire), data]
    path.write_bytes(b"".join(out))
    return path


def records_of(path: Path) -> list[Record]:
    capture = wl.open(path)
    return capture.records(range(1, capture.table("packets").num_rows + 1))


def set_checksum(frame: bytearray) -> None:
    """Fill in the TCP checksum of an Ethernet frame with a 20-byte IPv4 header; the missing payload counts as zeros."""
    total = int.from_bytes(frame[16:18])
    tcp = bytearray(frame[34 : 14 + total])
    tcp += bytes(total - 20 - len(tcp))
    tcp[16:18] = b"\0\0"
    words = frame[26:34] + struct.pack(">HH", 6, len(tcp)) + tcp + bytes(len(tcp) % 2)
    value = sum(struct.unpack(f">{len(words) // 2}H", words))
    while value > 0xFFFF:
        value = (value & 0xFFFF) + (value >> 16)
    frame[50:52] = (~value & 0xFFFF).to_bytes(2)


def whole(path: Path) -> list[tuple[int, bytearray]]:
    """A kernel capture with all payload (zeros) and right checksums, as an adapter without offload would have given it."""
    out = []
    for record in records_of(path):
        frame = bytearray(HEADER) + record.data + bytes(record.wire_bytes - len(record.data))
        set_checksum(frame)
        out.append((record.time_ns or 0, frame))
    return out


def facts(path: Path) -> dict[str, list[dict[str, Any]]]:
    """What the tables say of the connections."""
    trace = wl.align([path])
    found = {
        name: trace.table(name).drop_columns(["capture"]).to_pylist() for name in ("timeouts", "recoveries", "flows")
    }
    rows = trace.table("segments").drop_columns(["capture"]).to_pylist()
    return found | {"segments": [{k: v for k, v in row.items() if k != "packet"} for row in rows]}


def notes(path: Path) -> dict[str, int]:
    return {note.name: note.count for note in wl.open(path).notes}


def counted(found: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    return {
        "retransmissions": sum(row["transmission"] == "retransmission" for row in found["segments"]),
        "timeouts": len(found["timeouts"]),
        "connections": len(found["flows"]),
    }


@pytest.mark.parametrize("seed", range(4))
def test_damaged_packets_do_not_add_facts(tmp_path: Path, seed: int) -> None:
    """Bits flip in one packet of forty of a connection without losses, anywhere behind the Ethernet header."""
    rng = np.random.default_rng(seed)
    records = whole(CLEAN)
    good = write(tmp_path / "good.pcap", [(t, bytes(f), len(f)) for t, f in records], ETHERNET)
    damaged = 0
    for n, (_, frame) in enumerate(records):
        if n > 40 and rng.random() < 0.025:
            # Not the IP header, whose checksum is not verified, nor the data offset, which ends decoding.
            at = int(rng.choice([at for at in range(34, min(len(frame), 90)) if at != 46]))
            frame[at] ^= 1 << int(rng.integers(8))
            damaged += 1
    bad = write(tmp_path / "bad.pcap", [(t, bytes(f), len(f)) for t, f in records], ETHERNET)
    # The sender has fewer than three packets without payload: its FIN is not judged.
    assert damaged > 20
    assert damaged - 1 <= notes(bad)["bad_checksum"] <= damaged
    want, got = counted(facts(good)), counted(facts(bad))
    assert want == {"retransmissions": 0, "timeouts": 0, "connections": 2}
    assert got == want


@pytest.mark.parametrize("seed", range(4))
def test_one_damaged_packet_that_nothing_shows(tmp_path: Path, seed: int) -> None:
    """Only headers were captured: one wrong sequence or acknowledgment number is not believed."""
    rng = np.random.default_rng(seed)
    records = [(r.time_ns or 0, bytearray(HEADER) + r.data, 14 + r.wire_bytes) for r in records_of(CLEAN)]
    want = counted(facts(CLEAN))
    for _ in range(6):
        changed = [(t, bytearray(f), w) for t, f, w in records]
        frame = changed[int(rng.integers(100, len(records) - 100))][1]
        frame[14 + 20 + int(rng.choice([4, 8]))] ^= int(rng.choice([0x80, 0x40, 0x20, 0x10, 0x02]))
        path = write(tmp_path / "one.pcap", [(t, bytes(f), w) for t, f, w in changed], ETHERNET)
        assert counted(facts(path)) == want
        took = wl.align([path]).table("ledger").to_pandas()
        waits = took[took.category.isin(["rto_wait", "rto_backoff", "spurious_recovery", "unknown"])]
        assert (waits.t_end_ns - waits.t_start_ns).sum() < 500_000_000


@pytest.mark.parametrize("kind", ["partial", "zero", "old", "payload"])
def test_checksums_that_are_not_computed_change_nothing(tmp_path: Path, kind: str) -> None:
    """Offload in one direction, or payload replaced after the capture: the facts are those of right checksums."""
    rng = np.random.default_rng(3)
    records = whole(MIXED)
    good = write(tmp_path / "good.pcap", [(t, bytes(f), len(f)) for t, f in records], ETHERNET)
    sender = bytes(records[0][1][26:30])
    for _, frame in records:
        if frame[26:30] != sender:
            continue
        if kind == "partial":
            length = int.from_bytes(frame[16:18]) - 20
            total = sum(struct.unpack(">4H", frame[26:34])) + 6 + length
            frame[50:52] = ((total & 0xFFFF) + (total >> 16)).to_bytes(2)
        elif kind == "zero":
            frame[50:52] = b"\0\0"
        elif kind == "old":
            frame[50:52] = rng.bytes(2)
        elif len(frame) > 300:
            frame[90:300] = rng.bytes(210)
    bad = write(tmp_path / "bad.pcap", [(t, bytes(f), len(f)) for t, f in records], ETHERNET)
    assert facts(bad) == facts(good)
    assert notes(bad)["checksum_unverified"] > 500
    assert "bad_checksum" not in notes(bad)


def radiotap(flags: int | None) -> bytes:
    if flags is None:
        return struct.pack("<BBHI", 0, 0, 8, 0)
    return struct.pack("<BBHIB", 0, 0, 9, 2, flags)


def air(frame: bytes, number: int, *, down: bool) -> bytes:
    """An 802.11 data frame around an IP packet."""
    station, ap = b"\2\0\0\0\0\1", b"\2\0\0\0\0\2"
    head = struct.pack("<HH", 0x0208 if down else 0x0108, 44)
    addresses = station + ap + ap if down else ap + station + ap
    return head + addresses + struct.pack("<H", number % 4096 << 4) + b"\xaa\xaa\3\0\0\0\x08\0" + frame[14:]


@pytest.mark.parametrize(
    ("fcs", "flags"),
    [("none", 0), ("zero", 0x10), ("random", 0x10), ("right", 0x10), ("right", None), ("none", None), ("bad", 0x10)],
)
def test_frames_with_and_without_fcs(tmp_path: Path, fcs: str, flags: int | None) -> None:
    """The facts of a capture on the air do not depend on whether its FCS is there, computed, or announced."""
    rng = np.random.default_rng(7)
    first = None
    plain, records = [], []
    for n, (time_ns, frame) in enumerate(whole(CLEAN)):
        first = first or bytes(frame[26:30])
        body = air(bytes(frame), n, down=frame[26:30] == first)
        plain.append((time_ns, radiotap(0) + body, len(body) + 9))
        right = zlib.crc32(body).to_bytes(4, "little")
        tail = {"none": b"", "zero": bytes(4), "random": rng.bytes(4)}.get(fcs, right)
        if fcs == "bad" and n > 40 and n % 40 == 0:
            # A damaged copy before the good one, as a retry.
            broken = bytearray(body)
            broken[-20] ^= 0x55
            broken[54] ^= 0x10
            data = radiotap(flags) + bytes(broken) + right
            records.append((time_ns - 1000, data, len(data)))
        data = radiotap(flags) + body + tail
        records.append((time_ns, data, len(data)))
    want = counted(facts(write(tmp_path / "plain.pcap", plain, RADIOTAP)))
    path = write(tmp_path / "air.pcap", records, RADIOTAP)
    assert counted(facts(path)) == want
    stops = set(wl.open(path).table("packets")["stop"].to_pylist())
    assert stops == ({None, "bad_fcs"} if fcs == "bad" else {None})
    assert ("fcs_unverified" in notes(path)) == (fcs in ("zero", "random"))

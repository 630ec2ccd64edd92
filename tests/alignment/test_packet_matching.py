"""Packets that change along their path: NAT, offload, fragments, snaplens, hops, copies, loss and order."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import wlanlens as wl
from tests.captures import pcap
from wlanlens.alignment import packet_matching

SECOND = 10**9
START = 1_700_000_000 * SECOND


@dataclass(frozen=True)
class Segment:
    """A TCP segment over IPv4, with timestamps."""

    seq: int
    length: int = 1000
    ack: int = 1
    ip_id: int = 0
    src: bytes = b"\x0a\0\0\x01"
    dst: bytes = b"\x0a\0\0\x02"
    ports: tuple[int, int] = (40_000, 80)
    ttl: int = 64
    timestamps: tuple[int, int] | None = (7, 3)

    def data(self, snaplen: int = 65535) -> bytes:
        """The packet, cut."""
        options = b"\x01\x01\x08\x0a" + struct.pack(">II", *self.timestamps) if self.timestamps else b""
        offset = (20 + len(options)) // 4 << 4
        head = struct.pack(">HHIIBBHHH", *self.ports, self.seq, self.ack, offset, 0x10, 500, 0, 0) + options
        body = b"".join(struct.pack(">I", (self.seq + i) * 2654435761 % 2**32) for i in range(self.length // 4))
        total = 20 + len(head) + len(body)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, total, self.ip_id, 0, self.ttl, 6, 0) + self.src + self.dst
        return (ip + head + body)[:snaplen]

    @property
    def wire(self) -> int:
        return 40 + (12 if self.timestamps else 0) + self.length


def table(path: Path, rows: list[tuple[int, bytes]], wires: list[int] | None = None) -> object:
    """The table `packets` of (time in ms, bytes)."""
    records = [
        struct.pack("<IIII", (START + t * 1_000_000) // SECOND, t * 1_000_000 % SECOND, len(data), len(data)) + data
        for t, data in rows
    ]
    made = bytearray(pcap([]) + b"".join(records))
    if wires is not None:
        at = 24
        for (_, data), wire in zip(rows, wires, strict=True):
            made[at + 12 : at + 16] = struct.pack("<I", wire)
            at += 16 + len(data)
    path.write_bytes(bytes(made))
    return wl.open(path).table("packets")


def paired(
    tmp_path: Path, a: list[tuple[int, bytes]], b: list[tuple[int, bytes]], **options: bool
) -> set[tuple[int, int, str, bool]]:
    """(row of a, row of b, kind, copy_safe)."""
    tables = [table(tmp_path / f"{name}.pcap", rows) for name, rows in (("a", a), ("b", b))]
    return rows_of(tables, **options)


def rows_of(tables: list[object], **options: bool) -> set[tuple[int, int, str, bool]]:
    rows = packet_matching.of_tables(*tables, **options).rows.to_pylist()  # type: ignore[arg-type]
    return {(r["row_a"], r["row_b"], r["kind"], r["copy_safe"]) for r in rows}


def train(count: int, **fields: object) -> list[Segment]:
    """Consecutive segments."""
    return [replace(Segment(1000 * i, ip_id=i + 1, timestamps=(i, 3)), **fields) for i in range(count)]  # type: ignore[arg-type]


def test_routers_and_loss(tmp_path: Path) -> None:
    """The time to live changes; three packets are lost, one is reordered, one arrives twice."""
    sent = train(12)
    order = [0, 1, 3, 2, 5, 6, 6, 8, 9, 11]
    got = paired(
        tmp_path,
        [(i, s.data()) for i, s in enumerate(sent)],
        [(50 + n, replace(sent[i], ttl=60).data()) for n, i in enumerate(order)],
    )
    want = {(i, n, "again" if n == 6 else "same", True) for n, i in enumerate(order)}
    assert got == want


@pytest.mark.parametrize("ids", [True, False])
def test_each_copy_is_paired_with_itself(tmp_path: Path, ids: bool) -> None:
    """A segment without timestamps sent three times, the second copy lost: by its IP id, else by its order."""
    fillers = train(30, timestamps=None)
    fillers = [replace(s, ip_id=s.ip_id if ids else 0) for s in fillers]
    sent: list[tuple[int, Segment]] = [(10 * i, s) for i, s in enumerate(fillers)]
    for copy, at in enumerate((105, 165, 225)):
        sent.append((at, replace(fillers[10], ip_id=900 + copy if ids else 0)))
    sent.sort(key=lambda row: row[0])
    lost = next(i for i, row in enumerate(sent) if row[0] == 165)
    kept = [(t + 3, s) for i, (t, s) in enumerate(sent) if i != lost]
    got = paired(tmp_path, [(t, s.data()) for t, s in sent], [(t, s.data()) for t, s in kept])
    places = [i for i in range(len(sent)) if i != lost]
    assert {(a, b) for a, b, _, _ in got} == {(a, b) for b, a in enumerate(places)}
    copies = {a for a, _, _, safe in got if not safe}
    assert bool(copies) != ids


def test_nat(tmp_path: Path) -> None:
    """Addresses and ports are changed: nothing matches without the option."""
    sent = train(40)
    changed = [replace(s, src=b"\xc0\0\2\7", ports=(61_000, 80), ttl=63) for s in sent]
    a, b = ([(i, s.data()) for i, s in enumerate(rows)] for rows in (sent, changed))
    assert paired(tmp_path, a, b) == set()
    assert paired(tmp_path, a, b, nat=True) == {(i, i, "same", True) for i in range(40)}


@pytest.mark.parametrize("nat", [True, False])
def test_rewritten_sequence_numbers(tmp_path: Path, nat: bool) -> None:
    """A firewall adds a number to each direction's sequence numbers, with and without NAT: segments and bare ACKs."""
    there = [replace(s, ack=5000) for s in train(60)]
    back = [
        Segment(
            5000,
            length=0,
            ack=1000 * i,
            ip_id=i,
            timestamps=(7 + i, 3),
            src=b"\x0a\0\0\x02",
            dst=b"\x0a\0\0\x01",
            ports=(80, 40_000),
        )
        for i in range(60)
    ]
    sent = [s for both in zip(there, back, strict=True) for s in both]

    def changed(s: Segment) -> Segment:
        up = s.src == b"\x0a\0\0\x01"
        seq, ack = (s.seq + 0xDEAD_0000, s.ack + 77) if up else (s.seq + 77, s.ack + 0xDEAD_0000)
        made = replace(s, seq=seq % 2**32, ack=ack % 2**32, ttl=63)
        if not nat:
            return made
        address = b"\xc0\0\2\7"
        return replace(made, src=address, ports=(61_000, 80)) if up else replace(made, dst=address, ports=(80, 61_000))

    a = [(i, s.data()) for i, s in enumerate(sent)]
    b = [(i, changed(s).data()[:52] + s.data()[52:]) for i, s in enumerate(sent)]
    got = paired(tmp_path, a, b, nat=nat)
    assert {(x, y) for x, y, _, _ in got} == {(i, i) for i in range(120)}


@pytest.mark.parametrize("offload", ["tso", "gro"])
def test_super_segments(tmp_path: Path, offload: str) -> None:
    """One segment of 4000 bytes on one side is four on the other; the third is lost and retransmitted alone."""
    before, after = (
        train(20),
        [replace(s, seq=s.seq + 24_000, ip_id=s.ip_id + 100, timestamps=(90, 3)) for s in train(20)],
    )
    large = Segment(20_000, length=4000, ip_id=40, timestamps=(50, 3))
    small = [Segment(20_000 + 1000 * i, ip_id=40 + i, timestamps=(50, 3)) for i in range(4)]
    again = replace(small[2], ip_id=60, timestamps=(80, 3))
    whole = [*before, large, again, *after]
    cut = [*before, small[0], small[1], small[3], again, *after]
    one, other = ([(i, s.data()) for i, s in enumerate(rows)] for rows in (whole, cut))
    got = (
        paired(tmp_path, one, other)
        if offload == "tso"
        else {(b, a, k, s) for a, b, k, s in paired(tmp_path, other, one)}
    )
    parts = {(a, b) for a, b, kind, _ in got if kind == "part"}
    assert parts == {(20, 20), (20, 21), (20, 22)}
    assert (21, 23, "same", True) in got
    assert len(got) == 20 + 3 + 1 + 20


def test_fragments(tmp_path: Path) -> None:
    """A datagram of 2000 bytes is fragmented on its path; another one is in fragments on both sides."""

    def datagram(ip_id: int) -> bytes:
        udp = struct.pack(">HHHH", 5000, 6000, 2008, 0) + bytes(i % 251 for i in range(2000))
        return struct.pack(">BBHHHBBH", 0x45, 0, 2028, ip_id, 0, 64, 17, 0) + b"\x0a\0\0\1\x0a\0\0\2" + udp

    def fragments(ip_id: int) -> list[bytes]:
        payload = datagram(ip_id)[20:]
        out = []
        for at, size, more in ((0, 1480, 0x2000), (1480, len(payload) - 1480, 0)):
            head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size, ip_id, more | at // 8, 63, 17, 0)
            out.append(head + b"\x0a\0\0\1\x0a\0\0\2" + payload[at : at + size])
        return out

    others = train(10)
    a = [*[s.data() for s in others], datagram(500), *fragments(501)]
    b = [*[s.data() for s in others], *fragments(500), *fragments(501)]
    got = paired(tmp_path, list(enumerate(a)), list(enumerate(b)))
    assert {(x, y) for x, y, kind, _ in got if kind == "fragment"} == {(10, 10), (10, 11)}
    assert {(x, y) for x, y, kind, _ in got if kind == "same" and x > 9} == {(11, 12), (12, 13)}


@pytest.mark.parametrize("snaplen", [40, 60, 68, 200])
def test_snaplens(tmp_path: Path, snaplen: int) -> None:
    """One capture has whole packets, the other their first bytes: without timestamps, or without payload."""
    sent = train(40)
    tables = [
        table(tmp_path / "a.pcap", [(i, s.data()) for i, s in enumerate(sent)]),
        table(tmp_path / "b.pcap", [(i + 9, s.data(snaplen)) for i, s in enumerate(sent)], [s.wire for s in sent]),
    ]
    assert {(a, b) for a, b, _, _ in rows_of(tables)} == {(i, i) for i in range(40)}


def test_another_packet_with_the_same_header(tmp_path: Path) -> None:
    """A packet with another payload is another packet, even with the same header."""
    plain = train(20, timestamps=None, ip_id=0)
    other = [s.data() for s in plain]
    other[5] = other[5][:-1000] + b"z" * 1000
    got = paired(tmp_path, [(i, s.data()) for i, s in enumerate(plain)], list(enumerate(other)))
    assert {(a, b) for a, b, _, _ in got} == {(i, i) for i in range(20) if i != 5}


def test_windows_of_rows(tmp_path: Path) -> None:
    """A capture longer than the window, with other traffic, a delay of 1 s and 2 % loss: all pairs are found."""
    rng = np.random.default_rng(4)
    count = 150_000
    sent = [Segment(i * 4, length=4, ip_id=i % 65535 + 1, timestamps=(i // 20, 3)) for i in range(count)]
    noise = [Segment(i * 4, length=4, ports=(1, 2), timestamps=None) for i in range(200)]
    a: list[tuple[int, bytes]] = [(i, s.data()) for i, s in enumerate(sent)]
    kept = np.flatnonzero(rng.random(count) > 0.02).tolist()
    rows = [(i + 1000, i, sent[i]) for i in kept]
    rows += [(int(t), -1, noise[int(t) % 200]) for t in rng.integers(0, count, 100_000)]
    rows.sort(key=lambda row: (row[0], row[1]))
    got = paired(tmp_path, a, [(t, s.data()) for t, _, s in rows])
    assert {(x, y) for x, y, _, _ in got} == {(i, n) for n, (_, i, _) in enumerate(rows) if i >= 0}

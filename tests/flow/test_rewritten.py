"""Kernel captures at the receiver's tap with other headers: no IP ids, no timestamps, IPv6, ids of a busy host, a late start.

What an IP id or a timestamp showed is unknown then. Nothing may become false.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wlanlens as wl
from tests import kernel

pytestmark = kernel.needed

Records = list[tuple[bytes, bytearray]]

#: Loss, reordering, late ACKs, lost ACKs, blackouts; with and without SACK and timestamps.
CAPTURES = (
    "ackhold1000_tlp",
    "blackout_ack3",
    "burst_newreno",
    "m_multi_loss",
    "m_ratestep",
    "m_reorder",
    "n_rjit60_cubic",
    "rnd2_cubic",
)


def read(name: str) -> tuple[bytes, Records]:
    """File header, and (record header, IP packet) of each record."""
    data = (kernel.FOLDER / f"{name}.receiver.pcap").read_bytes()
    at, records = 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        records.append((data[at : at + 16], bytearray(data[at + 16 : at + 16 + length])))
        at += 16 + length
    return data[:24], records


def checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def sealed(packet: bytearray) -> None:
    """Make the checksums of a changed packet right, where all of it was captured."""
    packet[10:12] = b"\0\0"
    packet[10:12] = struct.pack(">H", checksum(bytes(packet[:20])))
    if len(packet) == struct.unpack_from(">H", packet, 2)[0]:
        packet[36:38] = b"\0\0"
        pseudo = bytes(packet[12:20]) + struct.pack(">HH", 6, len(packet) - 20)
        packet[36:38] = struct.pack(">H", checksum(pseudo + bytes(packet[20:])))


def with_ids(new: Callable[[int, np.random.Generator], int]) -> Callable[[Records], Records]:
    """`new` makes the id from the old one."""

    def change(records: Records) -> Records:
        chance = np.random.default_rng(1)
        for _, packet in records:
            old = struct.unpack_from(">H", packet, 4)[0]
            packet[4:6] = struct.pack(">H", new(old, chance) & 0xFFFF)
            sealed(packet)
        return records

    return change


def without_timestamps(records: Records) -> Records:
    for _, packet in records:
        at, end = 40, min(20 + (packet[32] >> 4) * 4, len(packet))
        while at < end and packet[at]:
            length = packet[at + 1] if packet[at] > 1 and at + 1 < end else 1
            if packet[at] == 8:
                packet[at : at + length] = b"\1" * length
            at += max(length, 1)
        sealed(packet)
    return records


def over_ipv6(records: Records) -> Records:
    out = []
    for header, packet in records:
        size = struct.unpack_from(">H", packet, 2)[0] - 20
        ends = b"".join(b"\xfd" + bytes(11) + bytes(packet[at : at + 4]) for at in (12, 16))
        body = packet[20:]
        if len(body) == size:
            body[16:18] = b"\0\0"
            body[16:18] = struct.pack(">H", checksum(ends + struct.pack(">II", size, 6) + bytes(body)))
        made = bytearray(struct.pack(">IHBB", 6 << 28, size, 6, packet[8]) + ends + body)
        s, us = struct.unpack_from("<II", header)
        out.append((struct.pack("<IIII", s, us, len(made), size + 40), made))
    return out


CHANGES: dict[str, Callable[[Records], Records]] = {
    "no IP ids": with_ids(lambda _old, _chance: 0),
    "random IP ids": with_ids(lambda _old, chance: int(chance.integers(1, 1 << 16))),
    "IP ids with swapped bytes": with_ids(lambda old, _chance: (old & 255) << 8 | old >> 8),
    "IP ids of a busy host": with_ids(lambda old, _chance: 3 * old),
    "no timestamps": without_timestamps,
    "IPv6": over_ipv6,
    "IPv6 without timestamps": lambda records: over_ipv6(without_timestamps(records)),
    "a late start": lambda records: records[200:],
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_becomes_false(change: str, tmp_path: Path) -> None:
    wrong = []
    for name in CAPTURES:
        header, records = read(name)
        changed = CHANGES[change](records)
        path = tmp_path / f"{name}.pcap"
        path.write_bytes(header + b"".join(h + bytes(p) for h, p in changed))
        first = len(records) - len(changed) + 1
        wrong += [(name, *row) for row in false_in(name, path, first)]
    assert wrong == []


def false_in(name: str, path: Path, first: int) -> list[tuple[int, str]]:
    """Packets that are wrongly called retransmissions, needed, spurious, or timeouts of another kind."""
    capture = wl.open(path)
    segments = capture.table("segments").to_pandas().set_index("packet")
    kinds = capture.table("timeouts").to_pandas().set_index("packet")["kind"].astype(str)
    wrong = []
    for flow in kernel.truth(name)["flows"]:
        again = {entry["n"]: entry for entry in flow["retransmission_list"]}
        number = {key: n for n, (_, key) in enumerate(named(kernel.sent(name, flow)))}
        for captured, key in named(kernel.sent(name, flow, "receiver")):
            n, packet = number.get(key), captured - first + 1
            if n is None or packet < 1:
                continue
            said, true = segments.loc[packet], again.get(n)
            if said.transmission != "retransmission":
                continue
            if true is None:
                wrong.append((packet, "false"))
            elif said.spurious is not None and bool(said.spurious) == true["needed"] and not true.get("flag"):
                wrong.append((packet, "need"))
            elif kinds.get(packet, "undecided") not in ("undecided", kind_of(true)):
                wrong.append((packet, "kind"))
    return wrong


def named(rows: Any) -> list[tuple[int, tuple[float, ...]]]:
    """Packet number, and what identifies a packet in both captures."""
    keys = zip(rows["ip_id"].fillna(0), rows["tsval"].fillna(0), rows["rel_seq"], strict=True)
    return list(zip(rows["packet"], keys, strict=True))


def kind_of(true: dict[str, object]) -> str:
    if true["needed"]:
        return "genuine"
    return "ack_lost" if true.get("reason") == "ack_lost" else "spurious"

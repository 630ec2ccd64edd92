"""Captures of a USB network adapter made of the packets of a TCP capture: each frame in a bulk transfer of some framing."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import wlanlens as wl

ETHERNET = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"
SNAP = b"\xaa\xaa\x03\0\0\0\x08\x00"
IN, OUT = 0x81, 0x02


class Packet(NamedTuple):
    """An IP packet: as much as was captured of it, and how long it was."""

    time_ns: int
    data: bytes
    length: int
    outgoing: bool


def packets(path: Path) -> list[Packet]:
    """The IPv4 packets of an Ethernet or raw capture; the side that sent the first is the host."""
    out: list[Packet] = []
    for _, time_ns, wire, data, link_type, _ in wl.Capture(path).records(range(1, 100_000)):
        skip = {1: 14, 101: 0, 228: 0, 113: 16, 276: 20}[link_type]
        assert time_ns is not None
        packet = data[skip:]
        host = out[0].data[12:16] if out else packet[12:16]
        out.append(Packet(time_ns, packet, wire - skip, packet[12:16] == host))
    return out


#: (the transfer's bytes, its length): frames one after the other.
Framing = Callable[[Sequence[Packet]], tuple[bytes, int]]


def pad(data: bytes, to: int) -> bytes:
    """Filled up with zeros to a multiple."""
    return data + bytes(-len(data) % to)


def whole(packet: Packet, head: bytes = ETHERNET) -> bytes:
    """The frame with zeros for what was not captured."""
    return head + packet.data + bytes(packet.length - len(packet.data))


def ecm(group: Sequence[Packet]) -> tuple[bytes, int]:
    """CDC-ECM: the frame, as much of it as was captured."""
    (packet,) = group
    return ETHERNET + packet.data, 14 + packet.length


def raw_ip(group: Sequence[Packet]) -> tuple[bytes, int]:
    """QMI: the packet."""
    (packet,) = group
    return packet.data, packet.length


def rndis(group: Sequence[Packet]) -> tuple[bytes, int]:
    """REMOTE_NDIS_PACKET_MSG, one for each frame, on multiples of 8."""
    out = b""
    for packet in group:
        frame = whole(packet)
        length = 44 + len(frame) + (-(44 + len(frame)) % 8)
        out += pad(struct.pack("<IIIIIIIIIII", 1, length, 36, len(frame), 0, 0, 0, 0, 0, 0, 0) + frame, 8)
    return out, len(out)


def ncm(group: Sequence[Packet], *, head: bytes = ETHERNET, signature: bytes = b"NCM0") -> tuple[bytes, int]:
    """A transfer block of 16 bits, its pointers at its end as Linux writes them."""
    body, pointers = b"", b""
    for packet in group:
        frame = whole(packet, head)
        pointers += struct.pack("<HH", 12 + len(body), len(frame))
        body += pad(frame, 4)
    entries = pointers + bytes(4)
    block = signature + struct.pack("<HH", 8 + len(entries), 0) + entries
    total = 12 + len(body) + len(block)
    return struct.pack("<4sHHHH", b"NCMH", 12, 1, total, 12 + len(body)) + body + block, total


def mbim(group: Sequence[Packet]) -> tuple[bytes, int]:
    """The same of bare IP packets."""
    return ncm(group, head=b"", signature=b"IPS\0")


def asix(group: Sequence[Packet]) -> tuple[bytes, int]:
    """AX88772: the length and its complement before each frame."""
    out = b""
    for packet in group:
        frame = whole(packet)
        out += pad(struct.pack("<HH", len(frame), len(frame) ^ 0xFFFF) + frame, 2)
    return out, len(out)


def realtek(group: Sequence[Packet]) -> tuple[bytes, int]:
    """RTL8152: a descriptor before each frame, another one on the way out."""
    out = b""
    for packet in group:
        frame = whole(packet)
        if packet.outgoing:
            out = pad(out, 4) + struct.pack("<II", len(frame) | 3 << 30, 0) + frame
        else:
            out = pad(out, 8) + struct.pack("<I20x", len(frame) + 4) + frame + b"\1\2\3\4"
    return out, len(out)


def ax88179(group: Sequence[Packet]) -> tuple[bytes, int]:
    """AX88179: lengths in a table behind the frames; on the way out one frame behind 8 bytes."""
    if group[0].outgoing:
        (packet,) = group
        return struct.pack("<II", 14 + packet.length, 1448) + whole(packet), 22 + packet.length
    body = b"".join(pad(b"\0\0" + whole(p), 8) for p in group)
    table = b"".join(struct.pack("<I", (16 + p.length) << 16) for p in group)
    out = body + table + struct.pack("<HH", len(group), len(body))
    return out, len(out)


def prism2(group: Sequence[Packet]) -> tuple[bytes, int]:
    """linux-wlan-ng: 60 bytes of descriptor with the 802.11 header, LLC, filled up to 64 on the way out."""
    (packet,) = group
    length = len(SNAP) + packet.length
    adapter = struct.pack("<HHHIBBH" if packet.outgoing else "<HIHHBBH", *([0] * 7))
    control = 0x0108 if packet.outgoing else 0x0208
    header = struct.pack("<HH6s6s6sH6s", control, 0, b"\2" * 6, b"\4" * 6, b"\6" * 6, 0x1230, bytes(6))
    descriptor = adapter + header + struct.pack("<H", length) + ETHERNET[:12] + struct.pack(">H", length)
    assert len(descriptor) == 60
    total = 60 + length
    return descriptor + SNAP + packet.data, total + (-total % 64 if packet.outgoing else 0)


def unknown(group: Sequence[Packet]) -> tuple[bytes, int]:
    """A header of 26 bytes that nobody knows."""
    (packet,) = group
    return b"\xa7" * 26 + ETHERNET + packet.data, 40 + packet.length


def usbmon(
    urb: int, kind: bytes, endpoint: int, time_ns: int, data: bytes, length: int, *, transfer: int = 3, size: int = 64
) -> bytes:
    """One record with a header of 48 or 64 bytes."""
    status = -115 if kind == b"S" else 0
    head = struct.pack("<QcBBBHcc", urb, kind, transfer, endpoint, 7, 1, b"-", b"\0" if data else b"<")
    head += struct.pack("<qiiII8x", time_ns // 10**9, time_ns % 10**9 // 1000, status, length, len(data))
    return head + bytes(size - 48) + data


def usbpcap(urb: int, kind: bytes, endpoint: int, _time_ns: int, data: bytes, length: int) -> bytes:
    """One record of USBPcap, whose length is that of the data that follow it, were they captured or not."""
    info = int(kind == b"C")
    return struct.pack("<HQIHBHHBBI", 27, urb, 0, 9, info, 1, 7, endpoint, 3, length if data else 0) + data


def transfers(
    groups: Iterable[Sequence[Packet]], framing: Framing, write: Callable[..., bytes] = usbmon
) -> list[tuple[int, bytes, int]]:
    """Records as (time, bytes, length on the wire): OUT transfers complete after 50 us, IN ones wait for their data."""
    out: list[tuple[int, bytes, int]] = []
    waiting = False
    for n, group in enumerate(groups):
        at, (data, length) = group[0].time_ns, framing(group)
        if group[0].outgoing:
            out.append((at, write(2 * n, b"S", OUT, at, data, length), length - len(data)))
            out.append((at + 50_000, write(2 * n, b"C", OUT, at + 50_000, b"", length), 0))
        else:
            if not waiting:
                out.append((at, write(1, b"S", IN, at, b"", 2048), 0))
            out.append((at, write(1, b"C", IN, at, data, length), length - len(data)))
            out.append((at, write(1, b"S", IN, at, b"", 2048), 0))
            waiting = True
    return sorted(((at, data, len(data) + more) for at, data, more in out), key=lambda record: record[0])


def pcap(records: Iterable[tuple[int, bytes, int]], link_type: int, *, big_endian: bool = False) -> bytes:
    """A nanosecond pcap of (time, bytes, length on the wire)."""
    order = ">" if big_endian else "<"
    out = [struct.pack(order + "IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, link_type)]
    for time_ns, data, length in records:
        out.append(struct.pack(order + "IIII", time_ns // 10**9, time_ns % 10**9, len(data), length) + data)
    return b"".join(out)

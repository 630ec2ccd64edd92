"""Write the USB capture that the benchmarks read: bulk transfers of a network adapter, four outstanding each way.

    python benches/make_usb.py OUT.pcap [--records 1000000] [--snaplen 160]

usbmon with 64-byte headers. OUT transfers carry TCP segments of 1448 bytes in bare Ethernet frames (CDC-ECM), IN transfers
the ACK of every second one: the same bytes every time. This is not a model of TCP.
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path

RECORDS = 1_000_000
SNAPLEN = 160
SEGMENT = 1448
DEPTH = 4
EPOCH_S = 1_700_000_000
IN, OUT = 0x81, 0x02
ETHERNET = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x00"
CLIENT, SERVER = b"\x0a\0\0\1", b"\x0a\0\0\2"


def packet(n: int, seq: int, ack: int, payload: int, *, back: bool) -> bytes:
    """The headers of one TCP segment with timestamps in an Ethernet frame."""
    source, target = (SERVER, CLIENT) if back else (CLIENT, SERVER)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 52 + payload, n & 0xFFFF, 0x4000, 64, 6, 0, source, target)
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + ip[12:]
    ports = (5001, 40000) if back else (40000, 5001)
    tcp = struct.pack(">HHIIBBHHHBBBBII", *ports, seq, ack, 0x80, 0x10, 65000, 0, 0, 1, 1, 8, 10, n >> 4, n >> 5)
    return ETHERNET + ip + tcp


def record(urb: int, kind: bytes, endpoint: int, us: int, data: bytes, length: int, snaplen: int) -> bytes:
    """A pcap record of one usbmon event; `length` is the number of bytes asked for or transferred."""
    head = struct.pack("<QcBBBHcc", urb, kind, 3, endpoint, 7, 1, b"-", b"\0" if data else b"<")
    status = -115 if kind == b"S" else 0
    seconds, micros = EPOCH_S + us // 1_000_000, us % 1_000_000
    head += struct.pack("<qiiII24x", seconds, micros, status, length, length if data else 0)
    kept = (head + data + bytes(length))[:snaplen] if data else head
    return struct.pack("<IIII", seconds, micros, len(kept), 64 + length if data else 64) + kept


def write(path: Path, records: int, snaplen: int) -> None:
    """Write a capture of `records` records."""
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, 220))
        written = n = 0
        while written < records:
            us, seq = 400 * n, 1 + SEGMENT * n & 0xFFFFFFFF
            data = packet(n, seq, 1, SEGMENT, back=False)
            events = [record(n, b"S", OUT, us, data, len(data) + SEGMENT, snaplen)]
            if n >= DEPTH:
                events.append(record(n - DEPTH, b"C", OUT, us + 50, b"", 66 + SEGMENT, snaplen))
            if n % 2:
                ack = packet(n, 1, seq + SEGMENT & 0xFFFFFFFF, 0, back=True)
                if n > 2 * DEPTH:
                    events.append(record(1 << 40 | n - 2 * DEPTH, b"C", IN, us + 90, ack, len(ack), snaplen))
                events.append(record(1 << 40 | n, b"S", IN, us + 95, b"", 2048, snaplen))
            events = events[: records - written]
            out.write(b"".join(events))
            written += len(events)
            n += 1


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--snaplen", type=int, default=SNAPLEN)
    args = parser.parse_args()
    write(args.out, args.records, args.snaplen)


if __name__ == "__main__":
    main()

"""Write the usbmon capture that the benchmarks read: a wireless adapter's bulk transfers, the same bytes every time.

    python benches/make_usb.py OUT.pcap [--records 1000000]

Four URBs are queued on the IN endpoint and four on the OUT endpoint; each completes in turn and is submitted again. They hold
Ethernet frames of a TCP download and of its ACKs, cut at 96 bytes. Link type 220, headers of 64 bytes.
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path
from typing import Any

import numpy as np

RECORDS = 1_000_000
QUEUED = 4
KEPT = 96
EPOCH_S = 1_700_000_000
SUBMIT, COMPLETE, BULK, IN = ord("S"), ord("C"), 3, 0x80
IN_PROGRESS = -115

RECORD = np.dtype(
    [
        ("ts_s", "<u4"), ("ts_us", "<u4"), ("captured", "<u4"), ("wire", "<u4"),
        ("id", "<u8"), ("event", "u1"), ("transfer", "u1"), ("endpoint", "u1"), ("device", "u1"), ("bus", "<u2"),
        ("no_setup", "u1"), ("no_data", "u1"), ("s", "<i8"), ("us", "<i4"), ("status", "<i4"), ("length", "<u4"),
        ("kept", "<u4"), ("setup", "u1", 8), ("interval", "<i4"), ("start", "<i4"), ("flags", "<u4"), ("packets", "<u4"),
    ]
)  # fmt: skip


def ethernet(payload: int, down: bool) -> bytes:
    """A frame with a TCP segment, as long as is kept."""
    tcp = struct.pack(">HHIIBBHHH", 80 if down else 40_000, 40_000 if down else 80, 1, 1, 0x50, 0x10, 4096, 0, 0)
    near, far = bytes([10, 0, 0, 10]), bytes([192, 0, 2, 1])
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 40 + payload, 1, 0x4000, 64, 6, 0, *((far, near) if down else (near, far))
    )
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~total & 0xFFFF) + ip[12:]
    ends = (b"\2\0\0\0\0\1", b"\2\0\0\0\0\2")
    return (ends[not down] + ends[down] + b"\x08\0" + ip + tcp).ljust(KEPT, b"\0")[: min(KEPT, 54 + payload)]


def write(path: Path, records: int = RECORDS) -> None:
    """Completions with their data, each followed by the submission that takes its place."""
    pairs = records // 2
    n = np.arange(pairs)
    # Two downloads, then an ACK: the URB of either endpoint's ring that is next.
    up = n % 3 == 2
    ring = np.where(up, n // 3, n - n // 3)
    rows: Any = np.zeros(2 * pairs, RECORD)
    done, again = rows[0::2], rows[1::2]
    for half, event, later in ((done, COMPLETE, 0), (again, SUBMIT, 7)):
        us = n * 125 + later
        half["ts_s"], half["ts_us"] = EPOCH_S + us // 1_000_000, us % 1_000_000
        half["s"], half["us"] = half["ts_s"], half["ts_us"]
        half["id"] = np.uint64(0xFFFF_8880_0000_0000) + (np.where(up, 0x10000, 0) + 256 * (ring % QUEUED)).astype("u8")
        half["event"], half["transfer"], half["device"], half["bus"], half["no_setup"] = event, BULK, 5, 1, ord("-")
        half["endpoint"] = np.where(up, 2, 1 | IN)
    frame, ack = ethernet(1448, True), ethernet(0, False)
    done["length"] = np.where(up, len(ack), 1502)
    done["kept"] = np.where(up, 0, len(frame))
    done["no_data"] = np.where(up, ord(">"), 0)
    again["status"] = IN_PROGRESS
    again["length"] = np.where(up, len(ack), 2048)
    again["kept"] = np.where(up, len(ack), 0)
    again["no_data"] = np.where(up, 0, ord("<"))
    rows["captured"] = 64 + rows["kept"]
    rows["wire"] = 64 + np.where((rows["event"] == SUBMIT) == (rows["endpoint"] == 2), rows["length"], 0)
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 64 + KEPT, 220))
        data = {len(frame): frame, len(ack): ack, 0: b""}
        heads = rows.tobytes()
        kept = rows["kept"].tolist()
        size = RECORD.itemsize
        file.writelines(heads[i * size : (i + 1) * size] + data[kept[i]] for i in range(len(kept)))


def main() -> None:
    """Read the arguments and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--records", type=int, default=RECORDS)
    given = parser.parse_args()
    write(given.out, given.records)


if __name__ == "__main__":
    main()

"""Floods: very many connections and addresses of one packet each stay within bounded memory."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

import wlanlens as wl
from tests.rows import table
from wlanlens.tables.stored_tables import BATCH_ROWS, ParquetTables

#: More connections than the core closes at once.
CONNECTIONS = 70_000


def one_packet_connections(path: Path, count: int) -> Path:
    """A capture of SYNs, each of another connection."""

    def records() -> Iterator[bytes]:
        for i in range(count):
            ip = struct.pack(">BBHHHBBHI4s", 0x45, 0, 40, i & 0xFFFF, 0, 64, 6, 0, 0x0A000000 + i, b"\x0a\xff\xff\x01")
            tcp = struct.pack(">HHIIBBHHH", 1024 + i % 60000, 80, i, 0, 0x50, 2, 8192, 0, 0)
            yield struct.pack("<IIII", 1_600_000_000, i, 54, 54) + bytes(12) + b"\x08\x00" + ip + tcp

    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records()))
    return path


def test_open_connections_are_closed_in_parts(tmp_path: Path) -> None:
    feed = wl.open(one_packet_connections(tmp_path / "flood.pcap", CONNECTIONS)).feed()
    groups = [[batch.num_rows for name, batch in group if name == "flows"] for group in feed]
    assert sum(map(sum, groups)) == 2 * CONNECTIONS
    assert max(map(sum, groups)) < CONNECTIONS


def test_a_batch_holds_only_the_words_of_its_rows(tmp_path: Path) -> None:
    addresses = [f"02:00:00:00:{i >> 8:02x}:{i & 255:02x}" for i in range(2 * BATCH_ROWS)]
    frames = table("frames", [{"ta": address} for address in addresses])
    pq.write_table(frames, tmp_path / "part.parquet")
    batches = list(ParquetTables({"frames": [tmp_path / "part.parquet"]}).scan("frames", ["ta"]))
    assert [value for batch in batches for value in batch.column("ta").to_pylist()] == addresses
    assert max(len(batch.column("ta").dictionary) for batch in batches) <= BATCH_ROWS

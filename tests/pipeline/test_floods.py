"""Floods: very many connections and addresses of one packet each stay within bounded memory."""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

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


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="the address space has no limit here")
@pytest.mark.parametrize("limit_mb", [500, 560, 620, 680, 740, 800])
def test_a_limit_of_the_address_space_ends_no_process(limit_mb: int, tmp_path: Path) -> None:
    """A failed allocation below Python ends the process by a signal: of these limits every second one did."""
    flood = one_packet_connections(tmp_path / "flood.pcap", CONNECTIONS)
    limit = limit_mb << 20
    words = [
        sys.executable,
        "-m",
        "wlanlens_cli.main",
        "analyze",
        str(flood),
        "-o",
        str(tmp_path / "out"),
        "--no-report",
    ]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, "wlanlens: out of memory")


def test_a_batch_holds_only_the_words_of_its_rows(tmp_path: Path) -> None:
    addresses = [f"02:00:00:00:{i >> 8:02x}:{i & 255:02x}" for i in range(2 * BATCH_ROWS)]
    frames = table("frames", [{"ta": address} for address in addresses])
    pq.write_table(frames, tmp_path / "part.parquet")
    batches = list(ParquetTables({"frames": [tmp_path / "part.parquet"]}).scan("frames", ["ta"]))
    assert [value for batch in batches for value in batch.column("ta").to_pylist()] == addresses
    assert max(len(batch.column("ta").dictionary) for batch in batches) <= BATCH_ROWS

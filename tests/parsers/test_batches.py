"""What comes out of the core in batches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import wlanlens as wl
from tests.captures import pcap


def test_no_batch_is_empty(tmp_path: Path) -> None:
    """A capture of the air without a beacon has no row of `networks` (found by the fuzz target `air`)."""
    path = tmp_path / "ack.pcap"
    path.write_bytes(pcap([(10**18, b"\xd4\0\0\0\x02\xbb\0\0\0\x02")] * 2, 105))
    reader = wl.Capture(path).reader()
    tables = set()
    while batches := reader.next_batches():
        for table, batch in batches:
            tables.add(table)
            assert pa.record_batch(batch).num_rows > 0, table
    assert "frames" in tables
    assert "networks" not in tables

"""What comes out of the core in batches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import wlanlens as wl
from tests.captures import MIXED, pcap
from wlanlens import tables


def test_no_batch_is_empty(tmp_path: Path) -> None:
    """A capture of the air without a beacon has no row of `networks` (found by the fuzz target `air`)."""
    path = tmp_path / "ack.pcap"
    path.write_bytes(pcap([(10**18, b"\xd4\0\0\0\x02\xbb\0\0\0\x02")] * 2, 105))
    reader = wl.Capture(path).reader()
    found = set()
    while batches := reader.next_batches():
        for table, batch in batches:
            found.add(table)
            assert pa.record_batch(batch).num_rows > 0, table
    assert "frames" in found
    assert "networks" not in found


def test_many_rows_come_at_once_where_they_are_asked_for() -> None:
    """Batches of a reader that is asked for many rows are those of one that is not."""
    whole = wl.Capture(MIXED).reader().next_batches(1 << 30)
    reader = wl.Capture(MIXED).reader(batch_rows=100)
    steps = list(iter(lambda: reader.next_batches(1000), []))
    assert len(steps) > 1
    assert all(sum(pa.record_batch(b).num_rows for _, b in step) >= 1000 for step in steps[:-1])
    for name in ("packets", "segments", "flows"):
        parts = [[b for n, b in step if n == name] for step in (whole, [b for step in steps for b in step])]
        one, other = (pa.Table.from_batches([pa.record_batch(b) for b in part]).to_pylist() for part in parts)
        assert one == other, name


def test_a_named_capture_is_the_first_column_of_every_table() -> None:
    reader = wl.Capture(MIXED).reader()
    reader.name_capture("lab", tables.CAPTURE_DOC)
    for name, made in reader.next_batches(1 << 30):
        batch = pa.record_batch(made)
        assert batch.schema.equals(tables.schema(name)), name
        assert batch.schema.field(0).metadata == tables.capture_field().metadata
        assert set(batch.column("capture").to_pylist()) == {"lab"}

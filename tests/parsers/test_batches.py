"""What comes out of the core in batches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import wlanlens as wl
from tests.captures import MIXED, SAMPLES, pcap
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


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.pcap*")), ids=lambda path: path.name)
@pytest.mark.parametrize("batch_rows", [100, 3000, 16384])
def test_two_threads_find_what_one_finds(path: Path, batch_rows: int) -> None:
    """Decoding ahead changes no row of any table, and no batch is longer."""
    one, two = (wl.Capture(path).reader(batch_rows=batch_rows, two_threads=threads) for threads in (False, True))
    found = []
    for reader in (one, two):
        parts: dict[str, list[pa.RecordBatch]] = {}
        while batches := reader.next_batches():
            for name, batch in batches:
                parts.setdefault(name, []).append(pa.record_batch(batch))
        assert all(batch.num_rows <= batch_rows for batch in parts["packets"])
        found.append({name: pa.Table.from_batches(batches).to_pylist() for name, batches in parts.items()})
    assert found[0] == found[1]
    assert one.notes() == two.notes()
    assert one.info() == two.info()


@pytest.mark.parametrize("most", [1, 3, 1 << 20])
def test_what_is_read_ahead_comes_in_the_same_batches(most: int) -> None:
    plain, ahead = (wl.Capture(MIXED).reader(batch_rows=100) for _ in range(2))
    while ahead.read_ahead(most):
        pass
    for reader in (plain, ahead):
        assert reader.read_ahead(0) is False
    steps = [
        [[(name, pa.record_batch(batch)) for name, batch in step] for step in iter(reader.next_batches, [])]
        for reader in (plain, ahead)
    ]
    assert len(steps[0]) > 3
    assert steps[0] == steps[1]
    assert plain.info() == ahead.info()


def test_a_named_capture_is_the_first_column_of_every_table() -> None:
    reader = wl.Capture(MIXED).reader()
    reader.name_capture("lab", tables.CAPTURE_DOC)
    for name, made in reader.next_batches(1 << 30):
        batch = pa.record_batch(made)
        assert batch.schema.equals(tables.schema(name)), name
        assert batch.schema.field(0).metadata == tables.capture_field().metadata
        assert set(batch.column("capture").to_pylist()) == {"lab"}

"""Tables written to the scratch folder and read back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wlanlens as wl
from tests.captures import ROOT
from wlanlens import tables
from wlanlens.errors import OutputError
from wlanlens.pipeline.output_dir import Output, Scratch
from wlanlens.pipeline.table_writers import BATCH_ROWS, ArrowWriter, ParquetWriter, WriterThread
from wlanlens.tables.stored_tables import ArrowTables

SAMPLE = ROOT / "sample_traces" / "mixed_newreno.sender.pcap"


def written(folder: Path, times: int) -> tuple[pa.Table, list[pa.RecordBatch], list[pa.RecordBatch]]:
    """The segments of a capture, repeated: as one table, as batches, and as batches of one column."""
    capture, thread = wl.open(SAMPLE), WriterThread()
    with Output(folder / "out") as output, Scratch(output) as scratch:
        writers = {name: ArrowWriter(scratch, thread, name, "0") for name in tables.core_schemas()}
        for name, writer in writers.items():
            for batch in list(capture.scan(name)) * times:
                writer.append(batch)
            writer.finish()
        thread.wait()
        paths = {name: writer.path for name, writer in writers.items()}
        held = ArrowTables(paths, {name: writer.rows for name, writer in writers.items()})
        read = held["segments"], list(held.scan("segments")), list(held.scan("segments", ["flow"]))
        assert {name: held.rows(name) for name in held} == {name: held[name].num_rows for name in held}
    thread.stop()
    return read


def test_written_tables_are_read_back(tmp_path: Path) -> None:
    rows = wl.open(SAMPLE).table("segments")
    times = 2 * BATCH_ROWS // rows.num_rows + 1
    whole, batches, flows = written(tmp_path, times)
    assert whole.schema.equals(tables.schema("segments"))
    assert whole.num_rows == times * rows.num_rows
    last = whole.slice((times - 1) * rows.num_rows)
    assert last.to_pylist() == rows.to_pylist()
    assert max(batch.num_rows for batch in batches) <= BATCH_ROWS
    assert [batch.schema.names for batch in flows] == [["flow"]] * len(batches)


def test_rising_columns_are_packed_and_others_compressed_but_for_enums_and_random_ones(tmp_path: Path) -> None:
    capture, thread = wl.open(SAMPLE), WriterThread()
    with Output(tmp_path / "out") as output:
        writer = ParquetWriter(output, thread, "packets")
        for batch in capture.scan("packets"):
            writer.append(batch)
        writer.finish()
        thread.wait()
        (path,) = writer.paths
        group = pq.read_metadata(path).row_group(0)
        columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
        assert pq.read_table(path).to_pydict() == capture.table("packets").to_pydict()
    thread.stop()
    packed = {name for name, column in columns.items() if "DELTA_BINARY_PACKED" in column.encodings}
    assert packed == {"packet", "time", "t_ns", "flow", "ip_id"}
    plain = packed | {"tcp_seq", "direction", "stop", "stop_layer"}
    assert {name for name, column in columns.items() if column.compression == "UNCOMPRESSED"} == plain
    assert "tcp_sack.list.element.left" in columns


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    target, thread = tmp_path / "target", WriterThread()
    target.write_text("mine")
    with Output(tmp_path / "out") as output, Scratch(output) as scratch:
        writer = ArrowWriter(scratch, thread, "segments", "0")
        writer.path.symlink_to(target)
        writer.finish()
        with pytest.raises(OutputError, match="File exists"):
            thread.wait()
        writer.drop()
    thread.stop()
    assert target.read_text() == "mine"

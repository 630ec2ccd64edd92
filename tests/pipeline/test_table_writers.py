"""Tables written to the scratch folder and read back."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wlanlens as wl
from tests.captures import ROOT
from wlanlens import tables
from wlanlens.errors import OutputError
from wlanlens.pipeline.output_dir import Output, Scratch
from wlanlens.pipeline.table_writers import BATCH_ROWS, ArrowWriter, ParquetWriter, WriterThread
from wlanlens.tables.stored_tables import ArrowTables, ParquetTables

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


def test_a_column_of_a_large_table_is_optional_from_its_first_null_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = wl.open(SAMPLE).table("segments")
    monkeypatch.setattr("wlanlens.pipeline.table_writers.GROUP_ROWS", segments.num_rows)
    at, field = segments.schema.get_field_index("rel_ack"), segments.schema.field("rel_ack")
    known = segments.set_column(at, field, pa.array(range(segments.num_rows), field.type))
    null = segments.set_column(at, field, pa.nulls(segments.num_rows, field.type))
    thread = WriterThread()
    with Output(tmp_path / "out") as output:
        writer = ParquetWriter(output, thread, "segments")
        for rows in (known, known, null, known.slice(1)):
            writer.append(rows)
        writer.finish()
        thread.wait()
        files = [(pq.read_metadata(p).num_rows, pq.read_schema(p).field("rel_ack").nullable) for p in writer.paths]
        assert files == [(2 * segments.num_rows, False), (2 * segments.num_rows - 1, True)]
        values = pa.concat_tables([known, known, null, known.slice(1)]).column("rel_ack").to_pylist()
        folder = writer.paths[0].parent
        assert ParquetTables({"segments": writer.paths})["segments"].column("rel_ack").to_pylist() == values
        assert pq.read_table(folder).column("rel_ack").to_pylist() == values
        assert pd.read_parquet(folder)["rel_ack"].isna().tolist() == [v is None for v in values]
        assert pl.read_parquet(folder)["rel_ack"].to_list() == values
        assert [v for (v,) in duckdb.read_parquet(f"{folder}/*").project("rel_ack").fetchall()] == values
    thread.stop()


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

"""Tables that are written to the scratch folder and read again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from wlanlens.pipeline.spill import ROWS, Spilled, SpillWriter

import wlanlens as wl
from tests.captures import ROOT
from wlanlens import tables
from wlanlens.errors import OutputError
from wlanlens.pipeline.output_dir import Output, Scratch
from wlanlens.pipeline.table_writers import Pen

SAMPLE = ROOT / "sample_traces" / "mixed_newreno.sender.pcap"


def spilled(folder: Path, times: int) -> tuple[pa.Table, list[pa.RecordBatch], list[pa.RecordBatch]]:
    """The segments of a capture, so many times over: whole, batch by batch, and of one column."""
    capture, pen = wl.open(SAMPLE), Pen()
    with Output(folder / "out") as output, Scratch(output) as scratch:
        writers = {name: SpillWriter(scratch, pen, name, "0") for name in tables.core_schemas()}
        for name, writer in writers.items():
            for batch in list(capture.scan(name)) * times:
                writer.append(batch)
            writer.finish()
        pen.wait()
        held = Spilled(writers)
        read = held["segments"], list(held.scan("segments")), list(held.scan("segments", ["flow"]))
        assert {name: held.rows(name) for name in held} == {name: held[name].num_rows for name in held}
    pen.stop()
    return read


def test_what_was_written_is_read(tmp_path: Path) -> None:
    rows = wl.open(SAMPLE).table("segments")
    times = 2 * ROWS // rows.num_rows + 1
    whole, batches, flows = spilled(tmp_path, times)
    assert whole.schema.equals(tables.schema("segments"))
    assert whole.num_rows == times * rows.num_rows
    last = whole.slice((times - 1) * rows.num_rows)
    assert last.to_pylist() == rows.to_pylist()
    assert max(batch.num_rows for batch in batches) <= ROWS
    assert [batch.schema.names for batch in flows] == [["flow"]] * len(batches)


def test_a_link_under_its_name_is_not_followed(tmp_path: Path) -> None:
    target, pen = tmp_path / "target", Pen()
    target.write_text("mine")
    with Output(tmp_path / "out") as output, Scratch(output) as scratch:
        writer = SpillWriter(scratch, pen, "segments", "0")
        writer.path.symlink_to(target)
        writer.finish()
        with pytest.raises(OutputError, match="File exists"):
            pen.wait()
        writer.drop()
    pen.stop()
    assert target.read_text() == "mine"

"""One capture and several captures go through the same run; only where their rows come from differs."""

from __future__ import annotations

from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import MIXED
from wlanlens.pipeline.aligned_captures import AlignedCaptures
from wlanlens.pipeline.analyze import source_of
from wlanlens.pipeline.output_dir import Output, Scratch
from wlanlens.pipeline.sources import OneCapture


def test_one_capture_writes_nothing_to_the_scratch_folder(tmp_path: Path) -> None:
    with Output(tmp_path / "out") as output, Scratch(output) as scratch:
        source = source_of([wl.open(MIXED)], scratch)
        assert isinstance(source, OneCapture)
        rows = [row for step in source.steps() for row in step]
        assert {row.table for row in rows} <= set(source.tables)
        assert not scratch.path.exists()
    assert source.captures[0].point == "sender"
    assert source.quality().to_pylist()[0]["point"] == "sender"


def test_several_captures_are_a_source_of_links(tmp_path: Path) -> None:
    captures = [wl.open(MIXED), wl.open(MIXED)]
    with Output(tmp_path / "out") as output, Scratch(output) as scratch:
        source = source_of(captures, scratch)
        assert isinstance(source, AlignedCaptures)
        assert "links" in source.tables
        with pytest.raises(wl.WlanlensError, match="given twice"):
            next(source.steps())


def test_a_path_given_twice_with_a_role_is_one_capture(tmp_path: Path) -> None:
    done = wl.analyze([MIXED], roles={"receiver": MIXED}, out=tmp_path / "out", report=False)
    assert [capture.point for capture in done.trace.captures] == ["receiver"]
    assert done.trace.table("links").num_rows == 0

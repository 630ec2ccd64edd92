"""One capture and several captures go through the same run; only where their rows come from differs."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import MIXED, SAMPLES
from wlanlens.pipeline.aligned_captures import AlignedCaptures
from wlanlens.pipeline.analyze import source_of
from wlanlens.pipeline.output_dir import Output, Scratch
from wlanlens.pipeline.progress import Progress
from wlanlens.pipeline.sources import OneCapture


def test_one_capture_writes_nothing_to_the_scratch_folder(tmp_path: Path) -> None:
    with Output(tmp_path / "out") as output, Scratch(output) as scratch:
        source = source_of([wl.open(MIXED)], scratch)
        assert isinstance(source, OneCapture)
        rows = [row for step in source.steps() for row in step]
        assert {row.table for row in rows} <= set(source.tables)
        assert not scratch.path.exists()
    source.end()
    assert source.captures[0].point == "sender"
    assert source.quality().to_pylist()[0]["point"] == "sender"


def test_several_captures_are_a_source_of_links(tmp_path: Path) -> None:
    captures = [wl.open(MIXED), wl.open(SAMPLES / "blackout3.sender.pcap")]
    with Output(tmp_path / "out") as output, Scratch(output) as scratch:
        source = source_of(captures, scratch)
        assert isinstance(source, AlignedCaptures)
        assert "links" in source.tables


def test_a_capture_given_twice_is_refused_before_it_is_read(tmp_path: Path) -> None:
    captures = [wl.open(MIXED), wl.open(MIXED)]
    with (
        Output(tmp_path / "out") as output,
        Scratch(output) as scratch,
        pytest.raises(wl.WlanlensError, match="given twice"),
    ):
        source_of(captures, scratch)


def test_a_path_given_twice_with_a_role_is_one_capture(tmp_path: Path) -> None:
    done = wl.analyze([MIXED], roles={"receiver": MIXED}, out=tmp_path / "out", report=False)
    assert [capture.point for capture in done.trace.captures] == ["receiver"]
    assert done.trace.table("links").num_rows == 0


def _unreadable(path: Path) -> Path:
    """A capture of a link type that nothing reads: it opens, and its first record is an error."""
    path.write_bytes(struct.pack("<IHHiIIIIIII", 0xA1B2C3D4, 2, 4, 0, 0, 64, 250, 1, 0, 4, 4) + path.name[:4].encode())
    return path


def test_the_first_capture_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    bad, worse = _unreadable(tmp_path / "bad.pcap"), _unreadable(tmp_path / "worse.pcap")
    for paths, named in (
        ([bad, worse], "bad.pcap"),
        ([MIXED, worse], "worse.pcap"),
        ([worse, MIXED, bad], "worse.pcap"),
    ):
        with pytest.raises(wl.WlanlensError) as raised:
            wl.analyze(paths, out=tmp_path / "out", report=False)
        assert str(raised.value.path).endswith(named)


def test_captures_are_decoded_side_by_side_and_progress_is_their_sum(tmp_path: Path) -> None:
    paths = [SAMPLES / f"usb_ack_holding.{point}.pcap" for point in ("sender", "receiver")]
    told: list[Progress] = []
    captures = [wl.open(path) for path in paths]
    for capture in captures:
        capture._reader = capture.reader(batch_rows=64)
    wl.analyze(captures, out=tmp_path / "out", report=False, progress=told.append)
    sizes = [path.stat().st_size for path in paths]
    assert [at.offset_bytes for at in told] == sorted(at.offset_bytes for at in told)
    assert told[-1].size_bytes == sum(sizes)
    assert 0.9 * sum(sizes) < told[-1].offset_bytes <= sum(sizes)
    # The second capture begins before the first one ends.
    begun = next(k for k, at in enumerate(told) if at.size_bytes == sum(sizes))
    assert told[begun - 1].offset_bytes < sizes[0]

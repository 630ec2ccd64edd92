"""The rows that a report draws."""

from __future__ import annotations

from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import samples
from wlanlens.pipeline.report_file import rewrite_report
from wlanlens.report import downsampling


def test_a_report_is_the_same_whether_columns_are_read_in_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    wl.analyze(samples()["mixed_newreno.sender"], out=out)
    pages = set()
    # All segments, then every k-th.
    for most in (downsampling.SEGMENT_ROWS, 1000):
        monkeypatch.setattr(downsampling, "SEGMENT_ROWS", most)
        alike = set()
        for least in (0, downsampling.SEGMENT_ROWS):
            monkeypatch.setattr(downsampling, "HALVED_ROWS", least)
            alike.add(rewrite_report(out).read_bytes())
        assert len(alike) == 1
        pages |= alike
    assert len(pages) == 2

"""The tables of several captures do not depend on where the time chunks end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from tests.alignment.simulated import clocked
from wlanlens import tables
from wlanlens.pipeline import time_chunks
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.simulate import simulate

CLOCKS = {
    "sender": TapClock(offset_ns=1_000, missed_share=0.01),
    "air": TapClock(offset_ns=-777_000_000, drift_ppm=33.0, missed_share=0.01),
    "receiver": TapClock(offset_ns=5_000_000_000, drift_ppm=-60.0, missed_share=0.01),
}


def rows(analysis: wl.Analysis, name: str) -> list[Any]:
    """The rows of a table, sorted."""
    return sorted(analysis.trace.table(name).to_pylist(), key=repr)


@pytest.mark.parametrize(("name", "duration_s"), [("bursty_errors", 30.0), ("ack_holding", 8.0)])
def test_small_chunks_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, duration_s: float
) -> None:
    run = simulate(clocked(name, CLOCKS, duration_s=duration_s), tmp_path / "in", seed=3)
    whole = wl.analyze(list(run.captures.values()), out=tmp_path / "whole", report=False)
    monkeypatch.setattr(time_chunks, "ROWS", 4096)
    monkeypatch.setattr(time_chunks, "CONTEXT_ROWS", 1024)
    made: list[time_chunks.Chunk] = []
    cut = time_chunks.cut

    def counted(*args: Any) -> Any:
        for piece in cut(*args):
            made.append(piece)
            yield piece

    monkeypatch.setattr(time_chunks, "cut", counted)
    cutup = wl.analyze(list(run.captures.values()), out=tmp_path / "cut", report=False)
    assert len(made) >= 3
    for table in (*tables.core_schemas(), "links", "ledger", "quality"):
        assert rows(cutup, table) == rows(whole, table), table
    assert [f.sentence for f in cutup.findings] == [f.sentence for f in whole.findings]
    assert cutup.description["duration_ns"] == whole.description["duration_ns"]
    assert not (tmp_path / "cut" / ".wlanlens.scratch").exists()

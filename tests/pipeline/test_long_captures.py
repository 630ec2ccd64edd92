"""A capture that is judged in windows has the findings of one that is judged as a whole, also away from the sender."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from wlanlens.capture.capture import Capture
from wlanlens.pipeline import flow_window
from wlanlens.pipeline.run import Run


def judged(paths: list[Path], out: Path) -> tuple[list[tuple[Any, ...]], list[str]]:
    """The findings with times and costs, and their sentences."""
    found = wl.analyze(paths, out=out, report=False).findings
    rows = sorted((f.code, f.subject, f.t_start_ns, f.t_end_ns, round(f.cost_s, 6)) for f in found)
    return rows, sorted(f.sentence for f in found)


@pytest.mark.parametrize(
    ("scenario", "point"), [("random_loss", "receiver"), ("lost_acks", "receiver"), ("random_loss", "sender")]
)
def test_windows_change_no_finding(scenario: str, point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = wl.simulate(scenario, tmp_path / "run", seed=5, taps=(point,), duration_s=120.0)
    whole = judged([run.captures[point]], tmp_path / "whole")
    read, judge, windows = Capture.reader, Run._judge_window, []

    def reader(self: Capture, **options: Any) -> Any:
        return read(self, batch_rows=1000, **options)

    def judge_window(self: Run, *, last: bool) -> None:
        windows.append(last)
        judge(self, last=last)

    monkeypatch.setattr(Capture, "reader", reader)
    monkeypatch.setattr(Run, "_judge_window", judge_window)
    monkeypatch.setattr(flow_window, "ROWS", 10_000)
    cut = judged([run.captures[point]], tmp_path / "cut")
    assert len(windows) > 1
    assert cut == whole

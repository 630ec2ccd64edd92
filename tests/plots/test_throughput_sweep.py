"""Throughput of several runs against what differs between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wlanlens as wl
from tests.rows import table
from wlanlens.errors import NothingToDraw, WrongUse
from wlanlens.plots import throughput_sweep
from wlanlens.simulation import parameter_sweep
from wlanlens.trace import Trace


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over the window, three values and two seeds, with the sender's captures."""
    folder = tmp_path_factory.mktemp("sweep") / "runs"
    jobs = parameter_sweep.plan(
        "small_window_loss",
        folder,
        {"window_segments": [2, 7, 15]},
        [1, 2],
        {"duration_s": 2.0, "loss_rate": 0.0},
        ("sender",),
    )
    parameter_sweep.run_all(jobs, workers=1)
    return folder


def marks(figure: Any) -> list[tuple[float, float]]:
    return sorted((x, y) for t in figure.data if t.mode == "markers" for x, y in zip(t.x, t.y, strict=True))


def test_a_table_of_runs(swept: Path) -> None:
    runs = pq.read_table(swept / "runs.parquet")
    figure = throughput_sweep(runs, x="window_segments")
    frame = runs.to_pandas()
    want = sorted(zip(frame["window_segments"], frame["goodput_bps"] / 1e6, strict=True))
    assert np.allclose(marks(figure), want)
    (mean,) = (t for t in figure.data if t.mode == "lines")
    expected = frame.groupby("window_segments")["goodput_bps"].mean() / 1e6
    assert np.allclose(mean.x, expected.index)
    assert np.allclose(mean.y, expected)
    assert mean.y[0] < mean.y[-1]
    assert figure.layout.xaxis.title.text == "window (segments)"
    assert figure.layout.yaxis.title.text == "throughput (Mbit/s)"
    assert figure.to_dict() == throughput_sweep(frame, x="window_segments").to_dict()


def test_a_line_for_each_value(swept: Path) -> None:
    figure = throughput_sweep(pq.read_table(swept / "runs.parquet"), x="window_segments", by="seed")
    assert [t.name for t in figure.data if t.mode == "lines"] == [
        "seed 1 (3 runs, mean)", "seed 2 (3 runs, mean)",
    ]  # fmt: skip


def test_analyses_and_a_fleet_of_the_same_runs(swept: Path, tmp_path: Path) -> None:
    captures = sorted(swept.glob("*/sender.pcap"))
    assert len(captures) == 6
    analyses = [wl.analyze(path, out=tmp_path / "runs" / path.parent.name, report=False) for path in captures]
    figure = throughput_sweep(analyses)
    want = []
    for analysis in analyses:
        flows = analysis.trace.table("flows").to_pandas().sort_values("unique_bytes").iloc[-1]
        want.append((flows["peer_window_max_bytes"], flows["throughput_bps"] / 1e6))
    assert np.allclose(marks(figure), sorted(want))
    assert figure.layout.xaxis.title.text == "largest receive window (bytes)"
    one = throughput_sweep(analyses[0].trace)
    assert np.allclose(marks(one), want[:1])
    fleet = wl.collect([tmp_path / "runs" / path.parent.name for path in captures], tmp_path / "fleet")
    drawn = throughput_sweep(fleet, x="window_segments")
    assert sorted({x for x, _ in marks(drawn)}) == [2, 7, 15]
    assert np.allclose(sorted(y for _, y in marks(drawn)), sorted(y for _, y in want))


def test_errors_say_what_is_there() -> None:
    runs = pa.table({"goodput_bps": [1e6, 2e6], "buffer_packets": [3, 7], "scenario": ["a", "b"]})
    with pytest.raises(WrongUse, match="did you mean 'buffer_packets'"):
        throughput_sweep(runs, x="buffer_packet")
    with pytest.raises(WrongUse, match="'scenario' is no number"):
        throughput_sweep(runs, x="scenario")
    with pytest.raises(NothingToDraw, match=r"no run has a throughput.*runs\.parquet"):
        throughput_sweep([])
    with pytest.raises(NothingToDraw, match="no run has a throughput"):
        throughput_sweep(Trace.of_tables({"flows": table("flows", [])}))
    assert marks(throughput_sweep(runs, x="buffer_packets")) == [(3, 1), (7, 2)]

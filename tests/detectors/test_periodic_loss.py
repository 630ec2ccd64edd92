"""Losses by a clock are found with the period and a valid p-value; cycles of the traffic itself are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wlanlens as wl
from tests import kernel
from tests.detectors.made import MSS, again, data, flows, run, trace
from wlanlens.detection.toolkit import ClockSearch
from wlanlens.trace import Trace

CODE = "periodic_loss"


def lossy(times_ms: np.ndarray[Any, np.dtype[Any]], seed: int = 1) -> Trace:
    """A sender at an uneven pace around 250 packets a second; the packet after each of these times is lost."""
    rng = np.random.default_rng(seed)
    # The pace varies by a tenth, over seconds.
    t = np.cumsum(4.0 * (1 + 0.1 * np.repeat(rng.normal(size=60), 50)))
    rows = [data(i + 1, float(x), 1 + i * MSS) for i, x in enumerate(t)]
    for k, start in enumerate(times_ms.tolist()):
        i = int(np.searchsorted(t, start))
        if i < len(t):
            late = {"spurious": False, "copy": 1, "since_first_ns": 30_000_000, "since_previous_ns": 30_000_000}
            rows.append(again(10_000 + k, float(t[i]) + 30, 1 + i * MSS, trigger="fast", **late))
    return trace(flows(), segments=sorted(rows, key=lambda row: row["t_ns"]))


def test_a_clock() -> None:
    (finding,), _ = run(CODE, lossy(np.arange(300.0, 9500.0, 700.0)))
    assert finding.values["period_s"] == pytest.approx(0.7, abs=0.002)
    assert finding.values["events_count"] == 14
    assert float(finding.values["p_value_share"]) < 1e-9


def test_ticks_without_losses_and_losses_between_ticks() -> None:
    ticks = np.delete(np.arange(300.0, 9500.0, 500.0), [2, 5, 9, 10])
    others = np.array([1111.0, 4777.0, 6420.0])
    (finding,), _ = run(CODE, lossy(np.sort(np.concatenate((ticks, others)))))
    assert finding.values["period_s"] == pytest.approx(0.5, abs=0.002)
    assert finding.values["other_events_count"] == 3


def test_four_ticks_are_too_few() -> None:
    assert run(CODE, lossy(np.arange(300.0, 8500.0, 2300.0))) == ([], [])


def test_random_losses_give_small_p_values_as_rarely_as_stated() -> None:
    rng = np.random.default_rng(7)
    search = ClockSearch((0.003, 0.01, 0.03, 0.1), ends=3, hit_share=0.5, chance=1.0)
    for count in (5, 8, 15, 40):
        clocks = [search.best(np.sort(rng.uniform(0, 60e9, count))) for _ in range(300)]
        values = [1.0 if clock is None else clock.p_value for clock in clocks]
        # The p-value is a bound: small values come no more often.
        assert sum(p <= 0.05 for p in values) <= 300 * 0.05 + 3 * (300 * 0.05) ** 0.5


def test_even_in_bytes_is_no_clock() -> None:
    seed = 3
    rng = np.random.default_rng(seed)
    t = np.cumsum(4.0 * (1 + 0.1 * np.repeat(rng.normal(size=60), 50)))
    every = t[100::170] - 0.01
    found, undecided = run(CODE, lossy(every, seed=seed))
    assert not found
    assert len(undecided) <= 1


def test_a_perfectly_even_flow_is_undecided() -> None:
    rows = [data(i + 1, 4.0 * i, 1 + i * MSS) for i in range(2400)]
    for k, i in enumerate(range(100, 2300, 200)):
        late = {"spurious": False, "copy": 1, "since_first_ns": 30_000_000, "since_previous_ns": 30_000_000}
        rows.append(again(10_000 + k, 4.0 * i + 30, 1 + i * MSS, trigger="fast", **late))
    found, undecided = run(CODE, trace(flows(), segments=sorted(rows, key=lambda row: row["t_ns"])))
    assert not found
    assert len(undecided) == 1


def test_a_cycle_of_two_connections_through_one_queue_is_undecided() -> None:
    """Together they send evenly; one of them has an uneven share, and loses a packet whenever the queue of both is full."""
    mine = np.random.default_rng(5).random(2400) < np.repeat(np.random.default_rng(6).uniform(0.1, 0.9, 24), 100)
    mine[100:2300:200] = True
    rows, sent = [], [0, 0]
    for i, own in enumerate(mine.tolist()):
        row = data(i + 1, 4.0 * i, 1 + sent[own] * MSS)
        sent[own] += 1
        rows.append(row if own else {**row, "flow": 1})
        if own and i % 200 == 100 and i < 2300:
            late = {"spurious": False, "copy": 1, "since_first_ns": 30_000_000, "since_previous_ns": 30_000_000}
            rows.append(again(10_000 + i, 4.0 * i + 30, int(row["rel_seq"]), trigger="fast", **late))
    rows.sort(key=lambda row: row["t_ns"])
    other = [{**row, "flow": 1} for row in flows()]
    found, undecided = run(CODE, trace([*flows(), *other], segments=rows))
    assert (found, len(undecided)) == ([], 1)
    assert undecided[0].spans[0][1:] == (400 * 1_000_000, 4 * 2100 * 1_000_000)
    alone = [row for row in rows if row.get("flow") != 1]
    assert len(run(CODE, trace(flows(), segments=alone))[0]) == 1


def test_polls_of_an_access_point(tmp_path: Path) -> None:
    made = wl.simulate("periodic_access_point_drops", tmp_path, taps=("sender",))
    (finding,) = wl.detect(wl.align([made.captures["sender"]]), only=[CODE])
    (true,) = [f for f in made.truth if f.code == CODE]
    assert finding.values["period_s"] == pytest.approx(2.0, abs=0.01)
    assert abs(finding.t_start_ns - true.t_start_ns) < 10_000_000
    assert abs(finding.t_end_ns - true.t_end_ns) < 10_000_000
    assert finding.cost_s == pytest.approx(true.cost_s, rel=0.2)


@pytest.mark.parametrize(
    ("scenario", "changed"),
    [
        ("periodic_access_point_drops", {"packets": 0}),
        ("access_point_overflow", {}),
        ("congestion_cycles", {}),
        ("random_loss", {}),
    ],
)
def test_silent_without_a_clock(scenario: str, changed: dict[str, Any], tmp_path: Path) -> None:
    for seed in range(1, 4):
        made = wl.simulate(scenario, tmp_path / str(seed), seed=seed, taps=("sender",), **changed)
        assert [f for f in made.truth if f.code == CODE] == []
        assert list(wl.detect(wl.align([made.captures["sender"]]), only=[CODE])) == []


@kernel.needed
@pytest.mark.parametrize(
    "name", ["rnd2_cubic", "rnd10_newreno", "burst_cubic", "mixed_newreno", "bloat100", "blackout3"]
)
def test_silent_on_other_losses_of_kernel_runs(name: str) -> None:
    assert kernel.of(kernel.found(name), CODE) == []

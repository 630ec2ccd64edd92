"""signal_fade: the signal drops and frames fail with it."""

from __future__ import annotations

import pytest

from tests.detectors import worlds
from tests.detectors.air import SUBJECT_AB
from tests.detectors.made import S, run
from wlanlens.detection.finding import Finding
from wlanlens.validation.scoring import score

CODE = "signal_fade"


def test_time_depth_and_cost() -> None:
    made = worlds.made("fades", 3)
    found, undecided = run(CODE, made.trace())
    assert not undecided
    # 0.6 s of every 4 s; bins of 100 ms.
    truth = [
        Finding(CODE, int((at - 0.6) * S), at * S, "test.pcap", SUBJECT_AB, "serious", 1.0, 0.0) for at in (4, 8, 12)
    ]
    result = score(found, truth, tolerance_ms=50)[CODE]
    assert (result.precision, result.recall) == (1.0, 1.0)
    assert result.time_error_s is not None
    assert result.time_error_s <= 0.05
    for finding in found:
        assert finding.values["depth_db_ratio"] == pytest.approx(15, abs=2)
        inside = sum(
            m.size for m in made.msdus
            if m.outcome == "delivered" and finding.t_start_ns <= m.times[-1] * 1e3 < finding.t_end_ns
        )  # fmt: skip
        whole = sum(m.size for m in made.msdus if m.outcome == "delivered") / (12 - 1.8)
        assert finding.cost_s == pytest.approx(0.6 - inside / whole, abs=0.12)


def test_the_baseline_follows_a_walk() -> None:
    found, _ = run(CODE, worlds.trace("walk with fades", 3))
    assert len(found) == 3
    first, last = float(found[0].values["baseline_dbm"]), float(found[-1].values["baseline_dbm"])
    assert first - last > 8

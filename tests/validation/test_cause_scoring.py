"""Scores of aligned captures, on a few scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.detectors.together import aligned
from wlanlens.detection.finding import Finding
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.cause_scoring import Answers, Causes, score_causes
from wlanlens.validation.scoring import value_pairs


def scored(folder: Path, name: str, codes: tuple[str, ...], *taps: str, **parameters: Any) -> Causes:
    run = simulate(name, folder, seed=5, **parameters)
    return score_causes(run, aligned(run, *taps), codes)


@pytest.mark.parametrize(
    ("name", "code", "seconds"),
    [
        ("access_point_overflow", "ap_buffer_loss", 8.0),
        ("lost_acks", "ack_loss", 16.0),
        ("lost_acks", "spurious_timeout", 16.0),
        ("ack_holding_over_usb", "ack_holding", 12.0),
        ("ack_holding", "spurious_timeout", 10.0),
        ("obstructed_client", "ack_loss", 20.0),
        ("obstructed_client", "spurious_timeout", 20.0),
    ],
)
def test_every_cause_is_found(tmp_path: Path, name: str, code: str, seconds: float) -> None:
    got = scored(tmp_path, name, (code,), duration_s=seconds)
    score = got.scores[code]
    assert score.truth
    assert score.precision == score.recall == 1.0
    assert score.within(0.01) == 1.0
    assert score.cost_off_s < 0.02 * score.cost_true_s + 0.001
    # Every retransmission and timeout has a verdict, and it is right.
    assert got.spurious.wrong == got.spurious.open == 0
    assert got.timeouts.wrong == got.timeouts.open == 0
    assert got.lost.wrong == 0
    if code == "ack_holding":
        assert got.kept_by == Answers(right=score.truth)


def test_loss_locations_are_true(tmp_path: Path) -> None:
    got = scored(tmp_path / "a", "no_mac_retransmission", (), duration_s=5.0)
    assert got.lost.right > 40
    assert got.lost.wrong <= 0.02 * got.lost.right
    assert got.spurious == Answers(right=got.spurious.right)
    got = scored(tmp_path / "b", "periodic_access_point_drops", (), duration_s=10.0)
    assert got.lost.right == 5


def test_two_points_give_no_wrong_verdict(tmp_path: Path) -> None:
    got = scored(tmp_path, "no_mac_retransmission", (), "sender", "air", duration_s=5.0)
    assert got.spurious.wrong == 0


def test_values_of_matching_findings_are_compared() -> None:
    def made(start: int, end: int, **values: str) -> Finding:
        return Finding(
            code="ack_holding", t_start_ns=start, t_end_ns=end, capture="a", subject="x", severity="info",
            confidence=1.0, cost_s=0.0, values=dict(values), sentence="It is.",
        )  # fmt: skip

    second = 10**9
    truth = [
        made(0, second, kept_by="adapter"),
        made(3 * second, 4 * second, kept_by="queue"),
        made(9 * second, 10 * second),
    ]
    found = [
        made(0, second, kept_by="adapter"),
        made(3 * second, 4 * second),
        made(6 * second, 7 * second, kept_by="path"),
    ]
    assert sorted(value_pairs(found, truth, "kept_by"), key=str) == [("adapter", "adapter"), (None, "queue")]
    assert Answers(3, 1, 2) + Answers(1) == Answers(4, 1, 2)
    assert Answers(3, 1, 2).share == 0.75
    assert Answers(open=2).share is None

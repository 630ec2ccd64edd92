"""Lost ACKs: those that stop a sender, harmless ones, and look-alikes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.alignment.simulated import clocked
from tests.detectors.together import aligned, said, scored
from wlanlens import detect
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.simulate import simulate

CODE = "ack_loss"


@pytest.mark.parametrize(
    ("name", "stalls"),
    [("lost_acks", True), ("obstructed_client", True), ("random_loss", False), ("bursty_errors", True)],
)
def test_against_the_truth(tmp_path: Path, name: str, stalls: bool) -> None:
    found, score = scored(tmp_path, name, CODE, seed=2)
    assert score.truth
    assert score.precision == score.recall == 1.0
    assert score.time_error_s is not None
    assert score.time_error_s < 0.005
    assert score.cost_off_s < 0.01 * score.cost_true_s + 0.001
    assert any(f.cost_s > 0 for f in found) is stalls
    assert all(f.cost_s or f.severity == "info" for f in found)


def test_the_sentence_of_a_stall(tmp_path: Path) -> None:
    found = said(tmp_path, "lost_acks", CODE, duration_s=8.0)
    assert "12 ACKs left the receiver and never reached the sender, lost on the path" in found[0].sentence
    assert "its timer expired twice, although the data had arrived" in found[0].sentence
    assert "no cost" in found[-1].sentence


def test_a_loss_on_the_air_is_named(tmp_path: Path) -> None:
    found = said(tmp_path, "random_loss", CODE, seed=2)
    assert [f.values["lost"] for f in found] == ["on_air"]
    assert "lost on the air, where no transmission was acknowledged" in found[0].sentence


@pytest.mark.parametrize("name", ["ack_holding", "silent_receiver", "clean_link", "delayed_ack_deadlock"])
def test_silent_where_none_is_lost(tmp_path: Path, name: str) -> None:
    found = said(tmp_path, name, CODE)
    assert not found
    assert found.states[0].state == "fine"


def test_a_tap_that_drops_is_undecided(tmp_path: Path) -> None:
    """The sender's tcpdump missed packets that the other captures hold: the path lost nothing."""
    made = clocked("ack_holding", {"sender": TapClock(missed_share=0.02)}, duration_s=6.0)
    found = detect(aligned(simulate(made, tmp_path)), only=[CODE])
    assert not found
    assert found.states[0].state == "undecided"


def test_one_capture_is_not_enough(tmp_path: Path) -> None:
    run = simulate("lost_acks", tmp_path, duration_s=2.0)
    assert detect(aligned(run, "sender"), only=[CODE]).states[0].reason == "needs links"

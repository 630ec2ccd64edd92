"""Losses in an access point's queue, and what looks like them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.detectors.together import aligned, said, scored
from wlanlens import detect
from wlanlens.detection.toolkit import found_full
from wlanlens.simulation.simulate import simulate

CODE = "ap_buffer_loss"


@pytest.mark.parametrize("seed", [1, 4])
def test_a_full_access_point_queue(tmp_path: Path, seed: int) -> None:
    found, score = scored(tmp_path, "access_point_overflow", CODE, seed=seed, duration_s=10.0)
    assert score.truth > 5
    assert score.precision == score.recall == 1.0
    assert score.time_error_s is not None
    assert score.time_error_s < 0.001
    assert score.cost_off_s < 0.001
    # The queue holds 30 packets and the radio two.
    assert {f.values["waiting_packets"] for f in found} <= {31, 32}
    assert "did not send them, because its queue was full: 32 packets waited there" in found[0].sentence


def test_drops_with_room_left_are_undecided(tmp_path: Path) -> None:
    """A polling access point drops one packet every two seconds, at any queue length."""
    found = said(tmp_path, "periodic_access_point_drops", CODE, duration_s=20.0)
    assert not found
    assert found.states[0].state == "undecided"
    assert found.undecided[0].count == len(found.undecided[0].spans) == 10


def test_losses_on_the_wire_are_undecided(tmp_path: Path) -> None:
    found = said(tmp_path, "access_point_overflow", CODE, queue_packets=100, loss_rate=0.005, duration_s=10.0)
    assert not found
    assert found.undecided


@pytest.mark.parametrize("seed", [1, 2])
def test_a_sniffer_that_missed_frames(tmp_path: Path, seed: int) -> None:
    assert not said(tmp_path, "deaf_sniffer", CODE, seed=seed)


def test_silent_on_losses_of_the_air(tmp_path: Path) -> None:
    found = said(tmp_path, "deaf_sniffer", CODE, missed_share=0.0)
    assert not found
    assert found.states[0].state == "fine"


def test_without_the_air_or_with_one_capture_it_is_not_run(tmp_path: Path) -> None:
    run = simulate("access_point_overflow", tmp_path, duration_s=2.0)
    assert detect(aligned(run, "sender", "receiver"), only=[CODE]).states[0].state == "not_run"
    alone = detect(aligned(run, "sender"), only=[CODE]).states[0]
    assert (alone.state, alone.reason) == ("not_run", "needs links, frames")


def test_the_receivers_capture_is_not_needed(tmp_path: Path) -> None:
    run = simulate("access_point_overflow", tmp_path, duration_s=5.0)
    both, all_ = (
        detect(aligned(run, *taps), only=[CODE]) for taps in (("sender", "air"), ("sender", "air", "receiver"))
    )
    assert [(f.t_start_ns, f.values["losses_count"]) for f in both] == [
        (f.t_start_ns, f.values["losses_count"]) for f in all_
    ]


def test_a_full_queue_admits_nothing() -> None:
    waiting = np.arange(100) % 20
    assert found_full(np.array([20, 20, 20]), waiting, 0.001).all()
    # Packets that came at a greater length were admitted: the queue was not full.
    assert not found_full(np.array([10, 10, 10]), waiting, 0.001).any()
    # Chance puts one loss in twenty at the greatest length.
    assert not found_full(np.array([19]), waiting, 0.001).any()
    # Random losses do not hide losses of the queue.
    assert found_full(np.array([20, 20, 20, 3]), waiting, 0.001).tolist() == [True, True, True, False]

"""The truth counts what happened, and says which events leave evidence at the sender."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.simulation.ground_truth._runs import sides
from wlanlens.simulation.ground_truth.packet_loss import _repairs
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.random_worlds import random_world


def events(tmp_path: Path, number: int, code: str) -> list[Finding]:
    run = simulate(random_world(number, varied=True), tmp_path, seed=number)
    return [f for f in run.truth if f.code == code]


def test_a_syn_without_timestamps_shows_no_spurious_timeout(tmp_path: Path) -> None:
    """World 70069: no timestamps, no DSACK without SACK."""
    found = [f for f in events(tmp_path, 70069, "spurious_timeout") if f.t_start_ns < 10**6]
    assert found
    assert {f.confidence for f in found} == {MAY_BE_MISSED}


def test_copies_of_data_that_had_arrived_need_no_repair(tmp_path: Path) -> None:
    """World 70039: the second copy arrives, and five more are lost after it."""
    run = simulate(random_world(70039, varied=True), tmp_path, seed=70039)
    (side,) = [side for side in sides(run.facts, every=True) if side.flow == 1 and side.direction == "a2b"]
    lost = side.data["lost"] & (side.data["len_bytes"] > 0)
    assert int(np.count_nonzero(lost)) >= 5
    assert [len(which) for which in _repairs(side)] == [1, 1]


def test_a_delayed_ack_is_waited_for_from_the_copy_that_arrived(tmp_path: Path) -> None:
    """World 70053: copies after it were dropped, the first of them 20 s before."""
    found = [f for f in events(tmp_path, 70053, "delayed_ack_deadlock") if f.flow == 1]
    assert [f.cost_s for f in found] == [pytest.approx(0.2)]


def test_a_queue_of_other_flows_need_not_be_found_as_overshot(tmp_path: Path) -> None:
    """World 70132: eight flows fill the queue."""
    found = events(tmp_path, 70132, "startup_overflow")
    assert found
    assert {f.confidence for f in found} == {MAY_BE_MISSED}


def test_a_tail_that_never_left_the_device_is_none(tmp_path: Path) -> None:
    """World 73004: the device's queue drops the first copy, and a probe is the first to pass the tap."""
    assert all(f.t_start_ns >= 0 for f in events(tmp_path, 73004, "tail_loss"))


def test_a_window_filled_by_held_packets_need_not_be_found(tmp_path: Path) -> None:
    """World 360051: the sender's device holds packets for 150 ms, and their ACKs come just before the window is free."""
    (found,) = events(tmp_path, 360051, "window_limited")
    assert found.confidence == MAY_BE_MISSED


def test_a_file_that_the_end_of_the_run_cuts_has_no_lost_tail(tmp_path: Path) -> None:
    """World 360243: 102 400 bytes in 98 s at 8700 bit/s."""
    assert events(tmp_path, 360243, "tail_loss") == []


def test_without_dsack_a_lost_ack_explains_the_answer_to_a_lone_copy(tmp_path: Path) -> None:
    """World 360209: timestamps alone show which copy is answered, not that the first was lost."""
    assert {f.confidence for f in events(tmp_path, 360209, "tail_loss")} == {MAY_BE_MISSED}


def test_duplicate_acks_that_report_a_copy_and_a_hole_count(tmp_path: Path) -> None:
    """World 361339: the third one answers a tail loss probe, with SACK."""
    (found,) = events(tmp_path, 361339, "missing_fast_retransmit")
    assert found.values["runs_count"] == 11


def test_a_copy_that_the_devices_queue_drops_answers_no_duplicate_acks(tmp_path: Path) -> None:
    """World 363273: the queue is full when the sender goes back N."""
    (found,) = events(tmp_path, 363273, "missing_fast_retransmit")
    assert found.values["runs_count"] == 2


def test_an_ack_of_a_copy_of_all_that_arrived_is_no_duplicate(tmp_path: Path) -> None:
    """World 341151: a first DSACK, and two duplicate ACKs before the timer expires."""
    assert events(tmp_path, 341151, "missing_fast_retransmit") == []


def test_a_repeated_syn_ack_is_no_duplicate_ack(tmp_path: Path) -> None:
    """World 341252: SYN-ACKs come again and again before the only segment is lost."""
    assert len(events(tmp_path, 341252, "tail_loss")) == 32

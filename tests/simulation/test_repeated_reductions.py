"""The truth of repeated cwnd reductions: which fast retransmission belongs to the loss episode before it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from wlanlens.detection.finding import MAY_BE_MISSED
from wlanlens.simulation.ground_truth.line import _Cut, _Way
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.random_worlds import random_world


@pytest.mark.parametrize(
    ("seq", "spurious", "sack", "again"),
    [
        (400, 0, False, True),  # sent before the reduction
        (500, 3, False, True),  # three spurious retransmissions made the duplicate ACKs
        (500, 2, False, False),
        (500, 3, True, False),  # SACK: the sender counts segments that arrived
        (600, 3, False, False),
    ],
)
def test_a_reduction_belongs_to_the_one_before(seq: int, spurious: int, sack: bool, again: bool) -> None:
    """Segments of 100 bytes; the reduction at 10 ns had 500 bytes sent; the next byte arrived."""
    starts = [0, 100, 200, 300, 400, 500, *range(0, 100 * spurious, 100)]
    way = object.__new__(_Way)
    way.flow = 0
    way.facts = SimpleNamespace(world=SimpleNamespace(flows=[SimpleNamespace(tcp=SimpleNamespace(sack=sack))]))  # type: ignore[assignment]
    way.data = {  # type: ignore[assignment]
        "rel_seq": np.array(starts),
        "copy": np.array([0] * 6 + [1] * spurious),
        "delivered": np.ones(len(starts), bool),
        "under_way": np.zeros(len(starts), bool),
        "t_made_ns": np.array([1, 2, 3, 4, 5, 12, *range(20, 20 + spurious)]),
    }
    assert way._again(seq, 40, _Cut(10, 500, seen=True)) == again


def test_what_is_under_way_at_the_end_need_not_be_found(tmp_path: Path) -> None:
    """World 363101: copies that had arrived caused duplicate ACKs of a segment that is under way when the simulation ends."""
    run = simulate(random_world(363101, varied=True), tmp_path, seed=363101)
    found = [f for f in run.facts.findings() if f.code == "repeated_fast_retransmit"]
    assert [f.confidence for f in found] == [MAY_BE_MISSED] * 3


def test_what_only_spurious_retransmissions_show_needs_timestamps(tmp_path: Path) -> None:
    """World 367276: a line with a queue of 26 s, and senders without SACK and timestamps, whose every retransmission is spurious."""
    run = simulate(random_world(367276, varied=True), tmp_path, seed=367276)
    found = [f for f in run.facts.findings() if f.code == "repeated_fast_retransmit"]
    assert found
    assert {f.confidence for f in found} == {MAY_BE_MISSED}


def test_a_recovery_without_room_for_the_retransmission(tmp_path: Path) -> None:
    """World 365095: the sender began fast recovery with more outstanding than its window, and its timer sent the segment."""
    run = simulate(random_world(365095, varied=True), tmp_path, seed=365095)
    (found,) = [f for f in run.facts.findings() if f.code == "missing_fast_retransmit"]
    assert found.values["verdict"] == "wrong"
    assert found.cost_s == pytest.approx(84.2, abs=0.1)

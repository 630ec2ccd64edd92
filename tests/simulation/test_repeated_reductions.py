"""The truth of repeated cwnd reductions: which fast retransmission belongs to the loss episode before it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from wlanlens.simulation.ground_truth.line import _Cut, _Way


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
        "t_made_ns": np.array([1, 2, 3, 4, 5, 12, *range(20, 20 + spurious)]),
    }
    assert way._again(seq, 40, _Cut(10, 500, seen=True)) == again

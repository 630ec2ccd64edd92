"""The truth of a limiting bus: an adapter that refuses each transfer for a moment has room; one that refuses for long has none."""

from __future__ import annotations

import numpy as np
import pytest

from wlanlens.detection.finding import MAY_BE_MISSED
from wlanlens.simulation.ground_truth.usb import _limited


@pytest.mark.parametrize(
    ("refused_us", "every", "in_turns", "confidence"),
    [
        (0, 1, False, 1.0),
        (1_000, 1, False, MAY_BE_MISSED),
        (1_000, 20, False, 1.0),
        (3_000, 1, False, None),
        (24_000, 1, False, None),
        (3_000, 1, True, MAY_BE_MISSED),  # an adapter with room for one packet refuses the next while it sends
        (13_000, 1, True, None),
    ],
)
def test_the_time_of_refusals_counts(refused_us: int, every: int, in_turns: bool, confidence: float | None) -> None:
    """A hundred transfers of 24 ms, one after the other: 24 transactions, one a frame."""
    end = 24_000_000 * np.arange(1, 101)
    refused = np.where(np.arange(100) % every == 0, refused_us * 1000, 0)
    found = _limited(
        {"t_submit_ns": end - 24_000_000, "t_complete_ns": end, "refused_ns": refused, "len_bytes": np.full(100, 1500)},
        in_turns=in_turns,
    )
    assert (None if found is None else found.confidence) == confidence

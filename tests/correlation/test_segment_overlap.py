"""Earlier copies of segments, against a comparison of all segments with all."""

from __future__ import annotations

import numpy as np
import pytest

from wlanlens.correlation.segment_overlap import EarlierCopies


@pytest.mark.parametrize("seed", range(6))
def test_as_by_comparison_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 400
    stream = rng.integers(0, 5, count)
    # Segments a few blocks apart, or all in one.
    start = rng.integers(0, (30_000, 3_000_000)[seed % 2], count) + 10**9 * stream
    length = rng.integers(0, (3000, 60_000)[seed % 2], count)
    sent = np.flatnonzero(rng.random(count) < 0.8)
    chosen = np.flatnonzero(rng.random(count) < 0.2)
    size = None if seed < 3 else length[chosen] + rng.integers(1, 500_000, len(chosen))
    truth = rng.random(count) < 0.6
    copies = EarlierCopies(stream, start, length, sent, chosen, size)
    every, covered = copies.all_are(truth), copies.cover(truth)
    found = set()
    for n, one in enumerate(chosen):
        end = start[one] + (length[one] if size is None else size[n])
        mine = [
            k
            for k in sent
            if k < one and stream[k] == stream[one] and start[k] < end and start[k] + length[k] > start[one]
        ]
        found.update(mine)
        assert copies.any[n] == bool(mine)
        assert every[n] == all(truth[k] for k in mine)
        reach = start[one]
        for k in sorted((k for k in mine if truth[k]), key=lambda k: start[k]):
            reach = max(reach, start[k] + length[k]) if start[k] <= reach else reach
        assert covered[n] == (any(truth[k] for k in mine) and reach >= end)
    assert set(copies.rows().tolist()) == found


def test_bytes_beyond_all_segments_are_not_those_of_the_next_stream() -> None:
    stream, start, length = np.array([0, 1, 0]), np.array([1, 1, 1]), np.array([100, 100, 100])
    copies = EarlierCopies(stream, start, length, np.array([0, 1]), np.array([2]), np.array([250]))
    assert copies.rows().tolist() == [0]
    assert not copies.cover(np.ones(3, bool))[0]

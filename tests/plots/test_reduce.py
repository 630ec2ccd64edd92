"""Reductions for drawing: few marks, and no rare one is lost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report import synthetic
from wlanlens.plots import _reduce
from wlanlens.plots._rows import FlowKey, flow_rows

KEY = FlowKey(synthetic.NAME, 0, "a2b")


def rows(packets=20_000):
    """The rows of a synthetic flow."""
    return flow_rows(synthetic.make(packets).trace, KEY)


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(-100, 100)), min_size=1, max_size=300), st.integers(1, 20))
def test_a_line_keeps_the_extremes_of_every_slice(points, buckets):
    points.sort(key=lambda p: p[0])
    x, y = (np.array(column, np.int64) for column in zip(*points, strict=True))
    kept = _reduce.line(x, y, buckets)
    assert np.all(np.diff(kept) > 0)
    bucket = _reduce.bucket_of(x, buckets)
    for one in np.unique(bucket):
        here = np.flatnonzero(bucket == one)
        left = np.intersect1d(here, kept)
        assert {y[here].min(), y[here].max()} <= set(y[left].tolist())
        assert here[0] in left
        assert here[-1] in left


def test_thinning_keeps_rare_rows_and_both_sides_of_every_gap():
    whole = rows()
    kept = _reduce.thin(whole, 2000)
    assert len(kept) < len(whole) / 3
    left = whole.take(kept)
    assert left.packet[left.is_retransmission].tolist() == whole.packet[whole.is_retransmission].tolist()
    assert np.count_nonzero(left.size[left.is_ack] == 0) == np.count_nonzero(whole.size[whole.is_ack] == 0)
    gap = int((whole.t_ns[-1] - whole.t_ns[0]) * _reduce.GAP_SHARE)
    wide = np.flatnonzero(np.diff(whole.t_ns) > gap)
    assert len(wide)
    assert set(wide.tolist()) | set((wide + 1).tolist()) <= set(kept.tolist())


def test_taking_rows_keeps_their_sack_blocks():
    whole = rows(3000)
    part = whole.take(np.arange(500, 1500))
    inside = (whole.sack_row >= 500) & (whole.sack_row < 1500)
    assert part.sack_left.tolist() == whole.sack_left[inside].tolist()
    assert part.packet[part.sack_row].tolist() == whole.packet[whole.sack_row[inside]].tolist()


def test_sack_blocks_are_relative_to_the_ack_that_carries_them():
    whole = rows(3000)
    assert len(whole.sack_row)
    assert np.all(whole.is_ack[whole.sack_row])
    assert np.all(whole.sack_left > whole.seq[whole.sack_row])
    assert np.all((whole.sack_right - whole.sack_left) % synthetic.MSS == 0)


@pytest.mark.parametrize("holes", [False, True])
def test_strokes_cover_every_segment_and_cross_no_gap(holes):
    whole = rows()
    first = np.flatnonzero(~whole.is_ack & (whole.mark == 0))
    if holes:
        first = first[np.sort(np.unique(np.r_[np.arange(0, len(first), 3), _edges(whole.t_ns[first])]))]
    t, lo = whole.t_ns[first], whole.seq[first]
    hi = lo + whole.size[first]
    merged = _reduce.strokes(t, lo, hi, 1000, holes=holes)
    assert len(merged.t0) <= 1500
    gap = int((t[-1] - t[0]) * _reduce.GAP_SHARE)
    at = np.searchsorted(merged.t0, t, side="right") - 1
    assert np.all(t <= merged.t1[at])
    assert np.all((lo >= merged.lo[at]) & (hi <= merged.hi[at]))
    for before, after in pairwise(t):
        if after - before > gap:
            crossing = (merged.t0 <= before) & (merged.t1 >= after)
            assert not crossing.any()


def _edges(t):
    wide = np.flatnonzero(np.diff(t) > 100_000_000)
    return np.r_[wide, wide + 1]


def test_few_marks_are_not_reduced():
    whole = rows(600)
    assert _reduce.thin(whole, 10_000).tolist() == list(range(len(whole)))

"""The feasible region and the hulls, against what they are by definition."""

from __future__ import annotations

import numpy as np

from wlanlens.alignment.clock.feasible_region import FeasibleRegion, hull


def test_limits_up_to_the_first_contradiction() -> None:
    """Clipping by many limits at once is clipping by one after the other."""
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(0, 100, 400))
    side = rng.choice([1, -1], 400).astype(np.int8)
    limit = 7 * x + side * rng.exponential(1000, 400)
    limit[300] -= int(side[300]) * 50_000
    one, other = FeasibleRegion(0.0, limit[0]), FeasibleRegion(0.0, limit[0])
    agreed = other.clip_while(x, limit, side)
    assert agreed == 300
    assert all(one.clip(*each) for each in list(zip(x.tolist(), limit.tolist(), side.tolist(), strict=True))[:agreed])
    assert one.corners == other.corners
    assert other.excess(float(x[300]), float(limit[300]), int(side[300])) > 0
    low, high = other.slopes()
    assert low <= 7 <= high
    assert other.between(50.0)[0] <= 350 <= other.between(50.0)[1]
    assert other.clip_all(x[side > 0][:5], limit[side > 0][:5] - 1e6, 1) == 5


def test_hull_bounds_all_points() -> None:
    rng = np.random.default_rng(6)
    for count in (1, 2, 40, 1000):
        # Several points at one time, and reversed arrays, which are not in one piece.
        x, y = np.sort(rng.integers(0, count, count)).astype(float)[::-1], rng.normal(0, 1e6, count)[::-1]
        for side in (1, -1):
            corners = hull(x, y, side)
            assert (np.diff(x[corners]) > 0).all()
            assert (side * (y - np.interp(x, x[corners], y[corners])) > -1e-6).all()
    assert hull(np.zeros(0), np.zeros(0), 1).tolist() == []

"""The delivery rate of a flow: over round trips, and its best."""

from __future__ import annotations

import numpy as np

from wlanlens.ledger.delivery_rate import best_rates, rates


def test_a_burst_of_delayed_acks_is_not_the_best_rate() -> None:
    rank = np.zeros(100, np.int64)
    rate = np.full(100, 3.0)
    rate[40:43] = 9.0
    assert best_rates(rank, rate, np.full(100, 1000)).tolist() == [3.0]
    # A fifth of the data is more than a burst.
    rate[40:60] = 9.0
    assert best_rates(rank, rate, np.full(100, 1000)).tolist() == [9.0]


def test_idle_time_does_not_count() -> None:
    rank = np.zeros(100, np.int64)
    rate, acked = np.zeros(100), np.zeros(100, np.int64)
    rate[:2], acked[:2] = 5.0, 1000
    assert best_rates(rank, rate, acked).tolist() == [5.0]


def test_each_direction_has_its_own_best_rate() -> None:
    rank = np.repeat([0, 1, 2], 10)
    rate = np.repeat([1.0, 2.0, 0.0], 10)
    acked = np.repeat([10, 1000, 0], 10)
    assert best_rates(rank, rate, acked).tolist() == [1.0, 2.0, 0.0]
    assert best_rates(rank[:0], rate[:0], acked[:0]).tolist() == []


def test_a_rate_is_taken_over_round_trips() -> None:
    ms = 1_000_000
    start = np.arange(0, 100, 10) * ms
    got = rates(np.zeros(10, np.int64), start, start + 10 * ms, np.full(10, 10_000), np.full(10, 20 * ms))
    assert got[:3].tolist() == [0.0, 0.0, 0.0]
    assert np.allclose(got[4:], 10_000 / (10 * ms))

"""The pace of a flow: over round trips, and which is its best."""

from __future__ import annotations

import numpy as np

from wlanlens.ledger.delivery_rate import best, paces


def test_a_burst_of_acks_that_waited_is_no_best_pace() -> None:
    rank = np.zeros(100, np.int64)
    pace = np.full(100, 3.0)
    pace[40:43] = 9.0
    assert best(rank, pace, np.full(100, 1000)).tolist() == [3.0]
    # Were it a fifth of the data, it would be.
    pace[40:60] = 9.0
    assert best(rank, pace, np.full(100, 1000)).tolist() == [9.0]


def test_idle_time_does_not_count_for_it_carries_nothing() -> None:
    rank = np.zeros(100, np.int64)
    pace, acked = np.zeros(100), np.zeros(100, np.int64)
    pace[:2], acked[:2] = 5.0, 1000
    assert best(rank, pace, acked).tolist() == [5.0]


def test_each_direction_has_its_own() -> None:
    rank = np.repeat([0, 1, 2], 10)
    pace = np.repeat([1.0, 2.0, 0.0], 10)
    acked = np.repeat([10, 1000, 0], 10)
    assert best(rank, pace, acked).tolist() == [1.0, 2.0, 0.0]
    assert best(rank[:0], pace[:0], acked[:0]).tolist() == []


def test_a_pace_is_taken_over_round_trips() -> None:
    ms = 1_000_000
    start = np.arange(0, 100, 10) * ms
    got = paces(np.zeros(10, np.int64), start, start + 10 * ms, np.full(10, 10_000), np.full(10, 20 * ms))
    assert got[:3].tolist() == [0.0, 0.0, 0.0]
    assert np.allclose(got[4:], 10_000 / (10 * ms))

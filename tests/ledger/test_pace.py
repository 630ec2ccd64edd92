"""The pace of ACKs: each stretch is judged alone, however many there are."""

from __future__ import annotations

import numpy as np

from wlanlens.ledger.pace import evenly_paced, full_size

MS = 1_000_000


def test_stretches_are_judged_as_each_alone() -> None:
    draw = np.random.default_rng(1)
    alone, parts, at = [], [], 0
    for each in range(200):
        number = int(draw.integers(1, 40))
        pauses = draw.random(number) < draw.choice([0.0, 0.1])
        end = at + np.cumsum(np.where(pauses, 4 * MS, MS))
        part = (np.full(number, each // 3), end, draw.choice([1448, 2896], number), np.full(number, 8 * MS))
        alone.append(evenly_paced(*part, np.ones(number, bool)))
        parts.append(part)
        at = int(end[-1]) + 20 * MS
    key, end, size, rtt = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    found = evenly_paced(key, end, size, rtt, np.ones(len(key), bool))
    assert found.tolist() == np.concatenate(alone).tolist()
    assert 0 < found.sum() < len(found)


def test_one_late_train_is_a_pause_and_one_pace_is_none() -> None:
    key, size, rtt = np.zeros(100, np.int64), np.full(100, 1448), np.full(100, 10 * MS)
    even, train = MS * np.arange(100), 10 * MS * (np.arange(100) // 10) + MS // 2 * (np.arange(100) % 10)
    assert evenly_paced(key, even, size, rtt, np.ones(100, bool)).all()
    assert not evenly_paced(key, train, size, rtt, np.ones(100, bool)).any()
    assert not evenly_paced(key, even, size, rtt, full_size(np.full(100, 80), np.full(100, 100))).any()

"""Rates of several clocks from the drifts between each two of them.

Drifts add up along a chain of clocks. Two captures with a queue between them, or with coarse clocks, compare better through a
third capture than directly. The rates are the least-squares solution, with each drift weighed by its standard error.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wlanlens.alignment.clock.drift import Drift
from wlanlens.tables.columns import Array

#: Smallest possible error of a drift, ns per second: clocks change that much with temperature within a minute.
_LEAST = 1.0

Pair = tuple[int, int]


def agreed(drifts: Mapping[Pair, Drift], steps: Mapping[Pair, int]) -> dict[Pair, Drift]:
    """The drift of each pair that agrees with all pairs.

    Parameters
    ----------
    drifts : mapping
        Drift of the second capture's clock relative to the first's, by pair of captures.
    steps : mapping
        Number of steps found between them. A pair with a step that it does not show is ignored, and keeps its own drift.
    """
    usable = {pair: drift for pair, drift in drifts.items() if not _misses_step(pair, steps)}
    out = dict(drifts)
    for group in _connected(usable):
        captures = sorted(group)
        rates, spread = _solved(captures, {pair: drift for pair, drift in usable.items() if pair[0] in group})
        for pair in drifts:
            if group.issuperset(pair):
                one, other = (captures.index(capture) for capture in pair)
                toward = np.zeros(len(group))
                toward[other], toward[one] = 1, -1
                out[pair] = Drift(1e9 * float(np.expm1(toward @ rates / 1e9)), float(np.sqrt(toward @ spread @ toward)))
    return out


def _misses_step(pair: Pair, steps: Mapping[Pair, int]) -> bool:
    """Whether no step was found between two clocks, one between one of them and a third, and none between the third and the other."""

    def has_step(one: int, other: int) -> bool | None:
        count = steps.get((one, other), steps.get((other, one)))
        return None if count is None else count > 0

    third = {capture for both in steps for capture in both} - set(pair)
    others = [(has_step(pair[0], k), has_step(k, pair[1])) for k in third]
    return not has_step(*pair) and any({one, other} == {True, False} for one, other in others)


def _connected(pairs: Mapping[Pair, Drift]) -> list[set[int]]:
    """Groups of captures that are compared with each other, directly or through others."""
    groups: list[set[int]] = []
    for pair in pairs:
        apart = [group for group in groups if group.isdisjoint(pair)]
        groups = [*apart, set(pair).union(*(group for group in groups if not group.isdisjoint(pair)))]
    return groups


def _solved(captures: list[int], drifts: Mapping[Pair, Drift]) -> tuple[Array, Array]:
    """Rates of captures relative to the first of them, and their covariance."""
    rows, weighted = np.zeros((len(drifts), len(captures))), np.zeros(len(drifts))
    for k, ((one, other), drift) in enumerate(drifts.items()):
        weight = 1 / np.hypot(drift.error, _LEAST)
        rows[k, captures.index(other)], rows[k, captures.index(one)] = weight, -weight
        # A drift is a factor: the logarithms add up.
        weighted[k] = weight * 1e9 * np.log1p(drift.slope / 1e9)
    spread = np.zeros((len(captures), len(captures)))
    spread[1:, 1:] = np.linalg.inv(rows[:, 1:].T @ rows[:, 1:])
    return np.asarray(spread @ (rows.T @ weighted)), spread

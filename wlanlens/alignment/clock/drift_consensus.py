"""Rates of several clocks from the drifts between each two of them.

Drifts add up: what one clock gains on a second and that on a third, the first gains on the third. Two taps with a queue or two
coarse clocks between them are better compared by way of a third tap than with each other. The rates are those of least
squares, each drift weighed by its standard error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wlanlens.alignment.clock.drift import Drift

Array = np.ndarray[Any, Any]

#: What no drift is known better than, ns a second: clocks wander by as much with the temperature in a minute.
_LEAST = 1.0

Pair = tuple[int, int]


def agreed(drifts: Mapping[Pair, Drift], steps: Mapping[Pair, int]) -> dict[Pair, Drift]:
    """The drift of each pair as all pairs have it.

    Parameters
    ----------
    drifts : mapping
        What the second capture's clock gains on the first's, by pair of captures.
    steps : mapping
        How many steps were found between them. A pair that is shown to hide one has no say, and keeps its own.
    """
    sure = {pair: drift for pair, drift in drifts.items() if not _hides(pair, steps)}
    out = dict(drifts)
    for group in _connected(sure):
        captures = sorted(group)
        rates, spread = _solved(captures, {pair: drift for pair, drift in sure.items() if pair[0] in group})
        for pair in drifts:
            if group.issuperset(pair):
                one, other = (captures.index(capture) for capture in pair)
                toward = np.zeros(len(group))
                toward[other], toward[one] = 1, -1
                out[pair] = Drift(1e9 * float(np.expm1(toward @ rates / 1e9)), float(np.sqrt(toward @ spread @ toward)))
    return out


def _hides(pair: Pair, steps: Mapping[Pair, int]) -> bool:
    """Whether no step was found between two clocks, but between one of them and a third, and none between that and the other."""

    def shown(one: int, other: int) -> bool | None:
        count = steps.get((one, other), steps.get((other, one)))
        return None if count is None else count > 0

    third = {capture for both in steps for capture in both} - set(pair)
    beside = [(shown(pair[0], k), shown(k, pair[1])) for k in third]
    return not shown(*pair) and any({one, other} == {True, False} for one, other in beside)


def _connected(pairs: Mapping[Pair, Drift]) -> list[set[int]]:
    """Captures that are compared with each other, directly or through others."""
    groups: list[set[int]] = []
    for pair in pairs:
        apart = [group for group in groups if group.isdisjoint(pair)]
        groups = [*apart, set(pair).union(*(group for group in groups if not group.isdisjoint(pair)))]
    return groups


def _solved(captures: list[int], drifts: Mapping[Pair, Drift]) -> tuple[Array, Array]:
    """Rates of captures beside the first of them, and their covariance."""
    rows, gains = np.zeros((len(drifts), len(captures))), np.zeros(len(drifts))
    for k, ((one, other), drift) in enumerate(drifts.items()):
        weight = 1 / np.hypot(drift.error, _LEAST)
        rows[k, captures.index(other)], rows[k, captures.index(one)] = weight, -weight
        # A gain is a factor: of factors the logarithms add up.
        gains[k] = weight * 1e9 * np.log1p(drift.slope / 1e9)
    spread = np.zeros((len(captures), len(captures)))
    spread[1:, 1:] = np.linalg.inv(rows[:, 1:].T @ rows[:, 1:])
    return np.asarray(spread @ (rows.T @ gains)), spread

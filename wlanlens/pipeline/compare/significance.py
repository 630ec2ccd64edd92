"""Whether two groups of runs differ by more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from wlanlens.tables.columns import Array

#: Differences with a smaller chance are called more than chance: the usual level.
ALPHA = 0.05
#: Divisions of the runs into two groups that are all counted; 9 and 9 runs have 48 620. Of more, so many are drawn: the
#: error of p = 0.05 is then 0.001.
MOST_DIVISIONS = 50_000


def rank_tests(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> list[float]:
    """Two-sided p-values of Wilcoxon-Mann-Whitney rank tests of several measures of the same runs, corrected for their number.

    Why ranks: runs of a network are few, and their times are skewed; one run with a backed-off timer takes twice as long as the
    others. Welch's t-test assumes means of a normal distribution and is wrong there. The permutation distribution of the rank
    sum needs only that runs are independent, and it is counted exactly, so that the level holds for 4 runs a side and for the
    many equal values (a category with 0 s), for which tables of the U statistic do not hold.

    Why not Holm or Bonferroni: the categories of a ledger share the same seconds. The largest standardised rank sum of all
    measures in each division of the runs (maxT) keeps their dependence. The chance of any false alarm stays at the level.
    Source: Westfall and Young, Resampling-Based Multiple Testing (1993), section 2.

    Parameters
    ----------
    a, b : sequence of sequences of float
        For each measure one value per run of a side. A measure that is the same in all runs is not counted.

    Returns
    -------
    list of float
        One for each measure; 1 where it is the same in all runs, or a side has no run.
    """
    from scipy import stats

    out = [1.0] * len(a)
    both = np.array([[*x, *y] for x, y in zip(a, b, strict=True)], float)
    mine = len(a[0]) if len(a) else 0
    if not both.size or mine in (0, both.shape[1]):
        return out
    varies = np.flatnonzero(np.ptp(both, axis=1) > 0)
    if not len(varies):
        return out
    # Twice the midranks are whole numbers: sums of them compare exactly.
    ranks = np.rint(2 * stats.rankdata(both[varies], axis=1)).astype(np.int64)
    divisions, drawn = _divisions(both.shape[1], mine)
    # Distances from the expected sum, times the number of runs to stay whole; the smaller side has the same distance.
    expected = mine * ranks.sum(axis=1)
    seen = np.abs(ranks[:, :mine].sum(axis=1) * both.shape[1] - expected)
    # Over all divisions the standard deviation of a rank sum is proportional to that of the ranks.
    scale = ranks.std(axis=1)
    most = np.zeros(len(divisions))
    for rank, middle, spread in zip(ranks, expected, scale, strict=True):
        most = np.maximum(most, np.abs(rank[divisions].sum(axis=1) * both.shape[1] - middle) / spread)
    for at, value in zip(varies, seen / scale, strict=True):
        reached = int(np.count_nonzero(most >= value * (1 - 1e-9)))
        out[int(at)] = (reached + drawn) / (len(divisions) + drawn)
    return out


def _divisions(runs: int, mine: int) -> tuple[Array, int]:
    """The runs of the first group in each division; and 1 if these are drawn (the true division counts too), else 0."""
    number = comb(runs, mine)
    if number <= MOST_DIVISIONS:
        every = np.fromiter((i for chosen in combinations(range(runs), mine) for i in chosen), np.intp)
        return every.reshape(number, mine), 0
    # A fixed seed: the same runs give the same p-value.
    generator = np.random.default_rng(1)
    return np.argsort(generator.random((MOST_DIVISIONS, runs)), axis=1)[:, :mine], 1


def rank_test(a: Sequence[float], b: Sequence[float]) -> float:
    """`rank_tests` of one measure."""
    return rank_tests([a], [b])[0]


def least_p(runs_a: int, runs_b: int) -> float:
    """The smallest p-value that `rank_test` can give: all runs of one side before all of the other."""
    return min(1.0, 2 / comb(runs_a + runs_b, runs_a))


def runs_needed(tests: int) -> int:
    """Runs a side with which one of so many tests can be more than chance."""
    return next(n for n in range(2, 100) if least_p(n, n) * tests < ALPHA)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number by Holm's method, for tests of different runs.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    out = [0.0] * len(p_values)
    reached = 0.0
    for place, i in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - place) * p_values[i]))
        out[i] = reached
    return out

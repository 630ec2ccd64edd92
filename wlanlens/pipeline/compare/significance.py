"""Whether two groups of runs differ by more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

#: Differences with a smaller chance are called more than chance: the usual level.
ALPHA = 0.05
#: Divisions of the runs into two groups that are counted one by one; 10 and 10 runs have 184 756.
MOST_DIVISIONS = 200_000


def rank_test(a: Sequence[float], b: Sequence[float]) -> float:
    """The two-sided p-value of the Wilcoxon-Mann-Whitney rank test, ties included.

    Runs of a network are few, and their times are skewed: one run with a backed-off timer takes twice as long as the others.
    Welch's t-test assumes means of a normal distribution and is wrong there; ranks assume nothing but that runs are
    independent. The permutation distribution of the rank sum is counted exactly, so that the level holds for 4 runs and for
    the many equal values (a category with 0 s), for which tables of the U statistic do not hold. With more than
    `MOST_DIVISIONS` divisions the normal approximation with its correction for ties is exact enough.

    Parameters
    ----------
    a, b : sequence of float
        One value per run.

    Returns
    -------
    float
        1 where a side has no run, or all values are equal.
    """
    from scipy import stats

    both = np.array([*a, *b], float)
    if not len(a) or not len(b) or np.all(both == both[0]):
        return 1.0
    if comb(len(both), len(a)) > MOST_DIVISIONS:
        return float(stats.mannwhitneyu(a, b, method="asymptotic").pvalue)
    # Twice the midranks are whole numbers: sums of them compare exactly.
    ranks = np.rint(2 * stats.rankdata(both)).astype(np.int64)
    few = min(len(a), len(b))
    mine = ranks[: len(a)] if len(a) == few else ranks[len(a) :]
    divisions = np.fromiter((i for chosen in combinations(range(len(both)), few) for i in chosen), np.intp)
    sums = ranks[divisions.reshape(-1, few)].sum(axis=1)
    # Distances from the expected sum, times the number of runs to stay whole.
    distance = np.abs(sums * len(both) - few * ranks.sum())
    return float(np.mean(distance >= abs(int(mine.sum()) * len(both) - few * int(ranks.sum()))))


def least_p(runs_a: int, runs_b: int) -> float:
    """The smallest p-value that `rank_test` can give: all runs of one side before all of the other."""
    return min(1.0, 2 / comb(runs_a + runs_b, runs_a))


def runs_needed(tests: int) -> int:
    """Runs a side with which one of so many tests can be more than chance."""
    return next(n for n in range(2, 100) if least_p(n, n) * tests < ALPHA)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number by Holm's method: the chance of any false alarm stays at the level.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979). It assumes nothing
    about the dependence of the tests: categories of a ledger share the same seconds.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    out = [0.0] * len(p_values)
    reached = 0.0
    for place, i in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - place) * p_values[i]))
        out[i] = reached
    return out

"""Bursts: runs of bad frames and runs of lost packets of a station pair, against independent errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.rows import key_groups
from wlanlens.detection.toolkit.station_pairs import reverse
from wlanlens.detection.toolkit.statistics import normal_tail, poisson_tail
from wlanlens.detection.toolkit.trials import Trials, failure_chances
from wlanlens.tables.columns import NULL, Array

#: Sums of this many events are close to normal. A Poisson distribution is too wide where errors are frequent.
NORMAL_FROM = 10


@dataclass
class Bursts:
    """Runs of bad frames of one station pair.

    Attributes
    ----------
    pair, part : int, slice
        The pair, and its trials.
    trials, bad, bursts, longest : int
        Trials of known fate, bad ones, runs of bad ones, and the length of the longest.
    longest_ends : tuple of int
        First and last packet of the longest; `NULL` without one.
    neighbours, expected : int, float
        Bad frames directly after a bad one, and how many independent errors give.
    z : float
        Neighbours beyond those of independent errors, in standard deviations.
    cost_s : float
        Time of the bad frames beyond those of independent errors.
    evidence : array
        Packets of the 20 longest bursts.
    """

    pair: int
    part: slice
    trials: int
    bad: int
    bursts: int
    longest: int
    longest_ends: tuple[int, int]
    neighbours: int
    expected: float
    z: float
    cost_s: float
    evidence: Array

    @cached_property
    def p_value(self) -> float:
        """Of as many neighbours among independent errors: normal, and where few are expected no less than a Poisson one."""
        few = poisson_tail(self.neighbours, self.expected) if self.expected < NORMAL_FROM else 0.0
        return max(normal_tail(self.z), few)

    @property
    def mean(self) -> float:
        """Mean length of a burst; 0 without one."""
        return self.bad / max(1, self.bursts)

    @property
    def mean_by_chance(self) -> float:
        """Mean length of a burst of as many independent errors."""
        return self.bad / max(1.0, self.bad - self.expected)


def bad_frame_bursts(tried: Trials, part: slice, block: int) -> Bursts:
    """The bursts of one pair's trials, against independent errors in blocks of trials."""
    known = np.flatnonzero(tried.bad[part] >= 0) + part.start
    bad = tried.bad[known] == 1
    if not bad.any():
        none = np.zeros(0, np.int64)
        pair = int(tried.pair[part.start])
        return Bursts(pair, part, len(known), 0, 0, 0, (NULL, NULL), 0, 0.0, 0.0, 0.0, none)
    chances = failure_chances(bad, tried.stratum[known], block)
    each = chances[1:] * chances[:-1]
    neighbours, expected = int((bad[1:] & bad[:-1]).sum()), float(each.sum())
    spread = float((each * (1 - chances[1:]) * (1 - chances[:-1])).sum())
    z = float(((bad[1:] - chances[1:]) * (bad[:-1] - chances[:-1])).sum()) / math.sqrt(spread) if spread else 0.0
    first, length = key_groups(bad)
    runs = bad[first]
    longest = np.argmax(np.where(runs, length, 0))
    total, bursts = int(bad.sum()), int(runs.sum())
    by_chance = total / max(1.0, total - expected)
    excess = max(0.0, total - bursts * by_chance)
    order = np.argsort(np.where(runs, -length, 0), kind="stable")[:20]
    return Bursts(
        pair=int(tried.pair[part.start]),
        part=part,
        trials=len(known),
        bad=total,
        bursts=bursts,
        longest=int(length[longest]),
        longest_ends=(
            int(tried.packet[known[first[longest]]]),
            int(tried.packet[known[first[longest] + length[longest] - 1]]),
        ),
        neighbours=neighbours,
        expected=expected,
        z=z,
        cost_s=excess * float(tried.took_us[known][bad].mean()) / 1e6,
        evidence=np.concatenate([tried.packet[known[first[i] : first[i] + length[i]]] for i in order if runs[i]]),
    )


def bursty_pairs(bursts: Mapping[int, Bursts], factor: float, chance: float, reverse_chance: float) -> set[int]:
    """Pairs whose bursts are longer than independent errors make, by this factor and with this p-value.

    A direction may have the p-value `reverse_chance` beside one with bursts: both cross one channel, which was bad for both.
    """
    longer = {pair: b.p_value for pair, b in bursts.items() if b.mean >= factor * b.mean_by_chance}
    sure = {pair for pair, p_value in longer.items() if p_value <= chance}
    return sure | {pair for pair, p_value in longer.items() if p_value <= reverse_chance and reverse(pair) in sure}


@dataclass
class LostRuns:
    """Dropped packets of one station pair: share of those of known fate, their runs, the cost of all but the first of each."""

    dropped: Array
    share: float
    mean: float
    longest: int
    p_value: float
    cost_s: float


def lost_packet_runs(air: Air, pair: int, long_run: int) -> LostRuns:
    """Runs of dropped packets of one pair; the p-value is 1 where the longest is shorter than `long_run`."""
    e, a = air.exchanges, air.transmissions
    low, high = np.searchsorted(e.pair, [pair, pair + 1])
    settled = np.arange(low, high)[e.delivered[low:high] | e.dropped[low:high]]
    settled = settled[np.argsort(e.t_last_ns[settled], kind="stable")]
    dropped = e.dropped[settled]
    first, length = key_groups(dropped)
    runs = length[dropped[first]] if len(first) else length
    if not len(runs):
        return LostRuns(settled[dropped], 0.0, 0.0, 0, 1.0, 0.0)
    # MPDUs that were first sent in one A-MPDU are lost together: against chance they count as one.
    alone = dropped[e.lead[settled]]
    begin, size = key_groups(alone)
    share, longest = float(alone.mean()), int(size[alone[begin]].max(initial=0))
    # The expected number of runs of at least that length among independent losses.
    by_chance = len(alone) * (1 - share) * share**longest if share < 1 else math.inf
    later = air.transmissions_of(settled[dropped & np.concatenate(([False], dropped[:-1]))])
    return LostRuns(
        dropped=settled[dropped],
        share=float(dropped.mean()),
        mean=float(runs.mean()),
        longest=int(runs.max()),
        p_value=min(1.0, by_chance) if longest >= long_run else 1.0,
        cost_s=float(a.took_us[later].sum()) / 1e6,
    )

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.losses import Losses, binomial_tail, first_of_episodes
from wlanlens.formatting import duration
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Half widths of a tick, in periods, that are tried.
_WIDTHS = (0.003, 0.01, 0.03, 0.1)
#: Events at either end of which one must be on a tick for the clock to be found.
_ENDS = 3
#: Events that are looked at: enough for any significance; the search takes the square of this.
_MOST = 1000


@detector("periodic_loss", needs=("segments",))
def periodic_loss(
    trace: Trace,
    *,
    least_events_count: int = 5,
    chance_share: float = 0.001,
    on_tick_share: float = 0.5,
    ticks_hit_share: float = 0.5,
    steadier_share: float = 0.01,
) -> Iterator[Finding | Undecided]:
    """Losses come at a fixed interval, as if by a clock.

    What it finds
    -------------
    Connections that lose data at the ticks of a clock: the period, how many ticks cost data, and how surely it is no
    chance. The cost is the time by which the first segment lost at each tick was acknowledged later than usual: the
    recovery or the wait for the timer that it made.

    Why it happens
    --------------
    Something on the way does its work at fixed times and drops what comes meanwhile: an access point that polls, scans
    or serves power saving, a station that leaves its channel to look for others, interference with a duty cycle.

    How it decides
    --------------
    Losses are needed resends, dated by the sending of the lost copy; losses sent before the first of them was sent again
    are one event. Every clock that strikes two events, one of the first three and one of the last three, with at most as
    many ticks between them as `ticks_hit_share` allows, is tried; its score is the chance that so many of the other
    events, thrown at random into the time, fall so near its ticks (binomial). The smallest chance times the number of
    clocks and widths tried bounds the p-value: it holds for any number of events and needs no approximation.
    `chance_share`: the largest p-value; of 1000 connections with random losses one.
    `least_events_count`: four events lie on some clock too often. Where the ticks are spells of an eighth of the period
    and the losses come anywhere in them, it takes eight or so to exclude chance; fewer do where they come at its start.
    `on_tick_share`: at least this part of the events is on the ticks; others may have causes of their own.
    `ticks_hit_share`: at least this part of the ticks strikes data.
    `steadier_share`: what follows from the traffic itself (the congestion window's cycle of growth and loss, a rate
    control that tries a higher rate every so many frames) comes evenly in bytes sent, a clock evenly in time. The time
    from event to event must vary less than the bytes sent in it, with at most this p-value (F-test of the variances of
    the logarithms, each with the error of one segment that losses are known to). Where the two are alike the case is left undecided.

    What fools it
    -------------
    Random loss has no clock. Cycles of the congestion window or of rate probing are even in bytes: silent or, where bytes
    and time run alike, undecided: so it is with a clock whose spells are long, while events are few. A clock whose tick
    finds no data leaves no loss. A tap behind the place of the loss does not see the lost copies. Two clocks in one connection are told as the better of them.

    References
    ----------
    The study of TCP window sizes on an 802.11b LAN (losses every two seconds from one make of access point); Schuster, "On the
    investigation of hidden periodicities", 1898; Bonferroni's inequality.
    """
    facts = Facts.of(trace)
    losses = facts.cached(Losses)
    cases: list[_Case] = []
    alike: list[int] = []
    for key in np.unique(losses.key).tolist():
        first = first_of_episodes(losses, losses.of(key))[:_MOST]
        if len(first) < least_events_count:
            continue
        clock = _best_clock(losses.t_ns[first].astype(np.float64), ticks_hit_share)
        struck = len(clock.on) if clock is not None else 0
        if (
            clock is None
            or clock.p_value > chance_share
            or struck < max(least_events_count, on_tick_share * len(first))
        ):
            continue
        mine = first[clock.on]
        p_steadier = _steadier(facts, key, losses.t_ns[mine], clock.ticks)
        if p_steadier <= steadier_share:
            cases.append(_Case(key, mine, clock, len(first), p_steadier, _cost_ns(facts, losses, key, mine)))
        elif p_steadier <= 1 - steadier_share:
            alike.append(key)
    yield from _findings(facts, losses, cases)
    if alike:
        yield facts.undecided(
            "periodic_loss",
            np.array(alike),
            "Losses come evenly, but as evenly in bytes as in time: a clock or a cycle of the traffic's own.",
        )


@dataclass
class _Clock:
    """A clock: period and phase of its ticks, which events are on them, at which tick, and the p-value."""

    period_ns: float
    on: Array
    ticks: Array
    p_value: float


@dataclass
class _Case:
    key: int
    losses: Array
    clock: _Clock
    events: int
    p_steadier: float
    cost_ns: int


def _best_clock(t: Array, hit_share: float) -> _Clock | None:
    """The clock that the events fit least by chance."""
    n = len(t)
    pairs = [(i, j) for i in range(min(_ENDS, n)) for j in range(max(i + 1, n - _ENDS), n) if t[j] > t[i]]
    # One of the struck ticks is the pair's own distance apart, so ticks are as many as events struck over their share.
    spans = np.arange(1, math.ceil((n - 1) / hit_share) + 1)
    tried = max(1, len(pairs) * len(spans) * len(_WIDTHS))
    best: tuple[float, float, Array, Array, float] | None = None
    for i, j in pairs:
        periods = (t[j] - t[i]) / spans
        phase = (t[None, :] - t[i]) / periods[:, None]
        off = np.abs(phase - np.round(phase))
        for width in _WIDTHS:
            near = off <= width
            counts = near.sum(axis=1) - 2
            row = int(np.argmax(counts))
            # Of clocks that strike as many the one with the fewest ticks.
            chance = min(1.0, tried * binomial_tail(int(counts[row]), n - 2, 2 * width))
            ticks = np.round(phase[row])[near[row]]
            if 2 + counts[row] < hit_share * (ticks.max() - ticks.min() + 1):
                continue
            if best is None or chance < best[0]:
                best = (chance, float(periods[row]), np.flatnonzero(near[row]), ticks, width)
    if best is None:
        return None
    chance, period, on, ticks, width = best
    if len(on) > 2:
        # The pair's own distance carries the errors of two events; a line through all of them does not. What is within
        # twice the width of it, the narrowest that was significant, is on the ticks.
        period, begin = (float(x) for x in np.polyfit(ticks, t[on], 1))
        phase = (t - begin) / period
        on = np.flatnonzero(np.abs(phase - np.round(phase)) <= 2 * width)
        ticks, first = np.unique(np.round(phase[on]), return_index=True)
        on = on[first]
    return _Clock(period, on, ticks, chance)


def _steadier(facts: Facts, key: int, t_ns: Array, ticks: Array) -> float:
    """P-value of the times between events being no steadier than the bytes sent between them (F-test)."""
    data = facts.rows(
        "segments",
        ["t_ns", "len"],
        where={"transmission": ("first", "retransmission")},
        valid=("t_ns",),
        keys=np.array([key]),
    )
    sent = np.concatenate(([0], np.cumsum(data["len"], dtype=np.float64)))
    steps = np.maximum(np.diff(ticks), 1)
    took = np.diff(t_ns) / steps
    bytes_ = np.diff(sent[np.searchsorted(data["t_ns"], t_ns)]) / steps
    if len(took) < 3 or (took <= 0).any() or (bytes_ <= 0).any():
        return 1.0
    # Neither is known better than to a segment: an even error of one at both ends, in bytes as in time.
    grain = (float(np.median(data["len"])) / float(bytes_.mean())) ** 2 / 6
    time_var, bytes_var = np.log(took).var(ddof=1) + grain, np.log(bytes_).var(ddof=1) + grain
    return _f_tail(bytes_var / time_var, len(took) - 1)


def _f_tail(ratio: float, freedom: int) -> float:
    """Chance that the ratio of two sample variances of one distribution, of so many degrees of freedom each, is above this.

    By the symmetry of both and Simpson's rule on the incomplete beta integral with a = b.
    """
    x = 1.0 / (1.0 + max(ratio, 0.0))
    half = freedom / 2
    # With u = sin^2(a) the integrand has no pole.
    angle = np.linspace(0.0, math.asin(math.sqrt(x)), 2001)
    whole = np.linspace(0.0, math.pi / 2, 2001)

    def area(a: Array) -> float:
        y = (np.sin(a) * np.cos(a)) ** (2 * half - 1)
        return float((y[:-2:2] + 4 * y[1:-1:2] + y[2::2]).sum() * (a[1] - a[0]) / 3)

    return area(angle) / area(whole)


def _cost_ns(facts: Facts, losses: Losses, key: int, mine: Array) -> int:
    """By how much the first segment of each event was acknowledged later than a round trip after it was sent."""
    keys = np.full(len(mine), key)
    acks = facts.cached(Acks)
    known = acks.t_ns(acks.first_covering(keys, losses.end[mine]))
    back = facts.rows("segments", ["rtt_ns"], valid=("rtt_ns",), keys=np.array([key ^ 1]))
    usual = int(np.median(back["rtt_ns"])) if len(back) else 0
    late = np.where(known != NULL, known - losses.t_ns[mine] - usual, 0)
    return int(np.maximum(late, 0).sum())


def _findings(facts: Facts, losses: Losses, cases: list[_Case]) -> Iterator[Finding]:
    cost = np.array([case.cost_ns for case in cases], np.float64)
    keys = np.array([case.key for case in cases], np.int64)
    starts = np.array([losses.t_ns[case.losses[0]] for case in cases], np.int64)
    ends = np.array([losses.t_ns[case.losses[-1]] for case in cases], np.int64)
    life = facts.lifetime_s(keys)
    listed, others = costliest(cost)
    for i in listed.tolist():
        case = cases[i]
        ticks = case.clock.ticks
        struck, period_s = len(ticks), case.clock.period_ns / 1e9
        jitter = losses.t_ns[case.losses] - np.polyval(np.polyfit(ticks, losses.t_ns[case.losses], 1), ticks)
        yield facts.finding(
            "periodic_loss",
            case.key,
            int(starts[i]),
            int(ends[i]),
            cost_s=case.cost_ns / 1e9,
            lifetime_s=float(life[i]),
            confidence=0.95,
            values={
                "period_s": period_s,
                "jitter_ms": float(jitter.std()) / 1e6,
                "events_count": struck,
                "other_events_count": case.events - struck,
                "ticks_hit_share": min(1.0, struck / float(ticks[-1] - ticks[0] + 1)),
                "p_value_share": case.clock.p_value,
                "p_steadier_share": case.p_steadier,
            },
            evidence={"segments": losses.packet[case.losses]},
            sentence=(
                f"{facts.subject(case.key)}: {struck} of {case.events} losses came on the ticks of a clock with a period "
                f"of {duration(period_s)}; {struck} such by chance: p {_p(case.clock.p_value)}."
            ),
        )
    yield from facts.remainder_finding(
        "periodic_loss",
        keys[others],
        starts[others],
        ends[others],
        cost[others],
        evidence=("segments", np.array([losses.packet[cases[i].losses[0]] for i in others.tolist()], np.int64)),
        what="losses at fixed intervals",
    )


def _p(value: float) -> str:
    return "< 1e-9" if value < 1e-9 else f"= {value:.1g}"

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.air import Air, attempt_us, steady_us
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.formatting import count, duration
from wlanlens.registry import detector
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Attempts at a rate from which its chance of success is taken.
_ATTEMPTS = 20


@detector("rate_thrashing", needs=("frames", "exchanges"))
def rate_thrashing(
    trace: Trace,
    *,
    failures_count: int = 3,
    least_cycles_count: int = 5,
    dropped_share: float = 0.1,
    waste_share: float = 0.15,
    missed_share: float = 0.3,
) -> Iterator[Finding | Undecided]:
    """Rate control climbs to rates that do not work, again and again, and loses packets there.

    What it finds
    -------------
    Cycles of a transmitter's rate control: some packets arrive at a low rate, then the rate jumps up, attempts fail
    there, it steps down, the retry limit drops the packet, and it begins again. The cost is the time from the first to
    the last attempt of those packets, less what the best steady rate would have needed for those that arrived.

    Why it happens
    --------------
    Multiplicative rate adaptation in firmware takes a few successes at a low rate as a sign that the highest will do,
    keeps no memory of what failed before, and spends the retries of one packet on rates that cannot work. A fixed low
    rate would carry more.

    How it decides
    --------------
    For each rate the chance of success of an attempt is taken from the exchanges themselves, and from it the time that a
    delivered packet would take if all went at that rate (airtime, spaces, ACK, backoff that doubles, up to the highest
    number of attempts seen). The rate with the most bytes a second is the best steady rate. A climb is an exchange that
    starts above it, after the exchange before had ended at it or below, and fails there.
    `failures_count`: so many failures above the best steady rate, and most of the exchange's; ARF and AARF step down after one failed probe or two
    failures, minstrel samples a rate with single frames: only careless probing reaches three.
    `least_cycles_count`: so many climbs; fewer are no pattern.
    `dropped_share`: so many of the climbs end at the retry limit; healthy ones fall back in time to deliver.
    `waste_share`: the climbs waste so much of all the time that the pair spends sending, and the best steady rate would
    have saved as much of the time a delivered packet takes; ARF and AARF lose 4 to 11 %
    against the best steady rate, the algorithm that was studied 60 %.
    `missed_share`: where the sniffer missed more of the attempts it is undecided, for the missed ones are the failed.

    What fools it
    -------------
    A station that moves away falls once and does not climb. Healthy probing is cheap and loses little. A rate that is
    too high all the time is no cycle. Where all rates fail no steady one would help: silent. Without rates in the capture:
    undecided.

    References
    ----------
    The study of 802.11b adapters on USB, section 4.3.2 (0.29 Mbit/s where 2 Mbit/s fixed gave 1.46); Kamerman and
    Monteban, "WaveLAN-II", 1997 (ARF); Lacage et al., "IEEE 802.11 rate adaptation: a practical approach", 2004 (AARF).
    """
    air = Facts.of(trace).cached(Air)
    e, a = air.exchanges, air.attempts
    blind, dark = [], []
    for pair, span in air.pairs():
        which = np.flatnonzero(e.lead[span]) + span.start
        mine = air.attempts_of(which)
        failures = int((a.bad[mine] == 1).sum())
        if failures < failures_count * least_cycles_count:
            continue
        if np.isnan(a.rate_mbps[mine]).mean() > 0.5:
            dark.append(pair)
            continue
        climbs = _climbs(air, pair, which, failures_count)
        if climbs is None or len(climbs.which) < least_cycles_count:
            continue
        if air.missed_share(which) > missed_share:
            blind.append(pair)
        elif (
            climbs.dropped.mean() >= dropped_share
            and min(climbs.waste_share, 1 - 1 / climbs.gain_factor) >= waste_share
        ):
            yield _finding(air, climbs)
    if blind:
        yield air.undecided(
            "rate_thrashing",
            blind,
            f"The sniffer missed too many attempts of {count(len(blind), 'station pair')} whose rates go up and down.",
        )
    if dark:
        yield air.undecided(
            "rate_thrashing",
            dark,
            f"The capture does not say the rates of {count(len(dark), 'station pair')} with retries.",
        )


@dataclass
class _Climbs:
    """Failed climbs of one pair: exchanges, whether they were dropped, and what they cost."""

    pair: int
    all: Array
    which: Array
    dropped: Array
    failures: Array
    top_mbps: float
    best_mbps: float
    best_success: float
    steady_us: float
    waste_share: float
    gain_factor: float
    limit: int


def _climbs(air: Air, pair: int, which: Array, failures_count: int) -> _Climbs | None:
    """The failed climbs of one pair; None where no rate works or nothing ever rises."""
    e, a = air.exchanges, air.attempts
    # Frames of one size only: a rate that carries small ones is not the worse for their overhead.
    big = e.mpdu_bytes[which]
    which = which[big >= 0.5 * np.quantile(big, 0.9)]
    mine = air.attempts_of(which)
    rate, bad, airtime = a.rate_mbps[mine], a.bad[mine], a.airtime_us[mine]
    limit = int(np.minimum(e.attempts[which].max(), 32))
    best = _best(rate, bad, airtime, limit)
    if best is None:
        return None
    best_mbps, success, steady = best
    category = np.repeat(np.arange(len(which)), e.seen[which])
    above = (rate > best_mbps) & (bad == 1)
    failures = np.bincount(category, above, len(which)).astype(np.int64)
    top = np.zeros(len(which))
    np.maximum.at(top, category, np.nan_to_num(rate))
    first, last = a.rate_mbps[e.first[which]], a.rate_mbps[e.first[which] + e.seen[which] - 1]
    came_from = np.concatenate(([np.inf], np.fmin(last, first)[:-1]))
    failed = np.bincount(category, bad == 1, len(which))
    climb = (failures >= failures_count) & (2 * failures >= failed) & (top > best_mbps) & (came_from <= best_mbps)
    if not climb.any():
        return None
    us = np.bincount(category, np.nan_to_num(attempt_us(airtime, rate, a.nth[mine])), len(which))
    arrived = e.delivered[which]
    wasted = us - np.where(arrived, steady, 0.0)
    total, good = float(us.sum()), int(arrived.sum())
    return _Climbs(
        pair=pair,
        all=which,
        which=which[climb],
        dropped=e.dropped[which[climb]],
        failures=failures[climb],
        top_mbps=float(top[climb].max()),
        best_mbps=best_mbps,
        best_success=success,
        steady_us=steady,
        waste_share=float(np.maximum(wasted[climb], 0).sum()) / total if total else 0.0,
        gain_factor=total / good / steady if good else np.inf,
        limit=int(np.median(e.attempts[which[climb]][e.dropped[which[climb]]])) if e.dropped[which[climb]].any() else 0,
    )


def _best(rate: Array, bad: Array, airtime: Array, limit: int) -> tuple[float, float, float] | None:
    """The steady rate at which a delivered packet takes least: rate, chance of success, us a packet."""
    known = (bad >= 0) & ~np.isnan(rate)
    rates, at = np.unique(rate[known], return_inverse=True)
    tried = np.bincount(at, minlength=len(rates))
    good = np.bincount(at, bad[known] == 0, len(rates))
    length = np.bincount(at, airtime[known], len(rates)) / np.maximum(tried, 1)
    out = []
    for i in np.flatnonzero((tried >= _ATTEMPTS) & (good > 0)).tolist():
        success = float(good[i] / tried[i])
        out.append((steady_us(float(length[i]), float(rates[i]), success, limit), float(rates[i]), success))
    if not out:
        return None
    took, best, success = min(out)
    return best, success, took


def _finding(air: Air, c: _Climbs) -> Finding:
    e, a = air.exchanges, air.attempts
    span_us = (e.t_last_ns[c.which] - e.t_first_ns[c.which]) / 1e3
    last = e.first[c.which] + e.seen[c.which] - 1
    span_us = span_us + np.nan_to_num(attempt_us(a.airtime_us[last], a.rate_mbps[last], np.zeros(len(last))))
    cost_s = float(np.maximum(span_us - np.where(e.delivered[c.which], c.steady_us, 0.0), 0).sum()) / 1e6
    place = np.searchsorted(c.all, c.which)
    period = float(np.median(np.diff(place))) if len(place) > 1 else 0.0
    period_s = float(np.median(np.diff(e.t_first_ns[c.which]))) / 1e9
    resends, packets = air.tcp_resends(c.which[c.dropped])
    dropped = int(c.dropped.sum())
    values: dict[str, float | int | str] = {
        "cycles_count": len(c.which),
        "period_packets": period,
        "period_s": period_s,
        "dropped_packets_count": dropped,
        "dropped_share": float(c.dropped.mean()),
        "retry_limit_count": c.limit,
        "failures_a_cycle_count": float(c.failures.mean()),
        "highest_rate_mbps": c.top_mbps,
        "best_steady_rate_mbps": c.best_mbps,
        "best_steady_success_share": c.best_success,
        "waste_share": c.waste_share,
        "wasted_airtime_s": float(np.nansum(e.wasted_us[c.which])) / 1e6,
        "steady_rate_gain_factor": min(c.gain_factor, 1e6),
        "tcp_retransmissions_count": resends,
    }
    tied = f", {count(resends, 'of them sent again', 'of them sent again')} by TCP" if resends else ""
    return air.finding(
        "rate_thrashing",
        c.pair,
        int(e.t_first_ns[c.which[0]]),
        int(e.t_last_ns[c.which[-1]]),
        cost_s=cost_s,
        confidence=0.9,
        values=values,
        evidence=a.packet[air.attempts_of(c.which)],
        segments=packets,
        sentence=(
            f"{air.subject(c.pair)}: {count(len(c.which), 'time')}, every {count(round(period), 'packet')} ({duration(period_s)}), rate "
            f"control climbed up to {c.top_mbps:g} Mbit/s and failed {c.failures.mean():.1f} times there; "
            f"{count(dropped, 'packet')} were dropped{tied}; it took {duration(cost_s)} more than {c.best_mbps:g} Mbit/s all "
            f"the time."
        ),
    )

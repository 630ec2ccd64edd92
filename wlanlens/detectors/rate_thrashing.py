from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    Air,
    Array,
    Facts,
    Finding,
    SteadyRate,
    Undecided,
    best_steady_rate,
    count,
    duration,
    transmission_us,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector(
    "rate_thrashing",
    needs=("frames", "exchanges"),
    saving="rates",
    remedy=Remedy(
        "Station whose rate climbs: update firmware and driver, or set a fixed rate or an upper limit at which "
        "frames arrive (Linux: `iw dev wlan0 set bitrates`); a rate control that remembers failures (minstrel) "
        "does so itself. Better signal makes the higher rates work.",
        "capture the air again: no cycles of failed climbs, and frames arrive at the first or second transmission.",
    ),
)
def rate_thrashing(
    trace: Trace,
    *,
    failures_count: int = 3,
    least_cycles_count: int = 5,
    dropped_share: float = 0.1,
    waste_share: float = 0.15,
    missed_share: float = 0.3,
    least_tried_count: int = 20,
) -> Iterator[Finding | Undecided]:
    """Rate control climbs repeatedly to rates that do not work and loses packets there.

    What it finds
    -------------
    Cycles of a transmitter's rate control: packets arrive at a low rate, the rate jumps up, transmissions fail there, the
    rate steps down, the retry limit drops the packet, and the cycle repeats. The cost is the time from the first to the
    last transmission of those packets, less the time that the best steady rate needs for those that arrived.

    Why it happens
    --------------
    Multiplicative rate adaptation in firmware takes a few successes at a low rate as a sign that the highest will work,
    does not remember earlier failures, and spends the retries of one packet on rates that cannot work. A fixed low rate
    would carry more.

    How it decides
    --------------
    The exchanges give each rate's chance of success, and so the time of a delivered packet if all were sent at that rate
    (airtime, spaces, ACK, doubling backoff, up to the highest number of transmissions seen). The rate with the shortest
    time is the best steady rate. A climb is an exchange that starts above it, after an exchange that ended at or below
    it, and fails there.
    `failures_count`: failures above the best steady rate, and most of the exchange's; ARF and AARF step down after one
    failed probe or two failures, minstrel probes with single frames: only careless probing reaches three.
    `least_cycles_count`: climbs needed; fewer are no pattern.
    `dropped_share`: least share of climbs that end at the retry limit; healthy ones fall back in time to deliver.
    `waste_share`: least share of the pair's sending time that the climbs waste, and that the best steady rate would save of
    a delivered packet's time; ARF and AARF lose 4 to 11 % against it, the algorithm of the study 60 %.
    `missed_share`: if the sniffer missed more of the transmissions: undecided, because the missed ones are those that failed.
    `least_tried_count`: transmissions at a rate from which its chance of success is taken.

    What fools it
    -------------
    A station that moves away falls once and does not climb. Healthy probing is cheap and loses little. A rate that is
    always too high is no cycle. Where all rates fail, no steady rate would help: silent. Captures without rates: undecided.

    References
    ----------
    The study of 802.11b adapters on USB, section 4.3.2 (0.29 Mbit/s where 2 Mbit/s fixed gave 1.46); Kamerman and
    Monteban, "WaveLAN-II", 1997 (ARF); Lacage et al., "IEEE 802.11 rate adaptation: a practical approach", 2004 (AARF).
    """
    air = Facts.of(trace).cached(Air)
    e, a = air.exchanges, air.transmissions
    unmeasured, without_rates = [], []
    for pair, span in air.pairs(failures_count * least_cycles_count).items():
        which = np.flatnonzero(e.lead[span]) + span.start
        mine = air.transmissions_of(which)
        if int((a.bad[mine] == 1).sum()) < failures_count * least_cycles_count:
            continue
        if np.isnan(a.rate_mbps[mine]).mean() > 0.5:
            without_rates.append(pair)
            continue
        climbs = _climbs(air, pair, which, failures_count, least_tried_count)
        if climbs is None or len(climbs.which) < least_cycles_count:
            continue
        if air.missed_share(which) > missed_share:
            unmeasured.append(pair)
            continue
        saved_share = 1 - 1 / climbs.gain_factor
        if climbs.dropped.mean() >= dropped_share and min(climbs.waste_share, saved_share) >= waste_share:
            yield _finding(air, climbs)
    for pairs, why in (
        (unmeasured, "The sniffer missed too many transmissions of {} whose rates go up and down."),
        (without_rates, "The capture does not hold the rates of {} with retries."),
    ):
        if pairs:
            yield air.undecided("rate_thrashing", pairs, why.format(count(len(pairs), "station pair")))


@dataclass
class _Climbs:
    """Failed climbs of one pair: their places among the exchanges, the exchanges, and their cost."""

    pair: int
    place: Array
    which: Array
    dropped: Array
    failures: Array
    top_mbps: float
    best: SteadyRate
    waste_share: float
    gain_factor: float
    excess_s: float
    limit: int


def _climbs(air: Air, pair: int, which: Array, failures_count: int, least_tried: int) -> _Climbs | None:
    """The failed climbs of one pair; None where no rate works or the rate never rises."""
    e, a = air.exchanges, air.transmissions
    # Frames of one size only: overhead makes a rate look worse for small frames.
    size = e.mpdu_bytes[which]
    which = which[size >= 0.5 * np.quantile(size, 0.9)]
    mine = air.transmissions_of(which)
    rate, bad, airtime = a.rate_mbps[mine], a.bad[mine], a.airtime_us[mine]
    limit = int(np.minimum(e.attempts[which].max(), 32))
    best = best_steady_rate(rate, bad, airtime, limit=limit, least=least_tried)
    if best is None or not (rate > best.rate_mbps).any():
        return None
    exchange = np.repeat(np.arange(len(which)), e.heard[which])
    failures = np.bincount(exchange, (rate > best.rate_mbps) & (bad == 1), len(which)).astype(np.int64)
    top = np.zeros(len(which))
    np.maximum.at(top, exchange, np.nan_to_num(rate))
    first, last = a.rate_mbps[e.first[which]], a.rate_mbps[e.first[which] + e.heard[which] - 1]
    rate_before = np.concatenate(([np.inf], np.fmin(last, first)[:-1]))
    failed = np.bincount(exchange, bad == 1, len(which))
    climb = (failures >= failures_count) & (2 * failures >= failed)
    climb &= (top > best.rate_mbps) & (rate_before <= best.rate_mbps)
    if not climb.any():
        return None
    us = np.bincount(exchange, np.nan_to_num(transmission_us(airtime, rate, a.nth[mine])), len(which))
    arrived = e.delivered[which]
    wasted = us - np.where(arrived, best.packet_us, 0.0)
    total, good = float(us.sum()), int(arrived.sum())
    at_limit = which[climb][e.dropped[which[climb]]]
    return _Climbs(
        pair=pair,
        place=np.flatnonzero(climb),
        which=which[climb],
        dropped=e.dropped[which[climb]],
        failures=failures[climb],
        top_mbps=float(top[climb].max()),
        best=best,
        waste_share=float(np.maximum(wasted[climb], 0).sum()) / total if total else 0.0,
        gain_factor=total / good / best.packet_us if good else np.inf,
        excess_s=max(0.0, total - good * best.packet_us) / 1e6,
        limit=int(np.median(e.attempts[at_limit])) if len(at_limit) else 0,
    )


def _finding(air: Air, c: _Climbs) -> Finding:
    e, a = air.exchanges, air.transmissions
    span_us = (e.t_last_ns[c.which] - e.t_first_ns[c.which]) / 1e3
    last = e.first[c.which] + e.heard[c.which] - 1
    span_us = span_us + np.nan_to_num(transmission_us(a.airtime_us[last], a.rate_mbps[last], np.zeros(len(last))))
    cost_s = float(np.maximum(span_us - np.where(e.delivered[c.which], c.best.packet_us, 0.0), 0).sum()) / 1e6
    several = len(c.place) > 1
    period = float(np.median(np.diff(c.place))) if several else 0.0
    period_s = float(np.median(np.diff(e.t_first_ns[c.which]))) / 1e9
    again = air.tcp_retransmissions(c.which[c.dropped])
    dropped = int(c.dropped.sum())
    by_tcp = f" ({len(again)} retransmitted by TCP)" if again else ""
    return air.finding(
        "rate_thrashing",
        c.pair,
        int(e.t_first_ns[c.which[0]]),
        int(e.t_last_ns[c.which[-1]]),
        cost_s=cost_s,
        confidence=0.9,
        values={
            "cycles_count": len(c.which),
            "period_packets": period,
            "period_s": period_s,
            "dropped_packets_count": dropped,
            "dropped_share": float(c.dropped.mean()),
            "retry_limit_count": c.limit,
            "failures_a_cycle_count": float(c.failures.mean()),
            "highest_rate_mbps": c.top_mbps,
            "best_steady_rate_mbps": c.best.rate_mbps,
            "best_steady_success_share": c.best.success,
            "waste_share": c.waste_share,
            "wasted_airtime_s": float(np.nansum(e.wasted_us[c.which])) / 1e6,
            "excess_airtime_s": c.excess_s,
            "steady_rate_gain_factor": min(c.gain_factor, 1e6),
            "tcp_retransmissions_count": len(again),
        },
        evidence=a.packet[air.transmissions_of(c.which)],
        segments=again,
        sentence=(
            f"{air.subject(c.pair)}: rate control climbed {count(len(c.which), 'time')}, every "
            f"{count(round(period), 'packet')} ({duration(period_s)}), to at most {c.top_mbps:g} Mbit/s and failed "
            f"{c.failures.mean():.1f} times there; {count(dropped, 'packet was', 'packets were')} dropped{by_tcp}; this took "
            f"{duration(cost_s)} longer than a steady {c.best.rate_mbps:g} Mbit/s."
        ),
    )

"""Collisions of data and ACKs, failed rate increases of a rate control, and rates that never change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array
from wlanlens.simulation.ground_truth._frames import Attempts, attempts, severity

#: Codes decided here.
CODES = ("data_ack_collision", "rate_thrashing", "stuck_rate")

#: SNR in 22 MHz, dB, at which nine of ten frames of 1500 bytes arrive, by rate (rust/sim/src/channel/noise.rs).
NEEDS_DB = {1.0: -3.0, 2.0: 1.6, 5.5: 5.5, 11.0: 8.6}
#: As in the detectors.
_LEAST_EXCHANGES, _LEAST_TIES = 100, 5
_ROUNDS, _SLOTS = 2.0, 32
_LEAST_CLIMBS, _LEAST_FAILURES, _DROPPED, _WASTE = 5, 3, 0.1, 0.15
_LEAST_FRAMES, _LEAST_S, _SAME, _FAILED, _FACTOR, _TRIED = 200, 2.0, 0.99, 0.1, 1.8, 20
#: The signal of a station that does not move varies by so much while people walk by.
_EDGE_DB = 4.0


def findings(facts: Truth) -> list[Finding]:
    """For each pair of stations; the cost is the airtime or the time lost."""
    if facts.world.cell is None or not facts.frames.num_rows:
        return []
    a = attempts(facts)
    return [*_collisions(facts, a), *_thrashing(facts, a), *_stuck(facts, a)]


def made(
    facts: Truth,
    code: str,
    pair: tuple[int, int],
    span_ns: tuple[int, int],
    cost_s: float,
    sentence: str,
    **values: float,
) -> Finding:
    """A finding about a pair of stations."""
    return Finding(
        code=code,
        t_start_ns=int(span_ns[0]),
        t_end_ns=int(span_ns[1]),
        capture="air.pcap",
        subject=facts.pair(*pair),
        severity=severity(cost_s, (span_ns[1] - span_ns[0]) / 1e9),
        confidence=1.0,
        cost_s=cost_s,
        values=dict(values),
        sentence=sentence,
    )


# Collisions.


def _collisions(facts: Truth, a: Attempts) -> Iterator[Finding]:
    """Links on which first transmissions of TCP data and TCP ACKs collided in one slot and were both retried.

    All traffic of a station with several others is one link: it waits in one queue. From the first to the last
    exchange; the cost is the longer frame of each collision.
    """
    pairs = [p for p in a.pairs() if a.tcp_data[a.of(*p)].any() and len(a.of(p[1], p[0]))]
    senders, receivers = Counter(s for s, _ in pairs), Counter(r for _, r in pairs)
    links: dict[tuple[bool, int], list[tuple[int, int]]] = {}
    for s, r in pairs:
        to_many = senders[s] >= receivers[r]
        links.setdefault((to_many, s if to_many else r), []).append((s, r))
    for members in links.values():
        data = np.concatenate([a.of(s, r) for s, r in members])
        acks = np.concatenate([a.of(r, s) for s, r in members])
        data, acks = data[a.tcp_data[data] & a.first[data]], acks[a.tcp_ack[acks] & a.first[acks]]
        if min(len(data), len(acks)) < _LEAST_EXCHANGES:
            continue
        tied_data, tied_acks = (x[(a.tie[x] >= 0) & ~a.last[x]] for x in (data, acks))
        met, of_data, of_ack = np.intersect1d(a.tie[tied_data], a.tie[tied_acks], return_indices=True)
        if len(met) < _LEAST_TIES:
            continue
        wasted = np.maximum(a.airtime_us(tied_data[of_data]), a.airtime_us(tied_acks[of_ack]))
        names = Counter(zip(a.station[tied_data[of_data]].tolist(), a.to[tied_data[of_data]].tolist(), strict=True))
        both = np.concatenate((data, acks))
        normal = _ROUNDS / _SLOTS * len(acks) * len(members)
        found = made(
            facts,
            "data_ack_collision",
            names.most_common(1)[0][0],
            (a.end_ns[both].min(), a.end_ns[both].max()),
            float(wasted.sum()) / 1e6,
            f"{len(met)} TCP data frames collided with TCP ACKs.",
            ties_count=len(met),
            normal_ties_count=normal,
        )
        # DCF itself causes this many collisions; they are the price of sharing the channel.
        yield found if len(met) > normal else replace(found, severity="info")


# Rate control.


def _thrashing(facts: Truth, a: Attempts) -> Iterator[Finding]:
    """Stations whose rate rose above the best constant rate, failed there three times or more, and lost packets.

    From the first such cycle to the last; the cost is the time of the cycles minus the time at the best constant rate.
    """
    for pair in a.pairs():
        mine = a.of(*pair)
        if np.ptp(a.rate_mbps[mine]) == 0:
            continue
        size = a.bytes[mine]
        mine = mine[size >= 0.5 * np.quantile(size, 0.9)]
        if np.ptp(a.rate_mbps[mine]) == 0:
            continue
        best = _best(a, mine)
        if best is None:
            continue
        rate, steady_us = best
        first = np.flatnonzero(a.first[mine])
        owner = np.cumsum(a.first[mine]) - 1
        mine, owner = mine[owner >= 0], owner[owner >= 0]
        bad, above = a.bad[mine], a.rate_mbps[mine] > rate
        failures = np.bincount(owner, bad & above, len(first))
        failed = np.bincount(owner, bad, len(first))
        took_us = np.bincount(owner, a.took_us(mine), len(first))
        begin = np.searchsorted(owner, np.arange(len(first)))
        end = np.searchsorted(owner, np.arange(len(first)), side="right") - 1
        begin, end = mine[begin], mine[end]
        done = a.done[end] & ~a.bad[end]
        came_from = np.concatenate(([np.inf], np.minimum(a.rate_mbps[begin], a.rate_mbps[end])[:-1]))
        climb = (failures >= _LEAST_FAILURES) & (2 * failures >= failed) & (came_from <= rate)
        if climb.sum() < _LEAST_CLIMBS or (~done[climb]).mean() < _DROPPED:
            continue
        wasted = np.maximum(took_us - np.where(done, steady_us, 0.0), 0.0)[climb].sum() / took_us.sum()
        gain = 1 - steady_us * done.sum() / took_us.sum()
        if min(wasted, gain) < _WASTE:
            continue
        spent = (a.end_ns[end] - a.end_ns[begin])[climb] / 1e3 + a.took_us(end[climb])
        cost_s = float(np.maximum(spent - np.where(done[climb], steady_us, 0.0), 0.0).sum()) / 1e6
        yield made(
            facts,
            "rate_thrashing",
            pair,
            (a.end_ns[begin[climb]].min(), a.end_ns[end[climb]].max()),
            cost_s,
            f"The rate rose {int(climb.sum())} times to a rate at which nothing arrives.",
            cycles_count=int(climb.sum()),
            dropped_packets_count=int((~done[climb]).sum()),
        )


def _best(a: Attempts, mine: Array) -> tuple[float, float] | None:
    """The constant rate at which a delivered packet takes the least time, and that time, us."""
    limit = min(32, int(a.nth[mine].max(initial=0)) + 1)
    out = []
    for rate in np.unique(a.rate_mbps[mine]):
        at = mine[a.rate_mbps[mine] == rate]
        success = float((~a.bad[at]).mean())
        if len(at) < _TRIED or not success:
            continue
        n = np.arange(limit)
        window = np.minimum(32 * 2.0 ** np.minimum(n, 10), 1024)
        each = a.airtime_us(at).mean() + 308.0 + 20.0 * (window - 1) / 2
        took = float(((1 - success) ** n * each).sum() / (1 - (1 - success) ** limit))
        out.append((took, float(rate)))
    if not out:
        return None
    took, rate = min(out)
    return rate, took


def _stuck(facts: Truth, a: Attempts) -> Iterator[Finding]:
    """Stations that stayed at one rate though the other end used a much higher one and their path supported it.

    The cost is the airtime that the higher rate would have saved. A collision is no failure of a rate, but looks like one: a station
    with more failures need not be found, nor one whose path supports the higher rate by no more than the depth of a small fade.
    """
    clear = a.tie < 0
    for s, r in a.pairs():
        mine, back = a.of(s, r), a.of(r, s)
        if a.rate_mbps[back].max(initial=0.0) < _FACTOR * a.rate_mbps[mine].min():
            continue
        lasted_s = (a.end_ns[mine[-1]] - a.end_ns[mine[0]]) / 1e9
        rates, tried = np.unique(a.rate_mbps[mine], return_counts=True)
        rate = float(rates[tried.argmax()])
        rare = len(mine) < _LEAST_FRAMES or lasted_s < _LEAST_S
        if rare or tried.max() < _SAME * len(mine) or a.bad[mine[clear[mine]]].sum() > _FAILED * clear[mine].sum():
            continue
        used = {x: back[clear[back] & (a.rate_mbps[back] == x)] for x in np.unique(a.rate_mbps[back]).tolist()}
        better = max((x for x, at in used.items() if len(at) >= _TRIED and a.bad[at].mean() <= _FAILED), default=0.0)
        spare_db = _snr_db(facts, s, r, lasted_s / 2) - NEEDS_DB.get(better, 25.0)
        if better < _FACTOR * rate or spare_db < 0:
            continue
        spared_us = (a.airtime_us(mine) - 192.0) * (1 - rate / better)
        found = made(
            facts,
            "stuck_rate",
            (s, r),
            (a.end_ns[mine[0]], a.end_ns[mine[-1]]),
            float(spared_us.sum()) / 1e6,
            f"All frames at {rate:g} Mb/s, though {better:g} works.",
            rate_mbps=rate,
            works_mbps=better,
        )
        edge = spare_db < _EDGE_DB or a.bad[mine].mean() > _FAILED
        yield replace(found, confidence=MAY_BE_MISSED) if edge else found


def _snr_db(facts: Truth, s: int, r: int, at_s: float) -> float:
    """Mean signal-to-noise ratio of a path, without fades; infinite if the world has no noise."""
    cell = facts.world.cell
    if cell is None:
        return math.inf
    for path in cell.paths:
        if (path.start, path.end) == (s, r) and path.snr_db is not None:
            return path.snr_db
    if cell.path_loss is None:
        return math.inf
    (ax, ay), (bx, by) = (
        (p.at_m[0] + at_s * p.walks_m_per_s[0], p.at_m[1] + at_s * p.walks_m_per_s[1])
        for p in (cell.stations[s], cell.stations[r])
    )
    loss = cell.path_loss
    lost_db = loss.first_metre_db + 10 * loss.exponent * math.log10(max(1.0, math.hypot(ax - bx, ay - by)))
    return loss.sent_dbm - lost_db - cell.noise_dbm

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    AFTER_LOSS,
    NULL,
    Acks,
    Array,
    Cases,
    Clock,
    ClockSearch,
    Description,
    Facts,
    Finding,
    Losses,
    SentBytes,
    Undecided,
    duration,
    first_of_episodes,
    p_value_text,
    steadier_in_time,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


def _phrase(finding: Finding) -> str:
    return f"losses came every {duration(float(finding.values['period_s']))}"


@detector(
    "periodic_loss",
    needs=("segments",),
    phrase=_phrase,
    explains=AFTER_LOSS,
    saving="losses",
    remedy=Remedy(
        "Device with that period: turn off scans for other networks while connected (Windows: autoconfig; "
        "Linux: background scan of wpa_supplicant or NetworkManager), power saving, or the access point's "
        "channel scan; remove a source of interference with this duty cycle.",
        "capture again for at least five periods: no loss at the ticks.",
    ),
)
def periodic_loss(
    trace: Trace,
    *,
    least_events_count: int = 5,
    chance_share: float = 0.001,
    on_tick_share: float = 0.5,
    ticks_hit_share: float = 0.5,
    steadier_share: float = 0.01,
    half_widths_share: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1),
    ends_count: int = 3,
    most_events_count: int = 1000,
) -> Iterator[Finding | Undecided]:
    """Losses come at a fixed interval, as if by a clock.

    What it finds
    -------------
    Connections that lose data at the ticks of a clock: the period, how many ticks cost data, and the p-value. The cost is
    the time by which the first segment lost at each tick was acknowledged later than usual: its recovery or RTO wait.

    Why it happens
    --------------
    Something on the path works at fixed times and drops the packets that come meanwhile: an access point that polls,
    scans or serves power saving, a station that leaves its channel to look for others, interference with a duty cycle.

    How it decides
    --------------
    Losses are retransmissions that were not spurious, at the time when the lost copy was sent; losses sent before the
    first of them was retransmitted are one event. A clock is tried if it strikes two events, one of the first and one of
    the last `ends_count`, with few enough ticks between them for `ticks_hit_share`. Its score is the probability that as
    many of the other events, at random times, are as near its ticks (binomial). The smallest probability times the
    number of clocks and widths tried bounds the p-value: valid for any number of events, without approximation.
    `chance_share`: the largest p-value; one of 1000 connections with random losses.
    `least_events_count`: four events fit some clock too often. If ticks last an eighth of the period and losses come
    anywhere in them, about eight events exclude chance; fewer do if they come at the start.
    `most_events_count`: events looked at; enough for any significance, and the search takes the square of it.
    `on_tick_share`: least share of the events on ticks; others may have causes of their own.
    `ticks_hit_share`: least share of the ticks that strike data.
    `half_widths_share`: half widths of a tick that are tried, as shares of the period.
    `steadier_share`: the traffic's own cycles (growth and loss of the congestion window, a rate control that tries a higher
    rate after a number of frames) are even in bytes, a clock is even in time. The times between events must vary less
    than the bytes sent between them, at this p-value (F-test of the variances of the logarithms, each with an error of
    one segment): the connection's own, and those of all connections of its host, which share a queue and lose together. If
    the two are alike: undecided.

    What fools it
    -------------
    Random loss has no clock. Cycles of the congestion window or of rate probing are even in bytes: silent or, if bytes
    and time advance alike, undecided; so is a clock with long ticks and few events. A clock whose tick meets no data
    causes no loss. A tap beyond the place of the loss does not see the lost copies. Of two clocks in one connection the
    more significant is reported.

    References
    ----------
    The study of TCP window sizes on an 802.11b LAN (losses every two seconds from one make of access point); Schuster, "On the
    investigation of hidden periodicities", 1898; Bonferroni's inequality.
    """
    facts = Facts.of(trace)
    losses = facts.cached(Losses)
    search = ClockSearch(half_widths_share, ends_count, ticks_hit_share, chance_share)
    found: list[_Case] = []
    alike: list[Array] = []
    sent = SentBytes(facts)
    for key in np.unique(losses.key).tolist():
        first = first_of_episodes(losses, losses.of(key))[:most_events_count]
        if len(first) < least_events_count:
            continue
        clock = search.best(losses.t_ns[first].astype(np.float64))
        if clock is None or len(clock.events) < max(least_events_count, on_tick_share * len(first)):
            continue
        mine = first[clock.events]
        p_steadier = max(
            steadier_in_time(*data, losses.t_ns[mine], clock.ticks) for data in (sent.of(key), sent.of_host(key))
        )
        if p_steadier <= steadier_share:
            found.append(_Case(key, mine, clock, len(first), p_steadier, *_lost(facts, losses, key, mine)))
        elif p_steadier <= 1 - steadier_share:
            alike.append(mine)
    cases = Cases(
        facts,
        "periodic_loss",
        key=np.array([case.key for case in found], np.int64),
        t_start_ns=losses.t_ns[np.array([case.losses[0] for case in found], np.int64)],
        t_end_ns=losses.t_ns[np.array([case.losses[-1] for case in found], np.int64)],
        cost_s=np.array([case.lost_ns for case in found], np.int64) / 1e9,
        packet=losses.packet[np.array([case.losses[0] for case in found], np.int64)],
        lost_until_ns=np.array([case.lost_until_ns for case in found], np.int64),
    )
    yield from cases.findings(lambda i: _describe(losses, found[i]), what="losses at fixed intervals")
    if alike:
        yield facts.undecided(
            "periodic_loss",
            np.array([losses.key[mine[0]] for mine in alike]),
            "Losses are evenly spaced, but as evenly in bytes as in time: a clock, or a cycle of the traffic itself.",
            t_start_ns=np.array([losses.t_ns[mine[0]] for mine in alike]),
            t_end_ns=np.array([losses.t_ns[mine[-1]] for mine in alike]),
        )


@dataclass
class _Case:
    """A connection whose losses follow a clock: losses on ticks, all events, and p-value against an even spacing in bytes."""

    key: int
    losses: Array
    clock: Clock
    events: int
    p_steadier: float
    lost_ns: int
    lost_until_ns: int


def _lost(facts: Facts, losses: Losses, key: int, mine: Array) -> tuple[int, int]:
    """How much later than a round trip after it was sent the first segment of each event was acknowledged; and the last of
    these ACKs."""
    keys = np.full(len(mine), key)
    acks = facts.cached(Acks)
    acked = acks.t_ns(acks.first_covering(keys, losses.end[mine]))
    back = facts.rows("segments", ["rtt_ns"], valid=("rtt_ns",), keys=np.array([key ^ 1]))
    usual = int(np.median(back["rtt_ns"])) if len(back) else 0
    late = np.maximum(np.where(acked != NULL, acked - losses.t_ns[mine] - usual, 0), 0)
    return int(late.sum()), int(max(acked.max(), losses.t_ns[mine].max()))


def _describe(losses: Losses, case: _Case) -> Description:
    ticks, period_s = case.clock.ticks, case.clock.period_ns / 1e9
    struck, t_ns = len(ticks), losses.t_ns[case.losses]
    jitter = t_ns - np.polyval(np.polyfit(ticks, t_ns, 1), ticks)
    return Description(
        sentence=(
            f"{struck} of {case.events} losses came at the ticks of a clock with a period of {duration(period_s)} "
            f"({p_value_text(case.clock.p_value)})."
        ),
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
        confidence=0.95,
    )

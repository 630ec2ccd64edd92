from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    Air,
    Array,
    ContendingStations,
    Exchanges,
    Facts,
    Finding,
    TieSearch,
    Undecided,
    binomial_tail,
    contending_stations,
    count,
    duration,
    mean_airtime_us,
    p_value_text,
    poisson_tail,
    reverse,
    ties_of_dcf,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector(
    "data_ack_collision",
    needs=("frames", "exchanges"),
    remedy=Remedy(
        "Receiver: fewer ACKs (delayed ACKs on, an ACK for several segments, GRO). Access point and stations: "
        "802.11n or later with aggregation, which sends many segments and one ACK a transmission.",
        "capture the air again: data and ACKs fail together no more often than chance allows.",
    ),
)
def data_ack_collision(
    trace: Trace,
    *,
    least_exchanges_count: int = 100,
    least_pairs_count: int = 5,
    chance_share: float = 0.001,
    open_share: float = 0.05,
    common_share: float = 0.25,
    unheard_share: float = 0.5,
    rounds_count: float = 2.0,
    near_count: int = 4,
    around_count: int = 64,
    tie_us: float = 40.0,
    silence_us: float = 2750.0,
) -> Iterator[Finding | Undecided]:
    """TCP data and TCP ACKs, sent by the two ends of one link, collide with each other.

    What it finds
    -------------
    Station pairs on which first transmissions of TCP data and of TCP ACKs fail together more often than their retry rates
    allow. The cost is the airtime that these ties wasted: the longer frame of each, for the ties beyond chance. As many
    ties as DCF makes by design are the price of sharing the channel: info.

    Why it happens
    --------------
    While one end has TCP data to send, the other has ACKs. Both draw a backoff; with 32 slots, one contention in 32 is a
    tie, in which both frames are lost. Delayed ACKs halve it. UDP has no ACKs to collide with.

    How it decides
    --------------
    An exchange whose first transmission failed is an event. Events of data A > B and of ACKs B > A are paired if both
    first transmissions were heard and began in one slot. If the sniffer missed one, they are paired if their retries are
    next to each other, both can have been sent at one moment (neither station was busy with the exchange before), and
    the silence before is no longer than one tie. MPDUs of one A-MPDU count once. A station has one queue, so the data
    of an access point to several stations is judged together against the ACKs of all.
    `least_exchanges_count`: exchanges of either kind; 3 % of fewer is no number. `least_pairs_count`: fewer ties prove nothing.
    `chance_share`: the largest p-value against three explanations: (1) as many events at one time by chance (binomial, at the rates
    around each event, so that a channel that is bad for a while pairs nothing; pairs of which one frame was heard only where
    they are more than that); (2) if ties were not heard, errors in bursts: a failure that was not heard is followed by another as
    often as retries fail, besides those that chance pairs (binomial); (3) if the same stations send UDP, its retry rate.
    `open_share`: up to this p-value it is undecided: a longer capture would show it. So it is where `common_share` of the frames of either
    side fail: then almost every failure has one of the other side nearby, by chance or not.
    `unheard_share`: where no failed frame was heard, no retry shows how long bursts are: then ties must be most of the failures of the
    side with more of them, or it is undecided.
    `rounds_count`: contentions of one ACK, at most, on average (1.7 to 1.9 in simulations of two stations), each with one
    slot in 32 (OFDM: 16) in common. More ties than that, beyond `chance_share`, show a contention window below the
    standard's or more than one ACK at a time: a warning or more, by cost.
    `near_count`: most exchanges between the two sides' retries; after a tie one side retries first, and up to three new
    exchanges fit in before the other's doubled backoff ends; twice as many with a third station. `around_count`: data exchanges
    around an event that give the rate of chance; a few hundred ms of a busy link. `tie_us`: a slot of 20 us, and as much for the clocks of two receivers.
    `silence_us`: longest silence of an unheard tie besides the longer frame: DIFS 50 us, 31 slots, an extended
    inter-frame space 364 us, 63 slots, and a fifth more for timestamps.

    What fools it
    -------------
    Independent errors pair by chance only, however frequent. Errors in bursts hit data and ACKs one after the other: if heard, they do not
    overlap; if not, their silence is too long and their retries fail too. With the capture effect one frame of a tie
    survives: such ties are not counted. Encrypted frames do not show what they carry: undecided, as are pairs of which
    the sniffer missed more than it heard.

    References
    ----------
    IEEE 802.11-2020 10.3.4; the study of 802.11b adapters on USB, section 4.3.1 (4.6 % retries of TCP against 0.5-1 %
    of UDP); Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", 2000.
    """
    air = Facts.of(trace).cached(Air)
    search = TieSearch(air, near_count, around_count, round(tie_us * 1e3), round(silence_us * 1e3))
    spans = air.pairs(both_ways=True)
    for link in contending_stations(air, spans):
        if min(len(link.data), len(link.acks)) >= least_exchanges_count:
            result = _judge(
                search,
                link,
                least=least_pairs_count,
                chance_share=chance_share,
                rounds=rounds_count,
                open_share=open_share,
                common_share=common_share,
                unheard_share=unheard_share,
            )
            if result is not None:
                yield result
    hidden = [
        pair
        for pair, span in spans.items()
        if pair < reverse(pair)
        and _encrypted(air.exchanges, (span, spans[reverse(pair)]), least_exchanges_count)
    ]  # fmt: skip
    if hidden:
        yield air.undecided(
            "data_ack_collision",
            hidden,
            f"The frames of {count(len(hidden), 'station pair')} are encrypted: without the key, TCP data and TCP ACKs "
            "look alike.",
        )


def _encrypted(e: Exchanges, spans: Iterable[slice], least: int) -> bool:
    """Whether a pair sends much in both directions, encrypted, and with retries on both sides."""
    return all(int(e.protected[s].sum()) >= least and int((e.failed & e.protected)[s].sum()) >= 5 for s in spans)


def _judge(
    search: TieSearch,
    link: ContendingStations,
    *,
    least: int,
    chance_share: float,
    rounds: float,
    open_share: float,
    common_share: float,
    unheard_share: float,
) -> Finding | Undecided | None:
    air, data, acks = search.air, link.data, link.acks
    e = air.exchanges
    failed_data, failed_acks = data[e.failed[data]], acks[e.failed[acks]]
    if min(len(failed_data), len(failed_acks)) < least:
        return None
    both = np.concatenate((data, acks))
    if air.missed_share(both) > 0.5:
        pairs = sorted({int(p) for p in e.pair[data]})
        return air.undecided("data_ack_collision", pairs, "The sniffer missed more transmissions than it heard.")
    # With a third station, twice as many exchanges come before both frames of a tie are sent again; more stations rarely contend at once.
    search = replace(search, near=search.near * min(2, len(np.unique(e.pair[data]))))
    data_at, ack_at, heard = search.pairs(failed_data, failed_acks, link.all)
    expected, expected_mixed = search.expected(data, failed_acks, link.all)
    # The sniffer hears one frame of a tie where it is near one station; as many as chance makes are no ties.
    mixed = e.first_heard[data_at] != e.first_heard[ack_at]
    events = len(failed_acks)
    if binomial_tail(int(mixed.sum()), events, expected_mixed / events) <= chance_share:
        expected += expected_mixed
    else:
        data_at, ack_at, heard = data_at[~mixed], ack_at[~mixed], heard[~mixed]
        mixed = mixed[:0]
    paired = len(data_at)
    # Heard ties overlapped; only the others can be errors that followed each other.
    unheard = int((~heard).sum())
    most_unheard = unheard > paired / 2
    if paired < least:
        return None
    failed = np.concatenate((failed_data, failed_acks))
    missed = failed[~e.first_heard[failed]]
    # With one frame of a tie heard, each missed frame of either side may be in one.
    trials = max(unheard, len(missed) if mixed.any() else int((~e.first_heard[failed_acks]).sum()))
    mostly_other = len(missed) == len(failed) and paired < unheard_share * max(len(failed_data), len(failed_acks))
    by_chance = min(1.0, expected / events)
    # A failure that was not heard is paired by chance, or by the next one of the same burst.
    in_burst = _retry_failure_rate(e, missed)
    together = 1 - (1 - min(1.0, expected / max(trials, 1))) * (1 - in_burst)
    p_burst = binomial_tail(unheard, trials, together) if most_unheard else 0.0
    rate = len(failed) / len(both)
    udp = link.all[e.udp[link.all] & e.lead[link.all]]
    udp_rate = float(e.failed[udp].mean()) if len(udp) >= 100 else None
    p_udp = binomial_tail(len(failed), len(both), udp_rate) if udp_rate is not None else 0.0
    p = max(binomial_tail(paired, events, by_chance), p_burst, p_udp)
    if p > chance_share:
        rare = min(len(failed_data) / len(data), len(failed_acks) / len(acks)) < common_share
        return None if mostly_other or (p > open_share and rare) else _open(air, data_at, p)
    if mostly_other:
        return air.undecided(
            "data_ack_collision",
            np.unique(e.pair[data_at]).tolist(),
            f"{count(paired, 'retried TCP data frame')} failed together with TCP ACKs, but no failed frame was heard: errors in bursts do "
            "the same.",
        )
    tie_us = np.maximum(mean_airtime_us(e, data_at), mean_airtime_us(e, ack_at))
    cost_s = float(np.nansum(tie_us)) / 1e6 * (paired - min(expected, paired)) / paired
    by_design = ties_of_dcf(air, acks) * rounds
    excess = poisson_tail(paired, by_design) <= chance_share
    values: dict[str, float | int | str] = {
        "pairs_count": paired,
        "pairs_heard_count": int(heard.sum()),
        "expected_count": round(expected, 3),
        "normal_ties_count": round(by_design, 3),
        "p_value_share": p,
        "data_exchanges_count": len(data),
        "ack_exchanges_count": len(acks),
        "data_retry_share": len(failed_data) / len(data),
        "ack_retry_share": len(failed_acks) / len(acks),
        "tcp_retry_share": rate,
        "udp_retry_share": udp_rate if udp_rate is not None else "no UDP",
        "excess_share": rate - udp_rate if udp_rate is not None else 2 * (paired - expected) / len(both),
        "wasted_airtime_s": cost_s,
    }
    names, times = np.unique(e.pair[data_at], return_counts=True)
    pair, station = int(names[times.argmax()]), air.address(link.station)
    if len(names) > 1:
        values["station_pairs_count"] = len(names)
    more = f" and {count(len(names) - 1, 'more pair')} of it" if len(names) > 1 else ""
    of_udp = f" (UDP: {100 * udp_rate:.1f} %)" if udp_rate is not None else ""
    usual = "" if excess else ", as usual where TCP sends in both directions"
    found = air.finding(
        "data_ack_collision",
        pair,
        int(e.t_first_ns[both].min()),
        int(e.t_last_ns[both].max()),
        cost_s=cost_s,
        confidence=0.95 if not most_unheard or udp_rate is not None else 0.85,
        values=values,
        evidence=np.concatenate([air.transmissions.packet[air.transmissions_of(x)] for x in (data_at, ack_at)]),
        sentence=(
            f"{air.subject(pair)}{more}: {paired} of {len(failed_data)} retried TCP data frames and {len(failed_acks)} retried "
            f"TCP ACKs collided: they failed at the same moment, where chance predicts {expected:.1f} ({p_value_text(p)}); "
            f"{100 * rate:.1f} % of TCP's frames were retried{of_udp}, which wasted {duration(cost_s)} of airtime{usual}."
        ),
        frames_filter=f"(wlan.ta == {station} || wlan.ra == {station})",
    )
    return found if excess else replace(found, severity="info")


def _open(air: Air, data_at: Array, p: float) -> Undecided:
    """Ties that chance may explain."""
    return air.undecided(
        "data_ack_collision",
        np.unique(air.exchanges.pair[data_at]).tolist(),
        f"{count(len(data_at), 'retried TCP data frame')} failed together with TCP ACKs, which chance may explain "
        f"({p_value_text(p)}); a longer capture would show it.",
    )


def _retry_failure_rate(e: Exchanges, events: Array) -> float:
    """Share of second transmissions that failed too; never quite 0."""
    again = (e.attempts[events] > 2) | (e.dropped[events] & (e.attempts[events] > 1))
    return float((again.sum() + 1) / (len(events) + 2))

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.air import (
    DSSS_CW,
    OFDM_CW,
    Air,
    Exchanges,
    binomial_tail,
    chance,
    is_dsss,
    poisson_tail,
)
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.formatting import count, duration
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

_DATA, _ACK = 1, 2

#: The two sides' retries stand at most so many exchanges apart: after a tie one side's retry comes first, and up to
#: three new exchanges of its fit in before the other's doubled backoff ends.
_NEAR = 4
#: Exchanges around an event whose retries say what chance would pair: a few hundred ms of a busy link.
_AROUND = 64
#: Starts of two frames in one slot, ns: a slot of 20 us, and as much for the clocks of two receivers.
_TIE_NS = 40_000
#: Longest silence that one unheard tie explains, beside the longer frame, ns: DIFS 50 us, 31 slots, an extended
#: inter-frame space 364 us, 63 slots, and a fifth more for stamps.
_SILENCE_NS = 2_750_000


@detector("data_ack_collision", needs=("frames", "exchanges"))
def data_ack_collision(
    trace: Trace,
    *,
    least_exchanges_count: int = 100,
    least_pairs_count: int = 5,
    chance_share: float = 0.001,
    paired_share: float = 0.4,
    rounds_count: float = 2.0,
) -> Iterator[Finding | Undecided]:
    """TCP data and TCP ACKs, sent by the two ends of one link, collide with each other.

    What it finds
    -------------
    Station pairs on which first attempts of TCP data and of TCP ACKs fail together more often than their retry rates
    allow. The cost is the air that these ties wasted: of each the longer of the two frames, as far as there are more
    ties than chance pairs. As many ties as DCF makes of itself are the price of sharing the air and are told as info.

    Why it happens
    --------------
    TCP talks both ways: while one end has data to send, the other has ACKs. Both draw a backoff; with 32 slots every
    32nd contention is a tie, in which both frames are lost. Delayed ACKs halve it. UDP has no such partner.

    How it decides
    --------------
    An exchange whose first attempt failed is an event. Events of data A > B and of ACKs B > A are paired when both
    first attempts were heard and began in one slot; where the sniffer missed an attempt, when their retries stand next
    to each other, both can have been sent in the same moment (neither station is still busy with the exchange before),
    and the silence before them is no longer than one tie takes. MPDUs of one A-MPDU count once. All that a station sends
    stands in one queue: the data of an access point to several stations is judged together against the ACKs of all.
    `least_exchanges_count`: as many of either kind, for 3 % of fewer would be no number.
    `least_pairs_count`: so many pairs; fewer say nothing.
    `chance_share`: the largest p-value, against three explanations by chance: (1) as many events in that neighbourhood
    (Poisson, the rates taken from the exchanges around each event, so that a channel that is bad for a while pairs
    nothing); (2) where ties were not heard, errors that come in bursts: a failed attempt is followed by another as
    often as retries fail (binomial); (3) where the same stations send UDP, its retry rate.
    `paired_share`: at least this share of all events, of the side with more of them, must be paired: a tie always hits
    both, an error of the channel one.
    `rounds_count`: an ACK contends so often at most, on average, before it is sent (1.7 to 1.9 times in simulations of
    two stations), and each time one slot in 32 (OFDM: 16) is the other's. More ties than that, beyond `chance_share`, show
    a contention window below the standard's, or more ACKs at a time than one: a warning or more, by the cost.

    What fools it
    -------------
    Independent errors pair by chance only. Errors in bursts hit data and ACKs after each other: heard, they do not
    overlap; unheard, their silence is too long and their retries fail, too. Capture effect lets one frame of a tie
    survive: such ties are not counted. Encrypted frames do not show what they carry: those pairs are left undecided, as
    are those of which the sniffer missed more than it heard.

    References
    ----------
    IEEE 802.11-2020 10.3.4; the study of 802.11b adapters on USB, section 4.3.1 (4.6 % retries of TCP against 0.5-1 %
    of UDP); Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", 2000.
    """
    air = Facts.of(trace).cached(Air)
    spans = dict(air.pairs())
    for link in _links(air, spans):
        if len(link.data) >= least_exchanges_count and len(link.acks) >= least_exchanges_count:
            told = _judge(
                air, link, least=least_pairs_count, chance_share=chance_share, share=paired_share, rounds=rounds_count
            )
            if told is not None:
                yield told
    hidden = [
        pair
        for pair, span in spans.items()
        if pair < air.reverse(pair) and air.reverse(pair) in spans
        and _hidden(air.exchanges, (span, spans[air.reverse(pair)]), least_exchanges_count)
    ]  # fmt: skip
    if hidden:
        yield air.undecided(
            "data_ack_collision",
            hidden,
            f"The frames of {count(len(hidden), 'station pair')} are encrypted: which are TCP data and which TCP ACKs "
            "cannot be told without the key.",
        )


@dataclass
class _Link:
    """Data of one station to others and their ACKs back, or data of others to one and its ACKs back: exchanges."""

    station: int
    data: Array
    acks: Array
    all: Array


def _links(air: Air, spans: dict[int, slice]) -> Iterator[_Link]:
    """Who contends with whom: an access point's frames to all its stations stand in one queue and tie with the frames
    of any of them, so what one station sends or receives is judged together."""
    e = air.exchanges
    pairs = [p for p, s in spans.items() if air.reverse(p) in spans and (e.tcp[s] == _DATA).any()]
    senders, receivers = Counter(p >> 24 for p in pairs), Counter((p >> 48, air.ra(p)) for p in pairs)
    links: dict[tuple[str, Any], list[int]] = {}
    for p in pairs:
        sender, receiver = p >> 24, (p >> 48, air.ra(p))
        to_many = senders[sender] >= receivers[receiver]
        links.setdefault(("ta", sender) if to_many else ("ra", receiver), []).append(p)
    for (kind, _), members in links.items():
        there = _rows([spans[p] for p in members])
        back = _rows([spans[air.reverse(p)] for p in members])
        yield _Link(
            station=air.ta(members[0]) if kind == "ta" else air.ra(members[0]),
            data=there[(e.tcp[there] == _DATA) & e.lead[there]],
            acks=back[(e.tcp[back] == _ACK) & e.lead[back]],
            all=np.concatenate((there, back)),
        )


def _rows(spans: Iterable[slice]) -> Array:
    return np.concatenate([np.arange(s.start, s.stop) for s in spans])


def _hidden(e: Exchanges, spans: Iterable[slice], least: int) -> bool:
    """Whether a pair sends much both ways, encrypted, and with retries on both sides."""
    return all(int(e.protected[s].sum()) >= least and int((e.failed & e.protected)[s].sum()) >= 5 for s in spans)


def _judge(
    air: Air, link: _Link, *, least: int, chance_share: float, share: float, rounds: float
) -> Finding | Undecided | None:
    data, acks = link.data, link.acks
    e = air.exchanges
    hit_data, hit_acks = data[e.failed[data]], acks[e.failed[acks]]
    if len(hit_data) < least or len(hit_acks) < least:
        return None
    both = np.concatenate((data, acks))
    if air.missed_share(both) > 0.5:
        pairs = sorted({int(p) for p in e.pair[data]})
        return air.undecided("data_ack_collision", pairs, "The sniffer missed more attempts than it heard.")
    data_at, ack_at, heard = _pairs(air, hit_data, hit_acks, link.all)
    paired = len(data_at)
    most = max(len(hit_data), len(hit_acks))
    if paired < least or paired < share * most:
        return None
    expected = _by_chance(e, data, acks, hit_acks)
    p_chance = poisson_tail(paired, expected)
    # Heard ties overlapped; only those that were not can be errors that followed each other.
    unheard = int((~heard).sum())
    again = _continues(air, np.concatenate((hit_data, hit_acks)))
    p_burst = (
        binomial_tail(unheard, max(unheard, len(hit_acks) - paired + unheard), again) if unheard > paired / 2 else 0.0
    )
    rate = (len(hit_data) + len(hit_acks)) / len(both)
    udp = link.all[e.udp[link.all] & e.lead[link.all]]
    udp_rate = float(e.failed[udp].mean()) if len(udp) >= 100 else None
    p_udp = binomial_tail(len(hit_data) + len(hit_acks), len(both), udp_rate) if udp_rate is not None else 0.0
    p = max(p_chance, p_burst, p_udp)
    if p > chance_share:
        return None
    tie_us = np.maximum(_attempt_us(e, data_at), _attempt_us(e, ack_at))
    cost_s = float(np.nansum(tie_us)) / 1e6 * (paired - min(expected, paired)) / paired
    normal = _normal(air, acks) * rounds
    excess = poisson_tail(paired, normal) <= chance_share
    start, end = int(e.t_first_ns[both].min()), int(e.t_last_ns[both].max())
    values: dict[str, float | int | str] = {
        "pairs_count": paired,
        "pairs_heard_count": int(heard.sum()),
        "expected_count": round(expected, 3),
        "normal_ties_count": round(normal, 3),
        "p_value_share": p,
        "data_exchanges_count": len(data),
        "ack_exchanges_count": len(acks),
        "data_retry_share": len(hit_data) / len(data),
        "ack_retry_share": len(hit_acks) / len(acks),
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
    beside = f", UDP's {udp_rate:.1%}" if udp_rate is not None else ""
    usual = "" if excess else "; so many are normal where TCP talks both ways"
    found = air.finding(
        "data_ack_collision",
        pair,
        start,
        end,
        cost_s=cost_s,
        confidence=0.95 if unheard <= paired / 2 or udp_rate is not None else 0.85,
        values=values,
        evidence=np.concatenate([air.attempts.packet[air.attempts_of(x)] for x in (data_at, ack_at)]),
        sentence=(
            f"{air.subject(pair)}{more}: {paired} of {len(hit_data)} retried TCP data frames and {len(hit_acks)} retried TCP "
            f"ACKs failed in the same moment, where chance allows {expected:.1f} ({chance(p)}): they collided; "
            f"{rate:.1%} of TCP's frames were sent again{beside}, which wasted {duration(cost_s)} of air{usual}."
        ),
        of=f"(wlan.ta == {station} || wlan.ra == {station})",
    )
    return found if excess else replace(found, severity="info")


def _normal(air: Air, acks: Array) -> float:
    """Ties that DCF makes when every ACK contends once: with each station's ACKs the window is the same."""
    e, a = air.exchanges, air.attempts
    slots = np.where(is_dsss(a.rate_mbps[e.first[acks]]), DSSS_CW, OFDM_CW)
    stations = len(np.unique(e.pair[acks]))
    return float((1 / slots).sum()) * stations


def _pairs(air: Air, data: Array, acks: Array, both: Array) -> tuple[Array, Array, Array]:
    """Events of data and of ACKs that can be one tie, one to one: their exchanges, and whether both were heard."""
    e = air.exchanges
    place = _places(e, both)
    data = data[np.argsort(place[data], kind="stable")]
    # Every event of an ACK against the events of data around it.
    at = np.searchsorted(place[data], place[acks])[:, None] + np.arange(-_NEAR, _NEAR)
    inside = (at >= 0) & (at < len(data))
    other = data[np.clip(at, 0, len(data) - 1)]
    mine = np.broadcast_to(acks[:, None], other.shape)
    away = np.abs(place[other] - place[mine])
    heard = e.first_seen[other] & e.first_seen[mine]
    possible = np.where(heard, _same_slot(air, mine, other), _possible(e, mine, other))
    possible &= inside & (away <= _NEAR)
    possible &= heard | ~_silent(air, mine, other)
    far = 4 * _NEAR
    score = np.where(possible, away - heard * 2 * _NEAR, far)
    best = score.argmin(axis=1)
    rows = np.arange(len(acks))
    found = score[rows, best] < far
    made = np.stack((other[rows, best], acks, heard[rows, best], score[rows, best]))[:, found]
    # One event of data pairs with one of an ACK: the nearest.
    made = made[:, np.lexsort((made[3], made[0]))]
    made = made[:, np.unique(made[0], return_index=True)[1]]
    return made[0], made[1], made[2] == 1


def _places(e: Exchanges, both: Array) -> Array:
    """Position of exchanges in their common order of time, by exchange."""
    both = both[e.lead[both]]
    out = np.full(len(e), NULL, np.int64)
    out[both[np.argsort(e.t_first_ns[both], kind="stable")]] = np.arange(len(both))
    return out


def _possible(e: Exchanges, a: Array, b: Array) -> Array:
    """Whether both first attempts can have been in one moment: an unheard one came after its station had done with the
    exchange before and before its first retry that was heard."""
    early, late = [], []
    for which in (a, b):
        before = np.maximum(which - 1, 0)
        done = np.where(e.t_ack_ns[before] != NULL, e.t_ack_ns[before], e.t_last_ns[before])
        done = np.where((which == before) | (e.pair[before] != e.pair[which]), 0, done)
        t, seen = e.t_first_ns[which], e.first_seen[which]
        early.append(np.where(seen, t - _TIE_NS, done))
        late.append(np.where(seen, t + _TIE_NS, t))
    return np.asarray(np.maximum(*early) <= np.minimum(*late))


def _same_slot(air: Air, a: Array, b: Array) -> Array:
    """Whether two first attempts began within a slot, be the stamps those of their starts or of their ends."""
    first, t_ns = air.exchanges.first, air.attempts.t_ns
    apart = t_ns[first[a]] - t_ns[first[b]]
    length = air.attempts.airtime_us * 1e3
    return np.asarray((np.abs(apart) <= _TIE_NS) | (np.abs(apart - (length[first[a]] - length[first[b]])) <= _TIE_NS))


def _silent(air: Air, a: Array, b: Array) -> Array:
    """Whether the air was silent for longer before the first retry of two than one unheard tie explains."""
    e, frames = air.exchanges, air.frames
    sooner = np.where(e.t_first_ns[a] <= e.t_first_ns[b], a, b)
    row = air.frame_at(e.pair[sooner] >> 48, e.first_packet[sooner])
    before = np.maximum(row - 1, 0)
    gap = frames.t_ns[row] - frames.t_ns[before]
    tie_us = np.fmax(_attempt_us(e, a), _attempt_us(e, b))
    # AckTimestamps are those of starts or of ends: the frame at either end of the gap may be part of it.
    ends_us = np.fmax(np.fmax(frames.airtime_us[row], frames.airtime_us[before]), tie_us)
    longest = _SILENCE_NS + np.nan_to_num(tie_us + ends_us, nan=np.inf) * 1e3
    known = (row > 0) & (frames.t_ns[before] != NULL) & ~e.first_seen[sooner]
    return np.asarray(known & (gap > longest))


def _by_chance(e: Exchanges, data: Array, acks: Array, hits: Array) -> float:
    """Events of ACKs near which, by the rates around them, an event of data stands anyway."""
    both = np.concatenate((data, acks))
    both = both[np.argsort(e.t_first_ns[both], kind="stable")]
    events = np.concatenate(([0], np.cumsum(e.failed[both] & (e.tcp[both] == _DATA))))
    place = np.full(len(e), 0, np.int64)
    place[both] = np.arange(len(both))
    at, n = place[hits], len(both)

    def within(reach: int) -> tuple[Array, Array]:
        low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, n)
        return events[high] - events[low], high - low

    (near, near_n), (wide, wide_n) = within(_NEAR), within(_AROUND)
    density = (wide - near) / np.maximum(wide_n - near_n, 1)
    return float((1 - (1 - np.clip(density, 0, 0.999)) ** near_n).sum())


def _continues(air: Air, events: Array) -> float:
    """How often the second attempt fails, too; never quite 0."""
    e = air.exchanges
    again = (e.attempts[events] > 2) | (e.dropped[events] & (e.attempts[events] > 1))
    return float((again.sum() + 1) / (len(events) + 2))


def _attempt_us(e: Exchanges, which: Array) -> Array:
    """Airtime of one attempt."""
    return np.asarray(e.airtime_us[which] / np.maximum(e.seen[which], 1))

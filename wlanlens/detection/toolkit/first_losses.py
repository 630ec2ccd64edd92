"""The first losses of one direction of a connection, and how full the queue was before them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.losses import Losses
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.detection.toolkit.sending_rate import arrival_bytes_per_s
from wlanlens.detection.toolkit.statistics import binomial_tail
from wlanlens.tables.columns import NULL, Array

#: Triggers of retransmissions that react to a loss.
REACTIONS = ("rto", "go_back_n", "fast", "partial_ack", "sack")

#: Triggers of retransmissions that later arrivals asked for.
_REQUESTED = ("fast", "partial_ack", "sack")

#: Round trips just before the first loss: their longest tells a queue from one held packet.
_NEWEST = 3


def first_reaction(copies: Rows) -> tuple[Array, int]:
    """Which retransmissions of a key react to a loss, and the time of the first of them; without one, of the first retransmission."""
    reacts = np.isin(copies["trigger"], REACTIONS)
    return reacts, int(copies["t_ns"][np.argmax(reacts)])


def may_have_first_losses(copies: Rows, data: Rows, count: int) -> Array:
    """Keys that may have this many first losses, or unseen losses before the reaction: one by one they take longer to judge.

    Parameters
    ----------
    copies : Rows
        Retransmissions: columns `t_ns since_previous_ns rel_seq lost_before_tap trigger`.
    data : Rows
        First transmissions of these keys: columns `t_ns rel_seq`.
    """
    first, length = key_groups(copies.key)
    if not len(first):
        return first
    key, reacts = copies.key[first], np.isin(copies["trigger"], REACTIONS)
    row = np.minimum.reduceat(np.where(reacts, np.arange(len(copies)), len(copies)), first)
    reaction = copies["t_ns"][np.where(row < len(copies), row, first)]
    begin, size = key_groups(data.key)
    of = np.repeat(np.searchsorted(key, data.key[begin]), size)
    before = data["t_ns"] < reaction[of]
    highest = np.zeros(len(key), np.int64)
    np.maximum.at(highest, of[before], data["rel_seq"][before])
    seen = _seen_before(copies, np.repeat(reaction, length))
    unseen = (copies["lost_before_tap"] == 1) & (copies["rel_seq"] < np.repeat(highest, length))
    most = np.maximum(*(np.add.reduceat(lost.astype(np.int64), first) for lost in (seen, unseen)))
    return key[most >= count]


def first_losses(copies: Rows, reaction: int, maybe: bool = False) -> Rows:
    """The first copies lost before the reaction, in order of sending, by their retransmissions.

    A request of which nothing shows whether it was spurious counts, unless another one of that window is known to be: packets changed
    their order. `maybe`: so does a retransmission of undecided trigger, and one of the timer.
    """
    early = _first_copies(copies, reaction)
    sent = copies["t_ns"] - copies["since_previous_ns"]
    requested = early & np.isin(copies["trigger"], (*_REQUESTED, "undecided") if maybe else _REQUESTED)
    known = np.isin(copies["spurious"], (0, 1))
    lost = early & (copies["spurious"] == 0)
    if not (copies["spurious"][requested] == 1).any():
        lost |= (early if maybe else requested) & ~known
    which = np.flatnonzero(lost)
    return copies.take(which[np.lexsort((copies["rel_seq"][which], sent[which]))])


def _first_copies(copies: Rows, reaction: int) -> Array:
    """The first retransmission of each segment whose first copy the tap saw, before the reaction. Where it misses packets, the number of
    a copy is unknown."""
    first = np.zeros(len(copies), bool)
    first[np.unique(copies["rel_seq"], return_index=True)[1]] = True
    return first & _seen_before(copies, reaction)


def _seen_before(copies: Rows, reaction: int | Array) -> Array:
    """Whether the tap saw the copy before each, before the reaction."""
    before = copies["t_ns"] - copies["since_previous_ns"] < reaction
    return np.asarray((copies["since_previous_ns"] != NULL) & before)


@dataclass
class FirstLosses:
    """The first losses of one direction of a connection."""

    key: int
    packets: Array
    t_start_ns: int
    t_end_ns: int
    t_whole_ns: int
    losses: int
    sent: int
    sent_between: int
    p_value: float
    queue_ns: int
    ceiling_ns: int
    flight: int
    flight_before: int
    bytes_per_s: float
    segment_bytes: int
    cost_s: float


def judge_first_losses(
    facts: Facts,
    losses: Losses,
    data: Rows,
    back: Rows,
    copies: Rows,
    first: Rows,
    reaction: int,
    quantile: float,
    growth_share: float,
) -> FirstLosses | None:
    key, lost = first.key[:1], first["t_ns"] - first["since_previous_ns"]
    t_first, t_last = int(lost[0]), int(lost[-1])
    acks = facts.cached(Acks)
    # The segment just before the first loss measures the queue.
    before = np.flatnonzero(data["rel_seq"] + data["len"] == first["rel_seq"][0])
    covered = int(acks.t_ns(acks.first_covering(key, first["rel_seq"][:1]))[0])
    sampled = back["rtt_ns"] != NULL
    rtts = back["rtt_ns"][sampled]
    if not len(before) or covered == NULL or not len(rtts):
        return None
    rtt_before = covered - int(data["t_ns"][before[-1]])
    min_rtt = min(int(rtts.min()), rtt_before)
    sent = data["t_ns"]
    inside = (sent >= t_first) & (sent < reaction)
    if not inside.any():
        return None  # the lost segments were no first transmissions
    part = losses.of(int(key[0]))
    early = (losses.t_ns[part] < reaction) & (losses.copy[part] <= 1)
    rest_episodes = len(np.setdiff1d(losses.episode[part], losses.episode[part][early]))
    # A hole, a delayed ACK or a held one lengthens a single round trip; a queue grows from one to the next.
    newest = rtts[back["t_ns"][sampled] < covered][-_NEWEST:]
    ceiling_ns = int(np.quantile(rtts, quantile)) - min_rtt
    usual_ns = max(ceiling_ns, int(newest.max(initial=min_rtt)) - min_rtt)
    chance = (rest_episodes + 1) / (int((~inside).sum()) + 1)
    # A timer retransmits more of that window; whether all of it was lost is unknown.
    of_window = _first_copies(copies, reaction) & (copies["spurious"] != 1)
    last = (copies["rel_seq"] + copies["len"])[of_window].max(keepdims=True)
    end = int(acks.t_ns(acks.first_covering(key, last))[0])
    end = end if end != NULL else int(facts.last_packet_ns(key)[0])
    highest = (data["rel_seq"] + data["len"])[sent < reaction].max(keepdims=True)
    whole = int(acks.t_ns(acks.first_covering(key, highest))[0])
    segment = int(np.median(data["len"][inside]))
    rate = arrival_bytes_per_s(back, t_first, reaction, segment)
    reached = np.maximum.accumulate(back["rel_ack"])
    acked = int(reached[np.searchsorted(back["t_ns"], end, side="right") - 1])
    acked -= int(reached[max(0, int(np.searchsorted(back["t_ns"], reaction, side="right")) - 1)])
    wait_s = (end - reaction) / 1e9
    return FirstLosses(
        key=int(key[0]),
        packets=first["packet"],
        t_start_ns=t_first,
        t_end_ns=max(end, reaction),
        # More of what was sent before the reaction may have been lost.
        t_whole_ns=max(end, reaction, whole if whole != NULL else int(facts.last_packet_ns(key)[0])),
        losses=len(first),
        sent=int(inside.sum()),
        sent_between=int(((sent >= t_first) & (sent <= t_last)).sum()),
        # The first loss is where the search began: it does not count.
        p_value=binomial_tail(len(first) - 1, int(inside.sum()) - 1, chance),
        queue_ns=min(rtt_before - min_rtt, int(usual_ns / growth_share)),
        ceiling_ns=ceiling_ns,
        flight=int(data["flight_bytes"][sent <= t_first].max(initial=0)),
        flight_before=int(data["flight_bytes"][sent < t_first - rtt_before].max(initial=0)),
        bytes_per_s=rate,
        segment_bytes=segment,
        cost_s=max(0.0, wait_s - acked / rate) if rate > 0 else wait_s,
    )


def unseen_losses(data: Rows, copies: Rows, reaction: int) -> int:
    """Segments of the first window whose first copy never passed the tap."""
    highest = data["rel_seq"][data["t_ns"] < reaction].max(initial=0)
    return len(np.unique(copies["rel_seq"][(copies["lost_before_tap"] == 1) & (copies["rel_seq"] < highest)]))

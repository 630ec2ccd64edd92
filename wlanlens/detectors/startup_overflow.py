from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.losses import Losses, binomial_tail
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.formatting import count, duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector("startup_overflow", needs=("segments",))
def startup_overflow(
    trace: Trace,
    *,
    least_losses_count: int = 3,
    chance_share: float = 0.001,
    ceiling_share: float = 0.7,
    lost_share: float = 0.8,
    before_share: float = 0.8,
) -> Iterator[Finding | Undecided]:
    """Slow start overshot a buffer: a run of losses in the first window.

    What it finds
    -------------
    Connections whose first losses are a run, made by their own slow start: it doubled the flight until a queue on the
    way was full, and went on for a round trip before the first duplicate ACKs came. `buffer_packets` and `buffer_bytes`
    estimate that queue: its delay just before the first loss times the pace at which data arrived. The cost is the time
    from the first resend until the last of these losses was acknowledged, less the time in which as much data would
    have gone through at that pace.

    Why it happens
    --------------
    In slow start the flight doubles every round trip, and the path holds no more than its bandwidth times delay and the
    buffer. Every ACK releases two segments (with delayed ACKs three for two) into a queue from which one has left, so
    that every second or third is dropped until the sender hears of it. Without SACK one hole is filled each round trip.

    How it decides
    --------------
    From the losses (needed resends) whose first copy was sent before the sender resent anything.
    `least_losses_count`: two may be a chance, three duplicate ACKs make TCP react as well.
    `chance_share`: were losses here as frequent as events of loss in the rest of the connection, so many would come so
    close together with at most this probability (binomial, one event added to the rest): of 1000 connections with random
    losses one. Losses of the rest that came together count once, for the same queue overflows again.
    `ceiling_share`: the segment before the first loss had stood in a queue of at least this part of the most that the
    connection ever saw (of 95 % of its round trips): a full queue is as long as it ever gets, while random losses strike
    at any length; 0.7 leaves room for delayed ACKs and the jitter of a radio. So much above it is no queue either.
    `lost_share`: of the segments from the first to the last of these losses at most so many are lost, for a full queue
    takes one in whenever one leaves it, while a burst of errors takes all; a single batch, sent within a tenth of a round
    trip, may be lost whole.

    `before_share`: a round trip before the first loss the flight was at most so much of what it was then: slow start makes
    it grow by half at least. A sender that the receiver's window holds has a full queue at all times, and losses then have
    another cause.

    What fools it
    -------------
    Random losses early in a connection are as frequent later on: silent. A burst of errors takes neighbours, and takes
    them at any length of the queue: silent, but where it strikes a batch at the height of the queue. The tap must stand
    before the queue; beside the receiver the lost copies are not seen: undecided.

    References
    ----------
    The Seawind study of TCP over a slow link (start-up buffer overflow); Hoe, "Improving the start-up behavior of a
    congestion control scheme for TCP", 1996; RFC 9406 (HyStart++).
    """
    facts = Facts.of(trace)
    cases: list[_Case] = []
    blind: list[int] = []
    losses = facts.cached(Losses)
    resends = facts.rows(
        "segments",
        ["t_ns", "rel_seq", "lost_before_tap"],
        where={"transmission": ("retransmission",)},
        valid=("t_ns", "rel_seq"),
    )
    resends = resends.take(resends["rel_seq"] > 0)
    keys = np.unique(resends.key)
    sent = facts.rows(
        "segments",
        ["t_ns", "rel_seq", "len", "flight_bytes"],
        where={"transmission": ("first",)},
        valid=("t_ns", "rel_seq"),
        keys=keys,
    )
    sent = sent.take(sent["len"] > 0)
    back = facts.rows(
        "segments", ["t_ns", "rel_ack", "rtt_ns", "dupacks"], valid=("t_ns", "rel_ack"), keys=np.sort(keys ^ 1)
    )
    for key in keys.tolist():
        mine, data = resends.take(slice_of(resends, key)), sent.take(slice_of(sent, key))
        reaction = int(mine["t_ns"][0])
        part = losses.of(key)
        first = np.flatnonzero((losses.t_ns[part] < reaction) & (losses.copy[part] == 1)) + part.start
        if len(first) >= least_losses_count:
            case = _case(facts, losses, data, back.take(slice_of(back, key ^ 1)), first, reaction)
            if case is not None and case.is_overflow(chance_share, ceiling_share, lost_share, before_share):
                cases.append(case)
        elif _holes(data, mine, reaction) >= least_losses_count:
            blind.append(key)
    yield from _findings(facts, cases)
    if blind:
        yield facts.undecided(
            "startup_overflow",
            np.array(blind),
            "The first losses never passed this tap, so it cannot be seen how full the queue before it was.",
        )


def _holes(data: Rows, resends: Rows, reaction: int) -> int:
    """Segments of the first window whose first copy never passed the tap."""
    highest = data["rel_seq"][data["t_ns"] < reaction].max(initial=0)
    unseen = (resends["lost_before_tap"] == 1) & (resends["rel_seq"] < highest)
    return len(np.unique(resends["rel_seq"][unseen]))


def slice_of(rows: Rows, key: int) -> Array:
    """Positions of one key's rows."""
    a, b = np.searchsorted(rows.key, [key, key + 1])
    return np.arange(int(a), int(b))


@dataclass
class _Case:
    """The first losses of one connection's direction, and what tells overflow from chance."""

    key: int
    packets: Array
    t_start_ns: int
    t_end_ns: int
    losses: int
    sent: int
    sent_between: int
    one_batch: bool
    p_value: float
    queue_ns: int
    ceiling_ns: int
    flight: int
    flight_before: int
    bytes_per_s: float
    segment_bytes: int
    cost_s: float

    def is_overflow(self, chance_share: float, ceiling_share: float, lost_share: float, before_share: float) -> bool:
        """Whether chance, an empty queue and a burst of errors are ruled out."""
        # Far above the ceiling it was no queue: the segment or its ACK was late for another reason.
        full = self.queue_ns > 0 and ceiling_share * self.ceiling_ns <= self.queue_ns <= self.ceiling_ns / ceiling_share
        thinned = self.losses <= lost_share * self.sent_between or self.one_batch
        grown = self.flight_before <= before_share * self.flight
        return self.p_value <= chance_share and full and thinned and grown


def _case(facts: Facts, losses: Losses, data: Rows, back: Rows, first: Array, reaction: int) -> _Case | None:
    key = int(losses.key[first[0]])
    keys = np.array([key])
    t_first, t_last = int(losses.t_ns[first[0]]), int(losses.t_ns[first[-1]])
    # The segment just before the first loss: when it was sent and when it was acknowledged.
    before = np.flatnonzero(data["rel_seq"] + data["len"] == losses.rel_seq[first[0]])
    acks = facts.cached(Acks)
    covered = int(acks.t_ns(acks.first_covering(keys, losses.rel_seq[first[:1]]))[0])
    rtts = back["rtt_ns"][back["rtt_ns"] != NULL]
    if not len(before) or covered == NULL or not len(rtts):
        return None
    rtt_before = covered - int(data["t_ns"][before[-1]])
    least = min(int(rtts.min()), rtt_before)
    sent = data["t_ns"]
    inside = (sent >= t_first) & (sent < reaction)
    rest_sent = int((~inside).sum())
    rest_events = len(np.setdiff1d(losses.episode[losses.of(key)], losses.episode[first]))
    rest = (rest_events + 1) / (rest_sent + 1)
    end = int(acks.t_ns(acks.first_covering(keys, losses.end[first].max(keepdims=True)))[0])
    end = end if end != NULL else int(facts.last_packet_ns(keys)[0])
    pace = _pace(back, t_first, reaction, int(np.median(data["len"][inside])))
    reached = np.maximum.accumulate(back["rel_ack"])
    done = int(reached[np.searchsorted(back["t_ns"], end, side="right") - 1])
    begun = int(reached[max(0, int(np.searchsorted(back["t_ns"], reaction, side="right")) - 1)])
    wait_s = (end - reaction) / 1e9
    return _Case(
        key=key,
        packets=losses.packet[first],
        t_start_ns=t_first,
        t_end_ns=max(end, reaction),
        losses=len(first),
        sent=int(inside.sum()),
        sent_between=int(((sent >= t_first) & (sent <= t_last)).sum()),
        one_batch=t_last - t_first <= least / 10,
        # The first of them is where we began to look.
        p_value=binomial_tail(len(first) - 1, int(inside.sum()) - 1, rest),
        queue_ns=rtt_before - least,
        ceiling_ns=int(np.quantile(rtts, 0.95)) - least,
        flight=int(data["flight_bytes"][sent <= t_first].max(initial=0)),
        flight_before=int(data["flight_bytes"][sent < t_first - rtt_before].max(initial=0)),
        bytes_per_s=pace,
        segment_bytes=int(np.median(data["len"][inside])),
        cost_s=max(0.0, wait_s - (done - begun) / pace) if pace > 0 else wait_s,
    )


def _pace(back: Rows, t_first: int, reaction: int, segment: int) -> float:
    """Bytes that arrived in a second while the queue was full: what ACKs, or duplicate ACKs, tell; 0 for too few.

    Not both: a receiver delays the former and not the latter.
    """
    t, ack = back["t_ns"], back["rel_ack"]
    inside = np.flatnonzero((t > t_first) & (t <= reaction))
    news = inside[back["dupacks"][inside] == 0]
    duplicates = inside[back["dupacks"][inside] > 0]
    if len(news) >= 3 and t[news[-1]] > t[news[0]]:
        return float(ack[news[-1]] - ack[news[0]]) / (int(t[news[-1]] - t[news[0]]) / 1e9)
    if len(duplicates) >= 3 and t[duplicates[-1]] > t[duplicates[0]]:
        return (len(duplicates) - 1) * segment / (int(t[duplicates[-1]] - t[duplicates[0]]) / 1e9)
    return 0.0


def _findings(facts: Facts, cases: list[_Case]) -> Iterator[Finding]:
    cost = np.array([case.cost_s * 1e9 for case in cases])
    keys = np.array([case.key for case in cases], np.int64)
    life = facts.lifetime_s(keys)
    listed, others = costliest(cost)
    for i in listed.tolist():
        case = cases[i]
        buffered = case.queue_ns / 1e9 * case.bytes_per_s
        values: dict[str, float | int | str] = {
            "losses_count": case.losses,
            "window_segments": case.sent,
            "queue_ms": case.queue_ns / 1e6,
            "p_value_share": case.p_value,
            "recovery_s": (case.t_end_ns - case.t_start_ns) / 1e9,
        }
        holds = ""
        if buffered > 0:
            packets = max(1, round(buffered / max(1, case.segment_bytes)))
            values |= {"buffer_bytes": int(buffered), "buffer_packets": packets}
            holds = f" of about {count(packets, 'packet')}"
        yield facts.finding(
            "startup_overflow",
            case.key,
            case.t_start_ns,
            case.t_end_ns,
            cost_s=case.cost_s,
            lifetime_s=float(life[i]),
            confidence=0.9,
            values=values,
            evidence={"segments": case.packets},
            sentence=(
                f"{facts.subject(case.key)}: slow start overshot a buffer{holds}: {case.losses} of {case.sent} segments "
                f"sent from {moment(case.t_start_ns)} on were lost before the sender knew, and were made good "
                f"{duration((case.t_end_ns - case.t_start_ns) / 1e9)} later."
            ),
        )
    yield from facts.remainder_finding(
        "startup_overflow",
        keys[others],
        np.array([cases[i].t_start_ns for i in others.tolist()], np.int64),
        np.array([cases[i].t_end_ns for i in others.tolist()], np.int64),
        cost[others],
        evidence=("segments", np.array([cases[i].packets[0] for i in others.tolist()], np.int64)),
        what="a start that overshot a buffer",
    )

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    AFTER_LOSS,
    REACTIONS,
    Cases,
    Description,
    Facts,
    Finding,
    FirstLosses,
    Losses,
    Undecided,
    count,
    duration,
    first_losses,
    first_reaction,
    judge_first_losses,
    may_have_first_losses,
    moment,
    unseen_losses,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "startup_overflow"

_FREQUENT = "later losses are so frequent that chance explains these, too, or so much was lost between them as by a burst of errors."
_UNKNOWN = "nothing shows whether the segments of some of the retransmissions had been lost."


def _phrase(finding: Finding) -> str:
    packets = finding.values.get("buffer_packets")
    return "slow start overshot a buffer" + (f" of about {count(int(packets), 'packet')}" if packets else "")


@detector(
    CODE,
    needs=("segments",),
    phrase=_phrase,
    explains=AFTER_LOSS,
    saving="setback",
    remedy=Remedy(
        "Sender: pacing and HyStart++ (RFC 9406; Linux: `fq` with CUBIC or BBR), which leave slow start before "
        "the queue overflows; SACK repairs what is lost. Device with the queue: room for rate times round "
        "trip.",
        "capture at the sender again: no run of losses in the first seconds of a transfer.",
    ),
)
def startup_overflow(
    trace: Trace,
    *,
    min_losses_count: int = 3,
    chance_share: float = 0.001,
    ceiling_share: float = 0.7,
    ceiling_quantile_share: float = 0.95,
    lost_share: float = 0.8,
    before_share: float = 0.8,
) -> Iterator[Finding | Undecided]:
    """Slow start overshot a buffer: several losses in the first window.

    What it finds
    -------------
    Connections whose first losses come from their own slow start: it doubled the flight until a queue on the path was
    full, and continued for a round trip until the first duplicate ACKs arrived. `buffer_packets` and `buffer_bytes` estimate
    that queue: its delay just before the first loss times the arrival rate of data. The cost is the time from the first
    retransmission until the last of these losses was acknowledged, less the time that the same data takes at that rate.

    Why it happens
    --------------
    In slow start the flight doubles every round trip, and the path holds only its bandwidth times delay and the buffer. Every
    ACK releases two segments (with delayed ACKs three for two) into a queue that one has left, so every second or third is
    dropped until the sender learns of it. Without SACK one hole is filled each round trip.

    How it decides
    --------------
    From the losses whose first copy was sent before the sender's first retransmission; a tail loss probe is no reaction to a loss.
    A fast retransmission or one of SACK counts where nothing shows whether it was spurious: what follows tells chance from a queue.
    One that was needed counts whatever caused it; with fewer of these, others of which that is unknown make the case undecided.
    `min_losses_count`: two may be chance; three duplicate ACKs also make TCP react.
    `chance_share`: with the rest of the connection's frequency of loss episodes, this many losses so close together have at most
    this probability (binomial, one episode added to the rest): one of 1000 connections with random losses.
    Losses of the rest that come together count once, because the same queue overflows again.
    `ceiling_share`: a full queue is as long as it ever is, while random losses occur at any length. The queueing delay before the
    first loss was at least this share of the connection's highest; 0.7 allows for delayed ACKs and the jitter of a radio.
    A queue grows: of a delay above that of the last round trips and the highest, over this share, the rest is a delayed or held ACK.
    `ceiling_quantile_share`: the highest is this quantile of the round trips, so that a few held packets do not count.
    `lost_share`: a full queue accepts a segment whenever one leaves, while a burst of errors destroys all: at most this
    share of the segments between the first and the last loss was lost; undecided where more was.
    `before_share`: slow start grows the flight by half or more each round trip: a round trip before the first loss it was at
    most this share. A sender limited by the receiver's window always has a full queue; its losses have another cause.

    What fools it
    -------------
    Random losses are as frequent later on; a burst of errors destroys neighbours at any length of the queue: no finding. A batch
    that is lost whole when the queue is longest may be either: undecided. Where losses stay frequent, chance explains the first ones: undecided. At a
    tap after the queue the lost copies are not seen: undecided.

    References
    ----------
    The Seawind study of TCP over a slow link (start-up buffer overflow); Hoe, "Improving the start-up behavior of a
    congestion control scheme for TCP", 1996; RFC 9406 (HyStart++).
    """
    facts = Facts.of(trace)
    losses = facts.cached(Losses)
    valid = ("t_ns", "rel_seq")
    copies = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_seq", "len", "since_previous_ns", "spurious", "trigger", "lost_before_tap"],
        where={"transmission": ("retransmission",), "trigger": (*REACTIONS, "undecided")},
        valid=valid,
    )
    copies = copies.take(copies["rel_seq"] > 0)
    keys = np.unique(copies.key)
    columns = ["t_ns", "rel_seq", "len", "flight_bytes"]
    sent = facts.rows("segments", columns, where={"transmission": ("first",)}, valid=valid, keys=keys)
    sent = sent.take(sent["len"] > 0)
    columns = ["t_ns", "rel_ack", "rtt_ns", "dupacks"]
    keys = may_have_first_losses(copies, sent, min_losses_count)
    acks = facts.rows("segments", columns, valid=("t_ns", "rel_ack"), keys=np.sort(keys ^ 1))
    cases: list[FirstLosses] = []
    unseen: list[int] = []
    frequent: list[FirstLosses] = []
    unknown: list[FirstLosses] = []
    for key in keys.tolist():
        repeated, data = copies.of_key(key), sent.of_key(key)
        reacts, reaction = first_reaction(repeated)
        # A retransmission that was needed shows a loss, whatever caused it.
        mine = repeated.take(reacts | (repeated["spurious"] == 0))
        first = first_losses(mine, reaction)
        open_ = len(first) < min_losses_count
        if open_:
            first = first_losses(mine := repeated, reaction, maybe=True)
        if len(first) >= min_losses_count:
            back = acks.of_key(key ^ 1)
            case = judge_first_losses(
                facts, losses, data, back, mine, first, reaction, ceiling_quantile_share, ceiling_share
            )
            if case is None:
                continue
            full = case.queue_ns > 0 and ceiling_share * case.ceiling_ns <= case.queue_ns
            thinned = case.losses <= lost_share * case.sent_between
            if full and case.flight_before <= before_share * case.flight:
                clear = thinned and case.p_value <= chance_share
                (frequent if not clear else unknown if open_ else cases).append(case)
        elif unseen_losses(data, repeated, reaction) >= min_losses_count:
            unseen.append(key)
    yield from _findings(facts, cases)
    for doubtful, why in ((frequent, _FREQUENT), (unknown, _UNKNOWN)):
        if doubtful:
            yield facts.undecided(
                CODE,
                np.array([case.key for case in doubtful]),
                f"The first losses came when the queue was longest, but {why}",
                t_start_ns=np.array([case.t_start_ns for case in doubtful]),
                t_end_ns=np.array([case.t_whole_ns for case in doubtful]),
            )
    if unseen:
        yield facts.undecided(
            CODE,
            np.array(unseen),
            "The first losses were before this tap, so the capture does not show how full the queue there was.",
        )


def _findings(facts: Facts, cases: list[FirstLosses]) -> Iterator[Finding]:
    def describe(i: int) -> Description:
        case = cases[i]
        recovery_s = (case.t_end_ns - case.t_start_ns) / 1e9
        values: dict[str, float | int | str] = {
            "losses_count": case.losses,
            "window_segments": case.sent,
            "queue_ms": case.queue_ns / 1e6,
            "p_value_share": case.p_value,
            "recovery_s": recovery_s,
        }
        size = ""
        buffer_bytes = case.queue_ns / 1e9 * case.bytes_per_s
        if buffer_bytes > 0:
            packets = max(1, round(buffer_bytes / max(1, case.segment_bytes)))
            values |= {"buffer_bytes": int(buffer_bytes), "buffer_packets": packets}
            size = f" of about {count(packets, 'packet')}"
        lost = duration(float(judged.charged_s[i]))
        return Description(
            f"slow start overshot a buffer{size}: {case.losses} of {case.sent} segments sent from {moment(case.t_start_ns)} on "
            f"were lost before the sender reacted; recovery took {duration(recovery_s)}, and {lost} were lost.",
            values,
            evidence={"segments": case.packets},
            confidence=0.9,
        )

    rows = [(case.key, case.t_start_ns, case.t_end_ns, int(case.packets[0])) for case in cases]
    key, start, end, packet = np.array(rows, np.int64).reshape(-1, 4).T
    cost_s = np.array([case.cost_s for case in cases], np.float64)
    judged = Cases(facts, CODE, key, start, end, cost_s, packet)
    yield from judged.findings(describe, what="slow start overshoot")

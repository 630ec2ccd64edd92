from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import MAX_FINDINGS, costliest
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.formatting import count, duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Why a sender was right to send nothing, in words.
RIGHT = {
    "recovery_point": "they did not go beyond the recovery point of the recovery before (RFC 6582 section 3.2)",
    "after_timeout": "after a timeout duplicate ACKs may come of its own resends (RFC 6582 section 3.2)",
    "spurious_retransmissions": "its own spurious resends had caused the duplicate ACKs",
    "no_sack_blocks": "SACK was agreed, but the duplicate ACKs carried no SACK blocks: nothing was known to be missing",
    "filled_without_resend": "the missing segment arrived late by itself: reordering, no loss",
}

#: Duplicate ACKs that tell of a loss (RFC 5681), each of a segment that arrived.
DUPLICATES = 3


@detector("missing_fast_retransmit", needs=("segments", "timeouts", "recoveries", "flows"))
def missing_fast_retransmit(
    trace: Trace, *, min_wait_ms: float = 20.0, wait_rtts: float = 1.0, cause_s: float = 1.0
) -> Iterator[Finding | Undecided]:
    """Three duplicate ACKs came, and the sender did not send the missing segment again.

    What it finds
    -------------
    TimeoutRuns of three or more duplicate ACKs that no resend of the segment they ask for answered, and whether that was right
    or wrong. A wrong one costs the time from the third duplicate ACK to the resend or to the ACK of new data, less what
    a fast retransmission would have taken. What was right costs nothing and is one finding a flow and reason.

    Why it happens
    --------------
    Rightly: after a timeout a NewReno sender ignores duplicate ACKs below its recovery point, because its own resends
    of data that had arrived cause them; a Linux sender counts SACKed segments, and a receiver without DSACK reports
    none. Wrongly: a congestion control or a middlebox that loses duplicate ACKs between the tap and TCP.

    How it decides
    --------------
    For the third duplicate ACK of each run: a resend of the byte that it asks for, sent before and still under way or
    within `wait_rtts` round trips and at least `min_wait_ms` after it, is the fast retransmission; one round trip
    covers the reordering window of RACK (RFC 8985) and 20 ms the scheduling of a busy host. A resend before is no longer
    under way, outside a fast recovery, where fewer than three segments went from the one at which the ACK before stood to
    it: the first ACK of the byte answers that one at the earliest, each duplicate a later one that arrived, and the third
    is of data sent after the resend. A fast recovery sends a byte once: a resend since its start is the answer. What the
    timer sent after the duplicates answers none of them. Otherwise, in this order:
    `after_timeout` when the ACK does not go beyond what had been sent at an expiry before; `recovery_point` when it
    does not go beyond the recovery point of a fast recovery before; `spurious_retransmissions` when at least three resends of
    bytes below that ACK in the last `cause_s` seconds (longer than any round trip with its queue) were spurious;
    `no_sack_blocks` when SACK was agreed and that direction never sent a block; `filled_without_resend` when new data
    was acknowledged without a resend. What is left is wrong.

    What fools it
    -------------
    A path that reorders lets data overtake a resend, which then counts as lost. Window updates and keep-alives repeat an
    ACK number but are no duplicate ACKs; `segments` tells them apart. A tap that misses packets may miss the resend: what
    would be wrong is left undecided. Away from the sender the resend comes a path's delay later or not at all, and its
    reason may never have reached the sender: everything there is left undecided.

    References
    ----------
    RFC 5681 section 3.2, RFC 6582 sections 3.2 and 6, RFC 6675, RFC 8985; the study of 802.11b adapters on USB,
    section 4.2.3 (no fast retransmission after three duplicate ACKs).
    """
    facts = Facts.of(trace)
    yield from facts.undecided_without_acks("missing_fast_retransmit")
    third = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_ack", "dupacks", "srtt_ns", "phase"],
        where={"kind": ("dupack",)},
        valid=("rel_ack", "t_ns"),
    )
    third = third.take(third["dupacks"] == DUPLICATES)
    if not len(third):
        return
    third = Rows(third.key ^ 1, {c: third[c] for c in ("packet", "t_ns", "rel_ack", "srtt_ns", "phase")})
    third = third.sorted_by("packet")
    resends = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_seq", "len", "spurious", "trigger"],
        where={"transmission": ("retransmission",)},
        valid=("rel_seq", "t_ns"),
        keys=np.unique(third.key),
    )
    rtt = np.maximum(np.maximum(third["srtt_ns"], facts.flow_values("handshake_rtt_ns", third.key)), 0)
    wait = np.maximum((rtt * wait_rtts).astype(np.int64), int(min_wait_ms * 1e6))
    acks = facts.cached(Acks)
    began = acks.t_ns(acks.first_covering(third.key, third["rel_ack"]))
    began = np.where(began == NULL, third["t_ns"], np.minimum(began, third["t_ns"]))
    filled = acks.first_covering(third.key, third["rel_ack"] + 1)
    fast = facts.rows("recoveries", ["t_start_ns", "recover_rel_seq"]).sorted_by("t_start_ns")
    since = began - 2 * wait
    # A fast recovery sends it once, however long ago it began.
    entered = _latest(fast, "t_start_ns", fast["t_start_ns"], third)
    since = np.where((third["phase"] == "recovery") & (entered != NULL), np.minimum(since, entered), since)
    resent, timer = _next_resend(resends, _outrun(facts, resends), third, since)
    # What the timer sent after the duplicates answers none of them.
    missing = (resent == NULL) | (resent > third["t_ns"] + wait) | (timer & (resent > third["t_ns"]))
    # An ACK of new data before the wait is over: nothing was missing for long enough to be sent again.
    answered = acks.t_ns(filled)
    reason = _reasons(facts, third, resends, resent, answered, fast, int(cause_s * 1e9))
    away = missing & facts.tap_away_from_sender(third.key)
    if away.any():
        yield facts.undecided(
            "missing_fast_retransmit",
            third.key[away],
            "Away from the sender a resend comes later, or is lost before the tap, and the duplicate ACKs may not have "
            "reached the sender: only a capture at the sender tells what it did not send.",
        )
    missing &= ~away
    yield from _wrong(
        facts, third, np.flatnonzero(missing & (reason == "")), resent, answered, wait, acks.packet(filled)
    )
    yield from _right(facts, third, np.flatnonzero(missing), reason)


def _outrun(facts: Facts, resends: Rows) -> Array:
    """Resends that a third duplicate ACK of their byte proves lost.

    The first ACK of that byte answers the segment at which the ACK before it stood, or a later one, and each duplicate
    one sent after that. Where fewer than three went from there to the resend, the third duplicate answers data sent
    after it.
    """
    sent = facts.rows(
        "segments",
        ["packet", "rel_seq", "len", "transmission", "spurious"],
        where={"kind": ("data",)},
        valid=("rel_seq",),
        keys=np.unique(resends.key),
    ).sorted_by("packet")
    acks = facts.cached(Acks)
    first = acks.packet(acks.first_covering(resends.key, resends["rel_seq"]))
    stood = np.maximum(acks.highest_before(resends.key, first), 1)
    # A spurious copy is answered by a duplicate, and one of unknown need may be.
    answered = (sent["transmission"] == "first") | (sent["spurious"] == 0)
    here = sent.last_until("packet", resends.key, resends["packet"])
    out = np.zeros(len(resends), bool)
    for back in range(1, DUPLICATES + 1):
        at_ = np.maximum(here - back, 0)
        mine = (here >= back) & (sent.key[at_] == resends.key) & answered[at_]
        begin = sent["rel_seq"][at_]
        out |= mine & (begin <= stood) & (stood < begin + sent["len"][at_])
    return np.asarray(out & (first != NULL))


def _next_resend(resends: Rows, outrun: Array, third: Rows, since: Array) -> tuple[Array, Array]:
    """When the asked-for byte was first sent again at or after `since`, and not known to be lost; NULL for never. And
    whether the timer sent it."""
    out, timer = np.full(len(third), NULL, np.int64), np.zeros(len(third), bool)
    if not len(resends):
        return out, timer
    # A resend of the left edge begins exactly there, as senders keep their segments' borders.
    rows = Rows(resends.key, {**{c: resends[c] for c in ("rel_seq", "t_ns", "trigger")}, "outrun": outrun})
    rows = rows.sorted_by("rel_seq", "t_ns")
    at_ = rows.last_until("rel_seq", third.key, third["rel_ack"])
    mine = (at_ >= 0) & (rows["rel_seq"][at_] == third["rel_ack"])
    # Its copies stand together: go back while one is late enough.
    while mine.any():
        t = rows["t_ns"][at_]
        mine &= t >= since
        # In a fast recovery it is sent once, and a duplicate is no more than a sign of a segment gone (RFC 6582).
        lost = rows["outrun"][at_] & (t < third["t_ns"]) & (third["phase"] != "recovery")
        out = np.where(mine & ~lost, t, out)
        timer = np.where(mine & ~lost, rows["trigger"][at_] == "rto", timer)
        at_ = at_ - 1
        mine &= (at_ >= 0) & (rows.key[at_] == third.key) & (rows["rel_seq"][at_] == third["rel_ack"])
    return out, timer


def _reasons(
    facts: Facts, third: Rows, resends: Rows, resent: Array, answered: Array, fast: Rows, cause_ns: int
) -> Array:
    """Why nothing had to be sent; "" where it should have been."""
    out = np.full(len(third), "", object)
    late = (answered != NULL) & ((resent == NULL) | (answered < resent))
    out[late] = "filled_without_resend"
    agreed = facts.flow_values("sack_agreed", third.key)
    blocks = facts.flow_values("sack_packets", third.key ^ 1)
    out[(agreed == 1) & (blocks == 0)] = "no_sack_blocks"
    spurious = resends.take(resends["spurious"] == 1).sorted_by("t_ns")
    if len(spurious) >= 3:
        newest = spurious.last_until("t_ns", third.key, third["t_ns"])
        three = newest >= 2
        for back in range(3):
            at_ = np.maximum(newest - back, 0)
            three &= (spurious.key[at_] == third.key) & (spurious["rel_seq"][at_] < third["rel_ack"])
            three &= spurious["t_ns"][at_] >= third["t_ns"] - cause_ns
        out[three] = "spurious_retransmissions"
    out[_latest(fast, "t_start_ns", fast["recover_rel_seq"], third) >= third["rel_ack"]] = "recovery_point"
    expiries = facts.rows("timeouts", ["t_ns", "rel_seq", "flight_bytes"]).sorted_by("t_ns")
    sent = expiries["rel_seq"] + expiries["flight_bytes"]
    out[_latest(expiries, "t_ns", sent, third) >= third["rel_ack"]] = "after_timeout"
    return out


def _latest(rows: Rows, when: str, value: Array, third: Rows) -> Array:
    """Of each duplicate ACK's key, the value of the latest row before it; NULL for none."""
    if not len(rows):
        return np.full(len(third), NULL, np.int64)
    at_ = rows.last_until(when, third.key, third["t_ns"])
    return np.where(at_ >= 0, value[at_], NULL)


def _wrong(
    facts: Facts, third: Rows, which: Array, resent: Array, answered: Array, wait: Array, ack_packet: Array
) -> Iterator[Finding | Undecided]:
    lossy = facts.flow_values("lost_before_tap", third.key[which]) > 0
    if lossy.any():
        yield facts.undecided(
            "missing_fast_retransmit",
            third.key[which[lossy]],
            "The tap misses packets of the sender: a resend may have passed unseen.",
        )
    which = which[~lossy]
    life, end = facts.lifetime_s(third.key), facts.last_packet_ns(third.key)
    never = np.iinfo(np.int64).max
    until = np.minimum(np.where(resent == NULL, never, resent), np.where(answered == NULL, never, answered))
    until = np.where(until == never, np.maximum(end, third["t_ns"]), until)
    cost = np.maximum(until - third["t_ns"] - wait, 0)
    listed, others = costliest(cost[which])
    for i in which[listed].tolist():
        cost_s = int(cost[i]) / 1e9
        key = third.key[i]
        yield facts.finding(
            "missing_fast_retransmit",
            key,
            int(third["t_ns"][i]),
            int(until[i]),
            cost_s=cost_s,
            lifetime_s=life[i],
            confidence=0.7,
            values={"verdict": "wrong", "reason": "none found", "missing_byte": int(third["rel_ack"][i])},
            evidence={"segments": [third["packet"][i], ack_packet[i]]},
            sentence=(
                f"{facts.subject(key)}: three duplicate ACKs asked for byte {int(third['rel_ack'][i])} at "
                f"{moment(third['t_ns'][i])}, but the sender did not send it again in time and lost {duration(cost_s)}; "
                "nothing in the capture justifies that."
            ),
        )
    which = which[others]
    yield from facts.remainder_finding(
        "missing_fast_retransmit",
        third.key[which],
        third["t_ns"][which],
        until[which],
        cost[which],
        evidence=("segments", third["packet"][which]),
        what="a missing fast retransmission",
    )


def _right(facts: Facts, third: Rows, which: Array, reason: Array) -> Iterator[Finding]:
    cases: dict[tuple[int, str], list[int]] = {}
    for i in which.tolist():
        if reason[i]:
            cases.setdefault((int(third.key[i]), str(reason[i])), []).append(i)
    for (key, why), rows in list(cases.items())[:MAX_FINDINGS]:
        t = third["t_ns"][rows]
        yield facts.finding(
            "missing_fast_retransmit",
            key,
            int(t.min()),
            int(t.max()),
            cost_s=0.0,
            lifetime_s=float(facts.lifetime_s(np.array([key]))[0]),
            confidence=0.9,
            values={"verdict": "right", "reason": why, "runs_count": len(rows)},
            evidence={"segments": third["packet"][rows]},
            sentence=(
                f"{facts.subject(key)}: {count(len(rows), 'run')} of three duplicate ACKs without a fast resend "
                f"from {moment(t.min())}, rightly: {RIGHT[why]}."
            ),
        )

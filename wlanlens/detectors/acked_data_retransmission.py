from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    NULL,
    ON_THE_PATH,
    Acks,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    Rows,
    Undecided,
    count,
    duration,
    key_groups,
    moment,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "acked_data_retransmission"


@detector(
    CODE,
    needs=("segments", "flows"),
    explains=("spurious_recovery", "loss_recovery", "fast_recovery", *ON_THE_PATH),
    remedy=Remedy(
        "Sender: keep less below TCP (Linux: TCP small queues and BQL, a short transmit queue), and remove the "
        "cause of the spurious timeout before it; F-RTO or timestamps (`net.ipv4.tcp_frto`, "
        "`net.ipv4.tcp_timestamps`) stop the retransmissions.",
        "capture at the sender again: no segment passes the tap after the ACK that covers it.",
    ),
)
def acked_data_retransmission(
    trace: Trace, *, max_queue_ms: float = 500.0, join_ms: float = 200.0
) -> Iterator[Finding | Undecided]:
    """Data was retransmitted after being acknowledged (queued below TCP).

    What it finds
    -------------
    Retransmissions that pass the sender's tap after an ACK of all their bytes. TCP sent them before that ACK; they were in the
    queue between TCP and the tap (the link layer's, of 100 packets and more) when it arrived. The cost is the time that the path
    takes for their bytes: at the flow's largest flight, a mean round trip.

    Why it happens
    --------------
    After a spurious timeout a burst of ACKs makes the sender retransmit the whole flight at once, faster than the adapter
    takes packets. tcpdump takes a packet's timestamp when the adapter gets it, not when TCP sends it.

    How it decides
    --------------
    A spurious retransmission whose last byte is at or below the highest ACK captured before it.
    `max_queue_ms`: an older ACK is not explained by a queue (100 packets of 1500 bytes take 220 ms at the 5.5 Mbit/s of 802.11b,
    and 1.2 s only at 1 Mbit/s): the sender missed the ACK or is at fault, and the sentence says so.
    `join_ms`: retransmissions closer together are one finding; a retransmission timeout takes longer.

    What fools it
    -------------
    At a tap away from the sender a retransmission normally passes after an ACK that it crosses on the path: undecided. Go-back-N
    of data not yet acknowledged, and retransmissions found spurious later, pass before their ACK: no finding.

    References
    ----------
    The study of 802.11b adapters on USB, section 4.2.2 (retransmission of ACKed packets, an artefact of the tap).
    """
    facts = Facts.of(trace)
    yield from facts.undecided_without_acks(CODE)
    copies = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_seq", "len", "spurious"],
        where={"transmission": ("retransmission",), "kind": ("data",)},
        valid=("t_ns", "rel_seq"),
    )
    copies = copies.take(copies["spurious"] == 1)
    if not len(copies):
        return
    acks = facts.cached(Acks)
    highest = acks.highest_before(copies.key, copies["packet"])
    copies = copies.take((highest != NULL) & (copies["rel_seq"] + copies["len"] <= highest))
    away = facts.tap_away_from_sender(copies.key)
    if away.any():
        yield facts.undecided(
            CODE,
            copies.key[away],
            f"{count(int(away.sum()), 'retransmission')} passed the tap after the ACK of the same bytes. Away from the sender "
            "that is normal: they crossed on the path. Only a capture at the sender can decide.",
            t_start_ns=copies["t_ns"][away],
            t_end_ns=copies["t_ns"][away],
        )
    copies = copies.take(~away)
    acked = acks.t_ns(acks.first_covering(copies.key, copies["rel_seq"] + copies["len"]))
    yield from _findings(facts, copies, copies["t_ns"] - acked, int(max_queue_ms * 1e6), int(join_ms * 1e6))


def _findings(facts: Facts, copies: Rows, since_ack: Array, max_queue_ns: int, join_ns: int) -> Iterator[Finding]:
    if not len(copies):
        return
    queued, t = since_ack <= max_queue_ns, copies["t_ns"]
    apart = (np.diff(t, prepend=t[:1]) > join_ns) | np.diff(queued, prepend=queued[:1])
    first, length = key_groups(copies.key * 2**20 + np.cumsum(apart))
    key, size = copies.key[first], np.add.reduceat(copies["len"], first)
    rtt, flight = facts.flow_values("tap_rtt_mean_ns", key), facts.flow_values("flight_max_bytes", key)
    known = (rtt > 0) & (flight > 0)
    byte_s = np.where(known, rtt.astype(float) / 1e9 / np.where(known, flight, 1), 0.0)
    last = t[first + length - 1]

    def describe(i: int) -> Description:
        part = slice(int(first[i]), int(first[i] + length[i]))
        in_queue, longest_s = bool(queued[first[i]]), int(since_ack[part].max()) / 1e9
        why = (
            "in the queue between TCP and the tap when the ACK arrived"
            if in_queue
            else "no queue is that long: the sender missed the ACK or is at fault"
        )
        return Description(
            f"{count(length[i], 'retransmission')} of acknowledged data ({size[i]} bytes), first at "
            f"{moment(t[first[i]])}, up to {duration(longest_s)} after the ACK; {why}.",
            values={
                "retransmissions_count": int(length[i]),
                "retransmissions_bytes": int(size[i]),
                "longest_after_ack_ms": longest_s * 1e3,
                "cause": "queue before the tap" if in_queue else "ACK not seen by the sender",
            },
            evidence={"segments": copies["packet"][part]},
            confidence=0.9 if in_queue else 0.6,
        )

    # The path carries the copies after they have passed the tap.
    cases = Cases(
        facts,
        CODE,
        key,
        t[first],
        last,
        size * byte_s,
        copies["packet"][first],
        lost_until_ns=last + (size * byte_s * 1e9).astype(np.int64),
    )
    yield from cases.findings(describe, what="data retransmitted after being acknowledged")

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.formatting import count, duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector("acked_data_retransmission", needs=("segments", "flows"))
def acked_data_retransmission(
    trace: Trace, *, max_queue_ms: float = 500.0, join_ms: float = 200.0
) -> Iterator[Finding | Undecided]:
    """Data was sent again after the ACK that covers it had come in.

    What it finds
    -------------
    Retransmissions that pass the sender's tap after an ACK of all their bytes. TCP does not do that: it had sent them
    before the ACK, and they stood in the queue between TCP and the tap (the link layer's queue, in which 100 packets
    and more fit) while the ACK came in. The cost is the time that their bytes take on the path, at the flow's greatest
    flight a mean round trip.

    Why it happens
    --------------
    After a spurious timeout a burst of ACKs makes the sender repeat the whole flight at once, faster than the adapter
    takes packets. tcpdump stamps a packet when it is handed to the adapter, not when TCP sends it.

    How it decides
    --------------
    A retransmission marked spurious whose last byte is at or below the highest ACK captured before it. `max_queue_ms`:
    when the ACK is older than that, no queue explains it (100 packets of 1500 bytes take 220 ms at the 5.5 Mbit/s of
    802.11b, and 1.2 s only at 1 Mbit/s): the sender then never saw the ACK, or is at fault, and the sentence says so.
    `join_ms`: resends closer together than that are one finding; a retransmission timeout takes longer.

    What fools it
    -------------
    At a tap beside the receiver, in the middle or on the air an ACK passes before the resend that it crosses on the way: ordinary,
    and told from this case only at the sender; left undecided. Go-back-N of data not yet acknowledged, and resends
    found spurious later, come before their ACK and stay silent.

    References
    ----------
    The study of 802.11b adapters on USB, section 4.2.2 (retransmission of ACKed packets, an artefact of the tap).
    """
    facts = Facts.of(trace)
    yield from facts.undecided_without_acks("acked_data_retransmission")
    resends = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_seq", "len", "spurious"],
        where={"transmission": ("retransmission",), "kind": ("data",)},
        valid=("t_ns", "rel_seq"),
    )
    resends = resends.take(resends["spurious"] == 1)
    if not len(resends):
        return
    acks = facts.cached(Acks)
    highest = acks.highest_before(resends.key, resends["packet"])
    end = resends["rel_seq"] + resends["len"]
    late = (highest != NULL) & (end <= highest)
    resends, end = resends.take(late), end[late]
    if not len(resends):
        return
    since = resends["t_ns"] - acks.t_ns(acks.first_covering(resends.key, end))
    elsewhere = facts.tap_away_from_sender(resends.key)
    if elsewhere.any():
        yield facts.undecided(
            "acked_data_retransmission",
            resends.key[elsewhere],
            f"{count(int(elsewhere.sum()), 'resend')} passed after the ACK of the same bytes, which away from the "
            "sender is ordinary: they crossed on the way. Only a capture at the sender can tell.",
        )
    yield from _findings(
        facts, resends.take(~elsewhere), since[~elsewhere], int(max_queue_ms * 1e6), int(join_ms * 1e6)
    )


def _findings(facts: Facts, rows: Rows, since: np.ndarray, max_queue: int, join: int) -> Iterator[Finding]:
    queued = since <= max_queue
    t = rows["t_ns"]
    apart = (np.diff(t, prepend=t[:1]) > join) | (np.diff(queued, prepend=queued[:1]))
    first, length = key_groups(rows.key * 2**20 + np.cumsum(apart)) if len(rows) else (t, t)
    life = facts.lifetime_s(rows.key)
    rtt, flight = facts.flow_values("tap_rtt_mean_ns", rows.key), facts.flow_values("flight_max_bytes", rows.key)
    for a, n in zip(first, length, strict=True):
        part, key = slice(int(a), int(a + n)), rows.key[a]
        size = int(rows["len"][part].sum())
        cost_s = size * float(rtt[a]) / 1e9 / float(flight[a]) if rtt[a] > 0 and flight[a] > 0 else 0.0
        most = int(since[part].max()) / 1e9
        why = (
            "they stood in the queue between TCP and the tap when the ACK came"
            if queued[a]
            else "too late for a queue to explain it: the sender had not seen the ACK, or sends wrongly"
        )
        yield facts.finding(
            "acked_data_retransmission",
            key,
            int(t[part][0]),
            int(t[part][-1]),
            cost_s=cost_s,
            lifetime_s=life[a],
            confidence=0.9 if queued[a] else 0.6,
            values={
                "resends_count": int(n),
                "resends_bytes": size,
                "longest_after_ack_ms": most * 1e3,
                "cause": "queue before the tap" if queued[a] else "ACK not seen by the sender",
            },
            evidence={"segments": rows["packet"][part]},
            sentence=(
                f"{facts.subject(key)}: {count(n, 'segment')} ({size} bytes) passed the tap again from "
                f"{moment(t[part][0])}, up to {duration(most)} after the ACK that covers them; {why}."
            ),
        )

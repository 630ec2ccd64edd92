"""Third duplicate ACKs, and the retransmission that answers each."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.acks import DUPACK_THRESHOLD, Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array


def third_dupacks(facts: Facts) -> Rows:
    """The third of each run of duplicate ACKs, by key of the data: columns `packet t_ns rel_ack srtt_ns phase`."""
    columns = ("packet", "t_ns", "rel_ack", "srtt_ns", "phase")
    rows = facts.rows("segments", [*columns, "dupacks"], where={"kind": ("dupack",)}, valid=("rel_ack", "t_ns"))
    rows = rows.take(rows["dupacks"] == DUPACK_THRESHOLD)
    return Rows(rows.key ^ 1, {name: rows[name] for name in columns}).sorted_by("packet")


def dupack_answers(facts: Facts, third: Rows, copies: Rows, since_ns: Array) -> tuple[Array, Array]:
    """The first retransmission of the byte that each third duplicate ACK requests.

    Parameters
    ----------
    third : Rows
        As of `third_dupacks`.
    copies : Rows
        Retransmissions: columns `packet t_ns rel_seq trigger`.
    since_ns : array
        An earlier retransmission does not count, nor does one that the duplicate ACK proves lost.

    Returns
    -------
    t_ns, by_timer : array
        When it was sent, `NULL` for never; and whether the timer sent it.
    """
    out, by_timer = np.full(len(third), NULL, np.int64), np.zeros(len(third), bool)
    if not len(copies):
        return out, by_timer
    # Senders keep their segments' borders: a retransmission of the left edge starts exactly there.
    columns = {name: copies[name] for name in ("rel_seq", "t_ns", "trigger")}
    rows = Rows(copies.key, {**columns, "lost": _proved_lost(facts, copies)}).sorted_by("rel_seq", "t_ns")
    at = rows.last_until("rel_seq", third.key, third["rel_ack"])
    mine = (at >= 0) & (rows["rel_seq"][at] == third["rel_ack"])
    # Its copies are adjacent: go back while one is late enough.
    while mine.any():
        t = rows["t_ns"][at]
        mine &= t >= since_ns
        # In a fast recovery it is sent once, and a duplicate ACK only reports that a segment left the path (RFC 6582).
        lost = rows["lost"][at] & (t < third["t_ns"]) & (third["phase"] != "recovery")
        out = np.where(mine & ~lost, t, out)
        by_timer = np.where(mine & ~lost, rows["trigger"][at] == "rto", by_timer)
        at = np.maximum(at - 1, -1)
        mine &= (at >= 0) & (rows.key[at] == third.key) & (rows["rel_seq"][at] == third["rel_ack"])
    return out, by_timer


def _proved_lost(facts: Facts, copies: Rows) -> Array:
    """Retransmissions that a third duplicate ACK of their byte proves lost.

    The first ACK of that byte answers the segment at the left edge of the ACK before it, or a later one; each duplicate
    answers a segment sent after that. Where fewer than three segments were sent from there to the retransmission, the third
    duplicate answers data sent after it.
    """
    sent = facts.rows(
        "segments",
        ["packet", "rel_seq", "len", "transmission", "spurious"],
        where={"kind": ("data",)},
        valid=("rel_seq",),
        keys=np.unique(copies.key),
    ).sorted_by("packet")
    acks = facts.cached(Acks)
    first = acks.packet(acks.first_covering(copies.key, copies["rel_seq"]))
    edge = np.maximum(acks.highest_before(copies.key, first), 1)
    here = sent.last_until("packet", copies.key, copies["packet"])
    out = np.zeros(len(copies), bool)
    for back in range(1, DUPACK_THRESHOLD + 1 if len(sent) else 0):
        before = sent.take(np.maximum(here - back, 0))
        # A spurious copy, known or possible, is answered by a duplicate ACK too.
        answered = (before["transmission"] == "first") | (before["spurious"] == 0)
        mine = (here >= back) & (before.key == copies.key) & answered
        out |= mine & (before["rel_seq"] <= edge) & (edge < before["rel_seq"] + before["len"])
    return np.asarray(out & (first != NULL))

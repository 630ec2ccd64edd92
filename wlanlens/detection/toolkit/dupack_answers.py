"""Third duplicate ACKs, and the retransmission that answers each."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.acks import DUPACK_THRESHOLD
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array


def third_dupacks(facts: Facts) -> Rows:
    """The third of each run of duplicate ACKs, by key of the data: columns `packet t_ns rel_ack srtt_ns phase`."""
    columns = ("packet", "t_ns", "rel_ack", "srtt_ns", "phase")
    rows = facts.rows("segments", [*columns, "dupacks"], where={"kind": ("dupack",)}, valid=("rel_ack", "t_ns"))
    rows = rows.take(rows["dupacks"] == DUPACK_THRESHOLD)
    return Rows(rows.key ^ 1, {name: rows[name] for name in columns}).sorted_by("packet")


def sent_before(third: Rows, copies: Rows, began_ns: Array) -> Array:
    """When the segment before the requested byte was last retransmitted, before the ACK of it came; `NULL` for never.

    A retransmission of that byte sent since then may still have been under way when that ACK came.
    """
    ends = {"end": copies["rel_seq"] + copies["len"], "t_ns": copies["t_ns"]}
    rows = Rows(copies.key, ends).sorted_by("end", "t_ns")
    out = np.full(len(third), NULL, np.int64)
    if not len(rows):
        return out
    at = rows.last_until("end", third.key, third["rel_ack"])
    mine = (at >= 0) & (rows["end"][at] == third["rel_ack"])
    while (mine & (out == NULL)).any():
        out = np.where(mine & (out == NULL) & (rows["t_ns"][at] < began_ns), rows["t_ns"][at], out)
        at = np.maximum(at - 1, -1)
        mine &= (at >= 0) & (rows.key[at] == third.key) & (rows["end"][at] == third["rel_ack"])
    return out


def dupack_answers(third: Rows, copies: Rows, since_ns: Array) -> tuple[Array, Array]:
    """The first retransmission of the byte that each third duplicate ACK requests.

    Parameters
    ----------
    third : Rows
        As of `third_dupacks`.
    copies : Rows
        Retransmissions: columns `packet t_ns rel_seq trigger`.
    since_ns : array
        An earlier retransmission does not count.

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
    rows = Rows(copies.key, columns).sorted_by("rel_seq", "t_ns")
    at = rows.last_until("rel_seq", third.key, third["rel_ack"])
    mine = (at >= 0) & (rows["rel_seq"][at] == third["rel_ack"])
    # Its copies are adjacent: go back while one is late enough.
    while mine.any():
        t = rows["t_ns"][at]
        mine &= t >= since_ns
        out = np.where(mine, t, out)
        by_timer = np.where(mine, rows["trigger"][at] == "rto", by_timer)
        at = np.maximum(at - 1, -1)
        mine &= (at >= 0) & (rows.key[at] == third.key) & (rows["rel_seq"][at] == third["rel_ack"])
    return out, by_timer

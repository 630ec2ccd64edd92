"""Third duplicate ACKs, and the retransmission that answers each."""

from __future__ import annotations

from collections.abc import Iterator

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
    for at, mine in _latest_first(rows, "end", third):
        open_ = mine & (out == NULL)
        if not open_.any():
            break
        out = np.where(open_ & (rows["t_ns"][at] < began_ns), rows["t_ns"][at], out)
    return out


def _latest_first(rows: Rows, column: str, third: Rows) -> Iterator[tuple[Array, Array]]:
    """Of the rows with the byte that each duplicate ACK requests in `column`, the last, the one before it, and so on.

    Parameters
    ----------
    rows : Rows
        Sorted by `column`, then by time: rows of one byte are adjacent.

    Yields
    ------
    at, mine : array
        Positions in `rows`, and whether that row exists.
    """
    if not len(rows):
        return
    at = rows.last_until(column, third.key, third["rel_ack"])
    mine = (at >= 0) & (rows[column][at] == third["rel_ack"])
    while mine.any():
        yield at, mine
        at = np.maximum(at - 1, -1)
        mine = mine & (at >= 0) & (rows.key[at] == third.key) & (rows[column][at] == third["rel_ack"])


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
    # Senders keep their segments' borders: a retransmission of the left edge starts exactly there.
    columns = {name: copies[name] for name in ("rel_seq", "t_ns", "trigger")}
    rows = Rows(copies.key, columns).sorted_by("rel_seq", "t_ns")
    for at, mine in _latest_first(rows, "rel_seq", third):
        counts = mine & (rows["t_ns"][at] >= since_ns)
        if not counts.any():
            break
        out = np.where(counts, rows["t_ns"][at], out)
        by_timer = np.where(counts, rows["trigger"][at] == "rto", by_timer)
    return out, by_timer

"""What lies around a third duplicate ACK: the segments sent above the missing one, data between the duplicates, rows before it."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.acks import DUPACK_THRESHOLD
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array


def sent_above(facts: Facts, third: Rows) -> Array:
    """Segments above the missing one that the sender had sent; enough where the tap saw none."""
    sent = facts.rows(
        "segments",
        ["packet", "rel_seq"],
        where={"transmission": ("first",), "kind": ("data",)},
        valid=("rel_seq",),
        keys=np.unique(third.key),
    )
    if not len(sent):
        return np.full(len(third), DUPACK_THRESHOLD)
    at = sent.sorted_by("packet").last_until("packet", third.key, third["packet"])
    highest = np.where(at >= 0, sent.sorted_by("packet")["rel_seq"][at], third["rel_ack"])
    ordered = sent.sorted_by("rel_seq")
    below, until = (ordered.last_until("rel_seq", third.key, x) for x in (third["rel_ack"], highest))
    return np.asarray(until - np.where(below >= 0, below, np.searchsorted(ordered.key, third.key) - 1))


def reported(facts: Facts, third: Rows, spurious: Rows) -> Array:
    """How many of the run's duplicate ACKs report a segment above the missing one: the others answer `spurious` retransmissions, columns
    `t_ns rel_seq` by time, of bytes below it that were sent when no byte below it was new. Enough where there are no such.
    """
    if not len(spurious):
        return np.full(len(third), DUPACK_THRESHOLD)
    keys = np.unique(third.key)
    rows = facts.rows("segments", ["rel_ack"], where={"kind": ("dupack",)}, valid=("rel_ack",), keys=keys ^ 1)
    runs = Rows(rows.key ^ 1, {"rel_ack": rows["rel_ack"]}).sorted_by("rel_ack")
    until, below = (runs.last_until("rel_ack", third.key, third["rel_ack"] - less) for less in (0, 1))
    out = until - np.where(below >= 0, below, np.searchsorted(runs.key, third.key) - 1)
    sent = facts.rows(
        "segments",
        ["t_ns", "rel_seq"],
        where={"transmission": ("first",), "kind": ("data",)},
        valid=("rel_seq", "t_ns"),
        keys=keys,
    ).sorted_by("rel_seq")
    if not len(sent):
        return np.asarray(out)
    last = sent.last_until("rel_seq", third.key, third["rel_ack"] - 1)
    newest = spurious.last_until("t_ns", third.key, third["t_ns"])
    for back in range(DUPACK_THRESHOLD):
        at = np.maximum(newest - back, 0)
        answered = (newest >= back) & (spurious.key[at] == third.key) & (spurious["rel_seq"][at] < third["rel_ack"])
        out = out - (answered & (last >= 0) & (spurious["t_ns"][at] >= sent["t_ns"][last]))
    return np.asarray(out)


def has_data_between(facts: Facts, third: Rows) -> Array:
    """Whether fewer than three of the run's duplicate ACKs repeat the sequence number of the packet before them."""
    rows = facts.rows("segments", ["rel_seq", "rel_ack"], where={"kind": ("dupack",)}, valid=("rel_seq", "rel_ack"))
    rows = rows.sorted_by("rel_ack", "rel_seq")
    change = (np.diff(rows.key, prepend=NULL) != 0) | (np.diff(rows["rel_ack"], prepend=NULL) != 0)
    first = np.flatnonzero(change)
    new = ~change & (np.diff(rows["rel_seq"], prepend=NULL) != 0)
    counted = np.diff(first, append=len(rows)) - np.add.reduceat(new.astype(np.int64), first)
    runs = Rows(rows.key[first], {"rel_ack": rows["rel_ack"][first]})
    at = runs.last_until("rel_ack", third.key ^ 1, third["rel_ack"])
    return np.where(at >= 0, counted[at], DUPACK_THRESHOLD) < DUPACK_THRESHOLD


def latest_before(rows: Rows, when: str, value: Array, third: Rows) -> Array:
    """The value of the latest row before each duplicate ACK; `NULL` for none."""
    if not len(rows):
        return np.full(len(third), NULL, np.int64)
    at = rows.last_until(when, third.key, third["t_ns"])
    return np.where(at >= 0, value[at], NULL)

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

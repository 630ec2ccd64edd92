"""A line that sends at one pace, as the times of its packets before and behind it show: the pace, and when each packet was sent.

Columns of packets: `first` and `last`, when each passed before and behind the line, ns, `bytes`, with headers, and `data`, whether it has
payload.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wlanlens.ledger.air import NEVER, NONE, rows_of
from wlanlens.tables.columns import Array, ordered_by

#: Packets that waited behind one another show the pace of the line by the median of their distances; fewer do not.
LEAST_PACED = 8

#: So many packets of a line show its pace; more would take longer.
MOST_PACED = 65_536

#: A line sends at one pace: so many of the packets that waited follow at it, within this part. A station does not.
STEADY_SHARE, STEADY_PART = 0.5, 0.02

#: Where packets wait for nothing, so many of one size take the same time.
EVEN_SHARE = 0.9

#: A packet that came so much later than the fastest one of its size waited: clocks tick, and hosts are late by microseconds.
LATE_NS = 20_000


@dataclass(frozen=True)
class PacedLine:
    """A line of one pace: how long it sends a byte, what a packet that waits for nothing takes besides, and
    when the packets were sent that arrived, and when all up to each had left it."""

    ns_per_byte: float
    rest_ns: int
    first_ns: Array
    left_ns: Array

    def begun(self, rows: dict[str, Array]) -> Array:
        """When packets that arrived began to be sent."""
        return rows["last"] - self.rest_ns - (rows["bytes"] * self.ns_per_byte).astype(np.int64)

    def left(self, rows: dict[str, Array]) -> Array:
        """When packets left that did not arrive, sent at `last`: behind those before them; not until the end if none sent later arrived."""
        sent, own = rows["last"], (rows["bytes"] * self.ns_per_byte).astype(np.int64)
        at = np.searchsorted(self.first_ns, sent, side="right")
        ahead = np.append(NONE, self.left_ns)[at]
        return np.where(at < len(self.first_ns), np.maximum(sent, ahead) + own, NEVER)


def paced_line(rows: dict[str, Array]) -> PacedLine | None:
    """The line that packets pass in one direction; None if nothing passes, or if its pace varies."""
    if not len(rows["last"]):
        return None
    some = {name: values[:MOST_PACED] for name, values in rows.items()}
    # Headers are larger than `bytes` says: of small packets the pace is less exact.
    pace = _pace(rows_of(some, some["data"]))
    pace = _pace(some) if pace is None else pace
    pace = _pace_of_sizes(some) if pace is None else pace
    if pace is None:
        return None
    own = (rows["bytes"] * pace).astype(np.int64)
    rest = int((rows["last"] - rows["first"] - own).min())
    first = np.argsort(rows["first"], kind="stable")
    return PacedLine(pace, rest, rows["first"][first], np.maximum.accumulate((rows["last"] - rest)[first]))


def _pace(data: dict[str, Array]) -> float | None:
    """ns for a byte of packets that followed one another; None if too few did, or if it varies."""
    if len(data["last"]) <= LEAST_PACED:
        return None
    data = rows_of(data, _by_both(data["first"], data["last"]))
    order = np.argsort(data["last"], kind="stable")
    takes = data["last"] - data["first"]
    size, apart = data["bytes"][order][1:], np.diff(data["last"][order])
    # What arrives next after the packet sent before it: some paths keep no order.
    queued = (np.diff(order) == 1) & (data["first"][order][1:] < data["last"][order][:-1]) & (apart > 0)
    queued &= takes[order][1:] - takes.min() > LATE_NS
    if queued.sum() < LEAST_PACED:
        return None
    each = apart[queued] / size[queued]
    pace = float(np.median(each))
    return pace if np.mean(np.abs(each - pace) <= STEADY_PART * pace) >= STEADY_SHARE else None


def _by_both(first: Array, last: Array) -> Array:
    """Positions that sort packets by `first`, those of one time by `last`. Packets mostly come in that order: a sort by `last`, and
    then by `first`, would take five times as long."""
    order = np.argsort(first, kind="stable")
    return order.take(ordered_by(np.cumsum(np.diff(first.take(order), prepend=0) != 0), last.take(order)))


def _pace_of_sizes(rows: dict[str, Array]) -> float | None:
    """ns for a byte where nothing waits: by what a large packet takes more than an empty one; None if those of one size differ."""
    takes, sizes = rows["last"] - rows["first"], (rows["bytes"].min(), rows["bytes"].max())
    small, large = (takes[rows["bytes"] == size] for size in sizes)
    even = [np.mean(some - some.min() <= max(LATE_NS, STEADY_PART * some.min())) for some in (small, large)]
    return float(max(large.min() - small.min(), 0) / max(sizes[1] - sizes[0], 1)) if min(even) >= EVEN_SHARE else None

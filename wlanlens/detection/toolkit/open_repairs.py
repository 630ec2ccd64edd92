"""Time in which a sender repaired losses, and whether its timer or duplicate ACKs made it do so is undecided."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import Array

#: Phases of a sender to which duplicate ACKs have reported a loss, and of one whose timer has expired.
_TOLD, _EXPIRED = ("disorder", "recovery"), ("loss",)


def open_repairs(facts: Facts, keys: Array) -> Rows:
    """Intervals of these keys whose state is undecided while a loss was repaired that the sender knew of: `t_start_ns`, `t_end_ns`.

    A needed retransmission passes in each. The timer or a report made the sender repeat it: either way the loss is the
    cause. A silence that ends with a retransmission does not count: the application may have been idle in it.
    """
    spans = facts.rows(
        "intervals",
        ["t_start_ns", "t_end_ns", "first_packet", "last_packet"],
        where={"state": ("undecided",)},
        keys=keys,
    )
    told, expired = (_needed(facts, phase, np.unique(spans.key)) for phase in (_TOLD, _EXPIRED))
    first, last = spans["first_packet"], spans["last_packet"]
    # The first copy after an expiry ends a silence.
    inside = told.any_between("packet", spans.key, first, last) | expired.any_between(
        "packet", spans.key, first, last - 1
    )
    return spans.take(inside)


def _needed(facts: Facts, phases: tuple[str, ...], keys: Array) -> Rows:
    """Needed retransmissions of data in these phases."""
    copies = facts.rows(
        "segments",
        ["packet", "spurious", "len"],
        where={"transmission": ("retransmission",), "phase": phases},
        keys=keys,
    )
    return copies.take((copies["spurious"] == 0) & (copies["len"] > 0)).sorted_by("packet")

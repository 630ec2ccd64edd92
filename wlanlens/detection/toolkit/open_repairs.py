"""Time in which a sender repaired losses, and whether its timer or duplicate ACKs made it do so is undecided."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import Array

#: Phases of a sender to which duplicate ACKs have reported a loss, and of one whose timer has expired.
_TOLD, _EXPIRED = ("disorder", "recovery"), "loss"


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
    copies = facts.rows(
        "segments",
        ["packet", "spurious", "len", "phase"],
        where={"transmission": ("retransmission",), "phase": (*_TOLD, _EXPIRED)},
        keys=np.unique(spans.key),
    )
    needed = copies.take((copies["spurious"] == 0) & (copies["len"] > 0)).sorted_by("packet")
    by_timer = needed["phase"] == _EXPIRED
    told, expired = needed.take(~by_timer), needed.take(by_timer)
    first, last = spans["first_packet"], spans["last_packet"]
    inside = told.any_between("packet", spans.key, first, last)
    # The first copy after an expiry ends a silence.
    inside |= expired.any_between("packet", spans.key, first, last - 1)
    return spans.take(inside)

"""ACKs that an adapter kept: holds in which it kept several, made one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from wlanlens.finding import Finding
from wlanlens.truth import Truth
from wlanlens.truth._findings import finding
from wlanlens.truth._runs import Side, sides

CODES = ("ack_holding",)

#: Fewer kept ACKs are no burst, ...
_LEAST_ACKS = 3
#: ... a shorter hold is a delayed ACK's or a scheduler's, ...
_LEAST_NS = 50_000_000
#: ... and ACKs made within this were made at one moment.
_SPREAD_NS = 10_000_000


def findings(facts: Truth) -> list[Finding]:
    """One a hold: from when its first ACK would have come, by the ACK before it, to the release; the cost is that."""
    found = []
    for side in sides(facts, every=True):
        back = "b2a" if side.direction == "a2b" else "a2b"
        for e in facts.events.to_pylist():
            if e["what"] == "hold_ended" and (e["flow"], e["direction"]) == (side.flow, back):
                found += _of_hold(facts, side, e)
    return found


def _of_hold(facts: Truth, side: Side, e: dict[str, Any]) -> list[Finding]:
    b = side.back
    pure = b["delivered"] & (b["len_bytes"] == 0) & (b["rel_ack"] > 0)
    released, began = int(e["t_ns"]), int(e["t_ns"]) - int(e["rto_ns"])
    # Over USB the released frames follow one another in milliseconds.
    kept = np.flatnonzero(
        pure & (b["t_made_ns"] < released) & (b["t_end_ns"] >= released) & (b["t_end_ns"] < released + 5_000_000)
    )
    before = np.flatnonzero(pure & (b["t_end_ns"] < released) & (b["t_end_ns"] <= began + 1_000_000))
    if len(kept) < _LEAST_ACKS or not len(before):
        return []
    last = before[-1]
    first = int(b["t_made_ns"][kept[0]] + b["t_end_ns"][last] - b["t_made_ns"][last])
    spread = int(b["t_made_ns"][kept].max() - b["t_made_ns"][kept].min())
    if released - first < _LEAST_NS or spread < _SPREAD_NS:
        return []
    cost_s = (released - first) / 1e9
    values: dict[str, Any] = {"held_acks_count": len(kept)}
    return [finding(facts, side, "ack_holding", first, released, cost_s, "The adapter kept received ACKs.", values)]

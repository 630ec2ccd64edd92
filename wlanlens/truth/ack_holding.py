"""ACKs that were held on their way back and came together: by an adapter that kept them, or by a queue that stood still."""

from __future__ import annotations

from typing import Any

import numpy as np

from wlanlens.finding import Finding
from wlanlens.truth import Truth
from wlanlens.truth._findings import finding
from wlanlens.truth._runs import Side, sides

CODES = ("ack_holding",)

#: Fewer held ACKs are no burst, ...
_LEAST_ACKS = 3
#: ... which takes no longer than frames need that follow one another over USB, ...
_BURST_NS = 5_000_000
#: ... a shorter hold is a delayed ACK's or a scheduler's, ...
_LEAST_NS = 50_000_000
#: ... and ACKs made within this, or while they were handed over, were made at one moment.
_SPREAD_NS = 10_000_000


def findings(facts: Truth) -> list[Finding]:
    """One a burst: from when its first ACK would have come, by the way of the ACK before it, to its arrival; the cost is that.

    Of connections with timestamps: without them nothing at the sender's tells ACKs held from ACKs made late.
    """
    holds = [e for e in facts.events.to_pylist() if e["what"] == "hold_ended"]
    found = []
    for side in sides(facts, every=True):
        tcp = facts.world.flows[side.flow].tcp
        if tcp is None or not tcp.timestamps:
            continue
        back = "b2a" if side.direction == "a2b" else "a2b"
        mine = [e for e in holds if (e["flow"], e["direction"]) == (side.flow, back)]
        found += _of_side(facts, side, mine)
    return found


def _of_side(facts: Truth, side: Side, holds: list[dict[str, Any]]) -> list[Finding]:
    b = side.back
    pure = np.flatnonzero(b["delivered"] & (b["len_bytes"] == 0) & (b["rel_ack"] > 0))
    pure = pure[np.argsort(b["t_end_ns"][pure], kind="stable")]
    made, came = b["t_made_ns"][pure], b["t_end_ns"][pure]
    found, until = [], -1
    more = _LEAST_ACKS - 1
    for i in (np.flatnonzero(np.diff(came) >= _LEAST_NS) + 1).tolist():
        if i <= until or i + more >= len(came) or came[i + more] - came[i] > _BURST_NS:
            continue
        held_ns = int((came[i] - made[i]) - (came[i - 1] - made[i - 1]))
        kept = np.flatnonzero((came >= came[i]) & (came <= came[i] + _BURST_NS) & (made < came[i]))
        if held_ns < _LEAST_NS or len(kept) < _LEAST_ACKS:
            continue
        spread, took = int(np.ptp(made[kept])), int(np.ptp(came[kept]))
        if spread < max(_SPREAD_NS, 2 * took):
            continue
        until = int(kept[-1])
        released = int(came[i])
        by_adapter = any(int(e["t_ns"]) <= released <= int(e["t_ns"]) + _BURST_NS for e in holds)
        values: dict[str, Any] = {"held_acks_count": len(kept), "held_by": "adapter" if by_adapter else "way back"}
        sentence = f"{'The adapter' if by_adapter else 'A queue on the way back'} kept received ACKs."
        found.append(finding(facts, side, "ack_holding", released - held_ns, released, held_ns / 1e9, sentence, values))
    return found

"""ACKs that an adapter kept and handed on together: three or more, made one by one, the first kept for 50 ms or more."""

from __future__ import annotations

from typing import Any

import numpy as np

from wlanlens.finding import Finding
from wlanlens.truth import Truth

CODES = ("ack_holding",)

#: Less is no hold that a sender notices: the shortest delayed ACK of Linux takes 40 ms.
_LEAST_NS = 50_000_000
#: Fewer are no burst; those made within this of each other were not kept one by one.
_ACKS, _SPREAD_NS = 3, 10_000_000


def findings(facts: Truth) -> list[Finding]:
    """One a hold and flow: from when the first ACK would have come, had it taken as long as the one before, to the
    release; the cost is that time."""
    ends = [e for e in facts.events.to_pylist() if e["what"] == "hold_ended"]
    if not ends:
        return []
    acks = _acks(facts)
    found = []
    for e in ends:
        one = _held(acks, e)
        if one is not None:
            found.append(_finding(facts, e, *one))
    return found


def _acks(facts: Truth) -> dict[str, Any]:
    """Pure ACKs that arrived, in order of their making."""
    import pyarrow.compute as pc

    table = facts.packets
    tcp = np.array([flow.tcp is not None for flow in facts.world.flows], bool)
    pure = pc.and_(pc.equal(table.column("len_bytes"), 0), pc.greater(table.column("rel_ack"), 0))
    table = table.filter(pc.and_(pure, pc.equal(table.column("fate").cast("string"), "delivered")))
    rows = {name: table.column(name).to_numpy().astype(np.int64) for name in ("flow", "t_made_ns", "t_end_ns")}
    rows["back"] = pc.equal(table.column("direction").cast("string"), "b2a").to_numpy()
    mine = tcp[rows["flow"]]
    return {name: column[mine] for name, column in rows.items()}


def _held(acks: dict[str, Any], hold: dict[str, Any]) -> tuple[int, int] | None:
    """When the first held ACK would have come, and how many were held; None where it was no matter."""
    released, began = int(hold["t_ns"]), int(hold["t_ns"] - hold["rto_ns"])
    mine = np.flatnonzero((acks["flow"] == hold["flow"]) & (acks["back"] == (hold["direction"] == "b2a")))
    made, came = acks["t_made_ns"][mine], acks["t_end_ns"][mine]
    free = np.flatnonzero(came <= began)
    transit = int(came[free[-1]] - made[free[-1]]) if len(free) else 0
    kept = np.flatnonzero((came > began) & (made + transit < released))
    if len(kept) < _ACKS:
        return None
    first = int(made[kept[0]]) + transit
    spread = int(made[kept[-1]] - made[kept[0]])
    return (first, len(kept)) if released - first >= _LEAST_NS and spread >= _SPREAD_NS else None


def _finding(facts: Truth, hold: dict[str, Any], first_ns: int, count: int) -> Finding:
    direction = "a2b" if hold["direction"] == "b2a" else "b2a"
    released = int(hold["t_ns"])
    cost_s = (released - first_ns) / 1e9
    return Finding(
        code="ack_holding",
        t_start_ns=first_ns,
        t_end_ns=released,
        capture="sender.pcap",
        subject=facts.subject(hold["flow"], direction),
        severity="serious" if cost_s > 1 else "warning",
        confidence=1.0,
        cost_s=cost_s,
        values={"held_acks_count": count, "held_s": cost_s},
        sentence="The adapter kept ACKs and handed them on together.",
        flow=int(hold["flow"]),
        direction=direction,
    )

"""ACKs kept on their way back, by an adapter or behind one another in a queue that stood still, that came in a burst."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wlanlens.finding import Finding
from wlanlens.truth import Truth

CODES = ("ack_holding",)

#: Less is no hold that a sender notices: the shortest delayed ACK of Linux takes 40 ms.
_LEAST_NS = 50_000_000
#: How close together those of a burst come, how many they are, and how long it took to make them.
_BURST_NS, _ACKS, _SPREAD_NS = 5_000_000, 3, 10_000_000

Array = np.ndarray[Any, np.dtype[Any]]


def findings(facts: Truth) -> list[Finding]:
    """One a burst: from when its first ACK would have come, had it taken as long as the one before, to when it came.

    That time is the cost. Which of the two kept the ACKs, a host cannot see; `kept_by` says it. Of connections with
    timestamps: without them nothing at the sender's tells ACKs that were held from ACKs made late.
    """
    import pyarrow.compute as pc

    table = facts.packets
    pure = pc.and_(pc.equal(table.column("len_bytes"), 0), pc.greater(table.column("rel_ack"), 0))
    table = table.filter(pc.and_(pure, pc.equal(table.column("fate").cast("string"), "delivered")))
    flow, made, came = (table.column(n).to_numpy().astype(np.int64) for n in ("flow", "t_made_ns", "t_end_ns"))
    back = pc.equal(table.column("direction").cast("string"), "b2a").to_numpy()
    holds = [e for e in facts.events.to_pylist() if e["what"] == "hold_ended"]
    found = []
    for number in np.unique(flow).tolist():
        tcp = facts.world.flows[number].tcp
        if tcp is None or not tcp.timestamps:
            continue
        for reverse in (False, True):
            mine = np.flatnonzero((flow == number) & (back == reverse))
            mine = mine[np.argsort(came[mine], kind="stable")]
            for first, count in _bursts(made[mine], came[mine]):
                t = int(came[mine][first])
                late = _late(made[mine], came[mine], first)
                kept = any(
                    e["flow"] == number and (e["direction"] == "b2a") == reverse and 0 <= t - e["t_ns"] < _BURST_NS
                    for e in holds
                )
                found.append(_finding(facts, number, "a2b" if reverse else "b2a", t, late, count, kept))
    return found


def _late(made: Array, came: Array, i: int) -> int:
    """How much longer an ACK took than the one before it."""
    return int((came[i] - made[i]) - (came[i - 1] - made[i - 1]))


def _bursts(made: Array, came: Array) -> Iterator[tuple[int, int]]:
    """First ACK of each burst after a hold, and how many were kept."""
    after = -1
    for i in (np.flatnonzero(np.diff(came) >= _LEAST_NS) + 1).tolist():
        if i <= after or _late(made, came, i) < _LEAST_NS:
            continue
        end = int(np.searchsorted(came, came[i] + _BURST_NS, side="right"))
        # What was made so late that it would have come after the first anyway was not kept.
        kept = np.flatnonzero(made[i:end] + (came[i - 1] - made[i - 1]) < came[i]) + i
        spread, took = int(made[kept[-1]] - made[i]), int(came[kept[-1]] - came[i])
        if len(kept) >= _ACKS and spread >= max(_SPREAD_NS, 2 * took):
            after = int(kept[-1])
            yield i, len(kept)


def _finding(facts: Truth, flow: int, direction: str, t_ns: int, late_ns: int, count: int, adapter: bool) -> Finding:
    return Finding(
        code="ack_holding",
        t_start_ns=t_ns - late_ns,
        t_end_ns=t_ns,
        capture="sender.pcap",
        subject=facts.subject(flow, direction),
        severity="serious" if late_ns > 1_000_000_000 else "warning",
        confidence=1.0,
        cost_s=late_ns / 1e9,
        values={"held_acks_count": count, "held_s": late_ns / 1e9, "kept_by": "adapter" if adapter else "queue"},
        sentence="ACKs were kept on their way back and came together.",
        flow=flow,
        direction=direction,
    )

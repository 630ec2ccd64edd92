"""Senders whose timer repeated a SYN or data to the end without an answer."""

from __future__ import annotations

from wlanlens.detection.finding import Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Run, Side, sides

CODES = ("no_answer",)

#: A shorter silence is one round trip or one timer of a capture that ends.
_LEAST_NS = 1_000_000_000


def findings(facts: Truth) -> list[Finding]:
    """One finding for each run of expiries that no ACK ended and in which nothing of the peer arrived: of a SYN from one expiry
    on, of data from two on. From the last packet before to the connection's last packet; that is the cost."""
    return [f for side in sides(facts) for run in side.runs for f in _of_run(facts, side, run)]


def _of_run(facts: Truth, side: Side, run: Run) -> list[Finding]:
    first, start, end = run.expiries[0], run.expiries[0].silent_from_ns, side.last_ns
    if run.progress_ns is not None or end - start < _LEAST_NS or len(run.expiries) < (2 if first.rel_seq else 1):
        return []
    b = side.back
    came = b["t_end_ns"][b["delivered"]]
    if (came > first.t_ns).any():
        return []
    return [
        finding(
            facts, side, "no_answer", start, end, (end - start) / 1e9,
            "Nobody answered.", {"tries_count": len(run.expiries) + (first.rel_seq == 0)},
        )
    ]  # fmt: skip

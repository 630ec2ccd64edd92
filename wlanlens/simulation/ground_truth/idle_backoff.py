"""Silences in which the timer doubled, and later ones in which it was still long."""

from __future__ import annotations

from wlanlens.detection.finding import Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Run, sides

CODES = ("idle_backoff",)

#: A timer this many times the first timer of the previous run kept its backoff; one doubling makes it twice as long.
_KEPT = 1.5


def findings(facts: Truth) -> list[Finding]:
    """One finding for each run of two or more expiries, or of one with a timer still long from the run before; the cost is the silence."""
    found = []
    for side in sides(facts):
        before: Run | None = None
        for run in side.runs:
            if len(run.expiries) > 1 or _kept(before, run):
                start = run.expiries[0].silent_from_ns
                last = run.expiries[-1].t_ns
                end = max(run.progress_ns if run.progress_ns is not None else side.last_ns, last)
                found.append(
                    finding(
                        facts, side, "idle_backoff", start, end, (end - start) / 1e9,
                        "The timer had doubled.", {"expiries_count": len(run.expiries)},
                    )
                )  # fmt: skip
            before = run
    return found


def _kept(before: Run | None, run: Run) -> bool:
    first = run.expiries[0]
    if before is None or before.progress_ns is None:
        return False
    # What the timer waits for was sent in the flight after the run, and no ACK of that flight has come: the run's timer, or the idle
    # time as a round trip, is all that the sender has. A SYN's timer is no estimate: a longer one may be the first measured.
    same = first.last_made_ns <= before.progress_ns and first.rel_seq <= before.sent_to
    same &= before.expiries[0].rel_seq > 0 or not first.measured
    return first.backoff > 0 or (same and first.rto_ns > _KEPT * before.expiries[0].rto_ns)

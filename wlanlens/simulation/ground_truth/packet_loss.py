"""Lost data that its sender repaired, and the time of the repairs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import NEVER, Array, among, numbers
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("packet_loss",)


def findings(facts: Truth) -> list[Finding]:
    """One finding for each direction with lost data of which a later copy passed the tap, from the first repair to the last, with
    their timers and recoveries; the cost is the time that the true ledger has for them."""
    return [f for side in sides(facts, every=True) for f in _of_side(facts, side)]


def _of_side(facts: Truth, side: Side) -> list[Finding]:
    repaired = _repairs_ns(side)
    if not len(repaired):
        return []
    flow, back, fast, timers, start, end = _ledger(facts)
    mine = (flow == side.flow) & (back == (side.direction == "b2a"))
    at = np.flatnonzero(mine & (fast | (timers & _hold_a_repair(repaired, start, end))))
    cost_s = int((end - start)[at].sum()) / 1e9
    first, last = (int(f([f(repaired), *f_of[at]])) for f, f_of in ((min, start), (max, end)))
    values: dict[str, float | int | str] = {"lost_count": len(repaired)}
    return [finding(facts, side, "packet_loss", first, last, cost_s, "Data was lost and repaired.", values)]


def _repairs_ns(side: Side) -> Array:
    """For each lost copy: when the next one of the same byte passed the tap."""
    d = side.data
    order = np.lexsort((d["t_made_ns"], d["rel_seq"]))
    seq, tap, lost = d["rel_seq"][order], d["t_tap_ns"][order], (d["lost"] & (d["len_bytes"] > 0))[order]
    again = np.flatnonzero(lost[:-1] & (seq[1:] == seq[:-1]) & (tap[1:] != NEVER)) + 1
    return np.asarray(tap[again])


def _hold_a_repair(repaired: Array, start: Array, end: Array) -> Array:
    """Whether a repair was sent in each span, ends included."""
    repaired = np.sort(repaired)
    return np.asarray(np.searchsorted(repaired, end, side="right") > np.searchsorted(repaired, start))


@lru_cache(maxsize=1)
def _ledger(facts: Truth) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The true ledger: flow, whether from the server, whether fast recovery, whether timers or after them, start and end."""
    ledger = facts.ledger
    fast = among(ledger["category"], "fast_recovery")
    timers = among(ledger["category"], "rto_wait", "rto_backoff", "loss_recovery")
    back = among(ledger["direction"], "b2a")
    return numbers(ledger["flow"]), back, fast, timers, numbers(ledger["t_start_ns"]), numbers(ledger["t_end_ns"])

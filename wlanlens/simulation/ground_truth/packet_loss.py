"""Lost data that its sender repaired, and the time that this took."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import NEVER, Array, among, numbers
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("packet_loss",)


def findings(facts: Truth) -> list[Finding]:
    """One finding for each direction with lost data of which a later copy, the repair, passed the tap.

    It lasts from the first lost copy to the ACK of the last repair; the cost is the true ledger's time in fast recovery, and in waits
    for timers that sent a repair with the recovery after them. A copy of data that had arrived needs no repair, lost or not. A
    direction need not be found if nothing reached the sender that could show that a repair was needed, see `_evident`.
    """
    return [f for side in sides(facts, every=True) for f in _of_side(facts, side)]


def _of_side(facts: Truth, side: Side) -> list[Finding]:
    lost, repairs = _repairs(side)
    if not len(repairs):
        return []
    flow, back, fast, waits, after, start, end = _ledger(facts)
    sent, repaired = (side.data["t_tap_ns"][which] for which in (lost, repairs))
    mine = (flow == side.flow) & (back == (side.direction == "b2a"))
    # A repair ends a wait for the timer; the next wait begins with it.
    held = (waits & _hold_a_repair(repaired, start + 1, end)) | (after & _hold_a_repair(repaired, start, end))
    cost_s = int((end - start)[mine & (fast | held)].sum()) / 1e9
    # A copy that its own host dropped did not pass the tap.
    first = int(np.where(sent != NEVER, sent, repaired).min())
    answered = side.reached_all_ns(side.data["end"][repairs])
    last = int(np.where(answered != NEVER, answered, side.last_ns).max())
    values: dict[str, float | int | str] = {"lost_count": len(repaired)}
    event = finding(facts, side, "packet_loss", first, last, cost_s, "Data was lost and repaired.", values)
    return [event if _evident(facts, side, repairs) else replace(event, confidence=MAY_BE_MISSED)]


def _repairs(side: Side) -> tuple[Array, Array]:
    """Positions of lost copies, of bytes that had not arrived, and of the next copy of each, if that passed the tap."""
    d = side.data
    order = np.lexsort((d["t_made_ns"], d["rel_seq"]))
    seq, tap, lost = d["rel_seq"][order], d["t_tap_ns"][order], (d["lost"] & (d["len_bytes"] > 0))[order]
    first = np.flatnonzero(np.append(True, seq[1:] != seq[:-1])) if len(seq) else np.zeros(0, np.int64)
    arrived = np.cumsum(d["delivered"][order])
    # Copies of the same byte that arrived, up to each one.
    before = np.repeat((arrived - d["delivered"][order])[first], np.diff(np.append(first, len(seq))))
    needed = lost & (arrived == before)
    again = np.flatnonzero(needed[:-1] & (seq[1:] == seq[:-1]) & (tap[1:] != NEVER)) + 1
    return order[again - 1], order[again]


def _evident(facts: Truth, side: Side, repairs: Array) -> bool:
    """Whether the sender could learn that a repair was needed.

    Its ACK must have come, and show which copy it answers: by timestamps, or because a DSACK would have reported a second copy.
    Otherwise later data must have arrived before the repair: the receiver reported a hole.
    """
    d = side.data
    tcp = facts.world.flows[side.flow].tcp
    assert tcp is not None
    answered = repairs[side.reached_all_ns(d["end"][repairs]) != NEVER]
    if not len(answered) or tcp.timestamps or (tcp.sack and tcp.dsack):
        return bool(len(answered))
    there = d["delivered"]
    seq, came = d["rel_seq"][there], d["t_end_ns"][there]
    return any(bool(((seq > d["rel_seq"][i]) & (came < d["t_made_ns"][i])).any()) for i in answered.tolist())


def _hold_a_repair(repaired: Array, start: Array, end: Array) -> Array:
    """Whether a repair was sent in each span, ends included."""
    repaired = np.sort(repaired)
    return np.asarray(np.searchsorted(repaired, end, side="right") > np.searchsorted(repaired, start))


@lru_cache(maxsize=1)
def _ledger(facts: Truth) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
    """The true ledger: flow, whether from the server, whether fast recovery, waits for timers, recovery after them, start, end."""
    ledger = facts.ledger
    fast = among(ledger["category"], "fast_recovery")
    waits, after = among(ledger["category"], "rto_wait", "rto_backoff"), among(ledger["category"], "loss_recovery")
    back = among(ledger["direction"], "b2a")
    return numbers(ledger["flow"]), back, fast, waits, after, numbers(ledger["t_start_ns"]), numbers(ledger["t_end_ns"])

"""Third duplicate ACKs that no fast retransmit answered; the simulated sender is right, but where cwnd has no room for it."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import NEVER, Array, Rows
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Side, sides

CODES = ("missing_fast_retransmit",)


def findings(facts: Truth) -> list[Finding]:
    """One finding for each direction, from its first to its last third duplicate ACK, without cost, and one for each left to the timer."""
    found = []
    for side in sides(facts):
        right = []
        for e in side.events:
            at, seq = int(e["t_ns"]), int(e["rel_seq"])
            if e["what"] != "third_duplicate" or (third := _third_ns(facts, side, at, seq)) is None:
                continue
            expiry = _left_to_timer_ns(side, at, seq)
            if expiry is None:
                right.append(third)
                continue
            said = "The sender began fast recovery, and cwnd had no room for the retransmission."
            found.append(
                finding(facts, side, *CODES, third, expiry, (expiry - third) / 1e9, said, {"verdict": "wrong"})
            )
        if right:
            said = "The sender rightly sent nothing again."
            found.append(finding(facts, side, *CODES, min(right), max(right), 0.0, said, {"runs_count": len(right)}))
    return found


def _expiries_ns(side: Side) -> list[int]:
    return [int(e["t_ns"]) for e in side.events if e["what"] == "timeout"]


def _began_recovery(side: Side, t_ns: int, seq: int) -> bool:
    return any(e["what"] == "recovery_began" and e["rel_seq"] == seq and e["t_ns"] >= t_ns for e in side.events)


def _left_to_timer_ns(side: Side, t_ns: int, seq: int) -> int | None:
    """When the timer sent the segment that a fast recovery had begun for; None for no such expiry."""
    made = side.data["t_made_ns"][(side.data["rel_seq"] == seq) & (side.data["t_made_ns"] >= t_ns)]
    first = int(made.min()) if len(made) else NEVER
    return first if _began_recovery(side, t_ns, seq) and first in _expiries_ns(side) else None


def _third_ns(facts: Truth, side: Side, t_ns: int, seq: int) -> int | None:
    """Time of the third ACK that repeats `seq` after later data had left the device; None: fewer than three, or answered.

    Data that waits in the device's queue is not outstanding on the line, so its ACK is no duplicate there. A sender that has seen
    reordering waits for more than three duplicate ACKs; its fast retransmit answers the third one, too.
    """
    d, b = side.data, side.back
    if _began_recovery(side, t_ns, seq) and _left_to_timer_ns(side, t_ns, seq) is None:
        return None
    acked, timeouts = side.reached_ns(seq + 1), _expiries_ns(side)
    # What its own device's queue drops never leaves the host.
    leaves = (d["rel_seq"] == seq) & ((d["t_tap_ns"] >= 0) | d["under_way"])
    copies = d["t_made_ns"][leaves & (d["t_made_ns"] >= t_ns)]
    if (~np.isin(copies, timeouts) & (copies < (acked or 1 << 62))).any():
        return None
    if seq == 1 and max(int((x["rel_seq"] == 0).sum()) for x in (d, b)) > 1:
        # Each copy of a SYN or SYN-ACK is answered with an ACK of byte 1: these request nothing.
        return None
    left = d["t_tap_ns"][(d["end"] > seq) & (d["t_tap_ns"] >= 0)]
    if not len(left):
        return None
    pure = b["delivered"] & (b["rel_ack"] == seq) & (b["len_bytes"] == 0) & (b["t_end_ns"] > left.min())
    tcp = facts.world.flows[side.flow].tcp
    if tcp is not None and tcp.sack and tcp.dsack:
        # An ACK that reports only what came twice, and no hole, is no duplicate ACK (RFC 6675 section 2).
        above = d["t_end_ns"][d["delivered"] & (d["rel_seq"] > seq)]
        pure &= ~np.isin(b["t_made_ns"], _came_twice_ns(d)) | (b["t_made_ns"] >= above.min(initial=1 << 62))
    if acked is not None:
        # Of ACKs that came at one instant, the first of new data is the first made.
        beyond = b["t_made_ns"][b["delivered"] & (b["rel_ack"] > seq) & (b["t_end_ns"] == acked)].min()
        pure &= (b["t_end_ns"] < acked) | ((b["t_end_ns"] == acked) & (b["t_made_ns"] < beyond))
    came = np.sort(b["t_end_ns"][pure])
    # The first ACK of this byte is no duplicate, unless it came before.
    first = side.reached_ns(seq)
    came = came[came != first] if first is not None else came
    if len(came) < 3 or int(came[-1]) < t_ns:
        return None
    # A copy sent after the segment that this ACK answers was still under way then: the sender had retransmitted it.
    answers = (d["rel_seq"] < seq) & (d["end"] >= seq) & (d["t_made_ns"] < (first or 0))
    since = int(d["t_made_ns"][answers].max(initial=0))
    again = leaves & (d["copy"] > 0) & (d["t_made_ns"] >= since) & (d["t_made_ns"] < came[2])
    return None if again.any() else int(came[2])


def _came_twice_ns(d: Rows) -> Array:
    """When bytes arrived that had arrived before."""
    there = np.flatnonzero(d["delivered"])
    order = there[np.lexsort((d["t_end_ns"][there], d["rel_seq"][there]))]
    again = d["rel_seq"][order[1:]] == d["rel_seq"][order[:-1]]
    return np.asarray(d["t_end_ns"][order[1:][again]])

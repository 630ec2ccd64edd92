"""Expiries of the retransmission timer, in runs: spurious if an earlier copy arrived, else genuine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wlanlens.detection.finding import MAY_BE_MISSED, Finding, Value
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Expiry, Run, Side, sides

CODES = ("spurious_timeout", "genuine_timeout")


def findings(facts: Truth) -> list[Finding]:
    """One finding for each run of expiries without an ACK of new data between them, and each kind of expiry in it.

    Spurious: from the last data before the first spurious expiry to the ACK that ends the silence, and the recovery
    after it; that is the cost. A recovery in which no data that had arrived is retransmitted is caused by losses and not counted.
    Genuine: to that ACK.

    A spurious one need not be found where nothing reached the sender that could show it, see `evident`.
    """
    return [f for side in sides(facts) for run in side.runs for f in _of_run(facts, side, run)]


def _of_run(facts: Truth, side: Side, run: Run) -> Iterator[Finding]:
    for code, wanted in (("spurious_timeout", True), ("genuine_timeout", False)):
        mine = [e for e in run.expiries if e.arrived is wanted]
        if mine:
            yield _finding(facts, side, run, code, mine)


def _finding(facts: Truth, side: Side, run: Run, code: str, mine: list[Expiry]) -> Finding:
    start = mine[0].silent_from_ns
    idle_end = max(run.expiries[-1].t_ns, run.progress_ns if run.progress_ns is not None else side.last_ns)
    end = idle_end
    if code == "spurious_timeout" and run.progress_ns is not None:
        recovered = max(idle_end, run.recovered_ns if run.recovered_ns is not None else side.last_ns)
        end = recovered if side.repeated(idle_end, recovered) else idle_end
    cost_s = (end - start) / 1e9
    sentence = "The timer expired " + (
        "though the segment arrived." if code == "spurious_timeout" else "for a lost segment."
    )
    values: dict[str, Value] = {
        "expiries_count": len(mine),
        "first_expiry_s": mine[0].t_ns / 1e9,
        "idle_s": (idle_end - start) / 1e9,
        "recovery_s": (end - idle_end) / 1e9,
    }
    event = finding(facts, side, code, start, end, cost_s, sentence, values)
    shown = evident(facts, side, run, lost=code == "genuine_timeout")
    return event if shown else replace(event, confidence=MAY_BE_MISSED)


def evident(facts: Truth, side: Side, run: Run, *, lost: bool) -> bool:
    """Whether the ACK that ended a run could show which copy it answers, and of a lost one that no ACK of it was lost instead.

    Without timestamps it does not (the retransmission ambiguity of RFC 6298 section 3), unless a DSACK reports that a copy of
    data came twice; a SYN occupies no data. Where no ACK came to the end, the capture shows `no_answer`.
    """
    seq = run.expiries[0].rel_seq
    shows = shows_loss(facts, side, seq) if lost else shows_copy(facts, side, seq) and _shows_arrival(facts, side, seq)
    return run.progress_ns is not None and shows


def _shows_arrival(facts: Truth, side: Side, rel_seq: int) -> bool:
    """Whether timestamps show the arrival of an earlier copy, or a later one that arrived too, which a DSACK reports."""
    tcp = facts.world.flows[side.flow].tcp
    d = side.data
    came = d["delivered"] & (d["rel_seq"] <= rel_seq) & (rel_seq < d["end"])
    return tcp is not None and (tcp.timestamps or int(came.sum()) > 1)


def shows_loss(facts: Truth, side: Side, rel_seq: int) -> bool:
    """Whether anything could show that the copies of this byte before the last were lost, and not the ACKs of them.

    An ACK that echoes a later copy answers it also if an earlier one had arrived. A receiver reports that with a DSACK; else an ACK
    made after later data had arrived does, which leaves the byte out.
    """
    tcp = facts.world.flows[side.flow].tcp
    if not shows_copy(facts, side, rel_seq):
        return False
    if tcp is not None and tcp.sack and tcp.dsack:
        return True
    d, b = side.data, side.back
    later = d["t_end_ns"][(d["rel_seq"] > rel_seq) & d["delivered"]]
    left_out = b["t_made_ns"][
        b["delivered"] & (b["rel_ack"] <= rel_seq) & (b["t_end_ns"] <= (side.reached_ns(rel_seq + 1) or side.last_ns))
    ]
    return bool(len(later)) and bool((left_out >= later.min()).any())


def shows_copy(facts: Truth, side: Side, rel_seq: int) -> bool:
    """Whether an ACK of this byte could show which copy it answers: by its timestamp or a DSACK."""
    tcp = facts.world.flows[side.flow].tcp
    assert tcp is not None
    return tcp.timestamps or (tcp.sack and tcp.dsack and rel_seq > 0)

"""Lost ends of transfers that only a timer detected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import NEVER
from wlanlens.simulation.ground_truth._findings import finding
from wlanlens.simulation.ground_truth._runs import Run, Side, sides
from wlanlens.simulation.ground_truth.timeouts import evident, shows_loss

CODES = ("tail_loss",)

#: New data within this time after the ACK that ends the silence: the transfer was blocked in its middle.
_QUIET_NS = 50_000_000


def findings(facts: Truth) -> list[Finding]:
    """One finding for each run of expiries, or probe, for a lost segment without three duplicate ACKs.

    From the last data before it to the first ACK of new data; the cost is the wait for the last expiry or the probe. It need
    not be found where the ACK does not show which copy it answers, see `timeouts.evident`.
    """
    found = []
    for side in sides(facts, every=True):
        for run in side.runs:
            found += _by_timer(facts, side, run)
        found += _by_probe(facts, side)
    return found


def _by_timer(facts: Truth, side: Side, run: Run) -> list[Finding]:
    last, start = run.expiries[-1], run.expiries[0].silent_from_ns
    # Until its ACK arrives, the loss is unknown.
    if last.arrived or not last.rel_seq or run.progress_ns is None or not _ends(facts, side, last.t_ns):
        return []
    end = max(run.progress_ns, last.t_ns)
    event = finding(
        facts, side, "tail_loss", start, end, (last.t_ns - start) / 1e9,
        "The timer found a lost tail.", {"found_by": "retransmission timer"},
    )  # fmt: skip
    return [event if evident(facts, side, run, lost=True) else replace(event, confidence=MAY_BE_MISSED)]


def _by_probe(facts: Truth, side: Side) -> list[Finding]:
    d, found = side.data, []
    for i in np.flatnonzero(d["probe"]).tolist():
        t, seq = int(d["t_made_ns"][i]), int(d["rel_seq"][i])
        if side.arrived(seq, t) or any(e["what"] == "timeout" and e["t_ns"] > t for e in side.events):
            continue
        # A copy that the device's queue dropped was never sent: the wait did not begin with it.
        copies = d["t_tap_ns"][(d["rel_seq"] == seq) & (d["t_made_ns"] < t) & (d["t_tap_ns"] != NEVER)]
        came = side.reached_ns(int(d["end"][i]))
        if len(copies) and came is not None and _ends(facts, side, t):
            start = int(copies.max())
            event = finding(
                facts, side, "tail_loss", start, came, (t - start) / 1e9,
                "A probe found a lost tail.", {"found_by": "tail loss probe"},
            )  # fmt: skip
            found.append(event if shows_loss(facts, side, seq) else replace(event, confidence=MAY_BE_MISSED))
    return found


def _ends(facts: Truth, side: Side, t_ns: int) -> bool:
    """Whether no new data followed the data sent until `t_ns`, and fewer than three duplicate ACKs of its left edge came before."""
    d, b = side.data, side.back
    end = int(d["end"][d["t_made_ns"] < t_ns].max())
    came = side.reached_ns(end)
    if _has_more(facts, side, end, came):
        return False
    new = d["end"] > end
    until = came + _QUIET_NS if came is not None else 1 << 62
    if bool((new & (d["t_made_ns"] > t_ns) & (d["t_made_ns"] <= until)).any()):
        return False
    # A repeated SYN-ACK is no duplicate ACK.
    repeated = b["delivered"] & (b["rel_ack"] == side.acked_at(t_ns)) & (b["rel_seq"] > 0) & (b["t_end_ns"] <= t_ns)
    return int(repeated.sum()) < 4


def _has_more(facts: Truth, side: Side, end: int, came: int | None) -> bool:
    """Whether the application had written more than the sender had sent: it was blocked in the middle of a transfer.

    A bulk transfer always has. Where the run ends before everything was acknowledged, only the size of the file shows it; one that is
    drawn from a distribution counts as sent.
    """
    application = facts.world.flows[side.flow].application
    forth = side.direction == "a2b"
    if application["kind"] == "bulk":
        return forth
    names = {"file": "bytes", "request": "request_bytes" if forth else "answer_bytes"}
    size = application.get(names.get(application["kind"], ""))
    return came is None and isinstance(size, int) and end <= size

"""Third duplicate ACKs after which the sender sent nothing again, by why: here it is always right."""

from __future__ import annotations

from wlanlens.finding import Finding
from wlanlens.truth import Truth
from wlanlens.truth._findings import finding
from wlanlens.truth._runs import Side, sides

CODES = ("missing_fast_retransmit",)


def findings(facts: Truth) -> list[Finding]:
    """One a flow and reason, from its first to its last third duplicate ACK; it costs nothing."""
    found = []
    for side in sides(facts):
        by: dict[str, list[int]] = {}
        for e in side.events:
            if e["what"] == "third_duplicate":
                by.setdefault(_reason(side, int(e["t_ns"]), int(e["rel_seq"])), []).append(int(e["t_ns"]))
        for reason, t in by.items():
            found.append(
                finding(
                    facts, side, "missing_fast_retransmit", min(t), max(t), 0.0,
                    "The sender rightly sent nothing again.", {"reason": reason, "runs_count": len(t)},
                )
            )  # fmt: skip
    return found


def _reason(side: Side, t_ns: int, seq: int) -> str:
    """What the last event that matters to this byte was: a timeout or a recovery in which it had been sent."""
    d = side.data
    for what in ("timeout", "recovery_began"):
        before = [int(e["t_ns"]) for e in side.events if e["what"] == what and e["t_ns"] < t_ns]
        if before:
            sent = d["end"][d["t_made_ns"] <= before[-1]]
            if len(sent) and int(sent.max()) >= seq:
                return "after_timeout" if what == "timeout" else "recovery_point"
    return "other"

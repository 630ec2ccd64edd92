"""Expiries of the retransmission timer: spurious when a copy sent before arrived in the end."""

from __future__ import annotations

from typing import Any

from wlanlens.finding import Finding
from wlanlens.truth import Truth

CODES = ("spurious_timeout", "genuine_timeout")


def findings(facts: Truth) -> list[Finding]:
    """From the segment's latest copy before the expiry to the expiry itself; the cost is that wait."""
    import pyarrow.compute as pc

    expiries = facts.events.filter(pc.equal(facts.events.column("what"), "timeout")).to_pylist()
    if not expiries:
        return []
    columns = ["flow", "direction", "rel_seq", "len_bytes", "t_made_ns", "fate", "t_end_ns"]
    copies: dict[tuple[int, str, int], list[dict[str, Any]]] = {}
    wanted = {(e["flow"], e["direction"], e["rel_seq"]) for e in expiries}
    for row in facts.packets.select(columns).to_pylist():
        key = row["flow"], row["direction"], row["rel_seq"]
        if key in wanted and (row["len_bytes"] or not row["rel_seq"]):
            copies.setdefault(key, []).append(row)
    found = []
    for e in expiries:
        key = e["flow"], e["direction"], e["rel_seq"]
        before = [c for c in copies.get(key, []) if c["t_made_ns"] < e["t_ns"]]
        if not before:
            continue
        arrived = any(c["fate"] == "delivered" for c in before)
        start = before[-1]["t_made_ns"]
        wait_s = (e["t_ns"] - start) / 1e9
        found.append(
            Finding(
                code="spurious_timeout" if arrived else "genuine_timeout",
                t_start_ns=start,
                t_end_ns=e["t_ns"],
                capture="sender.pcap",
                subject=facts.subject(e["flow"], e["direction"]),
                severity="serious" if wait_s > 1 else "warning",
                confidence=1.0,
                cost_s=wait_s,
                values={"rto_ns": e["rto_ns"]},
                sentence="The timer expired " + ("though the segment arrived." if arrived else "for a lost segment."),
                flow=e["flow"],
                direction=e["direction"],
            )
        )
    return found

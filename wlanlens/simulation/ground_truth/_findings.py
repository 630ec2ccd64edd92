"""A true finding about one direction of one flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wlanlens.detection.finding import Finding, Value

if TYPE_CHECKING:
    from wlanlens.simulation.ground_truth import Truth
    from wlanlens.simulation.ground_truth._runs import Side


def finding(
    facts: Truth,
    side: Side,
    code: str,
    start_ns: int,
    end_ns: int,
    cost_s: float,
    sentence: str,
    values: dict[str, Value],
) -> Finding:
    """The finding `code` about the data of `side`, from `start_ns` to `end_ns`, with its cost."""
    return Finding(
        code=code,
        t_start_ns=int(start_ns),
        t_end_ns=int(end_ns),
        capture="sender.pcap",
        subject=facts.subject(side.flow, side.direction),
        severity="serious" if cost_s > 1 else "warning" if cost_s > 0 else "info",
        confidence=1.0,
        cost_s=cost_s,
        values=values,
        sentence=sentence,
        flow=side.flow,
        direction=side.direction,
    )

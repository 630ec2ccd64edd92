"""Root causes: which finding explains another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from wlanlens.detection.finding import STATIONS, Finding

#: For each code those that can cause it, the most specific first. Between two codes the order is that of events: what holds or
#: loses packets comes before the timer that expires, and a timer before what it retransmits.
CAUSES = {
    "spurious_timeout": ("ack_holding", "ack_loss"),
    "idle_backoff": ("no_answer", "ack_holding", "ack_loss", "spurious_timeout", "tail_loss"),
    "tail_loss": ("ap_buffer_loss", "startup_overflow"),
    "packet_loss": ("ap_buffer_loss", "startup_overflow", "periodic_loss"),
    "repeated_fast_retransmit": ("startup_overflow", "spurious_timeout"),
    "missing_fast_retransmit": ("spurious_timeout",),
    "acked_data_retransmission": ("spurious_timeout",),
    "burst_loss": ("rate_thrashing", "signal_fade"),
}

#: A cause explains a finding if it covers this share of its time, or of its cost: more than it leaves to others.
SHARE = 0.5


def with_causes(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each with the code of the one that caused it, where time and cost show that."""
    found = list(findings)
    by_key: dict[tuple[str, object], list[Finding]] = {}
    for f in found:
        by_key.setdefault((f.code, _about(f)), []).append(f)
    return [_linked(f, _cause(f, by_key)) if f.code in CAUSES else f for f in found]


def _linked(f: Finding, cause: str) -> Finding:
    """The finding with a cause of the same subject; where there is none, the air may have explained it already."""
    if not cause:
        return f
    return replace(f, caused_by=cause, values={name: v for name, v in f.values.items() if name != STATIONS})


def _about(f: Finding) -> object:
    """The direction of a connection, or the pair of stations."""
    return (f.flow, f.direction) if f.flow is not None else f.subject


def _cause(effect: Finding, by_key: dict[tuple[str, object], list[Finding]]) -> str:
    length = effect.t_end_ns - effect.t_start_ns
    for code in CAUSES[effect.code]:
        covered_ns, cost_s = 0, 0.0
        for cause in by_key.get((code, _about(effect)), ()):
            shared = min(effect.t_end_ns, cause.t_end_ns) - max(effect.t_start_ns, cause.t_start_ns)
            if shared >= 0:
                covered_ns, cost_s = covered_ns + shared, cost_s + cause.cost_s
        covers = length > 0 and covered_ns >= SHARE * length
        if covers or 0 < SHARE * effect.cost_s <= cost_s:
            return code
    return ""

"""What holds of an analysis of any capture: costs within the ledger, a verdict that names the costliest finding, states with rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import wlanlens as wl
from wlanlens.detection.finding import Finding
from wlanlens.registry import Tool, units
from wlanlens.report.views import FlowKey, data_flows

#: Words by which a verdict names a finding of each code; those of its cause count, too.
_TIMERS = "timeout|recovery from losses|recovery although|no answer|fell silent|could not be opened"
WORDS = {
    "ack_holding": "held",
    "ack_loss": "ACKs",
    "acked_data_retransmission": "of acknowledged data|recovery although",
    "airtime_overhead": "Beacons",
    "ap_buffer_loss": "access point's queue",
    "burst_loss": "frames failed|802.11 retries",
    "data_ack_collision": "collided|collisions|802.11 retries",
    "delayed_ack_deadlock": "delayed ACK",
    "idle_backoff": _TIMERS,
    "missing_fast_retransmit": f"did not retransmit|{_TIMERS}",
    "no_answer": _TIMERS,
    "overbuffering": "queueing delay",
    "packet_loss": f"lost segment|segments? w(as|ere) lost|{_TIMERS}",
    "periodic_loss": "clock|period|lost segment",
    "rate_thrashing": "rate|802.11 retries",
    "repeated_fast_retransmit": f"fast recovery|cwnd|{_TIMERS}",
    "signal_fade": "signal",
    "spurious_timeout": _TIMERS,
    "startup_overflow": "overshot",
    "stuck_rate": "sent all data at",
    "tail_loss": f"end of a transfer|{_TIMERS}",
    "usb_bottleneck": "USB",
    # A window of less than two segments makes the receiver delay every ACK.
    "window_limited": "window|delayed ACK",
}


def faults(made: wl.Analysis) -> list[str]:
    """Everything that does not hold of one analysis."""
    return [*_costs(made), *_verdict(made), *_states(made), *_one_connection(made)]


def _costs(made: wl.Analysis) -> Iterator[str]:
    shelf, spent = units("detectors"), _ledger(made)
    for f in made.findings:
        tool = shelf[f.code]
        assert isinstance(tool, Tool)
        key = f.flow, f.direction
        if key in spent:
            most = sum(ns for category, ns in spent[key].items() if not tool.explains or category in tool.explains)
            if f.cost_s > most / 1e9 * 1.001 + 1e-6:
                yield f"{f.code} costs {f.cost_s} s of {most / 1e9} s that it explains"
            # Without the cause the application would have paused all the same.
            busy = sum(ns for category, ns in spent[key].items() if category != "application")
            if (f.saved_s or 0.0) > busy / 1e9 * 1.001 + 1e-6:
                yield f"{f.code} saves {f.saved_s} s of {busy / 1e9} s in which the application did not pause"


def _verdict(made: wl.Analysis) -> Iterator[str]:
    top: Finding | None = max((f for f in made.findings if f.severity != "info"), key=lambda f: f.cost_s, default=None)
    if top is not None:
        words = "|".join(WORDS[code] for code in (top.code, top.caused_by) if code)
        if top.sentence not in made.verdict.sentence and not re.search(words, made.verdict.sentence, re.IGNORECASE):
            yield f"the verdict does not name {top.code} ({top.cost_s} s): {made.verdict.sentence}"


def _states(made: wl.Analysis) -> Iterator[str]:
    for state in made.findings.states:
        needs = units("detectors")[state.code].needs  # type: ignore[attr-defined]
        rows = sum(made.trace.table(name).num_rows for name in needs if made.trace.has(name))
        if state.state == "fine" and not rows:
            yield f"{state.code} is fine without a row"
        if state.state == "failed":
            yield f"{state.code} failed: {state.reason}"


def _one_connection(made: wl.Analysis) -> Iterator[str]:
    about = made.verdict
    if about.flow is None or about.direction is None or not about.categories_ns:
        return
    if _ledger(made)[about.flow, about.direction] != Counter(about.categories_ns):
        yield "the verdict's seconds are not those of its connection in the ledger"
    key = FlowKey(about.capture, about.flow, about.direction)
    first = data_flows(made.trace, made.findings, key)
    if not first or first[0][0] != key:
        yield "the first figure shows another connection than the verdict"


def _ledger(made: wl.Analysis) -> dict[tuple[int | None, str | None], Counter[str]]:
    out: dict[tuple[int | None, str | None], Counter[str]] = {}
    names = ["flow", "direction", "category", "t_start_ns", "t_end_ns"]
    for row in made.ledger.select(names).to_pylist():
        out.setdefault((row["flow"], row["direction"]), Counter())[row["category"]] += (
            row["t_end_ns"] - row["t_start_ns"]
        )
    return out

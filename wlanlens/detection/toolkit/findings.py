"""Make findings: severity by cost, evidence cut to a screenful, the costliest cases listed and the rest summed up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from wlanlens.detection.finding import Finding, Value, frame_filter
from wlanlens.tables.columns import NULL, Array

#: Packet numbers of one table in a finding's evidence: a screenful. A finding's value counts those left out.
MAX_EVIDENCE_ROWS = 50

#: Findings of one detector in one trace. The costliest are listed, and one more finding sums up the rest: 60 000
#: connections that all time out must not give 60 000 findings.
MAX_FINDINGS = 1000

#: A finding is `info` below both of these ...
INFO_SHARE, INFO_S = 0.01, 0.1
#: ... and `serious` above either of these.
SERIOUS_SHARE, SERIOUS_S = 0.10, 1.0


def severity(cost_s: float, lifetime_s: float) -> str:
    """Grade a cost: info below 0.1 s and 1 % of the flow's lifetime, serious above 1 s or 10 %, warning between."""
    share = cost_s / lifetime_s if lifetime_s > 0 else 0.0
    if cost_s > SERIOUS_S or share > SERIOUS_SHARE:
        return "serious"
    if cost_s < INFO_S and share < INFO_SHARE:
        return "info"
    return "warning"


def make_finding(
    *,
    code: str,
    t_start_ns: int,
    t_end_ns: int,
    capture: str,
    subject: str,
    cost_s: float,
    lifetime_s: float,
    confidence: float,
    values: Mapping[str, Value],
    evidence: Mapping[str, Iterable[int]],
    sentence: str,
    display_filter: str = "",
    flow: int | None = None,
    direction: str | None = None,
    total_s: float | None = None,
) -> Finding:
    """Make a finding about anything; `Facts.finding` makes one about a direction of a connection.

    Parameters
    ----------
    lifetime_s : float
        How long the subject lived: severity is the cost's share of it.
    evidence : mapping
        Packet numbers by table; `NULL` is dropped, and at most `MAX_EVIDENCE_ROWS` of each table are kept.
    display_filter : str
        Where empty, a filter for the evidence.
    total_s : float, optional
        Cost of all its occurrences together, by which it is graded; by default its own.
    The others are the fields of `Finding`.
    """
    named, shown, left_out = dict(values), [], 0
    for table, packets in evidence.items():
        numbers = sorted({int(p) for p in packets if p != NULL})
        left_out += max(0, len(numbers) - MAX_EVIDENCE_ROWS)
        if numbers:
            shown.append((table, capture, tuple(numbers[:MAX_EVIDENCE_ROWS])))
    if left_out:
        named["evidence_left_out_count"] = left_out
    cost_s = max(0.0, float(cost_s))
    return Finding(
        code=code,
        t_start_ns=int(t_start_ns),
        t_end_ns=max(int(t_start_ns), int(t_end_ns)),
        capture=capture,
        subject=subject,
        severity=severity(max(cost_s, total_s or 0.0), float(lifetime_s)),
        confidence=confidence,
        cost_s=cost_s,
        values={name: _plain(value) for name, value in named.items()},
        evidence=tuple(shown),
        sentence=sentence,
        display_filter=display_filter or frame_filter(row for _, _, rows in shown for row in rows),
        flow=flow,
        direction=direction,
    )


def costliest(cost: Array) -> tuple[Array, Array]:
    """Positions of the `MAX_FINDINGS` highest costs, and of the rest; both in order of position."""
    if len(cost) <= MAX_FINDINGS:
        return np.arange(len(cost)), np.zeros(0, np.int64)
    order = np.argsort(-cost, kind="stable")
    return np.sort(order[:MAX_FINDINGS]), np.sort(order[MAX_FINDINGS:])


def _plain(value: Any) -> Value:
    """Convert NumPy's numbers to Python's."""
    plain: Value = value.item() if isinstance(value, np.generic) else value
    return plain

"""The verdict: one plain sentence about the flow with the most data, with seconds and share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wlanlens import registry
from wlanlens.airtime import Summary, words
from wlanlens.detection.finding import Finding
from wlanlens.detection.usb_summary import usb_summary
from wlanlens.formatting import count, seconds, share
from wlanlens.ledger import ledger as ledgers

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.trace import Trace

#: Categories that are one cause, and what the sentence says about it; {s} is "1.56 s (30 %)".
_CAUSES = (
    (("rto_wait", "rto_backoff", "spurious_recovery", "loss_recovery"), "it spent {s} on {timeouts}"),
    (("fast_recovery",), "it spent {s} in fast recovery"),
    (("receiver_window",), "it was limited by the receiver's window for {s}"),
    (("delayed_ack",), "it waited {s} for delayed ACKs"),
    (("queue",), "it had {s} of queueing delay"),
    (("usb",), "it spent {s} on the USB bus"),
    (("air_retries",), "it spent {s} on 802.11 retries"),
    (("air_others",), "it lost {s} to other stations' airtime"),
)

#: Kinds of timeouts that the sentence names.
_TIMEOUT_KINDS = {
    "spurious": "spurious",
    "ack_lost": "because only ACKs were lost",
    "undecided": "of undetermined cause",
}

#: Causes below this share of a flow's lifetime are not named: measurement error and ordinary recovery reach it.
SHARE = 0.02
#: A second cause is named from this share.
SECOND_SHARE = 0.05
#: A flow that the application limited for this share of its lifetime is called application-limited.
APPLICATION_SHARE = 0.5


@dataclass(frozen=True)
class Verdict:
    """What slowed the flow with the most data.

    Attributes
    ----------
    sentence : str
        For people.
    capture, flow, direction, subject : str, int or None
        The flow; `flow` is None when there is none.
    duration_s, lost_s : float
        Its lifetime from SYN to last ACK, and the time of the named causes.
    categories_ns : dict
        Its ledger: nanoseconds of each category.
    """

    sentence: str
    capture: str = ""
    flow: int | None = None
    direction: str | None = None
    subject: str = ""
    duration_s: float = 0.0
    lost_s: float = 0.0
    categories_ns: dict[str, int] = field(default_factory=dict)


def judge(
    trace: Trace,
    ledger: pa.Table,
    findings: Sequence[Finding],
    *,
    packets: int,
    connections: int,
    records: int = 0,
    air: Summary | None = None,
) -> Verdict:
    """Make the verdict.

    Parameters
    ----------
    trace : Trace
        The trace, or a part of a long one that holds the flow with the most data.
    ledger, findings
        Of this trace.
    packets, connections, records : int
        IP packets, TCP connections and records of the whole capture.
    air : Summary, optional
        What the airtime of the whole capture was used for.
    """
    flows = _categories_by_flow(ledger)
    if not flows:
        return Verdict(_without_flow(trace, findings, packets, connections, records, air))
    sizes = _payload(trace)
    which = max(flows, key=lambda key: (sizes.get(key, 0), sum(flows[key].values()), key))
    flow, direction = which
    categories = flows[which]
    lifetime = sum(categories.values())
    subject = trace.subject(flow, direction)
    causes = sorted(
        ((sum(categories.get(c, 0) for c in group), text) for group, text in _CAUSES), key=lambda c: c[0], reverse=True
    )
    named = [c for i, c in enumerate(causes[:2]) if lifetime and c[0] >= lifetime * (SECOND_SHARE if i else SHARE)]
    with_timeouts = any("{timeouts}" in text for _, text in named)
    kinds = _timeouts_by_kind(trace, flow, direction) if with_timeouts else {}
    timeouts = _timeouts(kinds, [f for f in findings if f.flow in (None, flow)])
    parts = [text.format(s=share(ns, lifetime), timeouts=timeouts) for ns, text in named]
    parts += _explained([f for f in findings if f.flow is None], lifetime, categories, kinds)
    parts += _explained([f for f in findings if (f.flow, f.direction) == which], lifetime, categories, kinds)
    application = categories.get("application", 0)
    if lifetime and application >= lifetime * APPLICATION_SHARE:
        parts.append(f"it was application-limited for {share(application, lifetime)}")
    others = connections - 1
    sentences = [
        f"{subject} took {seconds(lifetime)}; {'; '.join(parts) or _nothing_slow(categories, lifetime)}.",
        words.flow(air, flow, direction) if air is not None else "",
        f"{count(others, 'other connection')}." if others > 0 else "",
    ]
    return Verdict(
        sentence=" ".join(filter(None, sentences)),
        capture=trace.captures[0].name if trace.captures else "",
        flow=flow,
        direction=direction,
        subject=subject,
        duration_s=lifetime / 1e9,
        lost_s=sum(ns for ns, _ in named) / 1e9,
        categories_ns={c: categories[c] for c in ledgers.CATEGORIES if c in categories},
    )


def _without_flow(
    trace: Trace, findings: Sequence[Finding], packets: int, connections: int, records: int, air: Summary | None
) -> str:
    """The sentence of a capture without a data transfer."""
    if air is not None and air.frames:
        return " ".join((words.unread(air, packets, connections), words.use(air)))
    if connections:
        return f"{count(connections, 'TCP connection')} without a data transfer."
    if packets:
        return f"No TCP connection among {count(packets, 'packet')}."
    if not records:
        return "The capture holds no packets."
    none = f"No IP packet among {count(records, 'record')}"
    bus = usb_summary(trace.table("urbs")) if trace.has("urbs") else ""
    return " ".join([f"{none}: {bus}", *(f.sentence for f in findings[:1])]) if bus else f"{none}."


def _categories_by_flow(ledger: pa.Table) -> dict[tuple[int, str], dict[str, int]]:
    out: dict[tuple[int, str], dict[str, int]] = {}
    for row in ledgers.summary(ledger).to_pylist():
        out.setdefault((row["flow"], row["direction"]), {})[row["category"]] = row["ns"]
    return out


def _payload(trace: Trace) -> dict[tuple[int, str], int]:
    if not trace.has("flows"):
        return {}
    rows = trace.table("flows").select(["flow", "direction", "payload_bytes"]).to_pylist()
    return {(row["flow"], row["direction"]): row["payload_bytes"] for row in rows}


def _timeouts_by_kind(trace: Trace, flow: int, direction: str) -> dict[str, list[int]]:
    """Times of a flow's retransmission timeouts, by kind."""
    out: dict[str, list[int]] = {}
    if trace.has("timeouts"):
        for row in trace.table("timeouts").select(["flow", "direction", "kind", "t_ns"]).to_pylist():
            if (row["flow"], row["direction"]) == (flow, direction):
                out.setdefault(row["kind"], []).append(row["t_ns"])
    return out


def _timeouts(kinds: Mapping[str, Sequence[int]], findings: Sequence[Finding]) -> str:
    """ "5 retransmission timeouts, 3 of them spurious because ACKs were held"."""
    total = sum(len(times) for times in kinds.values())
    if not total:
        return "recovery from losses"
    parts: list[str] = []
    for kind, text in _TIMEOUT_KINDS.items():
        number = len(kinds.get(kind, ()))
        if number:
            which = "" if total == 1 else "all" if number == total else f"{number}" if parts else f"{number} of them"
            parts.append(" ".join(filter(None, (which, text, _reason(kind, kinds[kind], findings)))))
    return ", ".join(filter(None, [count(total, "retransmission timeout"), " and ".join(parts)]))


def _reason(kind: str, times: Sequence[int], findings: Sequence[Finding]) -> str:
    """Why timeouts of one kind came, where most of them are within the findings of one detector that explains them."""
    for tool, mine in _by_detector(findings):
        inside = sum(any(f.t_start_ns <= t <= f.t_end_ns for f in mine) for t in times)
        if tool.timeout_reason is not None and tool.timeout_reason[0] == kind and inside and 2 * inside >= len(times):
            return tool.timeout_reason[1](mine)
    return ""


def _explained(
    findings: Sequence[Finding], lifetime: int, categories: Mapping[str, int], kinds: Mapping[str, Sequence[int]]
) -> list[str]:
    """What the detectors say: "slow start overshot a buffer, which explains 1 s (9 %)", the costliest first."""
    parts: list[tuple[float, str]] = []
    for tool, mine in _by_detector(sorted(findings, key=lambda f: -f.cost_s)):
        cost_s = sum(f.cost_s for f in mine)
        # The causes hold its time already.
        named = categories.get(tool.category) or (tool.timeout_reason is not None and kinds.get(tool.timeout_reason[0]))
        # Without a flow: time of the bus, or the sum of other flows.
        foreign = mine[0].flow is None and not tool.category
        if named or foreign or cost_s < SHARE * lifetime / 1e9:
            continue
        phrase = tool.phrase(mine[0])
        if not phrase:
            continue
        # Findings of one detector may overlap: they explain at most the whole lifetime.
        cost = share(min(lifetime, round(cost_s * 1e9)), lifetime)
        cases = sum(f.cost_s > 0 for f in mine)
        more = f" (the costliest of {cases} cases)" if cases > 1 else ""
        parts.append((cost_s, f"{phrase}{more}, which explains {cost}"))
    return [text for _, text in sorted(parts, key=lambda part: -part[0])]


def _by_detector(findings: Sequence[Finding]) -> list[tuple[registry.Tool, list[Finding]]]:
    """Findings by their detector, in order of each one's first."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    units = registry.units("detectors")
    tools = ((units.get(code), mine) for code, mine in by_code.items())
    return [(unit, mine) for unit, mine in tools if isinstance(unit, registry.Tool)]


def _nothing_slow(categories: Mapping[str, int], lifetime: int) -> str:
    most = max(categories, key=lambda c: categories[c]) if categories else "unknown"
    return f"nothing in this capture slowed it: {share(categories.get(most, 0), lifetime)} {ledgers.PLAIN[most]}"

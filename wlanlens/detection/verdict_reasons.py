"""What findings say about the causes in the verdict: why timeouts came, how much was lost, what explains the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wlanlens import registry
from wlanlens.detection.finding import Finding
from wlanlens.formatting import count, seconds, share

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Kinds of timeouts that the sentence names.
_TIMEOUT_KINDS = {
    "spurious": "spurious",
    "ack_lost": "because only ACKs were lost",
    "undecided": "of undetermined cause",
}

#: Causes below this share of a flow's lifetime are not named: measurement error and ordinary recovery reach it.
SHARE = 0.02
#: The findings that count lost segments.
PACKET_LOSS = "packet_loss"
#: The findings of timeouts though nothing was lost.
SPURIOUS_TIMEOUT = "spurious_timeout"


def timeouts_by_kind(trace: Trace, flow: int, direction: str, findings: Sequence[Finding]) -> dict[str, list[int]]:
    """Times of a flow's retransmission timeouts, by kind. An undecided one in a spurious timeout that was found is spurious: only
    what became of the ACKs is unknown."""
    out: dict[str, list[int]] = {}
    if not trace.has("timeouts"):
        return out
    mine = [f for f in findings if f.code == SPURIOUS_TIMEOUT and (f.flow, f.direction) == (flow, direction)]
    for row in trace.table("timeouts").select(["flow", "direction", "kind", "t_ns"]).to_pylist():
        if (row["flow"], row["direction"]) == (flow, direction):
            t, kind = row["t_ns"], row["kind"]
            proved = kind == "undecided" and any(f.t_start_ns <= t <= f.t_end_ns for f in mine)
            out.setdefault("spurious" if proved else kind, []).append(t)
    return out


def opening_timers(trace: Trace) -> str:
    """ "2 retransmission timeouts on opening took 3 s.", of a trace in which no connection carried data; empty without any."""
    if not trace.has("timeouts"):
        return ""
    waited = [ns or 0 for ns in trace.table("timeouts").column("waited_ns").to_pylist()]
    number = count(len(waited), "retransmission timeout")
    return f"{number} on opening took {seconds(sum(waited))}." if waited else ""


def timeouts(kinds: Mapping[str, Sequence[int]], findings: Sequence[Finding]) -> str:
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
    """Why timeouts of one kind came, where half of them or more are within the findings of one detector that explains them."""
    for tool, mine in _by_detector(findings):
        inside = sum(any(f.t_start_ns <= t <= f.t_end_ns for f in mine) for t in times)
        if tool.timeout_reason is not None and tool.timeout_reason[0] == kind and inside and 2 * inside >= len(times):
            why = tool.timeout_reason[1](mine)
            return why if inside == len(times) or not why else f"({inside} {why})"
    return ""


def lost_count(findings: Sequence[Finding]) -> int:
    """How many segments were lost, as findings say."""
    return sum(int(f.values["lost_count"]) for f in findings if f.code == PACKET_LOSS)


def losses(segments: int, frames: int, missing: int) -> str:
    """What was lost: segments; where none is known to be, frames that were dropped on the air, or packets that the capture misses."""
    if missing and not (segments or frames):
        return f"by the IP identifications, {count(missing, 'packet')} {'is' if missing == 1 else 'are'} missing"
    number, what, fate = (segments, "segment", "lost") if segments else (frames, "frame", "dropped on the air")
    return f"{count(number, what)} {'was' if number == 1 else 'were'} {fate}" if number else ""


def open_repairs_ns(findings: Sequence[Finding]) -> dict[tuple[int, str], int]:
    """ns in which each direction repaired reported losses, and nothing shows whether its timer or duplicate ACKs made it do so."""
    out: dict[tuple[int, str], int] = {}
    for f in findings:
        if f.code == PACKET_LOSS and f.flow is not None and f.direction is not None:
            ns = round(float(f.values.get("undecided_s", 0.0)) * 1e9)
            out[f.flow, f.direction] = out.get((f.flow, f.direction), 0) + ns
    return out


def costliest(
    findings: Sequence[Finding], named: Mapping[tuple[int | None, str | None], set[str]], sentence: str
) -> Finding | None:
    """The costliest finding, where the verdict names neither it nor its cause; None otherwise.

    Parameters
    ----------
    findings : sequence of Finding
    named : mapping
        The categories of the ledger that the verdict names, by direction of a connection.
    sentence : str
        The verdict so far.
    """
    top = max((f for f in findings if f.severity != "info"), key=lambda f: f.cost_s, default=None)
    if top is None or top.sentence in sentence:
        return None
    units = registry.units("detectors")
    for tool in (units.get(top.code), units.get(top.caused_by)):
        if not isinstance(tool, registry.Tool):
            continue
        if {*tool.explains, tool.category} & named.get((top.flow, top.direction), set()):
            return None
        mine = [f for f in findings if f.code == tool.name and (f.flow, f.direction) == (top.flow, top.direction)]
        if any((phrase := tool.phrase(f)) and phrase[1:] in sentence for f in mine):
            return None
    return top


def of_the_channel(findings: Sequence[Finding]) -> str:
    """What detectors say of the channel, which belongs to no connection: "Beacons, ... took 34 % of the air."."""
    for tool, mine in _by_detector([f for f in findings if f.flow is None]):
        phrase = "" if tool.category else tool.phrase(max(mine, key=lambda f: f.cost_s))
        if phrase:
            return f"{phrase[0].upper()}{phrase[1:]}."
    return ""


def explained(
    findings: Sequence[Finding], lifetime: int, categories: Mapping[str, int], kinds: Mapping[str, Sequence[int]]
) -> list[tuple[float, str]]:
    """What the detectors say, and its seconds: "slow start overshot a buffer, which explains 1 s (9 %)", the costliest first."""
    parts: list[tuple[float, str]] = []
    for tool, mine in _by_detector(sorted(findings, key=lambda f: -f.cost_s)):
        cost_s = sum(f.cost_s for f in mine)
        if all(f.caused_by for f in mine):
            continue
        # The causes hold its time already, unless that is too little to be stated.
        named = categories.get(tool.category, 0) >= SHARE * lifetime or (
            tool.timeout_reason is not None and kinds.get(tool.timeout_reason[0])
        )
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
    return sorted(parts, key=lambda part: -part[0])


def _by_detector(findings: Sequence[Finding]) -> list[tuple[registry.Tool, list[Finding]]]:
    """Findings by their detector, in order of each one's first."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    units = registry.units("detectors")
    tools = ((units.get(code), mine) for code, mine in by_code.items())
    return [(unit, mine) for unit, mine in tools if isinstance(unit, registry.Tool)]

"""The verdict: one plain sentence about the flow that matters most, with seconds and share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wlanlens.airtime import Summary, words
from wlanlens.detection.finding import Finding, Value
from wlanlens.formatting import count, seconds, share
from wlanlens.ledger import ledger as ledgers

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.trace import Trace

#: Owners told as one cause, in words; {s} is "1.56 s (30 %)".
_CAUSES = (
    (("rto_wait", "rto_backoff", "spurious_recovery", "loss_recovery"), "{s} went to {timeouts}"),
    (("fast_recovery",), "{s} went to fast recovery from losses"),
    (("receiver_window",), "{s} went to waiting for the receiver's window"),
    (("delayed_ack",), "{s} went to waiting for delayed ACKs"),
    (("queue",), "{s} went to standing in a queue"),
    (("usb",), "{s} went to the USB bus"),
    (("air_retries",), "{s} went to retries on the air"),
    (("air_others",), "{s} went to other stations on the air"),
)

#: Causes below this share of a flow's life are not named: measurement and ordinary recovery make so much.
SHARE = 0.02
#: A second cause is named from this share on.
SECOND_SHARE = 0.05

#: Who kept ACKs, as the detector `ack_holding` names it.
_KEPT_BY = {
    "adapter": " by the adapter",
    "adapter_or_driver": " by the adapter or its driver",
    "driver": " by the driver",
    "air": " up on the air",
    "queue": " in a queue before the air",
}

#: Where packets were lost, as `links` names it.
_LOST = {
    "before_air": " before the air",
    "on_air": " on the air",
    "after_air": " behind the air",
    "before_usb": " before the USB bus",
}

#: Detectors of events that are told by their number.
_EVENTS = {
    "ap_buffer_loss": "the access point had no room for what came",
    "ack_loss": "lost ACKs stopped the sender",
}


def _overshot(values: Mapping[str, Value]) -> str:
    packets = values.get("buffer_packets")
    return "slow start overshot a buffer" + (f" of about {count(int(packets), 'packet')}" if packets else "")


#: Detectors whose time several categories share, or one category with others: what they say of their costliest case.
_EXPLAINS: dict[str, Callable[[Mapping[str, Value]], str]] = {
    "startup_overflow": _overshot,
    "periodic_loss": lambda values: f"losses came every {seconds(round(float(values['period_s']) * 1e9))}",
    "repeated_fast_retransmit": lambda values: (
        f"the window was cut {count(int(values['cuts_count']), 'time')} for one window of losses"
    ),
    "delayed_ack_deadlock": lambda values: (
        f"{count(int(values['waits_count']), 'time')} one segment alone waited for the receiver's delayed-ACK timer"
    ),
}


@dataclass(frozen=True)
class Verdict:
    """What slowed the flow that matters most.

    Attributes
    ----------
    sentence : str
        For people.
    capture, flow, direction, subject : str, int or None
        Of which flow; flow None when there is none.
    duration_s, lost_s : float
        Its life from SYN to last ACK, and what of it the named causes took.
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
    """The verdict of a (bounded) trace. `packets` (of IP), `connections`, `records` and `air` count the whole capture."""
    lives = _lives(ledger)
    if not lives and air is not None and air.frames:
        return Verdict(" ".join((words.unread(air, packets, connections), words.use(air))))
    if not lives:
        if not packets:
            return Verdict(_no_packet(trace, findings, records))
        if not connections:
            return Verdict(f"No TCP connection among {count(packets, 'packet')}.")
        return Verdict(f"{count(connections, 'TCP connection')} without a data transfer to account for.")
    sizes = _payload(trace)
    who = max(lives, key=lambda key: (sizes.get(key, 0), sum(lives[key].values()), key))
    flow, direction = who
    categories = lives[who]
    life = sum(categories.values())
    subject = trace.subject(flow, direction)
    causes = sorted(
        ((sum(categories.get(o, 0) for o in group), text) for group, text in _CAUSES), key=lambda c: c[0], reverse=True
    )
    named = [c for i, c in enumerate(causes[:2]) if life and c[0] >= life * (SECOND_SHARE if i else SHARE)]
    parts = [text.format(s=share(ns, life), timeouts=_timeouts(trace, flow, direction, findings)) for ns, text in named]
    slow_bus = sum(f.cost_s for f in findings if f.code == "usb_bottleneck")
    if slow_bus >= SHARE * life / 1e9 and not categories.get("usb", 0):
        # The ledger cannot share out the bus's time, for transfers are of no one flow.
        parts.append(f"the USB bus limited it and cost {share(min(life, round(slow_bus * 1e9)), life)}")
    # What is said of timeouts is not said again.
    told = {"ack_loss"} if any("only ACKs were lost" in part for part in parts) else set()
    parts += _explained([f for f in findings if (f.flow, f.direction) == who and f.code not in told], life)
    if categories.get("application", 0) >= life * 0.5 and life:
        parts.append(f"{share(categories['application'], life)} the application had nothing to send")
    said = "; ".join(parts) if parts else _fine(categories, life)
    others = connections - 1
    more = f" {count(others, 'other connection')} beside it." if others > 0 else ""
    on_air = words.flow(air, flow, direction) if air is not None else ""
    return Verdict(
        sentence=f"{subject} took {seconds(life)}; {said}.{on_air and ' ' + on_air}{more}",
        capture=trace.captures[0].name if trace.captures else "",
        flow=flow,
        direction=direction,
        subject=subject,
        duration_s=life / 1e9,
        lost_s=sum(ns for ns, _ in named) / 1e9,
        categories_ns={o: categories[o] for o in ledgers.CATEGORIES if o in categories},
    )


def _no_packet(trace: Trace, findings: Sequence[Finding], records: int) -> str:
    """What a capture without IP tells all the same."""
    from wlanlens.capture.usb import words

    if not records:
        return "The capture holds no packets."
    said = words(trace.table("urbs")) if trace.has("urbs") else ""
    limited = [f.sentence for f in findings if f.code == "usb_bottleneck"][:1]
    none = f"No IP packet among {count(records, 'record')}"
    return " ".join([f"{none}: {said}", *limited]) if said else f"{none}."


def _lives(ledger: pa.Table) -> dict[tuple[int, str], dict[str, int]]:
    out: dict[tuple[int, str], dict[str, int]] = {}
    for row in ledgers.summary(ledger).to_pylist():
        out.setdefault((row["flow"], row["direction"]), {})[row["category"]] = row["ns"]
    return out


def _payload(trace: Trace) -> dict[tuple[int, str], int]:
    if not trace.has("flows"):
        return {}
    rows = trace.table("flows").select(["flow", "direction", "payload_bytes"]).to_pylist()
    return {(row["flow"], row["direction"]): row["payload_bytes"] for row in rows}


def _timeouts(trace: Trace, flow: int, direction: str, findings: Sequence[Finding]) -> str:
    """ "5 retransmission timeouts, 3 of them spurious because ACKs were held"."""
    kinds: dict[str, int] = {}
    spurious: list[int] = []
    if trace.has("timeouts"):
        for row in trace.table("timeouts").select(["flow", "direction", "kind", "t_ns"]).to_pylist():
            if (row["flow"], row["direction"]) == (flow, direction):
                kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
                spurious += [row["t_ns"]] if row["kind"] == "spurious" else []
    total = sum(kinds.values())
    if not total:
        return "recovery after losses"
    why = _why([f for f in findings if f.flow in (None, flow)], spurious)
    words = {
        "spurious": f"spurious {why}".strip(),
        "ack_lost": f"because only ACKs were lost{_lost([f for f in findings if f.flow == flow])}",
        "undecided": "of a kind that this capture cannot tell",
    }
    said: list[str] = []
    for kind, word in words.items():
        number = kinds.get(kind, 0)
        if number:
            of = "" if total == 1 else "all " if number == total else f"{number} of them " if not said else f"{number} "
            said.append(of + word)
    return (
        ", ".join([count(total, "retransmission timeout"), " and ".join(said)])
        if said
        else count(total, "retransmission timeout")
    )


def _why(findings: Sequence[Finding], spurious: Sequence[int]) -> str:
    """Why most of the spurious timeouts came: they fell into times in which ACKs were held."""
    held = [f for f in findings if f.code == "ack_holding"]
    inside = sum(any(f.t_start_ns <= t <= f.t_end_ns for f in held) for t in spurious)
    if not inside or 2 * inside < len(spurious):
        return ""
    by = {str(f.values.get("kept_by", "")) for f in held}
    return "because ACKs were held" + (_KEPT_BY.get(by.pop(), "") if len(by) == 1 else "")


def _lost(findings: Sequence[Finding]) -> str:
    """Where the ACKs whose loss stopped the sender were lost, if all at one place."""
    places = {str(f.values.get("lost", "")) for f in findings if f.code == "ack_loss" and f.cost_s > 0}
    return _LOST.get(places.pop(), "") if len(places) == 1 else ""


def _explained(findings: Sequence[Finding], life: int) -> list[str]:
    """What explains the time of this flow, whoever owns it: "slow start overshot a buffer, which explains 1 s (9 %)"."""
    parts: list[tuple[float, str]] = []
    for code, of in _EXPLAINS.items():
        mine = sorted((f for f in findings if f.code == code), key=lambda f: -f.cost_s)
        cost_s = sum(f.cost_s for f in mine)
        if mine and cost_s >= SHARE * life / 1e9:
            # Findings of one code may overlap; no more than a life can be explained.
            cost = share(min(life, round(cost_s * 1e9)), life)
            more = f", the worst of {len(mine)}" if len(mine) > 1 else ""
            parts.append((cost_s, f"{of(mine[0].values)}{more}, which explains {cost}"))
    for code, text in _EVENTS.items():
        costs = [f.cost_s for f in findings if f.code == code and f.cost_s > 0]
        if sum(costs) >= SHARE * life / 1e9:
            cost = share(min(life, round(sum(costs) * 1e9)), life)
            parts.append((sum(costs), f"{text} {count(len(costs), 'time')}, which explains {cost}"))
    return [text for _, text in sorted(parts, key=lambda part: -part[0])]


def _fine(categories: Mapping[str, int], life: int) -> str:
    most = max(categories, key=lambda o: categories[o]) if categories else "unknown"
    return f"nothing in this capture slowed it: {share(categories.get(most, 0), life)} {ledgers.PLAIN[most]}"

"""The verdict: one plain sentence about the connection that lost most time, with seconds and share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wlanlens.airtime import Summary, words
from wlanlens.detection import verdict_reasons as reasons
from wlanlens.detection import without
from wlanlens.detection.finding import Finding
from wlanlens.detection.flow_facts import Direction, FlowFacts, Refusals
from wlanlens.detection.full_path import full_path
from wlanlens.detection.story import Step
from wlanlens.detection.usb_summary import usb_summary
from wlanlens.detection.verdict_causes import CAUSES, SECOND_SHARE, STATED_SHARE, causes
from wlanlens.formatting import count, seconds, share
from wlanlens.ledger import ledger as ledgers

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.trace import Trace

#: Categories in which the connection's packets were on their way and nothing held them.
_PATH = ("path", "air_useful")

#: A connection does not last longer than this: its capture's clock was set, so its times mean nothing.
LONGEST_NS = 366 * 86_400 * 10**9
_CLOCK = "The capture's times jump by years: correct them (editcap -t) to see what limited its other connections."
#: The findings of connections that nobody answered.
NO_ANSWER = "no_answer"


@dataclass(frozen=True)
class Verdict:
    """What slowed the flow that lost most time; the flow with the most data if none lost any.

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
    without_s, without_bps : float or None
        Estimates of its duration and goodput without the costliest cause; None where they are not defined.
    without_assumption : str
        What these estimates assume.
    story : tuple of Step
        The costliest cause and the findings that follow from it, the root cause first.
    """

    sentence: str
    capture: str = ""
    flow: int | None = None
    direction: str | None = None
    subject: str = ""
    duration_s: float = 0.0
    lost_s: float = 0.0
    categories_ns: dict[str, int] = field(default_factory=dict)
    without_s: float | None = None
    without_bps: float | None = None
    without_assumption: str = ""
    story: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        # From JSON the steps come as objects.
        steps = tuple(step if isinstance(step, Step) else Step(**step) for step in self.story)
        object.__setattr__(self, "story", steps)

    @property
    def lost_share(self) -> float:
        """Share of the flow's lifetime that its ledger gives to causes; 1 for a connection that nobody answered."""
        life = sum(self.categories_ns.values())
        if not life:
            return float(self.lost_s > 0)
        return sum(ns for name, ns in self.categories_ns.items() if name not in ledgers.HEALTHY) / life


def judge(
    trace: Trace,
    ledger: pa.Table,
    findings: Sequence[Finding],
    *,
    packets: int,
    connections: int,
    records: int = 0,
    air: Summary | None = None,
    refusals: Refusals | None = None,
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
    refusals : Refusals, optional
        The refused connections of the whole capture; by default those of the trace.
    """
    if refusals is None:
        refusals = Refusals()
        refusals.add(trace)
    flows, facts = _categories_by_flow(ledger), FlowFacts(trace)
    jumped = {key for key, categories in flows.items() if sum(categories.values()) > LONGEST_NS}
    flows = {key: categories for key, categories in flows.items() if key not in jumped}
    unanswered = _unanswered(findings, flows)
    repairs = reasons.open_repairs_ns(findings)
    which = _leading(flows, facts, repairs)
    clock = _CLOCK if jumped else ""
    if which is None and not unanswered:
        said = [text for text in (refusals.sentence(), clock) if text]
        channel = reasons.of_the_channel(findings)
        if (connections > refusals.count and not jumped) or not said:
            said.append(_without_flow(trace, findings, packets, connections - refusals.count, records, air))
        return Verdict(_joined((), [*said, channel], findings))
    found = [_of_flow(trace, which, flows[which], facts, findings, air, repairs.get(which, 0))] if which else []
    found = [
        without.with_counterfactual(v, findings, facts.unique_bytes(which), alone=connections == 1)
        for v in found
        if which
    ]
    lost_ns, waited_ns = _lost(flows[which]) if which else 0, _waited_ns(unanswered)
    if unanswered and waited_ns >= lost_ns:
        # The transfers are mentioned where they lost a share of that, too.
        found = [_no_answer(unanswered), *(v for v in found if lost_ns >= reasons.SHARE * waited_ns)]
    others = (
        connections
        - len(unanswered if waited_ns >= lost_ns else ())
        - sum(v.flow is not None and v.categories_ns != {} for v in found)
        - refusals.count
    )
    more = f"{count(others, 'other connection')}." if others > 0 else ""
    clock = (
        "The capture's clock was set by years: correct its times (editcap -t) to judge other connections."
        if jumped
        else ""
    )
    said = [reasons.of_the_channel(findings), refusals.sentence(), clock, more]
    capture = _capture(ledger, found[0])
    waits = unanswered if waited_ns >= lost_ns else ()
    sentence = _joined(found, said, findings, waits)
    return replace(found[0], sentence=sentence, capture=capture)


def _of_flow(
    trace: Trace,
    which: Direction,
    categories: Mapping[str, int],
    facts: FlowFacts,
    findings: Sequence[Finding],
    air: Summary | None,
    repairs_ns: int,
) -> Verdict:
    """The verdict about one direction of one connection. `repairs_ns`: its `open_repairs`."""
    flow, direction = which
    lifetime = sum(categories.values())
    subject = trace.subject(flow, direction)
    if facts.lacks_answers(which):
        return _one_sided(trace, which, categories)
    application = categories.get("application", 0)
    named, idle = causes(categories)
    stated = {c for _, _, group in named for c in group} | ({"application"} if idle else set())
    with_timeouts = any("{timeouts}" in text for _, text, _ in named)
    kinds = reasons.timeouts_by_kind(trace, flow, direction, findings) if with_timeouts else {}
    timeouts = reasons.timeouts(kinds, [f for f in findings if f.flow in (None, flow)])
    if categories.get("spurious_recovery", 0) > categories.get("loss_recovery", 0) and not kinds:
        timeouts = "recovery although nothing was lost"
    lost = reasons.lost_count([f for f in findings if (f.flow, f.direction) == which])
    after = f" after {count(lost, 'lost segment')}" if lost else ""
    dropped = words.dropped(air, flow, direction) if air is not None else 0
    losses = reasons.losses(lost, dropped, facts.missing_packets(which))
    parts = [text.format(s=share(ns, lifetime), timeouts=timeouts, losses=after) for ns, text, _ in named]
    small = all(ns < STATED_SHARE * lifetime for ns, _, _ in named)
    most_s = max((ns for ns, _, _ in named), default=0) / 1e9
    explained = [
        said
        for mine in ([f for f in findings if f.flow is None], [f for f in findings if (f.flow, f.direction) == which])
        for said in reasons.explained(mine, lifetime, categories, kinds)
    ]
    # What explains more than small causes leads.
    leads = [text for cost_s, text in explained if small and named and cost_s > most_s]
    parts = [*leads, *parts, *(text for _, text in explained if text not in leads)]
    if idle:
        parts.insert(0 if small else len(parts), f"it was application-limited for {share(application, lifetime)}")
    if not parts:
        stated |= _leads(categories)
        costly = any(f.flow in (None, flow) and f.cost_s >= reasons.SHARE * lifetime / 1e9 for f in findings)
        parts = [_nothing_slow(categories, lifetime, costly, losses, repairs_ns)]
        if not costly and _leads(categories) == set(_PATH):
            parts[0] += full_path(trace, which, facts.unique_bytes(which), lifetime)
    known_s = max([most_s, application / 1e9 if idle else 0.0, *(cost_s for cost_s, _ in explained)])
    unknown = categories.get("unknown", 0)
    if "unknown" not in stated and unknown >= reasons.SHARE * lifetime and unknown / 1e9 > known_s:
        # A small cause is not the answer where most of the time has none.
        unsaid = "" if any("{losses}" in text for _, text, _ in named) else losses
        parts.insert(0, _of_unknown_cause(unknown, lifetime, unsaid, repairs_ns))
        stated |= {"unknown"}
    # What a finding explains lies within the categories that follow: these are not what it leaves.
    parts += _rest(categories, stated, lifetime, "overall" if explained else "the rest")
    reset = facts.reset_by(which)
    parts += [f"{trace.subject(*reset).split(' > ')[0]} reset it"] if reset else []
    sentences = [
        f"{subject} took {seconds(lifetime)}{facts.carried(which, lifetime)}; {'; '.join(parts)}.",
        words.flow(air, flow, direction) if air is not None else "",
    ]
    return Verdict(
        sentence=" ".join(filter(None, sentences)),
        capture=trace.captures[0].name if trace.captures else "",
        flow=flow,
        direction=direction,
        subject=subject,
        duration_s=lifetime / 1e9,
        lost_s=sum(ns for ns, _, _ in named) / 1e9,
        categories_ns={c: categories[c] for c in ledgers.CATEGORIES if c in categories},
    )


def _joined(
    found: Sequence[Verdict], others: Sequence[str], findings: Sequence[Finding], waits: Sequence[Finding] = ()
) -> str:
    """The sentences of connections and the others, with the costliest finding where it is not named.

    `waits`: connections without an answer that are named. What a connection would have been without its cause follows its causes.
    """
    named: dict[tuple[int | None, str | None], set[str]] = {(f.flow, f.direction): {"rto_wait"} for f in waits}
    for verdict in found:
        if verdict.categories_ns:
            its, _ = causes(verdict.categories_ns)
            named[verdict.flow, verdict.direction] = {c for _, _, group in its for c in group}
    top = reasons.costliest(findings, named, " ".join((*(v.sentence for v in found), *others)))
    parts: list[str] = []
    more = top.sentence if top is not None else ""
    for verdict in found:
        parts.append(verdict.sentence)
        if top is not None and (top.flow, top.direction) == (verdict.flow, verdict.direction):
            parts.append(_begun(more.removeprefix(f"{verdict.subject}: ")))
            more = ""
        parts.append(without.said(verdict))
    return " ".join(filter(None, (*parts, *others, _begun(more))))


def _begun(sentence: str) -> str:
    """A sentence with a capital letter; a finding may begin with the word "station"."""
    return sentence[:1].upper() + sentence[1:]


def _without_flow(
    trace: Trace, findings: Sequence[Finding], packets: int, connections: int, records: int, air: Summary | None
) -> str:
    """The sentence of a capture without a data transfer."""
    timers = reasons.opening_timers(trace) if connections else ""
    if air is not None and air.frames:
        return " ".join(filter(None, (words.unread(air, packets, connections), timers, words.use(air))))
    if connections:
        return " ".join(filter(None, (f"{count(connections, 'TCP connection')} without a data transfer.", timers)))
    if packets:
        return f"No TCP connection among {count(packets, 'packet')}."
    if not records:
        return "The capture holds no packets."
    none = f"No IP packet among {count(records, 'record')}"
    bus = usb_summary(trace.table("urbs")) if trace.has("urbs") else ""
    return " ".join([f"{none}: {bus}", *(f.sentence for f in findings[:1])]) if bus else f"{none}."


def _categories_by_flow(ledger: pa.Table) -> dict[Direction, dict[str, int]]:
    out: dict[Direction, dict[str, int]] = {}
    for row in ledgers.summary(ledger).to_pylist():
        out.setdefault((row["flow"], row["direction"]), {})[row["category"]] = row["ns"]
    return out


def _lost(categories: Mapping[str, int]) -> int:
    """ns of the causes."""
    return sum(categories.get(c, 0) for group, _ in CAUSES for c in group)


def _leading(
    flows: Mapping[Direction, Mapping[str, int]], facts: FlowFacts, repairs: Mapping[Direction, int]
) -> Direction | None:
    """The direction that lost most time; that with the most data where none lost enough to be named. `repairs`: `open_repairs`."""
    if not flows:
        return None

    def rank(key: Direction) -> tuple[int, int, int, Direction]:
        open_ns = min(repairs.get(key, 0), flows[key].get("unknown", 0))
        lost, life = 0 if facts.lacks_answers(key) else _lost(flows[key]) + open_ns, sum(flows[key].values())
        return lost if lost >= SECOND_SHARE * life else 0, facts.payload_bytes(key), life, key

    return max(flows, key=rank)


def _unanswered(findings: Sequence[Finding], flows: Mapping[Direction, object]) -> list[Finding]:
    """Findings of connections that were never answered and so have no ledger."""
    return [f for f in findings if f.code == NO_ANSWER and (f.flow, f.direction) not in flows]


def _waited_ns(found: Sequence[Finding]) -> int:
    """Time in which any of these findings applies: connections that are opened side by side wait together."""
    total, reach = 0, 0
    for f in sorted(found, key=lambda f: f.t_start_ns):
        total += max(0, f.t_end_ns - max(f.t_start_ns, reach))
        reach = max(reach, f.t_end_ns)
    return total


def _no_answer(found: Sequence[Finding]) -> Verdict:
    """The verdict about connections that nobody answered."""
    most = max(found, key=lambda f: f.cost_s)
    waited = seconds(_waited_ns(found))
    said = most.sentence
    if len(found) > 1:
        said = f"{len(found)} connections got no answer, for {waited} in all. The longest: {most.sentence}"
    return Verdict(
        said,
        capture=most.capture,
        flow=most.flow,
        direction=most.direction,
        subject=most.subject,
        duration_s=most.cost_s,
        lost_s=_waited_ns(found) / 1e9,
    )


def _one_sided(trace: Trace, which: Direction, categories: Mapping[str, int]) -> Verdict:
    """The verdict about a connection of which only one direction was captured."""
    flow, direction = which
    subject, lifetime = trace.subject(flow, direction), sum(categories.values())
    return Verdict(
        f"Only one direction of {subject} is in the capture ({seconds(lifetime)}), so what limited it cannot be told: "
        f"capture both directions, at the sender if possible.",
        capture=trace.captures[0].name if trace.captures else "",
        flow=flow,
        direction=direction,
        subject=subject,
        duration_s=lifetime / 1e9,
        categories_ns=dict(categories),
    )


def _leads(categories: Mapping[str, int]) -> set[str]:
    """The category with the most time, with those that are stated together with it."""
    most = max(categories, key=lambda c: categories[c]) if categories else "unknown"
    return set(_PATH) if most in _PATH else {most}


def _of_unknown_cause(ns: int, lifetime: int, losses: str, repairs_ns: int) -> str:
    """The time of unknown cause. `losses`: those that the sentence does not name yet. `repairs_ns`: the part that repaired losses."""
    if 2 * repairs_ns > ns:
        took = f"packet loss took {share(min(ns, repairs_ns), lifetime)}{losses and ': '}{losses}"
        return f"{took}; whether timers or duplicate ACKs repaired that cannot be told at this tap"
    because = f"; packet loss may explain it: {losses}" if losses else ""
    return f"what it waited for in {share(ns, lifetime)} cannot be told at this tap{because}"


def _nothing_slow(categories: Mapping[str, int], lifetime: int, costly: bool, losses: str, repairs_ns: int) -> str:
    """What took most of the time where the sender lost none. `costly`: a finding says what made it slow."""
    leads = _leads(categories)
    time = share(sum(categories.get(c, 0) for c in leads), lifetime)
    if leads == {"unknown"}:
        return _of_unknown_cause(categories["unknown"], lifetime, losses, repairs_ns)
    # Time of unknown cause may have slowed it.
    sure = not costly and categories.get("unknown", 0) < reasons.SHARE * lifetime
    if leads == set(_PATH):
        return f"nothing in this capture slowed it: the path took {time}" if sure else f"the path took {time}"
    which = ledgers.PLAIN[leads.pop()]
    return f"nothing in this capture slowed it: {time} {which}" if sure else f"{time} was {which}"


def _rest(categories: Mapping[str, int], stated: set[str], lifetime: int, head: str) -> list[str]:
    """ "the rest: path transfer 3 s (75 %), slow start 0.5 s (12 %)": every large category that was not stated."""
    left = Counter({c: ns for c, ns in categories.items() if c not in stated})
    large = [(c, ns) for c, ns in left.most_common() if ns >= STATED_SHARE * lifetime]
    said = ", ".join(f"{ledgers.PLAIN[c]} {share(ns, lifetime)}" for c, ns in large)
    return [f"{head}: {said}"] if said else []


def _capture(ledger: pa.Table, about: Verdict) -> str:
    """The capture that leads the connection of a verdict, by its rows in the ledger."""
    import pyarrow.compute as pc

    if about.flow is None or not about.categories_ns:
        return about.capture
    mine = ledger.filter(pc.equal(ledger["flow"], about.flow))
    return str(mine["capture"][0])

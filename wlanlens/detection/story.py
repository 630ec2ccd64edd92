"""Stories: findings that follow from each other as one chain, the root cause first, with its cost once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from wlanlens import registry
from wlanlens.detection.finding import STATIONS, Finding
from wlanlens.formatting import count, times

#: Values of findings that count segments which the sender retransmitted although they had arrived.
_SPURIOUS_COPIES = "spurious_retransmissions_count"


@dataclass(frozen=True)
class Step:
    """One step of a story.

    Attributes
    ----------
    code : str
        Code of its findings.
    text : str
        The step as a clause: "ACKs were held by the adapter (12 times)".
    finding : int
        Number of its costliest finding, counted from 1, as in `wlanlens evidence`.
    """

    code: str
    text: str
    finding: int


@dataclass(frozen=True)
class Story:
    """A root cause and what followed from it, in one direction of a connection or between two stations.

    Attributes
    ----------
    flow, direction : int, str or None
        As in `Finding`: of the connection, where one of the findings is about one.
    steps : tuple of Step
        The root cause first.
    findings : tuple of int
        Numbers of all its findings, counted from 1.
    cost_s : float
        Its cost, once: that of its costliest code, whose time holds that of the others.
    saved_s : float or None
        What the transfer would have saved without the root cause; None where that is not defined.
    assumption : str
        What `saved_s` assumes.
    """

    flow: int | None
    direction: str | None
    steps: tuple[Step, ...]
    findings: tuple[int, ...]
    cost_s: float
    saved_s: float | None
    assumption: str

    @property
    def root(self) -> str:
        """Code of the root cause."""
        return self.steps[0].code


Members = list[tuple[int, Finding]]


def stories(findings: Sequence[Finding], only: Collection[tuple[int | None, str | None]] | None = None) -> list[Story]:
    """The stories of findings, that with the highest cost first; a finding without cause or effect is a story of one step.

    `only`: flows and directions; by default all.
    """
    about: dict[object, dict[str, Members]] = {}
    for number, f in enumerate(findings, 1):
        if only is not None and (f.flow, f.direction) not in only:
            continue
        key = (f.flow, f.direction) if f.flow is not None else f.subject
        about.setdefault(key, {}).setdefault(f.code, []).append((number, f))
    _take_causes_of_the_air(about)
    out = [made for by_code in about.values() for made in _of_one_subject(by_code)]
    return sorted(out, key=lambda story: -story.cost_s)


def _take_causes_of_the_air(about: dict[object, dict[str, Members]]) -> None:
    """Move what happened between two stations to the connection on which it cost most, so that it is reported and counted once."""
    costs: dict[tuple[str, str], dict[object, float]] = {}
    for key, by_code in about.items():
        for members in by_code.values():
            for _, f in members:
                cause = (str(f.values.get(STATIONS, "")), f.caused_by)
                if cause[1] in about.get(cause[0], {}):
                    caused = costs.setdefault(cause, {})
                    caused[key] = caused.get(key, 0.0) + f.cost_s
    for (stations, code), caused in costs.items():
        held, connection = about[stations], about[max(caused, key=lambda key: caused[key])]
        taken = _chain(code, held)
        connection.update({one: held.pop(one) for one in taken if one in held and one not in connection})


def _chain(code: str, by_code: dict[str, Members]) -> set[str]:
    """A code with its causes and effects among others about the same stations."""
    cause = {one: _main_cause(members, by_code) for one, members in by_code.items()}
    out = {code}
    while more := {
        one for one in cause if one not in out and (cause[one] in out or one in {cause.get(c) for c in out})
    }:
        out |= more
    return out


def _of_one_subject(by_code: dict[str, Members]) -> Iterable[Story]:
    """The stories of one direction: each code follows the code that caused most of its cost, or begins a story."""
    cause = {code: _main_cause(members, by_code) for code, members in by_code.items()}
    effects: dict[str, list[str]] = {}
    for code, of in cause.items():
        if of:
            effects.setdefault(of, []).append(code)
    for root in (code for code, of in cause.items() if not of):
        chain, open_ = [root], [root]
        while open_:
            followed = sorted(
                effects.get(open_.pop(0), ()), key=lambda code: min(f.t_start_ns for _, f in by_code[code])
            )
            chain += followed
            open_ += followed
        yield _story(chain, by_code)


def _main_cause(members: Members, by_code: dict[str, Members]) -> str:
    """The code that caused most of the cost of some findings; "" where most of it has no known cause."""
    costs: dict[str, float] = {}
    for _, f in members:
        cause = f.caused_by if f.caused_by in by_code else ""
        costs[cause] = costs.get(cause, 0.0) + f.cost_s
    return max(costs, key=lambda code: (costs[code], code == ""))


def _story(chain: Sequence[str], by_code: dict[str, Members]) -> Story:
    steps = tuple(step for code in chain for step in _steps(code, by_code[code]))
    first = by_code[chain[0]]
    about = next((f for code in chain for _, f in by_code[code] if f.flow is not None), first[0][1])
    known = [f for _, f in first if f.saved_s is not None]
    best = max(known, key=lambda f: f.saved_s or 0.0, default=None)
    return Story(
        flow=about.flow,
        direction=about.direction,
        steps=steps,
        findings=tuple(sorted(number for code in chain for number, _ in by_code[code])),
        cost_s=max(sum(f.cost_s for _, f in by_code[code]) for code in chain),
        saved_s=sum(f.saved_s or 0.0 for f in known) if best is not None else None,
        assumption=best.saved_assumption if best is not None else "",
    )


def _steps(code: str, members: Members) -> Iterable[Step]:
    number, worst = max(members, key=lambda member: member[1].cost_s)
    unit = registry.units("detectors").get(code)
    phrase = unit.phrase(worst) if isinstance(unit, registry.Tool) else ""
    text = phrase or (unit.summary.rstrip(".") if unit is not None else code.replace("_", " "))
    # A clause within a sentence; abbreviations keep their capitals.
    text = text if text[1:2].isupper() else text[:1].lower() + text[1:]
    yield Step(code, text + (f" ({times(len(members))})" if len(members) > 1 else ""), number)
    copies = sum(int(f.values.get(_SPURIOUS_COPIES, 0)) for _, f in members)
    if copies:
        yield Step(code, f"{count(copies, 'segment was', 'segments were')} retransmitted spuriously", number)

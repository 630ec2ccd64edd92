"""Stories: findings that follow from each other, the root cause first, with their seconds counted once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wlanlens.detection.finding import Finding

Numbered = tuple[int, "Finding"]


@dataclass(frozen=True)
class Story:
    """A root cause and all findings that follow from it."""

    codes: tuple[str, ...]
    """The codes in the order of the chain, the root first."""
    members: tuple[Numbered, ...]
    """All findings with their numbers, counted from 1 as in findings.json."""
    cost_s: float
    """Their cost: a second that several of them explain counts once."""

    @property
    def roots(self) -> list[Numbered]:
        """The findings of the root cause, costliest first."""
        return self.of(self.codes[0])

    def of(self, code: str) -> list[Numbered]:
        """The findings of one code, costliest first."""
        return sorted((m for m in self.members if m[1].code == code), key=lambda m: -m[1].cost_s)

    @property
    def saved_s(self) -> float | None:
        """How much sooner the transfers would have ended without the root cause; None if that is not known of every one."""
        saved = [f.saved_s for _, f in self.roots]
        return None if None in saved else sum(s for s in saved if s is not None)


def stories(findings: Iterable[Finding]) -> list[Story]:
    """The stories of an analysis, costliest first; a finding without cause or effect is a story of its own code.

    Findings of one code and different connections are one story: the remedy is the same.
    """
    every = list(enumerate(findings, 1))
    groups: dict[tuple[str, object], list[Numbered]] = defaultdict(list)
    for number, f in every:
        groups[f.code, _about(f)].append((number, f))
    members: dict[str, list[Numbered]] = defaultdict(list)
    depth: dict[tuple[str, str], int] = {}
    for number, f in every:
        root, steps = _root(f, groups)
        members[root].append((number, f))
        depth[root, f.code] = max(depth.get((root, f.code), 0), steps)
    out = []
    for root, these in members.items():
        codes = sorted({f.code for _, f in these}, key=lambda code: (depth[root, code], code))
        by_subject: dict[object, list[Finding]] = defaultdict(list)
        for _, f in these:
            by_subject[_about(f)].append(f)
        out.append(Story(tuple(codes), tuple(these), sum(cost_once_s(group) for group in by_subject.values())))
    return sorted(out, key=lambda story: -story.cost_s)


def cost_once_s(findings: Sequence[Finding]) -> float:
    """Cost of findings about one connection: where their intervals overlap, the largest cost per second counts."""
    spans = sorted((f.t_start_ns, max(f.t_end_ns, f.t_start_ns + 1), f.cost_s) for f in findings)
    borders = sorted({t for start, end, _ in spans for t in (start, end)})
    total, reached = 0.0, 0
    densest: list[tuple[float, int]] = []
    for start, end in pairwise(borders):
        while reached < len(spans) and spans[reached][0] <= start:
            since, until, cost_s = spans[reached]
            heappush(densest, (-cost_s / (until - since), until))
            reached += 1
        while densest and densest[0][1] <= start:
            heappop(densest)
        total -= densest[0][0] * (end - start) if densest else 0.0
    return total


def _about(f: Finding) -> object:
    return (f.capture, f.flow, f.direction) if f.flow is not None else f.subject


def _root(f: Finding, groups: Mapping[tuple[str, object], list[Numbered]]) -> tuple[str, int]:
    """Code of the first cause of a finding, and its distance."""
    about, code, seen = _about(f), f.code, {f.code}
    cause, steps = f.caused_by, 0
    while cause and cause not in seen:
        causes = groups.get((cause, about), [])
        if not causes:
            break
        seen.add(cause)
        code, steps = cause, steps + 1
        cause = _nearest(f, causes).caused_by
    return code, steps


def _nearest(f: Finding, causes: Sequence[Numbered]) -> Finding:
    """The cause that shares most of its time with a finding; else the nearest one before or after."""

    def shared(cause: Finding) -> int:
        return min(f.t_end_ns, cause.t_end_ns) - max(f.t_start_ns, cause.t_start_ns)

    return max((cause for _, cause in causes), key=shared)

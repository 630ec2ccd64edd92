"""The table of clock trials as text, as docs/clocks.md and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wlanlens.validation.clock_validation import DRIFT_PPM, DURATION_S, JUDGED_S, MISSED_SHARE, ClockScore, TrialScore
from wlanlens.validation.page import aligned, day, markdown_table

#: Floors: share of clocks inside their bound, share of right links, error of the drift.
INSIDE, LINKED, DRIFT_WITHIN_PPM = 0.99, 0.999, 1.0

#: A drift is resolved if this many standard errors are below the floor: 95 % of a normal distribution lie within them.
RESOLVED_ERRORS, RESOLVED = 2.0, 0.95

_HEAD = (
    "clocks", "fitted", "one direction", "inside", "inside throughout", "bound / two-way p50", "p99", "bound within it",
    "drift judged", "p50 ppm", "p90", "max", "within 1 ppm", "resolved", "within 1 ppm of resolved ones",
    "within 2 errors", "in its bound",
)  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """All trials of one kind of clocks.

    Attributes
    ----------
    name : str
    clocks, one_way : int
        Fitted clocks, and those with packets in one direction only, which have no bound.
    inside, throughout : int
        Of those with a bound: the true offset lies inside `bound_ns` at `at_ns`, and inside `bound_most_ns` everywhere.
    ratios : tuple of float
        The largest bound divided by the least two-way delay plus both ticks.
    drift_errors_ppm : tuple of float
        Of clocks whose pairs span a minute, without an undetected step.
    drift_inside : int
        Number of these inside the drift's bound.
    drift_stated : int
        Number of these within two stated standard errors.
    drift_resolved_ppm : tuple of float
        Errors of those whose stated standard error resolves 1 ppm.
    """

    name: str
    clocks: int
    one_way: int
    inside: int
    throughout: int
    ratios: tuple[float, ...]
    drift_errors_ppm: tuple[float, ...]
    drift_inside: int
    drift_stated: int
    drift_resolved_ppm: tuple[float, ...]

    @property
    def bounded(self) -> int:
        """Clocks with a bound."""
        return self.clocks - self.one_way


def summaries(scores: Sequence[TrialScore]) -> list[Summary]:
    """By the resolution of both clocks, and by the outcome of a step."""
    clocks = [c for score in scores for c in score.clocks]
    kinds = {
        "1 us, 1 us": [c for c in clocks if max(c.ticks_ns) == 1_000],
        "1 us, 1 ms": [c for c in clocks if len({*c.ticks_ns}) == 2],
        "1 ms, 1 ms": [c for c in clocks if min(c.ticks_ns) == 1_000_000],
        "not set": [c for c in clocks if not c.step_ns],
        "set, step found": [c for c in clocks if c.step_ns and c.steps],
        "set, step not seen": [c for c in clocks if c.step_ns and not c.steps],
        "all": clocks,
    }
    return [_summary(name, of) for name, of in kinds.items()]


def _summary(name: str, clocks: Sequence[ClockScore]) -> Summary:
    bounded = [c for c in clocks if c.bounds_ns]
    judged = [c for c in bounded if c.span_s >= JUDGED_S and (c.steps or not c.step_ns)]
    return Summary(
        name=name,
        clocks=len(clocks),
        one_way=len(clocks) - len(bounded),
        inside=sum(c.inside for c in bounded),
        throughout=sum(c.inside_throughout for c in bounded),
        ratios=tuple(c.bound_ratio for c in bounded if c.two_way_ns is not None),
        drift_errors_ppm=tuple(c.drift_error_ppm for c in judged),
        drift_inside=sum(c.drift_bound_ppm is not None and c.drift_error_ppm <= c.drift_bound_ppm for c in judged),
        drift_stated=sum(c.drift_stated_ppm is not None and c.drift_error_ppm <= _stated_ppm(c) for c in judged),
        drift_resolved_ppm=tuple(c.drift_error_ppm for c in judged if _stated_ppm(c) <= DRIFT_WITHIN_PPM),
    )


def _stated_ppm(c: ClockScore) -> float:
    """The interval of a clock's drift by its own standard error."""
    return math.inf if c.drift_stated_ppm is None else RESOLVED_ERRORS * c.drift_stated_ppm


def rows(scores: Sequence[TrialScore]) -> list[tuple[str, ...]]:
    """The table."""
    return [_row(summary) for summary in summaries(scores)]


def _row(s: Summary) -> tuple[str, ...]:
    drift = s.drift_errors_ppm
    return (
        s.name,
        str(s.clocks),
        str(s.one_way),
        _share(s.inside, s.bounded),
        _share(s.throughout, s.bounded),
        _quantile(s.ratios, 0.5),
        _quantile(s.ratios, 0.99),
        _share(sum(r <= 1 for r in s.ratios), len(s.ratios)),
        str(len(drift)),
        _quantile(drift, 0.5),
        _quantile(drift, 0.9),
        _quantile(drift, 1.0),
        _share(_right(drift), len(drift)),
        str(len(s.drift_resolved_ppm)),
        _share(_right(s.drift_resolved_ppm), len(s.drift_resolved_ppm)),
        _share(s.drift_stated, len(drift)),
        _share(s.drift_inside, len(drift)),
    )


def _right(drift_errors_ppm: Sequence[float]) -> int:
    return sum(d <= DRIFT_WITHIN_PPM for d in drift_errors_ppm)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.4f}" if whole else "-"


def _quantile(values: Sequence[float], q: float) -> str:
    return f"{np.quantile(values, q):.3g}" if values else "-"


def faults(scores: Sequence[TrialScore]) -> list[str]:
    """Every missed floor, in words."""
    out = [f"{s.trial.scenario}, seed {s.trial.seed}: {s.refused}" for s in scores if s.refused]
    total = summaries(scores)[-1]
    if total.inside < INSIDE * total.bounded:
        out.append(f"clocks: {_share(total.inside, total.bounded)} inside their bound, less than {INSIDE:g}")
    resolved = total.drift_resolved_ppm
    if _right(resolved) < RESOLVED * len(resolved):
        out.append(
            f"drift: {_share(_right(resolved), len(resolved))} of those resolved to {DRIFT_WITHIN_PPM:g} ppm are within, less than {RESOLVED:g}"
        )
    shared, linked, wrong = links(scores)
    if linked < LINKED * shared:
        out.append(f"links: {_share(linked, shared)} found, less than {LINKED:g}")
    if wrong:
        out.append(f"links: {wrong} join different packets")
    return out


def links(scores: Sequence[TrialScore]) -> tuple[int, int, int]:
    """Packets at two taps, linked ones, and links of different packets."""
    return sum(s.shared for s in scores), sum(s.linked for s in scores), sum(s.wrong for s in scores)


def outside(scores: Sequence[TrialScore]) -> list[str]:
    """Clocks whose true offset lies outside their bound, in words."""
    return [
        f"{s.trial.scenario}, seed {s.trial.seed}, {c.capture} to {c.reference}: "
        + ", ".join(f"{e} ns off, bound {b} ns" for e, b in zip(c.errors_ns, c.bounds_ns, strict=True) if e > b)
        for s in scores
        for c in s.clocks
        if not c.inside
    ]


def _closing(scores: Sequence[TrialScore]) -> str:
    shared, linked, wrong = links(scores)
    return (
        f"{len(scores)} runs, {len({s.trial.seed for s in scores})} seeds; of {shared} packets that two taps hold "
        f"{linked} are linked ({_share(linked, shared)}), {wrong} links join different packets"
    )


def plain(scores: Sequence[TrialScore]) -> str:
    """The table for a terminal."""
    return "\n".join([*aligned(_HEAD, rows(scores)), "", *outside(scores), _closing(scores) + "."]) + "\n"


def markdown(scores: Sequence[TrialScore]) -> str:
    """docs/clocks.md."""
    return "\n".join(
        [
            "# Clocks and links",
            "",
            f"Made by `wlanlens validate --clocks -o docs/clocks.md` on {day()}: {_closing(scores)}.",
            "",
            f"Every scenario runs for {DURATION_S:g} s with wrong clocks at all its taps: an offset of up to one hour, a drift of up",
            f"to {DRIFT_PPM:g} ppm, timestamps in whole us or whole ms, {100 * MISSED_SHARE:g} % of packets missed. In every second run one",
            "clock is set by 1 ms to 10 s, in either direction, at any time. The captures are aligned, and the clocks are compared with",
            "the true ones, which come from the same seed with perfect clocks.",
            "",
            "`fitted`: clocks mapped to the axis. `one direction`: all packets have one direction; the map states no bound.",
            "`inside`: the true offset is within `bound_ns` at `at_ns`, in every piece; `throughout`: it is within `bound_most_ns` at every",
            "packet, which does not allow for undetected steps. `bound / two-way`: the largest bound divided by the least true sum of delays",
            "of two neighbouring packets in opposite directions in its piece, plus a tick of each clock.",
            f"Drift is judged where the pairs span {JUDGED_S:g} s, except for clocks with an undetected step: no line fits those.",
            f"`resolved`: {RESOLVED_ERRORS:g} stated standard errors (`drift_error_ppm`) are less than {DRIFT_WITHIN_PPM:g} ppm;",
            f"`within {RESOLVED_ERRORS:g} errors`: judged drifts within {RESOLVED_ERRORS:g} of their stated standard errors.",
            "The other drifts cannot be resolved to that: a few hundred packets by coarse clocks; queues that are never empty in the same",
            "way; packets in phase with a tick of 1 ms (frames of a USB bus), whose timestamps leave the drift open by a tick over the",
            "span. A third tap between two such clocks, or with a fine clock, resolves their drift.",
            f"Floors: {100 * INSIDE:g} % inside, {100 * LINKED:g} % of links, no link of different packets, {100 * RESOLVED:g} % of the drifts resolved.",
            "",
            *markdown_table(_HEAD, rows(scores)),
            "",
            *(f"- {line}" for line in [*outside(scores), *faults(scores)]),
            "",
        ]
    )


def to_dict(scores: Sequence[TrialScore]) -> dict[str, Any]:
    """As JSON."""
    return {
        "faults": faults(scores),
        "runs": [
            {
                "scenario": s.trial.scenario,
                "seed": s.trial.seed,
                "shared": s.shared,
                "linked": s.linked,
                "wrong": s.wrong,
                "refused": s.refused,
                "clocks": [asdict(c) for c in s.clocks],
            }
            for s in scores
        ],
    }

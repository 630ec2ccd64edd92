"""The tables of `validate`: each detector over all runs, and the promises of each scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wlanlens.simulation.ground_truth import codes
from wlanlens.simulation.scenario import Scenario, ScenarioKind, find
from wlanlens.validation.scoring import Score
from wlanlens.validation.validate import Judged, at_home, chosen, home

#: Floors of a detector: share of true findings, share of events found, and share of matches with times right
#: within `TIME_S`.
PRECISION, RECALL, TIMELY = 0.95, 0.95, 0.95
TIME_S = 0.010

#: Share of the runs of a scenario that shows a code in which the detector must find it.
SHOWN = 0.95


@dataclass(frozen=True)
class Line:
    """One detector over all runs.

    Attributes
    ----------
    code, home : str
        The detector, and the capture point where it is judged.
    score : Score
        Over all runs.
    runs : int
        Runs that were judged.
    elsewhere_right, elsewhere_wrong : int
        True and false findings at other taps.
    undecided : int
        Undecided cases at its home.
    decided : bool
        Whether the ground truth decides its code.
    """

    code: str
    home: str
    score: Score
    runs: int
    elsewhere_right: int
    elsewhere_wrong: int
    undecided: int
    decided: bool


@dataclass(frozen=True)
class Promise:
    """A scenario's promise about a detector, over all its runs.

    Attributes
    ----------
    scenario : str
    kind : str
        "shows", "silent" or "clean".
    code : str
        "" for a clean scenario: all detectors.
    runs, broken : int
        Runs, and those in which the promise was broken.
    detail : str
        Findings that break it.
    """

    scenario: str
    kind: str
    code: str
    runs: int
    broken: int
    detail: str = ""

    @property
    def kept(self) -> bool:
        """A shown code may be missed in one run of twenty; silence must never be broken."""
        return self.broken <= (1 - SHOWN) * self.runs if self.kind == "shows" else not self.broken


@dataclass(frozen=True)
class Validation:
    """The tables of all runs.

    Attributes
    ----------
    lines : tuple of Line
        One for each detector.
    promises : tuple of Promise
        One for each scenario and promise.
    failed : dict
        Detectors that failed, and why.
    runs : int
    seeds : int
        Number of different seeds.
    """

    lines: tuple[Line, ...]
    promises: tuple[Promise, ...]
    failed: dict[str, str]
    runs: int
    seeds: int

    def faults(self) -> list[str]:
        """Every missed floor, in words."""
        out = [f"{code} failed: {why}" for code, why in sorted(self.failed.items())]
        for line in self.lines:
            s = line.score
            for what, value, least in (
                ("precision", s.precision, PRECISION),
                ("recall", s.recall, RECALL),
                (f"share of times within {TIME_S * 1e3:g} ms", s.within(TIME_S), TIMELY),
            ):
                if value is not None and value < least:
                    out.append(f"{line.code}: {what} {value:.3f} is below {least:g}")
        for p in self.promises:
            if not p.kept:
                what = {
                    "shows": f"{p.code} is not found",
                    "silent": f"{p.code} is found where it must not be",
                    "clean": "something above info is found on a clean link",
                }[p.kind]
                out.append(
                    f"{p.scenario}: {what} in {p.broken} of {p.runs} runs" + (f" ({p.detail})" if p.detail else "")
                )
        return out

    def unproved(self) -> list[str]:
        """Detectors without a true event in these runs."""
        return [line.code for line in self.lines if not line.score.truth]


def summary(judged: Iterable[Judged], detectors: Iterable[str] = ()) -> Validation:
    """The tables of all runs."""
    runs = list(judged)
    wanted = chosen("detectors", detectors)
    views = [(run, view) for run in runs for view in run.views]
    failed = {
        code: f"{why} ({run.scenario}, seed {run.seed})" for run, view in views for code, why in view.failed.items()
    }
    return Validation(
        lines=tuple(lines(runs, wanted)),
        promises=tuple(_promises(runs, wanted)),
        failed=failed,
        runs=len(runs),
        seeds=len({run.seed for run in runs}),
    )


def lines(runs: list[Judged], wanted: Iterable[str]) -> list[Line]:
    """One line for each detector."""
    return [_line(code, runs) for code in wanted]


def _line(code: str, runs: list[Judged]) -> Line:
    total, place = Score(code), home(code)
    right = wrong = undecided = judged = 0
    for run in runs:
        for view in run.views:
            if at_home(code, view.taps):
                judged += 1
                undecided += view.undecided[code]
                total += view.scores.get(code, Score(code))
            else:
                right, wrong = right + view.right[code], wrong + view.wrong[code]
    return Line(code, place, total, judged, right, wrong, undecided, code in codes())


def _promises(runs: list[Judged], wanted: tuple[str, ...]) -> Iterator[Promise]:
    by_name: dict[str, list[Judged]] = {}
    for run in runs:
        by_name.setdefault(run.scenario, []).append(run)
    for name, mine in sorted(by_name.items()):
        kind = _kind(name)
        for code in kind.shows:
            judged = any(at_home(code, view.taps) for run in mine for view in run.views)
            if code in wanted and judged:
                yield Promise(name, "shows", code, len(mine), sum(not _speaks(run, code) for run in mine))
        for code in kind.resembles:
            if code in wanted:
                broken = [run.seed for run in mine if any(view.wrong[code] for view in run.views)]
                yield Promise(name, "silent", code, len(mine), len(broken), _seeds(broken))
        if kind.clean:
            heard: Counter[str] = Counter()
            for run in mine:
                said = {f"{code} at {'+'.join(v.taps)}" for v in run.views for code, n in v.loud.items() if n}
                heard.update(said)
            broken = [run.seed for run in mine if any(n for view in run.views for n in view.loud.values())]
            detail = ", ".join(f"{what}: {n}" for what, n in sorted(heard.items()))
            yield Promise(name, "clean", "", len(mine), len(broken), detail)


def _kind(name: str) -> type[Scenario]:
    unit: ScenarioKind = find(name)
    return unit.kind


def _speaks(run: Judged, code: str) -> bool:
    """Whether the detector found something at its home (something true, if the ground truth decides its code)."""
    return any(
        (view.right[code] if code in codes() else view.right[code] + view.wrong[code]) > 0
        for view in run.views
        if at_home(code, view.taps)
    )


def _seeds(seeds: Sequence[int]) -> str:
    return "seed " + ", ".join(map(str, seeds[:5])) + (" ..." if len(seeds) > 5 else "") if seeds else ""

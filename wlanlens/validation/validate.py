"""`validate`: simulate every scenario over many seeds, analyse the captures, and score the detectors against the truth."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wlanlens import registry
from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.runner import detect
from wlanlens.errors import NoSuchUnit, did_you_mean
from wlanlens.pipeline.align import align
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.ground_truth import address, codes
from wlanlens.simulation.scenario import EPOCH_NS, Run, Scenario, ScenarioKind, find, simulate
from wlanlens.simulation.worker_pool import sweep
from wlanlens.trace import Trace
from wlanlens.validation.scoring import Score, decidable, score, true_findings

#: What a detector must reach: share of findings that are true, share of events that are found, and share of matches
#: whose times are right within `TIME_S`.
PRECISION, RECALL, TIMELY = 0.95, 0.95, 0.95
TIME_S = 0.010

#: Share of the runs of a scenario that shows a code in which the detector must speak.
SHOWN = 0.95


@dataclass(frozen=True)
class Case:
    """One run to be judged.

    Attributes
    ----------
    scenario : str
    seed : int
    codes : tuple of str
        Detectors to run.
    parameters : tuple of (name, value)
        Of the scenario, where not its own.
    together : bool
        Judge the captures together as well, on one time axis.
    folder : str
        Where the captures may stand until they are judged.
    """

    scenario: str
    seed: int
    codes: tuple[str, ...]
    parameters: tuple[tuple[str, Any], ...] = ()
    together: bool = False
    folder: str = ""


@dataclass(frozen=True)
class View:
    """What the detectors said of one capture of a run, or of several together.

    Attributes
    ----------
    taps : tuple of str
        Where the captures were taken.
    scores : dict
        By code, at the place where its detector must find what there is: findings beside the truth.
    right, wrong : Counter
        By code, findings that the truth confirms and those that it does not, at any place.
    loud : Counter
        By code, findings above info.
    undecided : Counter
        By code, cases left open.
    failed : dict
        By code, why the detector failed.
    """

    taps: tuple[str, ...]
    scores: dict[str, Score] = field(default_factory=dict)
    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    loud: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """One run, judged at every place."""

    scenario: str
    seed: int
    views: tuple[View, ...]


def home(code: str) -> str:
    """Where a detector must find what there is: "usb", "air", "sender" or, of several captures, "together", by its tables."""
    needs = _tool(code).needs
    if "links" in needs:
        return "together"
    return "usb" if "urbs" in needs else "air" if {"frames", "exchanges"} & {*needs} else "sender"


def _at_home(code: str, taps: Sequence[str]) -> bool:
    place = home(code)
    return len(taps) > 1 if place == "together" else place in taps


def _tool(code: str) -> registry.Tool:
    unit = registry.units("detectors")[code]
    assert isinstance(unit, registry.Tool)
    return unit


def chosen(shelf: str, names: Iterable[str]) -> tuple[str, ...]:
    """All units of a shelf, or those named."""
    known, wanted = registry.units(shelf), tuple(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known, f"`wlanlens list {shelf}` lists them")
            raise NoSuchUnit(f"there is no {shelf[:-1]} {name!r}", next=hint)
    return wanted or tuple(known)


def validate(
    scenarios: Iterable[str] = (),
    detectors: Iterable[str] = (),
    *,
    seeds: Sequence[int] = range(1, 21),
    workers: int | None = None,
    together: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Judged]:
    """Each scenario with each seed, judged, as the runs end. `progress` is told how many are done, of how many."""
    wanted, names = chosen("detectors", detectors), chosen("scenarios", scenarios)
    with tempfile.TemporaryDirectory(prefix="wlanlens-validate-") as folder:
        # Seed by seed, so that an interrupted run has seen all scenarios alike.
        cases = [Case(name, seed, wanted, together=together, folder=folder) for seed in seeds for name in names]
        tell = None if progress is None else lambda done: progress(done, len(cases))
        for _, judged in sweep(judge, cases, workers=workers, progress=tell):
            yield judged


def judge(case: Case) -> Judged:
    """Simulate one case and judge its captures; nothing of it is left on disk."""
    folder = Path(tempfile.mkdtemp(dir=case.folder or None, prefix="run-"))
    try:
        run = simulate(case.scenario, folder, seed=case.seed, **dict(case.parameters))
        views: list[tuple[str, ...]] = [(tap,) for tap in run.captures]
        if case.together and len(views) > 1:
            views.append(tuple(run.captures))
        return Judged(case.scenario, case.seed, tuple(_view(run, taps, case.codes) for taps in views))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _view(run: Run, taps: tuple[str, ...], wanted: tuple[str, ...]) -> View:
    # The detectors are given the captures and nothing else.
    trace = align([run.captures[tap] for tap in taps])
    found = detect(trace, wanted)
    clock = run.facts.world.clocks.get(taps[0], TapClock())
    findings = [_on_run_time(f, trace, clock) for f in found]
    view = View(taps)
    decided = codes()
    for code in wanted:
        mine = [f for f in findings if f.code == code]
        truth = [f for f in run.truth if f.code == code]
        view.loud[code] = sum(f.severity != "info" for f in mine)
        # Where the truth says nothing of a code, none of its findings is confirmed.
        seen = truth
        if mine and home(code) not in taps:
            heard = [f for f in run.facts.on_air() if f.code == code] if taps == ("air",) else []
            seen = [*_as_seen_elsewhere(run, truth), *heard]
        right = sum(true_findings(mine, seen))
        view.right[code], view.wrong[code] = right, len(mine) - right
        if code in decided and _at_home(code, taps):
            near = _in_sight(run, home(code))
            open_ = [_spans_on_run_time(u, trace, clock) for u in found.undecided if u.code == code]
            mine = list(filter(near, mine))
            end = _true_ns(trace.duration_ns, trace, clock)
            events, left_out = decidable(filter(near, truth), mine, open_, until_ns=end)
            view.scores[code] = score(mine, events).get(code, Score(code)) + Score(code, open=left_out)
    for state in found.states:
        view.undecided[state.code] = state.undecided
        if state.state == "failed":
            view.failed[state.code] = state.reason
    return view


def _on_run_time(f: Finding, trace: Trace, clock: TapClock) -> Finding:
    """A finding on the run's own time, from that of its trace, whose clock is the first tap's."""
    start, end = (_true_ns(t, trace, clock) for t in (f.t_start_ns, f.t_end_ns))
    return replace(f, t_start_ns=start, t_end_ns=end)


def _spans_on_run_time(case: Undecided, trace: Trace, clock: TapClock) -> Undecided:
    spans = tuple((who, _true_ns(a, trace, clock), _true_ns(b, trace, clock)) for who, a, b in case.spans)
    return replace(case, spans=spans)


def _true_ns(t_ns: int, trace: Trace, clock: TapClock) -> int:
    shown = t_ns + trace.start_ns - EPOCH_NS - clock.offset_ns
    return round(shown / (1 + clock.drift_ppm * 1e-6))


def _in_sight(run: Run, tap: str) -> Callable[[Finding], bool]:
    """Whether the tap that a code is judged at sees what its sender did: the host's tap sees that host's data."""
    if tap not in ("sender", "together"):
        return lambda _f: True
    host = address(run.facts.world.sender) + ":"
    return lambda f: f.flow is None or f.subject.startswith(host)


def _as_seen_elsewhere(run: Run, truth: Sequence[Finding]) -> list[Finding]:
    """Events as a tap further on sees them: to when the last packet that was made in them had met its fate."""
    table = run.facts.packets
    flow, made, over = (table.column(name).to_numpy() for name in ("flow", "t_made_ns", "t_end_ns"))
    out = []
    for event in truth:
        mine = (flow == event.flow) & (made >= event.t_start_ns) & (made <= event.t_end_ns)
        out.append(replace(event, t_end_ns=max([event.t_end_ns, *over[mine].tolist()])))
    return out


@dataclass(frozen=True)
class Line:
    """One detector over all runs.

    Attributes
    ----------
    code, home : str
        The detector, and where it is judged.
    score : Score
        Over all runs.
    runs : int
        Runs that were judged.
    elsewhere_right, elsewhere_wrong : int
        Findings at other taps that are true, and that are not.
    undecided : int
        Cases that it left open at its home.
    decided : bool
        Whether the truth says what it must find.
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
    """What a scenario promises of a detector, over all its runs.

    Attributes
    ----------
    scenario : str
    kind : str
        "shows", "silent" or "clean".
    code : str
        "" of a clean scenario: all of them.
    runs, broken : int
        Runs, and those in which the promise was broken.
    detail : str
        What was found that must not be.
    """

    scenario: str
    kind: str
    code: str
    runs: int
    broken: int
    detail: str = ""

    @property
    def kept(self) -> bool:
        """One run in twenty may hide what a scenario shows; silence is not broken once."""
        return self.broken <= (1 - SHOWN) * self.runs if self.kind == "shows" else not self.broken


@dataclass(frozen=True)
class Validation:
    """The tables of all runs.

    Attributes
    ----------
    lines : tuple of Line
        One a detector.
    promises : tuple of Promise
        One a scenario and what it says of itself.
    failed : dict
        Detectors that failed, and why.
    runs : int
    seeds : int
        How many different ones.
    """

    lines: tuple[Line, ...]
    promises: tuple[Promise, ...]
    failed: dict[str, str]
    runs: int
    seeds: int

    def faults(self) -> list[str]:
        """Every floor that is not reached, in words."""
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
                    "silent": f"{p.code} speaks where it must be silent",
                    "clean": "something above info is found on a clean link",
                }[p.kind]
                out.append(
                    f"{p.scenario}: {what} in {p.broken} of {p.runs} runs" + (f" ({p.detail})" if p.detail else "")
                )
        return out

    def unproved(self) -> list[str]:
        """Detectors of which these runs prove nothing: no event of theirs happened, or the truth does not tell."""
        return [line.code for line in self.lines if not line.score.truth]


def summary(judged: Iterable[Judged], detectors: Iterable[str] = ()) -> Validation:
    """All runs in tables."""
    runs = list(judged)
    wanted = chosen("detectors", detectors)
    views = [(run, view) for run in runs for view in run.views]
    failed = {
        code: f"{why} ({run.scenario}, seed {run.seed})" for run, view in views for code, why in view.failed.items()
    }
    return Validation(
        lines=tuple(_line(code, runs) for code in wanted),
        promises=tuple(_promises(runs, wanted)),
        failed=failed,
        runs=len(runs),
        seeds=len({run.seed for run in runs}),
    )


def _line(code: str, runs: list[Judged]) -> Line:
    total, place = Score(code), home(code)
    right = wrong = undecided = judged = 0
    for run in runs:
        for view in run.views:
            if _at_home(code, view.taps):
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
            at_home = any(_at_home(code, view.taps) for run in mine for view in run.views)
            if code in wanted and at_home:
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
    """Whether the detector found something, true where the truth decides, at the place where it must."""
    return any(
        (view.right[code] if code in codes() else view.right[code] + view.wrong[code]) > 0
        for view in run.views
        if _at_home(code, view.taps)
    )


def _seeds(seeds: Sequence[int]) -> str:
    return "seed " + ", ".join(map(str, seeds[:5])) + (" ..." if len(seeds) > 5 else "") if seeds else ""

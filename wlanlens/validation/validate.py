"""`validate`: simulate every scenario with many seeds, analyse the captures, and score the detectors against the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from wlanlens import registry
from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.findings import Findings
from wlanlens.detection.runner import detect
from wlanlens.detection.thresholds import Thresholds, checked
from wlanlens.errors import NoSuchUnit, did_you_mean
from wlanlens.pipeline.align import align
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.ground_truth import address, codes
from wlanlens.simulation.simulate import EPOCH_NS, Run, simulate
from wlanlens.simulation.temporary_folder import run_folder, temporary_folder
from wlanlens.simulation.worker_pool import sweep
from wlanlens.trace import Trace
from wlanlens.validation.scoring import Score, decidable, in_sight, score, true_findings


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
        Parameters of the scenario that differ from its defaults.
    together : bool
        Also judge the captures together, on one time axis.
    folder : str
        Folder for the captures until they are judged.
    thresholds : dict
        Thresholds of detectors that differ from their defaults.
    """

    scenario: str
    seed: int
    codes: tuple[str, ...]
    parameters: tuple[tuple[str, Any], ...] = ()
    together: bool = False
    folder: str = ""
    thresholds: Thresholds = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """Results of the detectors on one capture of a run, or on several together.

    Attributes
    ----------
    taps : tuple of str
        Capture points.
    scores : dict
        By code, at the detector's home: score of the findings.
    right, wrong : Counter
        By code, true and false findings at any capture point.
    loud : Counter
        By code, findings above info.
    undecided : Counter
        By code, undecided cases.
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
    """One run, judged at every capture point."""

    scenario: str
    seed: int
    views: tuple[View, ...]


def home(code: str) -> str:
    """The capture point where a detector must find events, by its tables: "usb", "air", "sender" or "together"."""
    needs = _tool(code).needs
    if "links" in needs:
        return "together"
    return "usb" if "urbs" in needs else "air" if {"frames", "exchanges"} & {*needs} else "sender"


def at_home(code: str, taps: Sequence[str]) -> bool:
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
    settings: Mapping[str, Any] | None = None,
    thresholds: Thresholds | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Judged]:
    """Judge each scenario with each seed, in order of completion. `progress` is called with (finished, all).

    `settings`: parameters of every scenario; an unknown one raises ScenarioError. `thresholds`: those of detectors that differ from
    their defaults.
    """
    changed = checked(thresholds)
    wanted, names = chosen("detectors", detectors), chosen("scenarios", scenarios)
    with temporary_folder("validate") as place:
        # Seed by seed, so that an interrupted run covers all scenarios equally.
        given = tuple(sorted((settings or {}).items()))
        cases = [Case(name, seed, wanted, given, together, str(place), changed) for seed in seeds for name in names]
        tell = None if progress is None else lambda done: progress(done, len(cases))
        with closing(sweep(judge, cases, workers=workers, progress=tell, within=place)) as results:
            for _, judged in results:
                yield judged


def judge(case: Case) -> Judged:
    """Simulate one case and judge its captures; its files are removed."""
    with run_folder(case.folder) as folder:
        run = simulate(case.scenario, folder, seed=case.seed, **dict(case.parameters))
        views: list[tuple[str, ...]] = [(tap,) for tap in run.captures]
        if case.together and len(views) > 1:
            views.append(tuple(run.captures))
        return Judged(
            case.scenario, case.seed, tuple(judged_at(run, taps, case.codes, case.thresholds) for taps in views)
        )


def judged_at(run: Run, taps: tuple[str, ...], wanted: tuple[str, ...], thresholds: Thresholds | None = None) -> View:
    """The detectors' findings at some taps of a run against its truth."""
    # The detectors see only the captures.
    trace = align([run.captures[tap] for tap in taps])
    return judged_findings(run, taps, wanted, trace, detect(trace, wanted, thresholds=thresholds))


def judged_findings(run: Run, taps: tuple[str, ...], wanted: tuple[str, ...], trace: Trace, found: Findings) -> View:
    """Findings at some taps of a run against its truth."""
    clock = run.facts.world.clocks.get(taps[0], TapClock())
    findings = [_on_run_time(f, trace, clock) for f in found]
    view = View(taps)
    decided = codes()
    for code in wanted:
        mine = [f for f in findings if f.code == code]
        truth = [f for f in run.truth if f.code == code]
        view.loud[code] = sum(f.severity != "info" for f in mine)
        # If the truth has no event of a code, all its findings are false.
        seen = truth
        if mine and home(code) not in taps:
            heard = [f for f in run.facts.on_air() if f.code == code] if taps == ("air",) else []
            seen = [*_as_seen_elsewhere(run, truth), *heard]
        right = sum(true_findings(mine, seen))
        view.right[code], view.wrong[code] = right, len(mine) - right
        if code in decided and at_home(code, taps):
            near = _in_sight(run, home(code))
            open_ = [_spans_on_run_time(u, trace, clock) for u in found.undecided if u.code == code]
            mine, events = in_sight(mine, truth, near)
            end = _true_ns(trace.duration_ns, trace, clock)
            events, left_out = decidable(events, mine, open_, until_ns=end)
            view.scores[code] = score(mine, events).get(code, Score(code)) + Score(code, open=left_out)
    for state in found.states:
        view.undecided[state.code] = state.undecided
        if state.state == "failed":
            view.failed[state.code] = state.reason
    return view


def _on_run_time(f: Finding, trace: Trace, clock: TapClock) -> Finding:
    """A finding in the run's time; the trace uses the clock of the first tap."""
    start, end = (_true_ns(t, trace, clock) for t in (f.t_start_ns, f.t_end_ns))
    return replace(f, t_start_ns=start, t_end_ns=end)


def _spans_on_run_time(case: Undecided, trace: Trace, clock: TapClock) -> Undecided:
    spans = tuple((who, _true_ns(a, trace, clock), _true_ns(b, trace, clock)) for who, a, b in case.spans)
    return replace(case, spans=spans)


def _true_ns(t_ns: int, trace: Trace, clock: TapClock) -> int:
    shown = t_ns + trace.start_ns - EPOCH_NS - clock.offset_ns
    return round(shown / (1 + clock.drift_ppm * 1e-6))


def _in_sight(run: Run, tap: str) -> Callable[[Finding], bool]:
    """Whether the tap where a code is judged captures the sender's data: a host's tap captures that host's data."""
    if tap not in ("sender", "together"):
        return lambda _f: True
    host = address(run.facts.world.sender) + ":"
    return lambda f: f.flow is None or f.subject.startswith(host)


def _as_seen_elsewhere(run: Run, truth: Sequence[Finding]) -> list[Finding]:
    """Events as seen by a later tap: they last until the last packet created in them arrived or was lost."""
    table = run.facts.packets
    flow, made, over = (table.column(name).to_numpy() for name in ("flow", "t_made_ns", "t_end_ns"))
    out = []
    for event in truth:
        mine = (flow == event.flow) & (made >= event.t_start_ns) & (made <= event.t_end_ns)
        out.append(replace(event, t_end_ns=max([event.t_end_ns, *over[mine].tolist()])))
    return out

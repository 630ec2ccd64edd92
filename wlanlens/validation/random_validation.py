"""`validate --random`: worlds drawn at random, and the findings, ledger and verdict of each capture against the truth."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wlanlens.capture.decryption_keys import Keys
from wlanlens.detection.thresholds import Thresholds, checked
from wlanlens.errors import WlanlensError, did_you_mean
from wlanlens.pipeline.analyze import analyze
from wlanlens.pipeline.batch import cluster
from wlanlens.simulation.parameters import ScenarioError
from wlanlens.simulation.scenario import find
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.simulation.temporary_folder import run_folder, temporary_folder
from wlanlens.simulation.worker_pool import sweep
from wlanlens.validation.ledger_scoring import LedgerScore, VerdictScore, last_packets_ns, scores, verdict_score
from wlanlens.validation.random_worlds import random_world
from wlanlens.validation.validate import Judged, View, chosen, judged_findings

if TYPE_CHECKING:
    from wlanlens.pipeline.batch.cluster import Security


@dataclass(frozen=True)
class WorldCase:
    """A random world to be judged.

    Attributes
    ----------
    number : int
        The number that the world is drawn from, which is its seed too.
    codes : tuple of str
        Detectors to run.
    scenarios : tuple of str
        Scenarios to draw from; empty: all.
    settings : tuple of (name, value)
        Parameters that are given.
    folder : str
        Folder for the captures; they are removed.
    thresholds : dict
        Thresholds of detectors that differ from their defaults.
    """

    number: int
    codes: tuple[str, ...]
    scenarios: tuple[str, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    folder: str = ""
    thresholds: Thresholds = field(default_factory=dict)


@dataclass(frozen=True)
class WorldScore:
    """A random world, judged at every tap and at all of them together.

    Attributes
    ----------
    number : int
    scenario, drawn : str
        What was drawn.
    views : tuple of View
        The findings.
    ledgers : tuple of LedgerScore
    verdicts : tuple of VerdictScore
    refused : tuple of str
        Taps that were refused with an error for the user, and the error.
    crash : str
        Why the world could not be judged; "" if it could.
    """

    number: int
    scenario: str
    drawn: str
    views: tuple[View, ...] = ()
    ledgers: tuple[LedgerScore, ...] = ()
    verdicts: tuple[VerdictScore, ...] = ()
    refused: tuple[str, ...] = ()
    crash: str = field(default="", repr=False)

    @property
    def judged(self) -> Judged:
        """The findings, as those of a run of a scenario."""
        return Judged(self.scenario, self.number, self.views)


def validate_random(
    count: int,
    seed: int = 1,
    *,
    detectors: Sequence[str] = (),
    scenarios: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    thresholds: Thresholds | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    security: Security | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[WorldScore]:
    """Judge `count` random worlds, in order of completion.

    Parameters
    ----------
    count, seed : int
        The worlds with the numbers `seed` to `seed + count - 1`.
    detectors, scenarios : sequence of str
        Detectors to run, and scenarios to draw from; by default all.
    settings : mapping
        Parameters that are given, not drawn: at least one scenario must have each.
    thresholds : mapping
        Thresholds of detectors that differ from their defaults.
    workers : int
        Worker processes, each with a few hundred MB; by default one a core.
    scheduler, security : optional
        A Dask scheduler and its certificates, as in `wlanlens.batch`: its workers judge the worlds.
    progress : callable
        Called with (finished, all).
    """
    wanted, changed = chosen("detectors", detectors), checked(thresholds)
    names = chosen("scenarios", scenarios) if scenarios else ()
    given = tuple(sorted((settings or {}).items()))
    for name, _ in given:
        if not any(name in find(scenario).parameters for scenario in names or chosen("scenarios", ())):
            known = {key for scenario in names or chosen("scenarios", ()) for key in find(scenario).parameters}
            hint = did_you_mean(name, sorted(known), "`wlanlens simulate -s NAME --parameters` lists them")
            raise ScenarioError(f"no scenario that is drawn has a parameter {name!r}", next=hint)
    numbers = range(seed, seed + count)
    if scheduler is not None:
        cluster.check(scheduler, security, Keys())
        cases = [WorldCase(number, wanted, names, given, thresholds=changed) for number in numbers]
        with closing(cluster.spread(judge_world, cases, scheduler, workers, security)) as results:  # type: ignore[type-var]
            for done, (_, judged) in enumerate(results, 1):
                yield judged
                if progress is not None:
                    progress(done, count)
        return
    with temporary_folder("validate") as place:
        cases = [WorldCase(number, wanted, names, given, str(place), changed) for number in numbers]
        tell = None if progress is None else lambda done: progress(done, count)
        with closing(sweep(judge_world, cases, workers=workers, progress=tell, within=place)) as results:
            for _, judged in results:
                yield judged


def judge_world(case: WorldCase) -> WorldScore:
    """Simulate one random world and judge its captures. A crash is a result, too."""
    world = random_world(case.number, varied=True, scenarios=case.scenarios or None, settings=dict(case.settings))
    views: list[View] = []
    ledgers: list[LedgerScore] = []
    verdicts: list[VerdictScore] = []
    refused: list[str] = []
    crash = ""
    try:
        with run_folder(case.folder) as folder:
            run = simulate(world, folder, seed=case.number)
            taps: list[tuple[str, ...]] = [(tap,) for tap in run.captures]
            for some in [*taps, tuple(run.captures)]:
                try:
                    view, ledger, verdict = _judged(run, some, case, folder / "analysis")
                except WlanlensError as error:
                    refused.append(f"{'+'.join(some)}: {error}")
                    continue
                views.append(view)
                ledgers += ledger
                verdicts.append(verdict)
    except Exception as error:  # noqa: BLE001 - a crash of any kind is what this command looks for
        at = traceback.extract_tb(error.__traceback__)[-1]
        crash = f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"
    found = tuple(views), tuple(ledgers), tuple(verdicts), tuple(refused)
    return WorldScore(case.number, world.base.name, world.drawn, *found, crash)


def _judged(
    run: Run, taps: tuple[str, ...], case: WorldCase, out: Path
) -> tuple[View, list[LedgerScore], VerdictScore]:
    try:
        made = analyze(
            [run.captures[tap] for tap in taps], out=out, only=case.codes, report=False, thresholds=case.thresholds
        )
        view = judged_findings(run, taps, case.codes, made.trace, made.findings)
        ledger = scores(case.number, run.facts, made.trace, taps)
        last = last_packets_ns(made.trace)
        return view, ledger, verdict_score(case.number, run.facts, made.verdict.sentence, taps, last)
    finally:
        shutil.rmtree(out, ignore_errors=True)

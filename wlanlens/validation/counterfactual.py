"""`validate --counterfactual`: is a transfer without its cause as much shorter as `saved_s` says?"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from wlanlens.detection.finding import Finding
from wlanlens.detection.thresholds import Thresholds, checked
from wlanlens.pipeline.analyze import analyze
from wlanlens.simulation.config import World
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.simulation.temporary_folder import run_folder, temporary_folder
from wlanlens.simulation.worker_pool import sweep
from wlanlens.validation.counterfactual_worlds import GivenWorld, pair

#: A world is judged where the cause changes the duration, or is said to change it, by this share: less is not named in a verdict.
JUDGED_SHARE = 0.02
#: An estimate is right within this share of the true change.
RIGHT_SHARE = 0.2
#: The share of the judged worlds in which the estimate must be right.
LEAST_RIGHT = 0.9


@dataclass(frozen=True)
class PairScore:
    """One pair of worlds.

    Attributes
    ----------
    number : int
        The pair's number and seed.
    cause : str
        What was removed.
    code : str
        The findings judged. Where the cause makes findings of several codes: those of the code that saves most.
    before_s, after_s : float
        Duration of the transfer with and without the cause, from the simulator's ledger.
    found : bool
        Whether there is a finding of that code.
    saved_s : float or None
        Sum of `saved_s` of its findings; None where none has one.
    undecided : bool
        Whether a detector of the cause said that this capture cannot decide.
    """

    number: int
    cause: str
    code: str
    before_s: float
    after_s: float
    found: bool
    saved_s: float | None
    undecided: bool = False

    @property
    def true_s(self) -> float:
        """The true change."""
        return self.before_s - self.after_s

    @property
    def large(self) -> bool:
        """Whether the change is large enough to be judged."""
        return max(abs(self.true_s), self.saved_s or 0.0) >= JUDGED_SHARE * self.before_s

    @property
    def judged(self) -> bool:
        """Whether there is an estimate of a large change, or the estimate of one."""
        return self.saved_s is not None and self.large

    @property
    def right(self) -> bool:
        """Whether the estimate is within a fifth of the true change."""
        return self.saved_s is not None and abs(self.saved_s - self.true_s) <= RIGHT_SHARE * abs(self.true_s)

    @property
    def error_share(self) -> float:
        """The error as a share of the duration."""
        return abs((self.saved_s or 0.0) - self.true_s) / self.before_s


@dataclass(frozen=True)
class PairCase:
    """What a worker gets: the pair's number, a folder for its files, and thresholds that differ from their defaults."""

    number: int
    folder: str
    thresholds: Thresholds = field(default_factory=dict)


def validate_counterfactual(
    count: int,
    seed: int = 1,
    *,
    thresholds: Thresholds | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[PairScore]:
    """Score the pairs `seed` to `seed + count - 1`, in order of completion.

    Parameters
    ----------
    count, seed : int
    thresholds : mapping
        Thresholds of detectors that differ from their defaults.
    workers : int
        Worker processes; by default one a core.
    progress : callable
        Called with (finished, all).
    """
    changed = checked(thresholds)
    with temporary_folder("counterfactual") as place:
        cases = [PairCase(number, str(place), changed) for number in range(seed, seed + count)]
        tell = None if progress is None else lambda done: progress(done, count)
        with closing(sweep(judge_pair, cases, workers=workers, progress=tell, within=place)) as results:
            for _, score in results:
                yield score


def judge_pair(case: PairCase) -> PairScore:
    """Simulate both worlds of a pair, analyse the captures of the first, and compare."""
    drawn = pair(case.number)
    made = drawn.made
    with run_folder(case.folder) as folder:
        before = simulate(_scenario(made.before, made.most_s), folder, seed=case.number, taps=made.taps)
        after = simulate(_scenario(made.after, made.most_s), seed=case.number)
        out = folder / "analysis"
        try:
            captures = [before.captures[tap] for tap in made.taps]
            found = analyze(captures, out=out, report=False, thresholds=case.thresholds).findings
        finally:
            shutil.rmtree(out, ignore_errors=True)
    about = [f for f in found if f.code in made.codes and _counts(f, made.only)]
    saved: dict[str, float] = {}
    for f in about:
        if f.saved_s is not None:
            saved[f.code] = saved.get(f.code, 0.0) + f.saved_s
    code = max(saved, key=lambda name: saved[name], default=made.codes[0])
    return PairScore(
        number=case.number,
        cause=drawn.cause,
        code=code,
        before_s=_life_s(before),
        after_s=_life_s(after),
        found=bool(about),
        saved_s=saved.get(code),
        undecided=any(u.code in made.codes for u in found.undecided),
    )


def _counts(f: Finding, only: tuple[str, Any] | None) -> bool:
    return only is None or f.values.get(only[0]) == only[1]


def _scenario(world: World, most_s: float) -> GivenWorld:
    return GivenWorld(given=world, duration_s=most_s)


def _life_s(run: Run) -> float:
    """Seconds of the transfer from its SYN to its last ACK, by the simulator's ledger."""
    import pyarrow.compute as pc

    rows = run.facts.ledger
    rows = rows.filter(pc.and_(pc.equal(rows["flow"], 0), pc.equal(rows["direction"], "a2b")))
    return float(pc.max(rows["t_end_ns"]).as_py() - pc.min(rows["t_start_ns"]).as_py()) / 1e9


@dataclass(frozen=True)
class Line:
    """The scores of one cause, or of all.

    Attributes
    ----------
    cause, code : str
    worlds, undecided, silent, undefined, small : int
        All worlds; those without a finding although the change is large, undecided or silent; with a finding without an estimate;
        with a small change.
    judged, right, near : int
        Worlds with an estimate of a large change; right ones; those whose error is at most a fifth of the duration.
    """

    cause: str
    code: str
    worlds: int
    undecided: int
    silent: int
    undefined: int
    small: int
    judged: int
    right: int
    near: int


def lines(scores: Sequence[PairScore]) -> list[Line]:
    """A line for each cause, in name order, and one for all."""
    causes = sorted({score.cause for score in scores})
    out = [_line(cause, [score for score in scores if score.cause == cause]) for cause in causes]
    return [*out, replace(_line("all", scores), code="")]


def _line(cause: str, scores: Sequence[PairScore]) -> Line:
    judged = [score for score in scores if score.judged]
    return Line(
        cause=cause,
        code=", ".join(sorted({score.code for score in scores})),
        worlds=len(scores),
        undecided=sum(not score.found and score.large and score.undecided for score in scores),
        silent=sum(not score.found and score.large and not score.undecided for score in scores),
        undefined=sum(score.found and score.saved_s is None and score.large for score in scores),
        small=sum(not score.large for score in scores),
        judged=len(judged),
        right=sum(score.right for score in judged),
        near=sum(score.error_share <= RIGHT_SHARE for score in judged),
    )


def faults(scores: Sequence[PairScore]) -> list[str]:
    """The missed floor, in words."""
    judged = [score for score in scores if score.judged]
    right = sum(score.right for score in judged)
    if judged and right >= LEAST_RIGHT * len(judged):
        return []
    return [
        f"saved_s is within {RIGHT_SHARE:.0%} of the true change in {right} of {len(judged)} worlds, below {LEAST_RIGHT:.0%}"
    ]

"""Published experiments: `Row` (a published number and the measured one), `Lab`, and `@experiment` for the shelf `papers`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.registry import Unit
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.simulation.temporary_folder import run_folder, temporary_folder
from wlanlens.simulation.worker_pool import sweep

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: The studies by the name that `wlanlens reproduce` takes.
STUDIES = {
    "usb_adapter": "TCP over a USB 802.11b adapter: spurious timeouts, ACK holding, rate adaptation, the bus",
    "bursty_errors": "TCP idle times under bursty errors on an 802.11b ad hoc link",
    "seawind": "TCP over a slow wireless wide-area link in an emulator",
    "dcf_tcp": "TCP over the 802.11 DCF: a model and simulations",
    "window_size": "TCP window sizes and periodic losses on an 802.11b LAN",
}

#: Tolerance classes: exact arithmetic, quantitative band, inequality, not asserted.
CLASSES = ("E", "Q", "S", "N")

#: Where a measured value comes from: a simulation, an equation or printed numbers, or a person's reading.
ORIGINS = ("simulated", "computed", "by hand")


@dataclass(frozen=True)
class Row:
    """One published number and the measured one.

    Attributes
    ----------
    what : str
        The quantity, with its unit.
    published : str
        As printed.
    kind : str
        E exact, Q inside a band, S an inequality (see `holds`), N not asserted.
    measured : float or str
        Measured by the simulation, or computed.
    band : (float, float) or None
        For E and Q: lowest and highest value that is right, both included.
    holds : bool or None
        For S: whether the inequality holds.
    because : str
        The mechanism, in one line.
    origin : str
        simulated, computed (from equations or printed numbers, without a simulation), or by hand.
    """

    what: str
    published: str
    kind: str
    measured: float | str
    band: tuple[float, float] | None = None
    holds: bool | None = None
    because: str = ""
    origin: str = "simulated"

    def __post_init__(self) -> None:
        for name in ("measured", "holds"):
            value = getattr(self, name)
            if isinstance(value, np.generic):  # json cannot write NumPy scalars
                object.__setattr__(self, name, value.item())
        if self.kind not in CLASSES:
            raise ValueError(f"{self.what}: class {self.kind!r} is none of {', '.join(CLASSES)}")
        if self.origin not in ORIGINS:
            raise ValueError(f"{self.what}: origin {self.origin!r} is none of {', '.join(ORIGINS)}")
        if (self.kind in "EQ") != (self.band is not None) or (self.kind == "S") != (self.holds is not None):
            raise ValueError(f"{self.what}: E and Q rows need a band, S rows need `holds`, N rows need neither")

    @property
    def verdict(self) -> str:
        """holds, fails or not asserted."""
        if self.kind == "N":
            return "not asserted"
        if self.band is not None:
            right = isinstance(self.measured, int | float) and self.band[0] <= self.measured <= self.band[1]
        else:
            right = bool(self.holds)
        return "holds" if right else "fails"


@dataclass(frozen=True)
class Result:
    """The result of an experiment: its rows, and figures like those of the study."""

    rows: tuple[Row, ...]
    figures: tuple[tuple[str, Figure], ...] = ()


@dataclass(frozen=True)
class _Job:
    scenario: str
    seed: int
    taps: tuple[str, ...]
    parameters: tuple[tuple[str, Any], ...]
    measure: Callable[[Run], Any] = field(compare=False)
    folder: str = field(compare=False)


def _work(job: _Job) -> Any:
    if not job.taps:
        return job.measure(simulate(job.scenario, seed=job.seed, truth=False, **dict(job.parameters)))
    with run_folder(job.folder) as out:
        run = simulate(job.scenario, out, seed=job.seed, taps=job.taps, truth=False, **dict(job.parameters))
        return job.measure(run)


class Lab:
    """Runs the simulations of experiments on all cores, each simulation once.

    `least_seeds` raises the number of seeds of every measurement; `progress` is called after each run.
    """

    def __init__(
        self, *, least_seeds: int = 1, workers: int | None = None, progress: Callable[[int], None] | None = None
    ) -> None:
        self.least_seeds, self.workers, self.progress = least_seeds, workers, progress
        self.simulations = 0

    def measure(
        self,
        scenario: str,
        measure: Callable[[Run], Any],
        *,
        seeds: int = 5,
        taps: Sequence[str] = (),
        **parameters: Any,
    ) -> list[Any]:
        """`measure(run)` for each of `seeds` runs, in order of the seeds 1, 2 ...

        `measure` must be a function at module level, because it runs in another process. Captures are written only at
        `taps`, into a temporary folder.
        """
        return self.measure_all(measure, [(scenario, parameters)], seeds=seeds, taps=taps)[0]

    def measure_all(
        self,
        measure: Callable[[Run], Any],
        cases: Iterable[tuple[str, dict[str, Any]]],
        *,
        seeds: int = 5,
        taps: Sequence[str] = (),
    ) -> list[list[Any]]:
        """The same for several (scenario, parameters): one list of results for each.

        `seeds=1` is for deterministic worlds, in which every seed gives the same run: `least_seeds` does not apply.
        """
        wanted = list(cases)
        count = 1 if seeds == 1 else max(seeds, self.least_seeds)
        self.simulations += count * len(wanted)
        results: list[Any] = [None] * (count * len(wanted))
        with temporary_folder("reproduce") as folder:
            jobs = [
                _Job(scenario, seed, tuple(taps), tuple(sorted(parameters.items())), measure, str(folder))
                for scenario, parameters in wanted
                for seed in range(1, count + 1)
            ]
            running = sweep(_placed, list(enumerate(jobs)), workers=self.workers, progress=self.progress, within=folder)
            with closing(running):
                for (place, _), result in running:
                    results[place] = result
        return [results[i : i + count] for i in range(0, len(results), count)]


def _placed(job: tuple[int, _Job]) -> Any:
    return _work(job[1])


class Experiment(Unit):
    """A published table or figure on the shelf `papers`."""

    def __init__(self, name: str, function: Callable[[Lab], Result], study: str, source: str) -> None:
        super().__init__("papers", name, function.__module__, function.__doc__ or "")
        if study not in STUDIES:
            raise ValueError(f"{name}: there is no study {study!r}")
        self.function, self.study, self.source = function, study, source

    def __call__(self, lab: Lab) -> Result:
        return self.function(lab)


def experiment(name: str, *, study: str, source: str) -> Callable[[Callable[[Lab], Result]], Experiment]:
    """Put a function `(lab) -> Result` on the shelf `papers`; `source` names the study's table, figure or section."""
    return lambda function: Experiment(name, function, study, source)

"""Simulated captures of one run, aligned, and what detectors say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import wlanlens as wl
from wlanlens.detection.findings import Findings
from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import Scenario
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.validation.scoring import Score


def aligned(run: Run, *taps: str) -> wl.Trace:
    """All captures of a run, or those of some points, on one axis."""
    return wl.align([run.captures[tap] for tap in taps or run.captures])


def given(world: World, duration_s: float = 10.0) -> Scenario:
    """A scenario of one world."""
    kind = type("Given", (Scenario,), {"name": "given", "world": lambda _self: world})
    return kind(duration_s=duration_s)  # type: ignore[no-any-return]


def said(folder: Path, scenario: str | Scenario, code: str, *taps: str, seed: int = 1, **parameters: Any) -> Findings:
    """What one detector says of a run's captures together."""
    return wl.detect(aligned(simulate(scenario, folder, seed=seed, **parameters), *taps), only=[code])


def scored(folder: Path, scenario: str, code: str, *, seed: int = 1, **parameters: Any) -> tuple[Findings, Score]:
    """What one detector says of a run's captures together, beside the truth."""
    run = simulate(scenario, folder, seed=seed, **parameters)
    found = wl.detect(aligned(run), only=[code])
    truth = [f for f in run.truth if f.code == code]
    return found, wl.score(found, truth).get(code, Score(code))

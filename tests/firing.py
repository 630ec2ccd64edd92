"""A small simulated world for each detector that no sample makes fire."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import wlanlens as wl
from wlanlens import registry
from wlanlens.simulation.scenario import ScenarioKind


@dataclass(frozen=True)
class Small:
    """A short run of a scenario, with all its taps or some of them."""

    scenario: str
    duration_s: float
    taps: tuple[str, ...] | None = None
    seed: int = 7
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)


WORLDS = {
    "acked_data_retransmission": Small("spurious_retransmissions", 1.0, ("sender",)),
    "data_ack_collision": Small("data_ack_collision", 4.0, ("air",)),
    "delayed_ack_deadlock": Small("nagle_stall", 1.0, ("sender",)),
    "idle_backoff": Small("genuine_timeout", 2.0, ("sender",)),
    "missing_fast_retransmit": Small("spurious_retransmissions", 1.0, ("sender",)),
    "periodic_loss": Small("periodic_access_point_drops", 16.0, ("sender",)),
    "rate_thrashing": Small("rate_thrashing", 16.0, ("air",)),
    "repeated_fast_retransmit": Small("repeated_fast_retransmit", 60.0, ("sender",)),
    "signal_fade": Small("signal_fade", 4.0, ("air",)),
    "stuck_rate": Small("stuck_rate", 4.0, ("air",)),
    "tail_loss": Small("lost_tail", 1.0, ("sender",)),
    "window_limited": Small("small_window", 1.0, ("sender",)),
}


#: The captures' folders: a trace reads its tables when first asked for.
_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def worlds(code: str) -> list[Small]:
    """Where a detector must find something: its small world (here, or as FIRES_ON in the detector's test), or the scenarios
    that show it."""
    if code in WORLDS:
        return [WORLDS[code]]
    own = Path(__file__).parent / "detectors" / f"test_{code}.py"
    if own.exists() and (small := getattr(importlib.import_module(f"tests.detectors.test_{code}"), "FIRES_ON", None)):
        return [small]
    kinds = [unit for unit in registry.units("scenarios").values() if isinstance(unit, ScenarioKind)]
    return [Small(u.name, u.make({}).duration_s) for u in kinds if code in u.kind.shows]


@cache
def trace(small: Small) -> wl.Trace:
    """Its captures as a trace; simulated once in a process."""
    folder = tempfile.TemporaryDirectory()
    _FOLDERS.append(folder)
    settings = {"duration_s": small.duration_s, **small.parameters}
    run = wl.simulate(small.scenario, folder.name, seed=small.seed, taps=small.taps, truth=False, **settings)
    return wl.align(list(run.captures.values()))
